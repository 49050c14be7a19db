//! GEMMDesc of PyTorch on the command line.

use serde_json::{Value, json};

use super::product;
use crate::support::{Folder, claims, holds, json_of, rows};

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

/// A D of three slices is that of the description, and of no neighbouring one.
#[test]
fn a_description_is_a_check() {
    let folder = product();
    folder.generate("c fp32 4:normal:32x64");
    folder.f32("bias.npy", &[64], &[1.5; 64]);
    // BF16 would hide most differences.
    claims! {folder, "
        replay --arch hopper --dtype bf16 --schedule cublas-nvjet-splitk --split-k 3 --d-dtype fp32 a.npy b.npy -o f.npy
            | 0
    "}
    // What the description says otherwise; options; what is said.
    for [more, options, outcome] in rows! {r#"
        {{}} | - | 0 | cuts of K every 1408 k
        {{"use_fast_accum": false}} | - | 1
        {{"k_cuts": null}} | - | 1
        {{"instruction_k": 8}} | - | 1
        {{"algorithm": "TCGEN05_MMA"}} | - | refused | tcgen05 | sm_90
        {{"algorithm": "MMA_SYNC"}} | --instruction wgmma | refused | mma | wgmma
        {{"colour": 1}} | - | refused | colour is not a known field
        {{}} | --split-k 3 | refused | number of slices | k_cuts
        # What the description leaves no place for.
        {{}} | --bias bias.npy | refused | --bias | epilogue NONE
        {{}} | --c c.npy | refused | --c | epilogue NONE
        {{}} | --activation relu | refused | --activation | epilogue NONE
        {{"epilogue": "IN_ACCUMULATOR"}} | --bias bias.npy --c c.npy | refused | IN_ACCUMULATOR | before C
        {{"epilogue": "IN_ACCUMULATOR"}} | --bias bias.npy | 1
        {{"epilogue": "AFTER_ROUNDING"}} | - | refused | AFTER_ROUNDING
    "#}
    {
        let mut more = json_of(more);
        more["output_dtype"] = "float32".into();
        let text = description(more);
        let options = if options == "-" { "" } else { options };
        claims! {folder, "check --kernel `{text}` --arch h100 {options} a.npy b.npy f.npy | {outcome}"}
    }
}

/// A plan is written, read again, and the same; another one is not.
#[test]
fn descriptions_are_written_and_compared() {
    let folder = Folder::new();
    let own = description(json!({}));
    let nvjet = "algo=66,stages=35,splitK=3,reduction=2";
    let plan =
        format!("kernels plan {nvjet} --shape 32x64x4096 --dtype bf16 --d-dtype bf16 --arch h100");
    claims! {folder, "{plan} --gemm-desc w.json | 0"}
    let written = folder.text("w.json");
    holds! {json_of(&written), "algorithm = WGMMA | k_cuts.0.span = 1408"}
    let same = ["kernels", "same", &own, &written, "--shape", "32x64x4096"];
    folder.words(same).expect(0);
    let slow = description(json!({"use_fast_accum": false}));
    let mma = description(json!({"algorithm": "MMA_SYNC"}));
    let name = "nvjet_sm90_tst_64x104_64x10_4x1_v_bz_TNT";
    let [bias, odd] = ["_bias_TNT", "_wobble_TNT"].map(|end| name.replace("_TNT", end));
    let log = super::LOG;
    let dance = log.replace("algo=[", "algo=[warpDance=7 ");
    claims! {folder, "
        each kernels same ~ --shape 32x64x4096
        {nvjet} `{own}` --dtype bf16 --d-dtype bf16 --arch h100 | 0
        `{own}` `{slow}` | 1 | order of the sums
        # One model computes both instructions on a Hopper.
        `{own}` `{mma}` | 1 | wgmma, mma; --arch
        `{own}` `{mma}` --arch h100 | 0
        # A bias, and words that nobody knows, may change the bits.
        {name} {name} | 0
        {name} {bias} | 1 | the epilogue (NONE, BIAS)
        {odd} {odd} | 0
        {name} {odd} | 1 | words that are not known (wobble)
        {odd} {name} | 1 | words that are not known (wobble)
        `{log}` `{dance}` --arch h100 | 1 | words that are not known (warpDance=7)
        `{own}` `{slow}` --json | 1 | :same_bits = false
        each ~
        kernels plan algo=66,stages=35,splitK=9,reduction=2 --shape 32x64x8648 --dtype bf16 --d-dtype bf16 --arch h100 --gemm-desc lossy.json
            | refused | GEMMDesc | omits the last 8 k
        # No order takes another's place, or stands in the middle of a document.
        {plan} --schedule n.json --gemm-desc ./n.json | refused | the GEMMDesc and the schedule | same place
        {plan} --schedule - --json | refused | standard output
    "}
    assert!(!folder.path("lossy.json").exists());
    assert!(!folder.path("n.json").exists());
    let alone = folder.json(&format!("{plan} --schedule -"));
    assert!(alone["name"].is_string(), "{alone}");
}
