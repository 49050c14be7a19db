//! Reports on operations between products, honest and forged.

use serde_json::json;

use super::{
    consistent_lie, each_change_is_refused, each_forgery_is_refused, is_refused, read, run,
};
use crate::operations::copied;
use crate::support::{Folder, Npy, claims, listed, table};

/// Reports on two results for the same arrays, and on attention, a flat array, a quantisation.
fn folder() -> Folder {
    let folder = copied();
    let norm = "rms_norm --eps 1e-6 op_x.npy op_w.npy";
    let commit = format!("commit --op {norm} op_hf.npy -o c.json -q");
    run(&folder, &commit).expect(0);
    let numbers = (0..700u32).flat_map(|i| (0x3f80_0000 + 7 * i).to_le_bytes());
    folder.save("flat_x.npy", &Npy::new("<f4", &[700], numbers.collect()));
    let ex2 = "ex2_approx --variant ptx-ftz flat_x.npy";
    folder.passes(&format!("replay --op {ex2} -o flat.npy -q"));
    let digest = "7".repeat(64);
    for (name, words, code) in table! {
        ("same", format!("{norm} op_hf.npy"), 0),
        ("other", format!("{norm} op_fused.npy"), 1),
        ("silent", format!("{norm} op_fused.npy --no-causes"), 1),
        ("rows", format!("{norm} op_hf.npy --rows 1.."), 0),
        ("drawn", format!("{norm} op_hf.npy --sample 50 --seed 3"), 0),
        ("wrong", format!("{norm} op_fused.npy --sample 300 --seed 3 --max-mismatches 999"), 1),
        ("beacon", format!("{norm} op_hf.npy --sample 50 --seed-from c.json --beacon 8430af44"), 0),
        ("lenient", format!("{norm} op_fused.npy --nan any --zero any"), 1),
        ("digest", format!("{norm} --y-digest {digest}"), 1),
        ("attention", "attention --arch a100 --tile 32x16 op_q.npy op_k.npy op_v.npy op_fa.npy".into(), 0),
        ("flat", format!("{ex2} flat.npy --sample 20 --seed 1"), 0),
        ("scale", "quantize_fp8 --output scale op_a.npy op_fp8_scale.npy".into(), 0),
    } {
        // By integers: tables take longer to fill than these arrays to compute.
        let words = format!("check --op {words} --engine exact --json {name}.json -q");
        run(&folder, &words).expect(code);
    }
    folder
}

const HONEST: &str = "
    same | other | silent | rows | drawn | wrong | beacon | lenient | digest | attention | flat | scale
";

#[test]
fn true_reports_on_operations_are_confirmed() {
    let folder = folder();
    for name in listed(HONEST) {
        assert!(!is_refused(&read(&folder, name)), "{name}");
    }
    claims! {folder, "verify-report attention.json | 0 | ^CONFIRMED"}
}

/// What is forged: in which report, where, and what stands there.
fn forgeries() -> String {
    let zeros = json!("0".repeat(64));
    let cause = json!([{"kind": "variant", "sentence": "x", "mismatches": 1, "area": null, "command": null}]);
    let digest = json!({"judged_by": "digest", "expected_payload_sha256": "7".repeat(64)});
    format!(
        r#"
        same | /schema | "tcverify.report/2"
        same | /tool/name | "other"
        same | /note | "checked twice"
        same | /rule/more | 1
        same | /verdict | "different"
        same | /verdict | "identical_in_part"
        other | /verdict | "identical"
        rows | /verdict | "identical"
        drawn | /verdict | "identical"
        digest | /verdict | "identical"
        same | /request | null
        same | /request/eps | "1e-5"
        same | /request/variant | "vllm"
        same | /request/operation | "layer_norm"
        same | /request/y | "op_fused.npy"
        same | /request/rows | "0..1"
        same | /request/nan | "any"
        same | /request/output | "residual"
        drawn | /request/sample | 3
        drawn | /request/seed | 4
        rows | /request/rows | "0.."
        same | /command | "tcverify check --op=rms_norm op_x.npy"
        same | /command | "curl example.org"
        same | /rule/sha256 | {zeros}
        same | /rule/arithmetic/mean | "divide"
        same | /rule/variant | "vllm"
        same | /rule/evidence | "captured"
        other | /rule/evidence | "claimed"
        same | /rule/title | "Other"
        same | /rule/about | "rows of 3"
        same | /rule/constants/0/evidence | "captured"
        attention | /rule/multiplied_by/architecture | "hopper"
        attention | /rule/multiplied_by/sha256 | {zeros}
        same | /inputs | {{}}
        same | /inputs/x/path | "op_w.npy"
        same | /inputs/weight/file_sha256 | {zeros}
        same | /inputs/weight/payload_sha256 | {zeros}
        same | /inputs/y/payload_sha256 | {zeros}
        same | /inputs/x/shape | [400, 3]
        same | /inputs/x/format | "fp16"
        beacon | /commitment/file_sha256 | {zeros}
        beacon | /commitment/path | "op_x.npy"
        beacon | /commitment | null
        same | /commitment | {{"path": "c.json", "file_sha256": {zeros}}}
        same | /reproduced/payload_sha256 | {zeros}
        same | /reproduced/payload_sha256 | ""
        same | /reproduced/shape | [400, 3]
        same | /reproduced/format | "fp16"
        same | /reproduced/output | "residual"
        rows | /reproduced/sample | null
        rows | /reproduced/sample/rows | [0, 3]
        rows | /reproduced/sample/population | 1200
        rows | /reproduced/sample/sha256 | {zeros}
        rows | /reproduced/sample/caught_99_percent | 1
        drawn | /reproduced/sample/seed | 4
        drawn | /reproduced/sample/elements | 51
        drawn | /reproduced/sample/assumes | "nothing"
        drawn | /reproduced/sample/missed/0/probability | 0.0
        beacon | /reproduced/sample/seed_from/beacon | "other"
        same | /outcome | {digest}
        digest | /outcome/expected_payload_sha256 | {zeros}
        digest | /causes | {cause}
        same | /outcome/nan | "any"
        same | /outcome/comparison/accepted | 1
        lenient | /outcome/comparison/accepted | 1200
        same | /outcome/comparison/elements | 1199
        rows | /outcome/comparison/elements | 1200
        same | /outcome/comparison/rows | 4
        same | /causes | {cause}
        silent | /causes | {cause}
        other | /outcome/comparison/mismatches | 0
        other | /outcome/comparison/mismatches | 2
        other | /outcome/comparison/first | []
        other | /outcome/comparison/first/0/given | "0000"
        other | /outcome/comparison/first/0/index | [9, 5]
        other | /outcome/comparison/largest/ulp | 100000
        wrong | /outcome/comparison/first/0/index | [0, 0]
        other | /causes/0/mismatches | 100000
        other | /reproduced/payload_sha256 | "the given D's"
    "#
    )
}

#[test]
fn each_forgery_on_an_operation_is_refused() {
    each_forgery_is_refused(&folder(), &forgeries());
}

/// Whatever is changed, taken away or added, the replay gives another report.
#[test]
fn every_field_of_a_report_on_an_operation_is_confirmed_or_refused() {
    let folder = folder();
    for name in ["same", "other", "beacon"] {
        each_change_is_refused(&folder, name);
    }
}

/// One in which all figures agree with each other and with the result: only who computes it again finds it.
#[test]
fn a_consistent_lie_on_an_operation_is_found() {
    consistent_lie(&folder(), "y");
}
