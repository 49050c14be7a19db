//! D is another computation's.

use super::{caused, causes, folder, names};
use crate::support::{Folder, Npy, rows};

const CHECK: &str = "--arch a100 --dtype fp16 a.npy b.npy d.npy";
const WITH_C: &str = "--arch a100 --dtype fp16 --c c.npy a.npy b.npy d.npy";

#[test]
fn operands_the_other_way_round() {
    let folder = folder("fp16", [48, 48, 48]);
    let plain = "--arch a100 --dtype fp16 a.npy b.npy";
    for [options, kind, tested] in rows! {"
        --transpose-a | a_transposed | all 64 tested elements
        --transpose-b | b_transposed | all 64 tested elements
        --transpose-a --transpose-b | a_and_b_transposed | all 64 tested elements
    "}
    {
        caused! {folder, "
            {plain} {options} => {CHECK} | *{kind} | {tested}
            # The same question from the other end.
            {plain} => {CHECK} {options} | *{kind}
        "}
    }
    caused! {folder, "--arch a100 --dtype fp16 b.npy a.npy => {CHECK} | *exchanged"}
}

#[test]
fn d_the_other_way_round() {
    let folder = folder("fp16", [40, 40, 24]);
    // With C there is no product that could be asked for.
    for (c, check, command) in [("", CHECK, true), ("--c c.npy", WITH_C, false)] {
        folder.replay(
            &format!("--arch a100 --dtype fp16 {c} a.npy b.npy"),
            "d.npy",
        );
        folder.with_codes32("d.npy", "d.npy", |d| {
            *d = (0..1600).map(|i| d[i % 40 * 40 + i / 40]).collect();
        });
        names(&folder, check, "d_transposed", command);
    }
}

#[test]
fn c_forgotten_added_twice_or_last() {
    let folder = folder("fp16", [32, 40, 24]);
    let c = folder.codes32("c.npy");
    let sum = |x: &u32, y: &u32| (f32::from_bits(*x) + f32::from_bits(*y)).to_bits();
    let add_c = |d: &mut Vec<u32>| d.iter_mut().zip(&c).for_each(|(d, c)| *d = sum(d, c));
    caused! {folder, "--arch a100 --dtype fp16 a.npy b.npy => {WITH_C} | *c_omitted"}
    folder.with_codes32("d.npy", "d.npy", add_c);
    names(&folder, WITH_C, "c_added_last", false);

    folder.replay("--arch a100 --dtype fp16 --c c.npy a.npy b.npy", "d.npy");
    folder.with_codes32("d.npy", "d.npy", add_c);
    folder.with_codes32("c.npy", "twice.npy", add_c);
    caused! {folder, "
        {WITH_C} | c_twice | to the finished chain
        --arch a100 --dtype fp16 --c twice.npy a.npy b.npy => {WITH_C} | c_twice | before the products
    "}
}

#[test]
fn the_other_fp8() {
    let folder = folder("e4m3", [32, 32, 64]);
    // As PyTorch's are saved: codes without a type.
    for name in ["a.npy", "b.npy"] {
        let mut bytes = folder.read(name);
        let typed = |w: &[u8]| w == b"'<f1" || w == b"'|V1" || w == b"'<V1";
        if let Some(at) = bytes.windows(4).position(typed) {
            bytes[at + 1..at + 4].copy_from_slice(b"|u1");
            folder.write(name, bytes);
        }
    }
    for [a, b] in rows! {"
        e5m2 | e4m3
        e4m3 | e5m2
        e5m2 | e5m2
    "}
    {
        caused! {folder, "--arch h100 --dtype {a} --dtype-b {b} a.npy b.npy
        => --arch h100 --dtype e4m3 a.npy b.npy d.npy | *formats | e5m2"}
    }
}

#[test]
fn d_rounded_otherwise() {
    let folder = folder("bf16", [32, 32, 64]);
    let product = "--arch h100 --dtype bf16 a.npy b.npy";
    folder.replay(product, "d.npy");
    let high = |code: &u32| ((code >> 16) as u16).to_le_bytes();
    let cut = folder.codes32("d.npy").iter().flat_map(high).collect();
    folder.save("d.npy", &Npy::new("<V2", &[32, 32], cut));
    caused! {folder, "{product} d.npy | rounding | RZ"}
}

#[test]
fn another_unit() {
    let folder = folder("fp16", [32, 32, 96]);
    caused! {folder, "
        --arch v100 --dtype fp16 a.npy b.npy => {CHECK} | *other_model | volta mma
        # The accumulator of the same unit.
        --arch a100 --dtype fp16 --acc f16 a.npy b.npy => --arch a100 --dtype fp16 --d-dtype fp16 a.npy b.npy d.npy
            | *other_model | ampere mma (-> fp16)
        # A chain of multiply-adds, as a unit without tensor cores has it: so has every NVIDIA GPU beside them.
        --arch ieee-fma --dtype fp16 a.npy b.npy => {CHECK} | *other_model | ampere ffma
    "}
}

#[test]
fn a_batch_and_policies_and_names_that_a_shell_would_split() {
    let folder = Folder::new();
    folder.generate("a fp16 5:normal:3x16x16 | b fp16 5:normal:3x16x16");
    caused! {folder, "--arch a100 --dtype fp16 --transpose-b a.npy b.npy => {CHECK} --nan any --zero any | *b_transposed"}
    let command = causes(&folder, &format!("{CHECK} --nan any --zero any"))[0]["command"].clone();
    assert_eq!(
        command,
        "tcverify check --arch a100 --dtype fp16 --nan any --zero any --transpose-b a.npy b.npy d.npy"
    );
}

#[test]
fn a_cause_is_the_same_whatever_computes_it() {
    let folder = folder("fp16", [40, 40, 40]);
    folder.replay("--arch v100 --dtype fp16 a.npy b.npy", "d.npy");
    let run =
        |rest: &str| folder.differing(&format!("check {CHECK} --json - {rest}"))["causes"].clone();
    let first = run("");
    for rest in ["--threads 1", "--threads 3", "--engine exact"] {
        assert_eq!(run(rest), first, "{rest}");
    }
}

/// From part of D alone; its elements are tested, and no others claimed.
#[test]
fn a_sample_finds_the_unit_too() {
    let folder = folder("fp16", [32, 32, 96]);
    caused! {folder, "--arch v100 --dtype fp16 a.npy b.npy => {CHECK} --sample 100 --seed 1 | *other_model"}
}
