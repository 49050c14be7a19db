//! Each forgery is refused.

use crate::support::{claims, listed, table, words};

use serde_json::{Value, json};
use tcverify::report::Report;

use super::{
    HONEST, consistent_lie, each_change_is_refused, each_forgery_is_refused, folder, forge,
    is_refused, read,
};

/// What is forged: in which report, where, and what stands there; null takes away what need not be there.
fn forgeries() -> String {
    let zeros = json!("0".repeat(64));
    let cause =
        json!([{"kind": "alpha", "sentence": "x", "mismatches": 1, "area": null, "command": null}]);
    let digest = json!({"judged_by": "digest", "expected_payload_sha256": "7".repeat(64)});
    format!(
        r#"
        same | /schema | "tcverify.report/9"
        same | /tool/name | "other"
        same | /note | "checked twice"
        same | /inputs/a/more | 1
        same | /outcome/comparison/more | 1
        same | /outcome/comparison/classes/none | 0
        same | /verdict | "different"
        same | /verdict | "identical_in_part"
        other | /verdict | "identical"
        rows | /verdict | "identical"
        drawn | /verdict | "identical"
        digest | /verdict | "identical"
        same | /request | null
        same | /request/dtype | "bf16"
        same | /request/rows | "0..4"
        same | /request/nan | "any"
        drawn | /request/sample | 3
        same | /request/transpose_a | true
        same | /request/d | "other.npy"
        same | /request/arch | "h100"
        same | /command | "tcverify check --arch a100 --dtype fp16 a.npy b.npy other.npy"
        same | /command | "tcverify check --arch a100 --dtype fp16 --nan any a.npy b.npy d.npy"
        same | /command | "curl example.org"
        rows | /request/rows | "2..6"
        drawn | /request/seed | 4
        same | /rule/model/sha256 | {zeros}
        same | /rule/model/sha256 | null
        same | /rule/model/arithmetic/accumulator | "fp16"
        same | /rule/model/arithmetic/step/products | 4
        same | /rule/model/evidence | "claimed"
        same | /rule/model/architecture | "hopper"
        same | /rule/model/title | "NVIDIA Other"
        same | /rule/model/instruction | "wgmma"
        same | /rule/model/file | {{"path": "x", "sha256": {zeros}, "says": "captured"}}
        scheduled | /rule/schedule/sha256 | {zeros}
        scheduled | /rule/schedule/title | "Other"
        scheduled | /rule/schedule | null
        same | /rule/product/k | 65
        same | /rule/product/m | 15
        same | /rule/product/batch | [1]
        same | /rule/product/transpose_b | true
        same | /inputs | {{}}
        same | /inputs/a | null
        same | /inputs/d | null
        same | /inputs/a/path | "b.npy"
        same | /inputs/a/file_sha256 | null
        same | /inputs/a/file_sha256 | {zeros}
        same | /inputs/b/payload_sha256 | null
        same | /inputs/b/payload_sha256 | {zeros}
        same | /inputs/d/payload_sha256 | {zeros}
        same | /inputs/a/shape | [64, 16]
        same | /inputs/a/descr | "<f4"
        same | /inputs/a/format | "bf16"
        same | /inputs/a/fortran_order | true
        same | /commitment | {{"path": "a.npy", "file_sha256": "0", "root": "0"}}
        same | /reproduced/payload_sha256 | null
        same | /reproduced/payload_sha256 | {zeros}
        same | /reproduced/payload_sha256 | ""
        same | /reproduced/format | "bf16"
        same | /reproduced/shape | [24, 16]
        same | /reproduced/conversion | {{"from": "fp32", "to": "fp32", "rounding": "rne"}}
        same | /reproduced/tree | {{"block_rows": 4, "root": {zeros}}}
        tree | /reproduced/tree/root | {zeros}
        tree | /reproduced/tree/block_rows | 2
        tree | /reproduced/tree | null
        rows | /reproduced/sample | null
        rows | /reproduced/sample/rows | [0, 16]
        rows | /reproduced/sample/population | 384
        rows | /reproduced/sample/sha256 | {zeros}
        rows | /reproduced/sample/caught_99_percent | 1
        rows | /reproduced/sample/missed | [{{"tampered": 1, "probability": 0.0}}]
        rows | /reproduced/payload_sha256 | {zeros}
        drawn | /reproduced/sample/seed | 4
        drawn | /reproduced/sample/elements | 384
        drawn | /reproduced/sample/caught_99_percent | 1
        drawn | /reproduced/sample/missed/0/probability | 0.0
        drawn | /reproduced/sample/sha256 | {zeros}
        same | /outcome | {digest}
        digest | /outcome/expected_payload_sha256 | {zeros}
        digest | /reproduced/payload_sha256 | null
        digest | /causes | {cause}
        same | /outcome/nan | "any"
        same | /outcome/comparison/accepted | 1
        same | /outcome/comparison/accepted | 384
        lenient | /outcome/comparison/accepted | 384
        lenient | /outcome/zero | "exact"
        same | /outcome/comparison/elements | 0
        same | /outcome/comparison/elements | 383
        rows | /outcome/comparison/elements | 384
        same | /outcome/comparison/mismatches | 1
        same | /outcome/comparison/mismatch_percent | 0.5
        same | /outcome/comparison/rows | 17
        same | /outcome/comparison/rows_touched | 1
        same | /outcome/comparison/columns | 23
        same | /outcome/comparison/columns_touched | 1
        same | /outcome/comparison/classes/sign | 1
        same | /outcome/comparison/histogram | [{{"from": 1, "to": 1, "count": 1}}]
        same | /outcome/comparison/largest | {{"ulp": 1, "index": [0, 0]}}
        same | /outcome/comparison/units/counts/0 | 1
        same | /causes | {cause}
        same | /tried | ["much"]
        other | /outcome/comparison/mismatches | 0
        other | /outcome/comparison/mismatches | 2
        other | /outcome/comparison/mismatches | -1
        other | /outcome/comparison/accepted | 9
        other | /outcome/comparison/classes/significand | 1
        other | /outcome/comparison/largest | null
        other | /outcome/comparison/largest/ulp | 100000
        other | /outcome/comparison/histogram/0/count | 1
        other | /outcome/comparison/histogram/0/from | 0
        other | /outcome/comparison/rows_touched | 17
        other | /outcome/comparison/units/counts | [311]
        other | /outcome/comparison/first | []
        other | /outcome/comparison/first/0/given | "00000000"
        other | /outcome/comparison/first/0/index | [0, 5]
        other | /outcome/comparison/first/0/index | [99, 5]
        other | /outcome/comparison/first/0/ulp | 7
        other | /outcome/comparison/first/0/class | "sign"
        other | /outcome/comparison/first/0/xor | "00000000"
        other | /outcome/comparison/first/0/reproduced | "x"
        wrong | /outcome/comparison/first/0/index | [0, 0]
        other | /causes/0/mismatches | 100000
        other | /reproduced/payload_sha256 | "the given D's"
    "#
    )
}

