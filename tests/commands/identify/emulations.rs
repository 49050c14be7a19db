//! FP32 and FP64 products whose operands a kernel took apart: the search names how.

use serde_json::Value;

use crate::support::{Folder, Members, claims};

/// A and B of a format, and D of a product of them.
fn captured(dtype: &str, product: &str) -> Folder {
    let folder = Folder::new();
    for (role, seed, shape) in [("a", 5, "24x96"), ("b", 6, "96x20")] {
        let spec = format!("generate:{seed}:normal:{shape}");
        claims! {folder, "generate {spec} --dtype {dtype} --role {role} -q -o {role}.npy | 0"}
    }
    claims! {folder, "replay --dtype {dtype} {product} a.npy b.npy -q -o d.npy | 0"}
    folder
}

/// What fits, by the report.
fn fits(folder: &Folder, dtype: &str) -> Vec<Value> {
    let command = format!("identify --dtype {dtype} --json found.json a.npy b.npy d.npy");
    let run = folder.tcverify(&command);
    assert!(matches!(run.code, Some(0 | 1)), "{}", run.stderr);
    let report: Value = folder.document("found.json");
    report.list("fits").clone()
}

#[test]
fn the_schedule_of_an_emulation_is_named() {
    for (dtype, schedule, product) in [
        ("fp32", "cutlass-bf16x9", "--arch b200"),
        ("fp32", "cutlass-bf16x9-3-bands", "--arch b200"),
        ("fp32", "xla-bf16x9", "--arch h100 --tile-k 64"),
        ("fp32", "triton-bf16x6", "--arch h100 --tile-k 32"),
        ("fp32", "triton-tf32x3-second", "--arch a100 --tile-k 32"),
        ("fp32", "triton-tf32x3-third", "--arch h100 --tile-k 16"),
        ("fp64", "cublas-fp64-slices", "--arch b200 --slices 6"),
    ] {
        let folder = captured(dtype, &format!("{product} --schedule {schedule}"));
        let found = fits(&folder, dtype);
        let same = |fit: &&Value| fit["schedule"]["name"] == schedule;
        let fit = found.iter().find(same);
        let fit = fit.unwrap_or_else(|| panic!("{product} {schedule}: {found:#?}"));
        assert_eq!(fit["rounded_to"], Value::Null, "{fit}");
        // What is printed judges D alike.
        let command = fit["names"][0].string("command");
        let words = command.strip_prefix("tcverify ").unwrap();
        folder.passes(words);
        // One wrong bit, and nothing fits.
        let mut d = folder.read("d.npy");
        *d.last_mut().unwrap() ^= 1;
        folder.write("d.npy", &d);
        assert!(fits(&folder, dtype).is_empty(), "{product} {schedule}");
    }
}

/// Terms of TF32 are found where operands are said to be TF32, too.
#[test]
fn numbers_that_are_read_as_tf32_are_taken_apart() {
    let folder = captured(
        "fp32",
        "--arch a100 --tile-k 32 --schedule triton-tf32x3-third",
    );
    let same = |fit: &Value| fit["schedule"]["name"] == "triton-tf32x3-third";
    assert!(fits(&folder, "tf32").iter().any(same));
}

/// A chain of multiply-adds is no emulation, and neither is named beside the other.
#[test]
fn a_plain_product_is_not_taken_for_an_emulation() {
    for dtype in ["fp32", "fp64"] {
        let folder = captured(dtype, "--arch h100");
        let found = fits(&folder, dtype);
        assert!(!found.is_empty());
        let plain = |fit: &Value| fit["schedule"].is_null();
        assert!(found.iter().all(plain), "{found:#?}");
    }
}
