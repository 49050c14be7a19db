//! `--nan any`, `--zero any`: what they accept, and what they do not.

use crate::support::{Folder, Run, Says, holds, ran};

const NAN: f32 = f32::NAN;

/// D = A here, for B is 1; `given` is what the file says.
fn check(a: &[f32], given: &[u32], rest: &str) -> Run {
    let folder = Folder::new();
    let shape = [a.len(), 1];
    folder.f16("a.npy", &shape, a);
    folder.f16("b.npy", &[1, 1], &[1.0]);
    folder.f32_codes("d.npy", &shape, given);
    ran! {folder, "check --arch ampere --dtype fp16 a.npy b.npy d.npy {rest}"}
}

#[test]
fn any_nan_will_do_for_a_nan() {
    let (a, given) = ([NAN, 1.0], [0xffc0_0001, 0x3f80_0000]);
    check(&a, &given, "").expect(1);
    check(&a, &given, "--nan exact").expect(1);
    check(&a, &given, "--zero any").expect(1);
    let report = check(&a, &given, "--nan any --json -").expect(0).json();
    holds! {report, "
        verdict = identical | outcome.nan = any | outcome.zero = exact | outcome.comparison.accepted = 1
        | outcome.comparison.mismatches = 0
    "}
}

#[test]
fn either_zero_will_do_for_a_zero() {
    let (a, given) = ([0.0, 1.0], [0x8000_0000, 0x3f80_0000]);
    check(&a, &given, "").expect(1);
    check(&a, &given, "--nan any").expect(1);
    let report = check(&a, &given, "--zero any --json -").expect(0).json();
    holds! {report, "verdict = identical | outcome.zero = any | outcome.comparison.accepted = 1"}
}

#[test]
fn nothing_else_is_accepted() {
    for (a, given) in [
        (NAN, 0x3f80_0000),
        (NAN, 0x7f80_0000),
        (1.0, 0x7fff_ffff),
        (0.0, 0x8000_0001),
        (0.0, 0x0000_0001),
        (1.0, 0x3f80_0001),
    ] {
        check(&[a], &[given], "--nan any --zero any --quiet").expect(1);
    }
}

#[test]
fn what_was_accepted_is_said_in_the_text() {
    let (a, given) = ([NAN, 0.0, 1.0], [0x7fc0_0000, 0x8000_0000, 0x3f80_0000]);
    let text = check(&a, &given, "--nan any --zero any").expect(0).stdout;
    let headline = text.lines().next().unwrap();
    assert_eq!(
        headline,
        "IDENTICAL, 2 elements accepted by tolerance  all 3 elements of D are reproduced, 2 of them only as --nan or \
        --zero allow"
    );
    let text = check(&a, &[0x7fc0_0000, 0x8000_0000, 0], "--nan any --zero any");
    let headline = text.expect(1).stdout.lines().next().unwrap().to_owned();
    headline.begins("DIFFERENT, 2 elements accepted by tolerance  1 of 3 elements");
    assert!(headline.ends_with("; 2 more differ in ways that --nan or --zero accept"));
}