#[test]
fn forgeries_are_refused() {
    each_forgery_is_refused(&folder(), &forgeries());
}

/// Whatever is changed, taken away or added, the replay gives another report.
#[test]
fn every_field_of_a_report_is_confirmed_or_refused() {
    let folder = folder();
    for name in ["same", "other", "beacon", "tree"] {
        each_change_is_refused(&folder, name);
    }
}

/// As the program says it, and with which exit code.
#[test]
fn what_is_refuted_is_named() {
    let folder = folder();
    let verify = |name: &str, at: &str, value: Value| {
        let forged = forge(read(&folder, name), at, value);
        folder.write("forged.json", forged.to_string());
        folder.tcverify("verify-report forged.json")
    };
    for (name, at, value, words) in table! {
        ("other", "/outcome/comparison/mismatches", json!(0),
            "`outcome.comparison.mismatches` is reported as 0, but is "),
        ("same", "/inputs/a/file_sha256", json!("0"), "`inputs.a.file_sha256` is reported as \"0\", but is "),
        ("same", "/tool/name", json!("other"), "`tool.name`"),
        ("same", "/rule/product/k", json!(65), "`rule.product.k` is reported as 65, but is 64"),
        ("auto", "/rule/chosen/tested", json!(1), "`rule.chosen.tested` is reported as 1, but is "),
        ("auto", "/rule/chosen/fits", json!([]), "`rule.chosen.fits`"),
    } {
        let run = verify(name, at, value).expect(1);
        let refuted = "REFUTED: 1 check of the report failed\n  ";
        assert!(run.stdout.starts_with(refuted), "{at}: {}", run.stdout);
        assert!(run.stdout.contains(words), "{at}: {}", run.stdout);
    }
    let counts = json!(vec![1; 999]);
    let run = verify("other", "/outcome/comparison/units/counts", counts).expect(1);
    assert!(run.stdout.len() < 6000, "{}", run.stdout);
    // Of another version the whole is not confirmed.
    let run = verify("same", "/tool/version", json!("9.8.7"));
    run.refuses(&words! {"
        made by tcverify 9.8.7, but this is tcverify | everything else that a replay reproduces is confirmed
    "});
    let mut forged = forge(read(&folder, "same"), "/tool/version", json!("9.8.7"));
    forged["verdict"] = json!("different");
    folder.write("forged.json", forged.to_string());
    claims! {folder, "verify-report forged.json | 1 | made by tcverify 9.8.7"}
}

/// One in which all figures agree with each other and with D: only who computes it again finds it.
#[test]
fn a_consistent_lie_is_found() {
    let folder = folder();
    let forged = consistent_lie(&folder, "d");
    let report: Report = serde_json::from_value(forged).unwrap();
    assert_eq!(tcverify::compose::verify::contradictions(&report), [""; 0]);
    // So is a part of it.
    let mut forged = read(&folder, "wrong");
    forged["outcome"]["comparison"]["largest"]["index"] = json!([0, 1]);
    assert!(is_refused(&forged));
}

/// Whoever reads a report without the files sees what no check could have written, before anything is shown of it.
#[test]
fn what_no_check_wrote_is_seen_without_files() {
    let folder = folder();
    let found = |name: &str, at: &str, value: Value| -> Vec<String> {
        let forged = match at {
            "" => read(&folder, name),
            at => forge(read(&folder, name), at, value),
        };
        let report: Report = serde_json::from_value(forged).unwrap();
        tcverify::compose::verify::contradictions(&report)
    };
    for name in listed(HONEST) {
        assert_eq!(found(name, "", Value::Null), [""; 0], "{name}");
    }
    let alike = json!({"architecture": "volta", "instruction": "mma", "accumulator": "fp32", "evidence": "captured",
        "sha256": "0".repeat(64)});
    for (name, at, value, said) in table! {
        ("other", "/verdict", json!("identical"), "verdict"),
        ("same", "/verdict", json!("different"), "verdict"),
        ("rows", "/verdict", json!("identical"), "a part of D"),
        ("digest", "/verdict", json!("identical"), "verdict"),
        ("drawn", "/reproduced/sample/rows", json!([9, 9]), "range"),
        ("other", "/reproduced/shape", json!([384]), "no D"),
        ("other", "/outcome/comparison/mismatches", json!(1), "counts"),
        ("other", "/outcome/comparison/histogram/0/count", json!(0), "histogram"),
        ("other", "/outcome/comparison/first/0/reproduced", json!("zz"), "cannot have"),
        ("other", "/outcome/comparison/first/0/index", json!([16, 0]), "cannot have"),
        ("same", "/ambiguity", json!({"elements": 9, "shared": [], "others": 0, "same": [alike]}), "arithmetics"),
    } {
        let wrong = found(name, at, value);
        let is_said = wrong.iter().any(|one| one.contains(said));
        assert!(is_said, "{name} {at}: {wrong:?}");
    }
}
