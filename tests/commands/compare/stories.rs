//! What people had when they asked why two results differ, and the line that answers each.

use super::{compare, made, says};
use crate::support::{Folder, Members, Npy, Says, claims, floats, halves, holds, words};

const A: &str = "generate generate:1:normal:116x116 --dtype fp16 --role a -o a.npy";
const B: &str = "generate generate:2:normal:116x128 --dtype fp16 --role b -o b.npy";

/// Two GPUs of one architecture, another tile of k: as in pytorch#105726.
fn two_tiles() -> Folder {
    let replay = "replay --arch a100 --dtype fp16 --d-dtype fp16 --schedule cutlass-sm80";
    made(&[
        A,
        B,
        &format!("{replay} --tile-k 32 a.npy b.npy -o d1.npy"),
        &format!("{replay} --tile-k 64 a.npy b.npy -o d2.npy"),
    ])
}

#[test]
fn another_order_on_the_same_unit() {
    let folder = two_tiles();
    let words = "d1.npy d2.npy a.npy b.npy --arch a100";
    let (text, found) = compare(&folder, words, 1);
    says(
        &text,
        &words! {"
            DIFFERENT, both explained  5 of 14,848 elements differ (0.0337 %), all by 1 ulp
            | the same arithmetic, but a different order of additions | so no single kernel is identified
            | of 5 differing elements the left has the correctly rounded sum in 1
            | the right in 2 (at most 3), neither in 2 | tcverify check --arch ampere
        "},
    );
    holds! {found, "verdict = different | explained = both | relation = order"}
    assert_eq!(found["wrong"], serde_json::Value::Null);
    assert_eq!(found["mismatch_count"], 5);
    folder.passes(&format!("compare {words} --accept explained"));
    // What it says of each side is so, and not of the other.
    for line in found.list("next").iter().take(2) {
        let check = line.as_str().unwrap().strip_prefix("tcverify ").unwrap();
        folder.passes(check);
        let other = if check.contains("d1.npy") {
            check.replace("d1.npy", "d2.npy")
        } else {
            check.replace("d2.npy", "d1.npy")
        };
        folder.differs(&other);
    }
}

/// One side multiplied its sums: no other order of additions.
#[test]
fn the_same_sums_finished_otherwise() {
    let replay = "replay --arch a100 --dtype fp16 a.npy b.npy";
    let folder = made(&[
        A,
        B,
        &format!("{replay} -o d1.npy"),
        &format!("{replay} --schedule plain --alpha 0.5 -o d2.npy"),
    ]);
    let words = "d1.npy d2.npy a.npy b.npy --arch a100 --dtype fp16";
    let (text, found) = compare(&folder, words, 1);
    assert_eq!(found["relation"], "epilogue");
    says(
        &text,
        &[
            "the same sums, which are finished otherwise: left one chain over K, right plain (alpha 0.5)",
        ],
    );
}

#[test]
fn two_results_alone() {
    let (text, found) = compare(&two_tiles(), "d1.npy d2.npy", 1);
    says(
        &text,
        &words! {"
            DIFFERENT  5 of 14,848 elements differ (0.0337 %), all by 1 ulp
            | 5 of 116 rows and 5 of 128 columns
            | Another order of additions or another unit gives such differences | Give A and B
        "},
    );
    assert_eq!(found["explained"], serde_json::Value::Null);
    let first = &found["differences"]["first"][0];
    assert_eq!(first["index"], serde_json::json!([3, 36]));
    assert!(first["left"].is_string() && first["reproduced"].is_null());
}

/// Ampere multiplies TF32 where an older GPU multiplies FP32.
#[test]
fn tf32_by_default() {
    let folder = made(&[
        "generate generate:1:normal:24x40 --dtype fp32 --role a -o a.npy",
        "generate generate:2:normal:40x24 --dtype fp32 --role b -o b.npy",
        "replay --arch a100 --dtype tf32 a.npy b.npy -o tf32.npy",
        "replay --arch v100 --dtype fp32 a.npy b.npy -o fp32.npy",
    ]);
    let words = "tf32.npy fp32.npy a.npy b.npy --arch1 a100 --arch2 v100";
    let (text, found) = compare(&folder, words, 1);
    says(&text, &["DIFFERENT, both explained", "ampere mma", "volta"]);
    holds! {found, "left.by.arithmetic.a = tf32 | right.by.arithmetic.a = fp32"}
    // Of the operands as they are, and not of what TF32 leaves of them.
    let farthest = found["correctly_rounded"].list("farthest");
    assert!(
        farthest[0].as_u64() > Some(100) && farthest[1].as_u64() < Some(100),
        "{farthest:?}"
    );
}

/// A processor's order that no model has: the GPU's result is explained, and the other is not called wrong.
#[test]
#[ignore = "long"]
fn an_order_that_nothing_has() {
    let folder = made(&[
        A,
        B,
        "replay --arch h100 --dtype fp16 a.npy b.npy -o gpu.npy",
        "replay --arch exact --dtype fp16 a.npy b.npy -o cpu.npy",
    ]);
    let (text, found) = compare(
        &folder,
        "gpu.npy cpu.npy a.npy b.npy --arch h100 --budget 20",
        1,
    );
    says(
        &text,
        &[
            "DIFFERENT, one explained  ",
            "nothing in the search gives it",
        ],
    );
    assert_eq!(found["explained"], "left");
    assert_eq!(found["wrong"], serde_json::Value::Null);
    let exact = &found["correctly_rounded"];
    assert_eq!(exact["rounded"][1], exact["elements"]);
}

/// cuBLAS's split nvjet kernels leave out the last k.
#[test]
#[ignore = "long"]
fn a_dropped_remainder_is_wrong() {
    let product = "--arch h100 --dtype fp16 a.npy b.npy";
    let kernel = "--kernel algo=66,stages=35,splitK=9,reduction=2";
    let folder = made(&[
        "generate generate:1:normal:3x8648 --dtype fp16 --role a -o a.npy",
        "generate generate:2:normal:8648x5 --dtype fp16 --role b -o b.npy",
        &format!("replay {product} {kernel} -o short.npy"),
        &format!("replay {product} {kernel} --set whole_remainder -o whole.npy"),
    ]);
    let words = "short.npy whole.npy a.npy b.npy --arch h100 --dtype fp16 --kernel1 algo=66,stages=35,splitK=9,reduction=2";
    let (text, found) = compare(&folder, words, 1);
    says(&text, &["left is wrong", "omits the last"]);
    assert_eq!(found["wrong"], "left");
}

/// One node of a fleet: a bit that is stuck in some elements.
#[test]
#[ignore = "long"]
fn a_faulty_unit_is_wrong() {
    let folder = made(&[
        A,
        B,
        "replay --arch h100 --dtype fp16 a.npy b.npy -o right.npy",
    ]);
    let mut bytes = folder.read("right.npy");
    let start = bytes.len() - 116 * 128 * 4;
    for (row, column) in [(3, 6), (11, 14), (19, 22), (27, 30), (35, 38), (43, 46)] {
        bytes[start + 4 * (row * 128 + column) + 1] ^= 0x20;
    }
    folder.write("left.npy", bytes);
    let (text, found) = compare(
        &folder,
        "left.npy right.npy a.npy b.npy --arch h100 --budget 20",
        1,
    );
    says(
        &text,
        &words! {"DIFFERENT, one explained, left is wrong  6 of 14,848 | differs"},
    );
    assert_eq!(
        (&found["explained"], &found["wrong"]),
        (&"right".into(), &"left".into())
    );
    assert!(!found["left"].list("causes").is_empty());
}

/// Padding rows differ because their inputs do.
#[test]
fn rows_of_padding() {
    let replay = "replay --arch h100 --dtype bf16";
    let folder = made(&[
        "generate generate:1:normal:16x64 --dtype bf16 --role a -o a1.npy",
        "generate generate:2:normal:64x32 --dtype bf16 --role b -o b.npy",
    ]);
    let mut padded = folder.read("a1.npy");
    let start = padded.len() - 16 * 64 * 2;
    padded[start + 2 * 64 * 2..].fill(0);
    folder.write("a2.npy", padded);
    folder.passes(&format!("{replay} a1.npy b.npy -o d1.npy"));
    folder.passes(&format!("{replay} a2.npy b.npy -o d2.npy"));
    let (text, _) = compare(&folder, "d1.npy d2.npy", 1);
    says(
        &text,
        &["14 of 16 rows differ in every element, the other 2 are equal"],
    );
    let words = "d1.npy d2.npy a1.npy b.npy --a2 a2.npy --arch h100 --accept explained";
    let (text, found) = compare(&folder, words, 1);
    says(
        &text,
        &["INPUTS DIFFER", "A differs between left and right: "],
    );
    assert_eq!(found["verdict"], "inputs_differ");
    assert_eq!(found["wrong"], serde_json::Value::Null);
}

/// Another checkpoint: the results follow from their own inputs, by the same arithmetic.
#[test]
#[ignore = "long"]
fn another_checkpoint() {
    let replay = "replay --arch a100 --dtype fp16";
    let folder = made(&[
        A,
        B,
        "generate generate:3:normal:116x128 --dtype fp16 --role b -o b2.npy",
        &format!("{replay} a.npy b.npy -o d1.npy"),
        &format!("{replay} a.npy b2.npy -o d2.npy"),
    ]);
    let (text, found) = compare(
        &folder,
        "d1.npy d2.npy a.npy b.npy --b2 b2.npy --arch a100",
        1,
    );
    says(
        &text,
        &[
            "INPUTS DIFFER, both explained",
            "the same arithmetic in the same order",
            "B differs between left and right: ",
        ],
    );
    assert_eq!(found["relation"], "same");
    // With the left's B alone, the right one is explained by nothing.
    let (_, found) = compare(
        &folder,
        "d1.npy d2.npy a.npy b.npy --arch a100 --budget 20",
        1,
    );
    assert_eq!(
        (&found["verdict"], &found["explained"]),
        (&"different".into(), &"left".into())
    );
}

/// Equal up to a row, and not from there on.
#[test]
fn a_boundary_at_row_97() {
    let folder = Folder::new();
    let numbers = |from: usize| -> Vec<f32> {
        let one = |i: usize| 1.0 + i as f32 / 7168.0 + if i >= from * 32 { 1e-6 } else { 0.0 };
        (0..224 * 32).map(one).collect()
    };
    for (name, from) in [("d1.npy", 224), ("d2.npy", 97)] {
        folder.save(name, &Npy::new("<f4", &[224, 32], floats(&numbers(from))));
    }
    let (text, _) = compare(&folder, "d1.npy d2.npy", 1);
    says(
        &text,
        &["Rows 0 to 96 are equal; from row 97 on, 127 of 127 rows differ."],
    );
}

/// The same rows, computed alone and in a larger batch.
#[test]
fn the_size_of_the_batch_changes_the_result() {
    let folder = made(&[
        "generate generate:1:normal:64x512 --dtype bf16 --role a -o a64.npy",
        "generate generate:2:normal:512x24 --dtype bf16 --role b -o b.npy",
    ]);
    let all = folder.read("a64.npy");
    let rows = all[all.len() - 64 * 512 * 2..][..8 * 512 * 2].to_vec();
    folder.save("a8.npy", &Npy::new("<V2", &[8, 512], rows));
    let replay = "replay --arch h100 --dtype bf16";
    folder.passes(&format!("{replay} a8.npy b.npy -o d8.npy"));
    let split = "--schedule cutlass-splitk-parallel --split-k 2";
    claims! {folder, "
        {replay} {split} a64.npy b.npy -o d64.npy | 0
        compare d8.npy d64.npy | refused | 8x24 | 64x24 | --rows2 0:8
    "}
    let words = "d8.npy d64.npy --rows2 0:8 a8.npy b.npy --a2 a64.npy --arch h100";
    let (text, found) = compare(&folder, words, 1);
    says(
        &text,
        &words! {"
            both explained | one chain over K | a different order of additions
            | 0:8 of the left and 0:8 of the right are compared
        "},
    );
    assert_eq!(found["rows"], serde_json::json!([[0, 8], [0, 8]]));
}

/// What training and rollout want.
#[test]
fn equal_results() {
    let folder = made(&[A, B, "replay --arch a100 --dtype fp16 a.npy b.npy -o d.npy"]);
    let (text, found) = compare(&folder, "d.npy d.npy a.npy b.npy", 0);
    says(
        &text,
        &[
            "EQUAL  all 14,848 elements have the same bits",
            "both have the SHA-256 ",
        ],
    );
    assert_eq!(
        (&found["verdict"], &found["mismatch_count"]),
        (&"equal".into(), &0.into())
    );
}

/// NaN against infinity, and results whose values are equal.
#[test]
fn classes_of_differences() {
    let folder = Folder::new();
    let save = |name: &str, numbers: &[f32]| {
        folder.save(name, &Npy::new("<f2", &[3, 3], halves(numbers)));
    };
    save(
        "cpu.npy",
        &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, f32::NAN, 0.0, -0.0],
    );
    save(
        "gpu.npy",
        &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, f32::INFINITY, 0.0, -0.0],
    );
    save(
        "zero.npy",
        &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, f32::NAN, -0.0, 0.0],
    );
    let (text, _) = compare(&folder, "cpu.npy gpu.npy", 1);
    says(
        &text,
        &["1 of 9 elements differ", "1 NaN against a number", "[2, 0]"],
    );
    let (text, _) = compare(&folder, "cpu.npy zero.npy", 1);
    says(
        &text,
        &["The values are equal; only the signs of zeros differ."],
    );
}

/// Two tensor cores, one of them with split K. Kernels of CUDA cores with orders of their own give a D of few bits, too: they
/// are not what is named, and what other pairs leave open is not told as a fact.
#[test]
#[ignore = "long"]
fn likely_kernels_are_named_first() {
    let product = "--dtype fp16 a.npy b.npy -q -o";
    let split = "--schedule cublas-workspace-f32 --split-k 4";
    let folder = made(&[
        "generate generate:1:normal:32x512 --dtype fp16 --role a -q -o a.npy",
        "generate generate:2:normal:512x32 --dtype fp16 --role b -q -o b.npy",
        &format!("replay --arch h100 --instruction mma {product} h.npy"),
        &format!("replay --arch a100 {split} {product} s.npy"),
        &format!("replay --arch h100 --instruction mma --d-dtype fp16 {product} h16.npy"),
        &format!("replay --arch a100 {split} --d-dtype fp16 {product} s16.npy"),
    ]);
    let is_tensor_core = |found: &serde_json::Value| {
        ["left", "right"].map(|side| found[side]["by"]["arithmetic"]["step"]["kind"].clone())
            == ["fused", "fused"]
    };
    // With all bits of the sums there is one pair.
    let (text, found) = compare(&folder, "h.npy s.npy a.npy b.npy", 1);
    says(
        &text,
        &[
            "left hopper mma by one chain over K, right ampere mma by ",
            "different units and a different order",
        ],
    );
    assert!(!text.stdout.contains("may be") && is_tensor_core(&found));
    let (text, found) = compare(&folder, "h16.npy s16.npy a.npy b.npy", 1);
    says(
        &text,
        &words! {"may be the same arithmetic | It may be another unit as well"},
    );
    assert!(is_tensor_core(&found), "{}", found["right"]["by"]);
    // A chain of a CUDA core fits the right one, too, and is only listed.
    let others = found["right"]["searched"]["others"].to_string();
    others.says("a chain of FP32 multiply-adds under");
}
