//! What people had when they asked why two results differ, and the line that answers each.

use super::{compared, made_by};
use crate::support::{Folder, Members, Npy, Says, claims, table};

const A: &str = "generate generate:1:normal:116x116 --dtype fp16 --role a -o a.npy";
const B: &str = "generate generate:2:normal:116x128 --dtype fp16 --role b -o b.npy";

/// Two GPUs of one architecture, another tile of k: as in pytorch#105726.
fn two_tiles() -> Folder {
    let replay = "replay --arch a100 --dtype fp16 --d-dtype fp16 --schedule cutlass-sm80";
    made_by! {"
        {A}
        {B}
        {replay} --tile-k 32 a.npy b.npy -o d1.npy
        {replay} --tile-k 64 a.npy b.npy -o d2.npy
    "}
}

#[test]
fn another_order_on_the_same_unit() {
    let folder = two_tiles();
    let words = "d1.npy d2.npy a.npy b.npy --arch a100";
    let found = compared! {folder, "{words} | 1
        | DIFFERENT, both explained  5 of 14,848 elements differ (0.0337 %), all by 1 ulp
        | the same arithmetic, but a different order of additions | so no single kernel is identified
        | of 5 differing elements the left has the correctly rounded sum in 1
        | the right in 2 (at most 3), neither in 2 | tcverify check --arch ampere
        | :verdict = different | :explained = both | :relation = order | :wrong = null | :mismatch_count = 5"};
    claims! {folder, "compare {words} --accept explained | 0"}
    // What it says of each side is so, and not of the other.
    let next = found.list("next");
    for (line, own, other) in
        table! {(&next[0], "d1.npy", "d2.npy"), (&next[1], "d2.npy", "d1.npy")}
    {
        let check = line.as_str().unwrap().strip_prefix("tcverify ").unwrap();
        folder.passes(check).command.says(own);
        folder.differs(&check.replace(own, other));
    }
}

/// One side multiplied its sums: no other order of additions.
#[test]
fn the_same_sums_finished_otherwise() {
    let folder = made_by! {"
        {A}
        {B}
        replay --arch a100 --dtype fp16 a.npy b.npy -o d1.npy
        replay --arch a100 --dtype fp16 a.npy b.npy --schedule plain --alpha 0.5 -o d2.npy
    "};
    compared! {folder, "d1.npy d2.npy a.npy b.npy --arch a100 --dtype fp16 | 1 | :relation = epilogue
    | the same sums, which are finished otherwise: left one chain over K, right plain (alpha 0.5)"};
}

#[test]
fn two_results_alone() {
    let found = compared! {two_tiles(), "d1.npy d2.npy | 1
        | DIFFERENT  5 of 14,848 elements differ (0.0337 %), all by 1 ulp | 5 of 116 rows and 5 of 128 columns
        | Another order of additions or another unit gives such differences | Give A and B
        | :explained = null | :differences.first.0.index = [3, 36] | :differences.first.0.reproduced = null"};
    assert!(found["differences"]["first"][0]["left"].is_string());
}

/// Ampere multiplies TF32 where an older GPU multiplies FP32.
#[test]
fn tf32_by_default() {
    let folder = made_by! {"
        generate generate:1:normal:24x40 --dtype fp32 --role a -o a.npy
        generate generate:2:normal:40x24 --dtype fp32 --role b -o b.npy
        replay --arch a100 --dtype tf32 a.npy b.npy -o tf32.npy
        replay --arch v100 --dtype fp32 a.npy b.npy -o fp32.npy
    "};
    let found = compared! {folder, "tf32.npy fp32.npy a.npy b.npy --arch1 a100 --arch2 v100 | 1
        | DIFFERENT, both explained | ampere mma | volta
        | :left.by.arithmetic.a = tf32 | :right.by.arithmetic.a = fp32"};
    // Of the operands as they are, and not of what TF32 leaves of them.
    let farthest = found["correctly_rounded"].list("farthest");
    let [left, right] = [0, 1].map(|i| farthest[i].as_u64());
    assert!(left > Some(100) && right < Some(100), "{farthest:?}");
}

/// A processor's order that no model has: the GPU's result is explained, and the other is not called wrong.
#[test]
#[ignore = "long"]
fn an_order_that_nothing_has() {
    let folder = made_by! {"
        {A}
        {B}
        replay --arch h100 --dtype fp16 a.npy b.npy -o gpu.npy
        replay --arch exact --dtype fp16 a.npy b.npy -o cpu.npy
    "};
    let found = compared! {folder, "gpu.npy cpu.npy a.npy b.npy --arch h100 --budget 20 | 1
    | DIFFERENT, one explained \\_ | nothing in the search gives it | :explained = left | :wrong = null"};
    let exact = &found["correctly_rounded"];
    assert_eq!(exact["rounded"][1], exact["elements"]);
}

/// cuBLAS's split nvjet kernels leave out the last k.
#[test]
#[ignore = "long"]
fn a_dropped_remainder_is_wrong() {
    let kernel = "algo=66,stages=35,splitK=9,reduction=2";
    let folder = made_by! {"
        generate generate:1:normal:3x8648 --dtype fp16 --role a -o a.npy
        generate generate:2:normal:8648x5 --dtype fp16 --role b -o b.npy
        replay --arch h100 --dtype fp16 a.npy b.npy --kernel {kernel} -o short.npy
        replay --arch h100 --dtype fp16 a.npy b.npy --kernel {kernel} --set whole_remainder -o whole.npy
    "};
    compared! {folder, "short.npy whole.npy a.npy b.npy --arch h100 --dtype fp16 --kernel1 {kernel} | 1
    | left is wrong | omits the last | :wrong = left"};
}

/// One node of a fleet: a bit that is stuck in some elements.
#[test]
#[ignore = "long"]
fn a_faulty_unit_is_wrong() {
    let folder = made_by! {"
        {A}
        {B}
        replay --arch h100 --dtype fp16 a.npy b.npy -o right.npy
    "};
    folder.with_codes32("right.npy", "left.npy", |d| {
        for (row, column) in [(3, 6), (11, 14), (19, 22), (27, 30), (35, 38), (43, 46)] {
            d[row * 128 + column] ^= 0x2000;
        }
    });
    let found = compared! {folder, "left.npy right.npy a.npy b.npy --arch h100 --budget 20 | 1
    | DIFFERENT, one explained, left is wrong  6 of 14,848 | differs | :explained = right | :wrong = left"};
    assert!(!found["left"].list("causes").is_empty());
}

/// Padding rows differ because their inputs do.
#[test]
fn rows_of_padding() {
    let folder = Folder::new();
    folder.generate("a bf16 1:normal:16x64 a1.npy | b bf16 2:normal:64x32");
    folder.with_codes16("a1.npy", "a2.npy", |a| a[2 * 64..].fill(0));
    folder.replay("--arch h100 --dtype bf16 a1.npy b.npy", "d1.npy");
    folder.replay("--arch h100 --dtype bf16 a2.npy b.npy", "d2.npy");
    compared! {folder, "
        d1.npy d2.npy | 1 | 14 of 16 rows differ in every element, the other 2 are equal
        d1.npy d2.npy a1.npy b.npy --a2 a2.npy --arch h100 --accept explained | 1
            | INPUTS DIFFER | A differs between left and right: | :verdict = inputs_differ | :wrong = null
    "};
}

/// Another checkpoint: the results follow from their own inputs, by the same arithmetic.
#[test]
#[ignore = "long"]
fn another_checkpoint() {
    let folder = made_by! {"
        {A}
        {B}
        generate generate:3:normal:116x128 --dtype fp16 --role b -o b2.npy
        replay --arch a100 --dtype fp16 a.npy b.npy -o d1.npy
        replay --arch a100 --dtype fp16 a.npy b2.npy -o d2.npy
    "};
    compared! {folder, "
        d1.npy d2.npy a.npy b.npy --b2 b2.npy --arch a100 | 1 | INPUTS DIFFER, both explained
            | the same arithmetic in the same order | B differs between left and right: | :relation = same
        # With the left's B alone, the right one is explained by nothing.
        d1.npy d2.npy a.npy b.npy --arch a100 --budget 20 | 1 | :verdict = different | :explained = left
    "};
}

/// Equal up to a row, and not from there on.
#[test]
fn a_boundary_at_row_97() {
    let folder = Folder::new();
    for (name, from) in [("d1.npy", 224), ("d2.npy", 97)] {
        let one = |i: usize| 1.0 + i as f32 / 7168.0 + if i >= from * 32 { 1e-6 } else { 0.0 };
        let numbers: Vec<f32> = (0..224 * 32).map(one).collect();
        folder.f32(name, &[224, 32], &numbers);
    }
    compared! {folder, "d1.npy d2.npy | 1 | Rows 0 to 96 are equal; from row 97 on, 127 of 127 rows differ."};
}

/// The same rows, computed alone and in a larger batch.
#[test]
fn the_size_of_the_batch_changes_the_result() {
    let folder = Folder::new();
    folder.generate("a bf16 1:normal:64x512 a64.npy | b bf16 2:normal:512x24");
    let rows = folder.payload("a64.npy")[..8 * 512 * 2].to_vec();
    folder.save("a8.npy", &Npy::new("<V2", &[8, 512], rows));
    let replay = "replay --arch h100 --dtype bf16";
    claims! {folder, "
        {replay} a8.npy b.npy -o d8.npy | 0
        {replay} --schedule cutlass-splitk-parallel --split-k 2 a64.npy b.npy -o d64.npy | 0
        compare d8.npy d64.npy | refused | 8x24 | 64x24 | --rows2 0:8
    "}
    compared! {folder, "d8.npy d64.npy --rows2 0:8 a8.npy b.npy --a2 a64.npy --arch h100 | 1
        | both explained | one chain over K | a different order of additions
        | 0:8 of the left and 0:8 of the right are compared | :rows = [[0, 8], [0, 8]]"};
}

/// What training and rollout want.
#[test]
fn equal_results() {
    let folder = made_by! {"
        {A}
        {B}
        replay --arch a100 --dtype fp16 a.npy b.npy -o d.npy
    "};
    compared! {folder, "d.npy d.npy a.npy b.npy | 0 | EQUAL  all 14,848 elements have the same bits
    | both have the SHA-256 | :verdict = equal | :mismatch_count = 0"};
}

/// NaN against infinity, and results whose values are equal.
#[test]
fn classes_of_differences() {
    let folder = Folder::new();
    for (name, last) in table! {
        ("cpu.npy", [f32::NAN, 0.0, -0.0]),
        ("gpu.npy", [f32::INFINITY, 0.0, -0.0]),
        ("zero.npy", [f32::NAN, -0.0, 0.0]),
    } {
        let numbers = [&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0][..], &last].concat();
        folder.f16(name, &[3, 3], &numbers);
    }
    compared! {folder, "
        cpu.npy gpu.npy | 1 | 1 of 9 elements differ | 1 NaN against a number | [2, 0]
        cpu.npy zero.npy | 1 | The values are equal; only the signs of zeros differ.
    "};
}

/// Two tensor cores, one of them with split K. Kernels of CUDA cores with orders of their own give a D of few bits, too: they
/// are not what is named, and what other pairs leave open is not told as a fact.
#[test]
#[ignore = "long"]
fn likely_kernels_are_named_first() {
    let folder = made_by! {"
        generate generate:1:normal:32x512 --dtype fp16 --role a -q -o a.npy
        generate generate:2:normal:512x32 --dtype fp16 --role b -q -o b.npy
        replay --arch h100 --instruction mma --dtype fp16 a.npy b.npy -q -o h.npy
        replay --arch a100 --schedule cublas-workspace-f32 --split-k 4 --dtype fp16 a.npy b.npy -q -o s.npy
        replay --arch h100 --instruction mma --d-dtype fp16 --dtype fp16 a.npy b.npy -q -o h16.npy
        replay --arch a100 --schedule cublas-workspace-f32 --split-k 4 --d-dtype fp16 --dtype fp16 a.npy b.npy -q -o s16.npy
    "};
    let found = compared! {folder, "
        # With all bits of the sums there is one pair.
        h.npy s.npy a.npy b.npy | 1 | left hopper mma by one chain over K, right ampere mma by
            | different units and a different order | !may be
            | :left.by.arithmetic.step.kind = fused | :right.by.arithmetic.step.kind = fused
        h16.npy s16.npy a.npy b.npy | 1 | may be the same arithmetic | It may be another unit as well
            | :left.by.arithmetic.step.kind = fused | :right.by.arithmetic.step.kind = fused
    "};
    // A chain of a CUDA core fits the right one, too, and is only listed.
    let others = found["right"]["searched"]["others"].to_string();
    others.says("a chain of FP32 multiply-adds under");
}
