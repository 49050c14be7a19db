//! Products whose operands are taken apart, and trees: both engines give the same bits, and what no rule describes is
//! refused in a sentence.

use crate::support::{Folder, claims, listed, rows, words};

/// Operands of one class, `a.npy` and `b.npy`.
fn operands(dtype: &str, class: &str, [m, n, k]: [usize; 3]) -> Folder {
    let folder = Folder::new();
    for (role, seed, rows, columns) in [("a", 5, m, k), ("b", 6, k, n)] {
        let spec = format!("generate:{seed}:{class}:{rows}x{columns}");
        claims! {folder, "generate {spec} --dtype {dtype} --role {role} -q -o {role}.npy | 0"}
    }
    folder
}

/// D by both engines.
fn both(folder: &Folder, options: &str) -> [Vec<u8>; 2] {
    ["exact", "fast"].map(|engine| {
        claims! {folder, "replay --engine {engine} {options} a.npy b.npy -q -o {engine}.npy | 0"}
        folder.read(&format!("{engine}.npy"))
    })
}

const TERMS: [&str; 8] = [
    "--arch b200 --schedule cutlass-bf16x9",
    "--arch b200 --schedule cutlass-bf16x9-4-bands",
    "--arch b200 --schedule cutlass-bf16x9-3-bands",
    "--arch h100 --schedule xla-bf16x9 --tile-k 64",
    "--arch a100 --schedule triton-bf16x3",
    "--arch h100 --schedule triton-bf16x6",
    "--arch a100 --schedule triton-tf32x3-second",
    "--arch h100 --schedule triton-tf32x3-third",
];

#[test]
fn both_engines_take_fp32_apart_alike() {
    let mut seen = std::collections::BTreeSet::new();
    for class in ["normal", "wide", "special", "subnormal"] {
        for shape in [[40, 70, 96], [5, 3, 33], [64, 9, 7]] {
            let folder = operands("fp32", class, shape);
            for options in TERMS {
                let [exact, fast] = both(&folder, &format!("--dtype fp32 {options}"));
                assert!(exact == fast, "{options} {class} {shape:?}");
                seen.insert(exact);
            }
        }
    }
    // Schedules are told apart, but for the smallest products and subnormal operands.
    assert!(seen.len() > 40, "{}", seen.len());
}

#[test]
fn both_engines_take_fp64_apart_alike() {
    let mut seen = Vec::new();
    for class in ["normal", "align"] {
        for shape in [[40, 70, 96], [5, 3, 33]] {
            let folder = operands("fp64", class, shape);
            for slices in [5, 7, 10, 16] {
                let options = format!(
                    "--arch h100 --dtype fp64 --schedule cublasdx-fp64-slices --slices {slices} --alpha 1.1"
                );
                let [exact, fast] = both(&folder, &options);
                assert!(exact == fast, "{options} {class} {shape:?}");
                seen.push(exact);
            }
        }
    }
    seen.sort();
    seen.dedup();
    assert!(seen.len() > 8, "{}", seen.len());
}

#[test]
fn both_engines_add_trees_alike() {
    for (dtype, shape) in [("bf16", [33, 20, 768]), ("fp16", [5, 70, 1152])] {
        let folder = operands(dtype, "normal", shape);
        let mut seen = Vec::new();
        for schedule in words! {"
            sglang-tp-inv | sglang-tp-inv-fp16 | sglang-tp-inv-fp32 | rl-kernel-det-gemm
            | rl-kernel-det-gemm-scalar
        "}
        {
            let options =
                format!("--arch h100 --dtype {dtype} --schedule {schedule} --d-dtype {dtype}");
            let [exact, fast] = both(&folder, &options);
            assert!(exact == fast, "{options}");
            assert!(!seen.contains(&exact), "{schedule} is told apart");
            seen.push(exact);
        }
    }
}

#[test]
fn what_no_rule_describes_is_refused() {
    let folder = operands("fp64", "normal", [4, 3, 40]);
    let fp64 = "--arch h100 --dtype fp64 --schedule cublas-fp64-slices";
    let refuses = |folder: &Folder, options: &str, words: &[&str]| {
        let run = folder.tcverify(&format!("replay {options} a.npy b.npy -o d.npy"));
        run.refuses(words);
        assert!(!folder.path("d.npy").exists());
    };
    refuses(&folder, fp64, &["number of slices is missing", "--slices"]);
    for [given, said] in rows! {"
        {fp64} --slices 17 | 2 to 16
        {fp64} --slices 7 --tile-k 32 | no tiles
        {fp64} --slices 7 --alpha inf | finite
        {fp64} --slices 7 --d-dtype fp32 | D must be fp64
        --arch h100 --dtype fp64 --slices 7 | takes no FP64 operands apart
    "}
    {
        refuses(&folder, given, &listed(said));
    }
    let float = "--arch b200 --dtype fp64 --schedule cutlass-bf16x9";
    refuses(&folder, float, &["bf16 terms of fp32 operands", "fp64"]);
    claims! {folder, "explain {fp64} --slices 7 a.npy b.npy --at 0,0 | refused | no steps are shown"}

    let special = operands("fp64", "special", [4, 3, 40]);
    refuses(
        &special,
        &format!("{fp64} --slices 7"),
        &["an infinity or a NaN at ["],
    );

    let short = operands("bf16", "normal", [4, 3, 40]);
    let tree = "--arch h100 --dtype bf16 --schedule sglang-tp-inv";
    refuses(&short, tree, &["K is 40", "multiple of a leaf of 128"]);

    let narrow = operands("fp32", "normal", [4, 3, 40]);
    let other = "--arch mi300x --dtype fp32 --schedule cutlass-bf16x9";
    refuses(&narrow, other, &["factor of the accumulator"]);
}
