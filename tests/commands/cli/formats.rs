//! Operand formats, each on an architecture that has it, through the instruction it defaults to.

use serde_json::Value;

use crate::support::{Folder, Npy, Says, claims, doubles, floats, halves, holds};

/// A report on 1.5 * 2 = 3, however that is stored.
fn report(arguments: &str, a: Npy, b: Npy, d: Npy) -> Value {
    let folder = Folder::new();
    folder.save("a.npy", &a);
    folder.save("b.npy", &b);
    folder.save("d.npy", &d);
    folder.json(&format!("check {arguments} a.npy b.npy d.npy --json -"))
}

fn one(descr: &str, code: &[u8]) -> Npy {
    Npy::new(descr, &[1, 1], code.to_vec())
}

fn three() -> Npy {
    one("<f4", &3.0_f32.to_le_bytes())
}

#[test]
fn narrow_formats_in_whatever_holds_a_byte() {
    // E4M3, E5M2, E3M2, E2M3, E2M1: the codes of 1.5 and 2.
    for (dtype, [a, b]) in [
        ("e4m3", [0x3c, 0x40]),
        ("e5m2", [0x3e, 0x40]),
        ("e3m2", [0x0e, 0x10]),
        ("e2m3", [0x0c, 0x10]),
        ("e2m1", [0x03, 0x04]),
    ] {
        for descr in ["|u1", "|i1", "|V1", "<V1"] {
            for arch in ["rtx-blackwell", "b200"] {
                let arguments = format!("--arch {arch} --dtype {dtype}");
                let report = report(&arguments, one(descr, &[a]), one(descr, &[b]), three());
                assert_eq!(report["inputs"]["a"]["format"], dtype);
            }
        }
    }
}

#[test]
fn narrow_formats_may_be_mixed_on_blackwell() {
    let arguments = "--arch rtx5090 --dtype e2m1 --dtype-b e5m2";
    report(arguments, one("|u1", &[0x03]), one("|u1", &[0x40]), three());
}

#[test]
fn codes_too_large_for_their_format_are_refused() {
    let folder = Folder::new();
    folder.save("a.npy", &Npy::new("|u1", &[1, 2], vec![0x0f, 0x13]));
    folder.save("b.npy", &Npy::new("|u1", &[2, 1], vec![0x01, 0x01]));
    claims! {folder, "replay --arch rtx-blackwell --dtype e2m1 a.npy b.npy -o d.npy | refused | a.npy
    | [0, 1] | 0x13 | e2m1 | 4 bits"}
}

#[test]
fn fp64() {
    let array = |shape: &[usize], values: &[f64]| Npy::new("<f8", shape, doubles(values));
    for arch in ["a100", "h100"] {
        let report = report(
            &format!("--arch {arch} --dtype fp64"),
            array(&[1, 2], &[0.1, 1.0]),
            array(&[2, 1], &[10.0, -1.0]),
            // One fused multiply-add a step: 0.1 * 10 is rounded to 1 before 1 is taken away.
            array(&[1, 1], &[0.0]),
        );
        holds! {report, "rule.model.instruction = mma | reproduced.format = fp64"}
    }
}

#[test]
fn distances_between_doubles_are_exact() {
    let folder = Folder::new();
    let array = |value: f64| Npy::new("<f8", &[1, 1], doubles(&[value]));
    folder.save("a.npy", &array(f64::MAX));
    folder.save("b.npy", &array(1.0));
    folder.save("d.npy", &array(-f64::MAX));
    let run = folder.tcverify("check --arch a100 --dtype fp64 a.npy b.npy d.npy --json -");
    let run = run.expect(1);
    // Too large for a 64-bit integer, let alone a double.
    let ulp = -2 * i128::from(f64::MAX.to_bits());
    run.says(&format!("\"ulp\": {ulp},"));
}

#[test]
fn the_default_instruction_is_the_architectures_own() {
    let halves = || one("<f2", &halves(&[1.5])[..]);
    let two = || one("<f2", &crate::support::halves(&[2.0]));
    let singles = |value: f32| one("<f4", &floats(&[value]));
    for (arguments, instruction) in [
        ("--arch volta --dtype fp16", "mma"),
        ("--arch turing --dtype fp16", "mma"),
        ("--arch ampere --dtype fp16", "mma"),
        ("--arch ada --dtype fp16", "mma"),
        ("--arch hopper --dtype fp16", "wgmma"),
        ("--arch hopper --dtype fp16 --instruction mma", "mma"),
        ("--arch blackwell --dtype fp16", "tcgen05"),
        ("--arch blackwell --dtype fp16 --instruction mma", "mma"),
        ("--arch rtx-blackwell --dtype fp16", "mma"),
    ] {
        let report = report(arguments, halves(), two(), three());
        holds! {report, "rule.model.instruction = {instruction}", "{arguments}"}
    }
    for (arguments, instruction) in [
        ("--arch ada --dtype e4m3", "mma"),
        ("--arch hopper --dtype e4m3", "wgmma"),
        ("--arch hopper --dtype e4m3 --instruction mma", "mma"),
        ("--arch blackwell --dtype e5m2", "tcgen05"),
        ("--arch ampere --dtype tf32", "mma"),
        ("--arch hopper --dtype bf16", "wgmma"),
    ] {
        let report = report(arguments, singles(1.5), singles(2.0), three());
        holds! {report, "rule.model.instruction = {instruction}", "{arguments}"}
    }
}
