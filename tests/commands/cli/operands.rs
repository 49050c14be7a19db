//! Shapes: transposition, C, batches, and B of another format.

use serde_json::json;

use crate::support::{Folder, Npy, claims, floats, halves, holds, table, words};

const CHECK: &str = "check --arch ampere --dtype fp16 --quiet";

/// A is 2x3, B 3x2, D their product; `at` and `bt` are stored the other way round.
fn folder() -> Folder {
    let folder = Folder::new();
    let array = |shape: &[usize], values: &[f32]| Npy::new("<f2", shape, halves(values));
    folder.save("a.npy", &array(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    folder.save("at.npy", &array(&[3, 2], &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]));
    folder.save("b.npy", &array(&[3, 2], &[1.0, 0.0, 0.0, 1.0, 2.0, 3.0]));
    folder.save("bt.npy", &array(&[2, 3], &[1.0, 0.0, 2.0, 0.0, 1.0, 3.0]));
    let d = floats(&[7.0, 11.0, 16.0, 23.0]);
    folder.save("d.npy", &Npy::new("<f4", &[2, 2], d));
    folder
}

#[test]
fn transposed_operands() {
    let folder = folder();
    for operands in words! {"
        a.npy b.npy | --transpose-a at.npy b.npy | --transpose-b a.npy bt.npy
        | --transpose-a --transpose-b at.npy bt.npy
    "}
    {
        folder.passes(&format!("{CHECK} {operands} d.npy"));
    }
    claims! {folder, "{CHECK} --transpose-a --transpose-b at.npy bt.npy d.npy --json - | 0
        | :rule.product.transpose_a = true | :rule.product.transpose_b = true | :rule.product.k = 3
        | :inputs.a.shape = [3, 2]"}
}

#[test]
fn a_hint_where_an_operand_would_fit_the_other_way_round() {
    let folder = folder();
    for (rows, columns) in [(2, 4), (4, 2), (4, 3), (3, 4)] {
        let array = Npy::new("<f2", &[rows, columns], halves(&vec![1.0; rows * columns]));
        folder.save(&format!("{rows}x{columns}.npy"), &array);
    }
    for (operands, hint) in table! {
        ("2x4.npy b.npy", "so K is 4 for A and 3 for B; A and B seem to be exchanged: name A first\n"),
        ("a.npy 4x3.npy", "; B would fit if transposed (see --transpose-b)\n"),
        ("2x4.npy bt.npy", "; A would fit if transposed (see --transpose-a)\n"),
        ("a.npy bt.npy", "; A or B would fit if transposed (see --transpose-a, "),
        // The hint holds if it was the option that was wrong.
        ("--transpose-b a.npy 3x4.npy", "; B would fit if transposed"),
        ("--transpose-b a.npy 3x4.npy", "B = 3x4.npy (transposed): "),
        ("--transpose-a a.npy 4x2.npy", "A = a.npy (transposed), B = 4x2.npy: "),
    } {
        let run = folder.tcverify(&format!("{CHECK} {operands} d.npy"));
        run.refuses(&["inner dimensions differ", hint]);
    }
}

#[test]
fn the_addend() {
    let folder = folder();
    let c = floats(&[1.0, -1.0, 0.5, 0.25]);
    let d = floats(&[8.0, 10.0, 16.5, 23.25]);
    folder.save("c.npy", &Npy::new("<f4", &[2, 2], c));
    folder.save("dc.npy", &Npy::new("<f4", &[2, 2], d));
    for (rest, code) in [
        ("--c c.npy a.npy b.npy dc.npy", 0),
        ("--c c.npy a.npy b.npy d.npy", 1),
        ("a.npy b.npy dc.npy", 1),
    ] {
        folder.tcverify(&format!("{CHECK} {rest}")).expect(code);
    }
}

#[test]
fn the_addend_has_the_accumulators_format() {
    let folder = folder();
    folder.f16("c.npy", &[2, 2], &[1.0; 4]);
    folder.f16("d.npy", &[2, 2], &[8.0, 12.0, 17.0, 24.0]);
    claims! {folder, "{CHECK} --acc f16 --c c.npy a.npy b.npy d.npy --json - | 0 | :inputs.c.format = fp16"}
    // A wider C is as good if every element is the same number; FP16 ones are FP32 ones too.
    folder.passes(&format!("{CHECK} --c c.npy a.npy b.npy d.npy"));
}

#[test]
fn batches() {
    let folder = Folder::new();
    let a: Vec<f32> = (0..12).map(|i| i as f32).collect();
    // Two by three products, each 1x2 by 2x1.
    folder.f16("a.npy", &[2, 3, 1, 2], &a);
    folder.f16("b.npy", &[2, 3, 2, 1], &[1.0; 12]);
    let sums: Vec<f32> = (0..6).map(|i| (4 * i + 1) as f32).collect();
    folder.f32("d.npy", &[2, 3, 1, 1], &sums);
    let check = format!("{CHECK} a.npy b.npy d.npy --json -");
    let report = folder.json(&check);
    let product = &report["rule"]["product"];
    assert_eq!(product["batch"], json!([2, 3]));
    assert_eq!(
        [&product["m"], &product["n"], &product["k"]],
        [&json!(1), &json!(1), &json!(2)]
    );

    // Two of them wrong, each in a matrix and so in a row and a column of its own.
    let mut wrong = sums;
    (wrong[1], wrong[5]) = (0.0, 0.0);
    folder.f32("d.npy", &[2, 3, 1, 1], &wrong);
    let report = folder.differing(&check);
    let comparison = &report["outcome"]["comparison"];
    holds! {comparison, "first.0.index = [0, 1, 0, 0] | first.1.index = [1, 2, 0, 0]"}
    for lines in ["rows", "columns"] {
        assert_eq!(comparison[lines], 6);
        assert_eq!(comparison[format!("{lines}_touched")], 2);
    }
}

#[test]
fn ragged_sizes() {
    for (m, n, k) in [(1, 1, 1), (33, 1, 17), (1, 35, 5), (37, 65, 1)] {
        let folder = Folder::new();
        folder.f16("a.npy", &[m, k], &vec![1.0; m * k]);
        folder.f16("b.npy", &[k, n], &vec![2.0; k * n]);
        let d = floats(&vec![2.0 * k as f32; m * n]);
        folder.save("d.npy", &Npy::new("<f4", &[m, n], d));
        folder.passes(&format!("{CHECK} a.npy b.npy d.npy"));
    }
}

#[test]
fn operands_of_two_formats() {
    let folder = Folder::new();
    // 1.5 as E5M2; 3 as E4M3, which as E5M2 would be 4.
    folder.save("a.npy", &Npy::new("<f1", &[1, 1], vec![0x3e]));
    folder.save("b.npy", &Npy::new("|V1", &[1, 1], vec![0x44]));
    folder.f32("d.npy", &[1, 1], &[4.5]);
    let check = "check --arch hopper --dtype e5m2 --dtype-b e4m3 a.npy b.npy d.npy --json -";
    let report = folder.json(check);
    assert_eq!(report["inputs"]["a"]["format"], "e5m2");
    assert_eq!(report["inputs"]["b"]["format"], "e4m3");
    assert_eq!(report["rule"]["model"]["arithmetic"]["a"], "e5m2");
    assert_eq!(report["rule"]["model"]["arithmetic"]["b"], "e4m3");
    folder.differs("check --arch hopper --dtype e5m2 a.npy b.npy d.npy -q");
}
