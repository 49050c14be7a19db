//! GEMMDesc of PyTorch on the command line.

use serde_json::{Value, json};

use super::{product, with};
use crate::support::{Folder, Npy, Says, claims, holds};

/// What `product` computed, three slices of 1408 k by wgmma, in fields; with others in their place.
fn description(more: Value) -> String {
    let cut =
        json!({"span": 1408, "partial_dtype": "torch.float32", "merge_dtype": "torch.float32"});
    let mut fields = json!({
        "operand_dtype": "torch.bfloat16", "accumulate_dtype": "torch.float32",
        "output_dtype": "torch.bfloat16", "algorithm": "WGMMA", "instruction_k": 16,
        "use_fast_accum": true, "k_cuts": [cut],
    });
    let Value::Object(more) = more else {
        panic!("an object")
    };
    fields.as_object_mut().expect("an object").extend(more);
    fields.to_string()
}

fn kernels(folder: &Folder, words: &[&str]) -> crate::support::Run {
    folder.words(["kernels"].iter().chain(words).copied())
}

/// A D of three slices is that of the description, and of no neighbouring one.
#[test]
fn a_description_is_a_check() {
    let folder = product();
    // BF16 would hide most differences.
    claims! {folder, "
        replay --arch hopper --dtype bf16 --schedule cublas-nvjet-splitk --split-k 3 --d-dtype fp32 a.npy b.npy -o f.npy
            | 0
    "}
    let check = |mut more: Value, options: &str| {
        more["output_dtype"] = "float32".into();
        let text = description(more);
        let files = format!("--arch h100 {options} a.npy b.npy f.npy");
        with(&folder, "check", ["--kernel", &text], &files)
    };
    let text = check(json!({}), "").expect(0);
    text.says("cuts of K every 1408 k");
    check(json!({"use_fast_accum": false}), "").expect(1);
    check(json!({"k_cuts": null}), "").expect(1);
    check(json!({"instruction_k": 8}), "").expect(1);
    check(json!({"algorithm": "TCGEN05_MMA"}), "").refuses(&["tcgen05", "sm_90"]);
    check(json!({"algorithm": "MMA_SYNC"}), "--instruction wgmma").refuses(&["mma", "wgmma"]);
    check(json!({"colour": 1}), "").refuses(&["colour is not a known field"]);
    check(json!({}), "--split-k 3").refuses(&["number of slices", "k_cuts"]);
    // What the description leaves no place for.
    let bias = std::iter::repeat_n(1.5f32.to_le_bytes(), 64).flatten();
    folder.save(
        "bias.npy",
        &Npy::new("<f4", &[64], bias.collect::<Vec<u8>>()),
    );
    folder.passes("generate generate:4:normal:32x64 --dtype fp32 --role c -o c.npy");
    check(json!({}), "--bias bias.npy").refuses(&["--bias", "epilogue NONE"]);
    check(json!({}), "--c c.npy").refuses(&["--c", "epilogue NONE"]);
    check(json!({}), "--activation relu").refuses(&["--activation", "epilogue NONE"]);
    let within = json!({"epilogue": "IN_ACCUMULATOR"});
    check(within.clone(), "--bias bias.npy --c c.npy").refuses(&["IN_ACCUMULATOR", "before C"]);
    check(within, "--bias bias.npy").expect(1);
    check(json!({"epilogue": "AFTER_ROUNDING"}), "").refuses(&["AFTER_ROUNDING"]);
}

/// A plan is written, read again, and the same; another one is not.
#[test]
fn descriptions_are_written_and_compared() {
    let folder = Folder::new();
    let own = description(json!({}));
    let nvjet = "algo=66,stages=35,splitK=3,reduction=2";
    let shape = ["--shape", "32x64x4096"];
    let formats = ["--dtype", "bf16", "--d-dtype", "bf16", "--arch", "h100"];
    let plan = [
        &["plan", nvjet][..],
        &shape,
        &formats,
        &["--gemm-desc", "w.json"],
    ]
    .concat();
    kernels(&folder, &plan).expect(0);
    let written = folder.text("w.json");
    let fields: Value = serde_json::from_str(&written).expect("JSON");
    holds! {fields, "algorithm = WGMMA | k_cuts.0.span = 1408"}
    let same = |one: &str, other: &str, more: &[&str]| {
        kernels(&folder, &[&["same", one, other][..], &shape, more].concat())
    };
    same(&own, &written, &[]).expect(0);
    same(nvjet, &own, &formats).expect(0);
    let slow = description(json!({"use_fast_accum": false}));
    let text = same(&own, &slow, &[]).expect(1).stdout;
    text.says("order of the sums");
    // One model computes both instructions on a Hopper.
    let mma = description(json!({"algorithm": "MMA_SYNC"}));
    let text = same(&own, &mma, &[]).expect(1).stdout;
    text.says("wgmma, mma; --arch");
    same(&own, &mma, &["--arch", "h100"]).expect(0);
    // A bias, and words that nobody knows, may change the bits.
    let name = "nvjet_sm90_tst_64x104_64x10_4x1_v_bz_TNT";
    same(name, name, &[]).expect(0);
    let text = same(name, &name.replace("_TNT", "_bias_TNT"), &[])
        .expect(1)
        .stdout;
    text.says("the epilogue (NONE, BIAS)");
    let odd = name.replace("_TNT", "_wobble_TNT");
    same(&odd, &odd, &[]).expect(0);
    for pair in [[name, &odd], [&odd, name]] {
        let text = same(pair[0], pair[1], &[]).expect(1).stdout;
        text.says("words that are not known (wobble)");
    }
    let odd = super::LOG.replace("algo=[", "algo=[warpDance=7 ");
    let text = same(super::LOG, &odd, &["--arch", "h100"]).expect(1).stdout;
    text.says("words that are not known (warpDance=7)");
    let json = same(&own, &slow, &["--json"]).expect(1).json();
    assert_eq!(json["same_bits"], false);
    let lossy = [
        &[
            "plan",
            "algo=66,stages=35,splitK=9,reduction=2",
            "--shape",
            "32x64x8648",
        ][..],
        &formats,
        &["--gemm-desc", "lossy.json"],
    ];
    kernels(&folder, &lossy.concat()).refuses(&["GEMMDesc", "omits the last 8 k"]);
    assert!(!folder.path("lossy.json").exists());
    // No order takes another's place, or stands in the middle of a document.
    let writes = |more: &[&str]| {
        let plan = [&["plan", nvjet][..], &shape, &formats, more].concat();
        kernels(&folder, &plan)
    };
    writes(&["--schedule", "n.json", "--gemm-desc", "./n.json"])
        .refuses(&["the GEMMDesc and the schedule", "same place"]);
    assert!(!folder.path("n.json").exists());
    writes(&["--schedule", "-", "--json"]).refuses(&["standard output"]);
    let alone = writes(&["--schedule", "-"]).expect(0).json();
    assert!(alone["name"].is_string(), "{alone}");
}
