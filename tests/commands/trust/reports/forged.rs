//! Each forgery is refused.

use serde_json::{Value, json};
use tcverify::report::Report;

use super::{HONEST, each_change_is_refused, folder, forge, is_refused, read};

/// What is forged: in which report, where, and what stands there; null takes away what need not be there.
fn forgeries() -> Vec<(&'static str, &'static str, Value)> {
    let zeros = json!("0".repeat(64));
    let cause =
        json!([{"kind": "alpha", "sentence": "x", "mismatches": 1, "area": null, "command": null}]);
    let digest = |d: &str| json!({"judged_by": "digest", "expected_payload_sha256": d});
    vec![
        // What it is.
        ("same", "/schema", json!("tcverify.report/9")),
        ("same", "/tool/name", json!("other")),
        ("same", "/note", json!("checked twice")),
        ("same", "/inputs/a/more", json!(1)),
        ("same", "/outcome/comparison/more", json!(1)),
        ("same", "/outcome/comparison/classes/none", json!(0)),
        // The verdict.
        ("same", "/verdict", json!("different")),
        ("same", "/verdict", json!("identical_in_part")),
        ("other", "/verdict", json!("identical")),
        ("rows", "/verdict", json!("identical")),
        ("drawn", "/verdict", json!("identical")),
        ("digest", "/verdict", json!("identical")),
        // What was asked.
        ("same", "/request", json!(null)),
        ("same", "/request/dtype", json!("bf16")),
        ("same", "/request/rows", json!("0..4")),
        ("same", "/request/nan", json!("any")),
        ("drawn", "/request/sample", json!(3)),
        ("same", "/request/transpose_a", json!(true)),
        ("same", "/request/d", json!("other.npy")),
        ("same", "/request/arch", json!("h100")),
        (
            "same",
            "/command",
            json!("tcverify check --arch a100 --dtype fp16 a.npy b.npy other.npy"),
        ),
        (
            "same",
            "/command",
            json!("tcverify check --arch a100 --dtype fp16 --nan any a.npy b.npy d.npy"),
        ),
        ("same", "/command", json!("curl example.org")),
        ("rows", "/request/rows", json!("2..6")),
        ("drawn", "/request/seed", json!(4)),
        // The model.
        ("same", "/rule/model/sha256", zeros.clone()),
        ("same", "/rule/model/sha256", json!(null)),
        ("same", "/rule/model/arithmetic/accumulator", json!("fp16")),
        ("same", "/rule/model/arithmetic/step/products", json!(4)),
        ("same", "/rule/model/evidence", json!("claimed")),
        ("same", "/rule/model/architecture", json!("hopper")),
        ("same", "/rule/model/title", json!("NVIDIA Other")),
        ("same", "/rule/model/instruction", json!("wgmma")),
        (
            "same",
            "/rule/model/file",
            json!({"path": "x", "sha256": "0".repeat(64), "says": "captured"}),
        ),
        ("scheduled", "/rule/schedule/sha256", zeros.clone()),
        ("scheduled", "/rule/schedule/title", json!("Other")),
        ("scheduled", "/rule/schedule", json!(null)),
        // What was multiplied.
        ("same", "/rule/product/k", json!(65)),
        ("same", "/rule/product/m", json!(15)),
        ("same", "/rule/product/batch", json!([1])),
        ("same", "/rule/product/transpose_b", json!(true)),
        ("same", "/inputs", json!({})),
        ("same", "/inputs/a", json!(null)),
        ("same", "/inputs/d", json!(null)),
        ("same", "/inputs/a/path", json!("b.npy")),
        ("same", "/inputs/a/file_sha256", json!(null)),
        ("same", "/inputs/a/file_sha256", zeros.clone()),
        ("same", "/inputs/b/payload_sha256", json!(null)),
        ("same", "/inputs/b/payload_sha256", zeros.clone()),
        ("same", "/inputs/d/payload_sha256", zeros.clone()),
        ("same", "/inputs/a/shape", json!([64, 16])),
        ("same", "/inputs/a/descr", json!("<f4")),
        ("same", "/inputs/a/format", json!("bf16")),
        ("same", "/inputs/a/fortran_order", json!(true)),
        (
            "same",
            "/commitment",
            json!({"path": "a.npy", "file_sha256": "0", "root": "0"}),
        ),
        // What was reproduced.
        ("same", "/reproduced/payload_sha256", json!(null)),
        ("same", "/reproduced/payload_sha256", zeros.clone()),
        ("same", "/reproduced/payload_sha256", json!("")),
        ("same", "/reproduced/format", json!("bf16")),
        ("same", "/reproduced/shape", json!([24, 16])),
        (
            "same",
            "/reproduced/conversion",
            json!({"from": "fp32", "to": "fp32", "rounding": "rne"}),
        ),
        (
            "same",
            "/reproduced/tree",
            json!({"block_rows": 4, "root": "0".repeat(64)}),
        ),
        ("tree", "/reproduced/tree/root", zeros.clone()),
        ("tree", "/reproduced/tree/block_rows", json!(2)),
        ("tree", "/reproduced/tree", json!(null)),
        ("rows", "/reproduced/sample", json!(null)),
        ("rows", "/reproduced/sample/rows", json!([0, 16])),
        ("rows", "/reproduced/sample/population", json!(384)),
        ("rows", "/reproduced/sample/sha256", zeros.clone()),
        ("rows", "/reproduced/sample/caught_99_percent", json!(1)),
        (
            "rows",
            "/reproduced/sample/missed",
            json!([{"tampered": 1, "probability": 0.0}]),
        ),
        ("rows", "/reproduced/payload_sha256", zeros.clone()),
        ("drawn", "/reproduced/sample/seed", json!(4)),
        ("drawn", "/reproduced/sample/elements", json!(384)),
        ("drawn", "/reproduced/sample/caught_99_percent", json!(1)),
        (
            "drawn",
            "/reproduced/sample/missed/0/probability",
            json!(0.0),
        ),
        ("drawn", "/reproduced/sample/sha256", zeros.clone()),
        // What it was compared with.
        ("same", "/outcome", digest(&"7".repeat(64))),
        ("digest", "/outcome/expected_payload_sha256", zeros.clone()),
        ("digest", "/reproduced/payload_sha256", json!(null)),
        ("digest", "/causes", cause.clone()),
        ("same", "/outcome/nan", json!("any")),
        ("same", "/outcome/comparison/accepted", json!(1)),
        ("same", "/outcome/comparison/accepted", json!(384)),
        ("lenient", "/outcome/comparison/accepted", json!(384)),
        ("lenient", "/outcome/zero", json!("exact")),
        ("same", "/outcome/comparison/elements", json!(0)),
        ("same", "/outcome/comparison/elements", json!(383)),
        ("rows", "/outcome/comparison/elements", json!(384)),
        ("same", "/outcome/comparison/mismatches", json!(1)),
        ("same", "/outcome/comparison/mismatch_percent", json!(0.5)),
        ("same", "/outcome/comparison/rows", json!(17)),
        ("same", "/outcome/comparison/rows_touched", json!(1)),
        ("same", "/outcome/comparison/columns", json!(23)),
        ("same", "/outcome/comparison/columns_touched", json!(1)),
        ("same", "/outcome/comparison/classes/sign", json!(1)),
        (
            "same",
            "/outcome/comparison/histogram",
            json!([{"from": 1, "to": 1, "count": 1}]),
        ),
        (
            "same",
            "/outcome/comparison/largest",
            json!({"ulp": 1, "index": [0, 0]}),
        ),
        ("same", "/outcome/comparison/units/counts/0", json!(1)),
        ("same", "/causes", cause.clone()),
        ("same", "/tried", json!(["much"])),
        // Where something differs.
        ("other", "/outcome/comparison/mismatches", json!(0)),
        ("other", "/outcome/comparison/mismatches", json!(2)),
        ("other", "/outcome/comparison/mismatches", json!(-1)),
        ("other", "/outcome/comparison/accepted", json!(9)),
        ("other", "/outcome/comparison/classes/significand", json!(1)),
        ("other", "/outcome/comparison/largest", json!(null)),
        ("other", "/outcome/comparison/largest/ulp", json!(100_000)),
        ("other", "/outcome/comparison/histogram/0/count", json!(1)),
        ("other", "/outcome/comparison/histogram/0/from", json!(0)),
        ("other", "/outcome/comparison/rows_touched", json!(17)),
        ("other", "/outcome/comparison/units/counts", json!([311])),
        ("other", "/outcome/comparison/first", json!([])),
        (
            "other",
            "/outcome/comparison/first/0/given",
            json!("00000000"),
        ),
        ("other", "/outcome/comparison/first/0/index", json!([0, 5])),
        ("other", "/outcome/comparison/first/0/index", json!([99, 5])),
        ("other", "/outcome/comparison/first/0/ulp", json!(7)),
        ("other", "/outcome/comparison/first/0/class", json!("sign")),
        (
            "other",
            "/outcome/comparison/first/0/xor",
            json!("00000000"),
        ),
        (
            "other",
            "/outcome/comparison/first/0/reproduced",
            json!("x"),
        ),
        ("wrong", "/outcome/comparison/first/0/index", json!([0, 0])),
        ("other", "/causes/0/mismatches", json!(100_000)),
        (
            "other",
            "/reproduced/payload_sha256",
            json!("the given D's"),
        ),
    ]
}

#[test]
fn each_forgery_is_refused() {
    let folder = folder();
    for (name, at, value) in forgeries() {
        let was = read(&folder, name);
        let forged = forge(was.clone(), at, value.clone());
        assert_ne!(forged, was, "{name} {at}: nothing is forged");
        assert!(is_refused(&forged), "{name} {at} {value}");
    }
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
    for (name, at, value, words) in [
        (
            "other",
            "/outcome/comparison/mismatches",
            json!(0),
            "`outcome.comparison.mismatches` is reported as 0, but is ",
        ),
        (
            "same",
            "/inputs/a/file_sha256",
            json!("0"),
            "`inputs.a.file_sha256` is reported as \"0\", but is ",
        ),
        ("same", "/tool/name", json!("other"), "`tool.name`"),
        (
            "same",
            "/rule/product/k",
            json!(65),
            "`rule.product.k` is reported as 65, but is 64",
        ),
        (
            "auto",
            "/rule/chosen/tested",
            json!(1),
            "`rule.chosen.tested` is reported as 1, but is ",
        ),
        ("auto", "/rule/chosen/fits", json!([]), "`rule.chosen.fits`"),
    ] {
        let run = verify(name, at, value).expect(1);
        let refuted = "REFUTED: 1 check of the report failed\n  ";
        assert!(run.stdout.starts_with(refuted), "{at}: {}", run.stdout);
        assert!(run.stdout.contains(words), "{at}: {}", run.stdout);
    }
    let run = verify(
        "other",
        "/outcome/comparison/units/counts",
        json!(vec![1; 999]),
    )
    .expect(1);
    assert!(run.stdout.len() < 6000, "{}", run.stdout);
    // Of another version the whole is not confirmed.
    let run = verify("same", "/tool/version", json!("9.8.7"));
    run.refuses(&[
        "made by tcverify 9.8.7, but this is tcverify",
        "everything else that a replay reproduces is confirmed",
    ]);
    let mut forged = forge(read(&folder, "same"), "/tool/version", json!("9.8.7"));
    forged["verdict"] = json!("different");
    folder.write("forged.json", forged.to_string());
    let run = folder.tcverify("verify-report forged.json").expect(1);
    assert!(
        run.stdout.contains("made by tcverify 9.8.7"),
        "{}",
        run.stdout
    );
}

/// One in which all figures agree with each other and with D: only who computes it again finds it.
#[test]
fn a_consistent_lie_is_found() {
    let folder = folder();
    let mut forged = read(&folder, "same");
    let other = read(&folder, "other");
    for field in ["request", "command", "inputs"] {
        forged[field] = other[field].clone();
    }
    forged["reproduced"]["payload_sha256"] = other["inputs"]["d"]["payload_sha256"].clone();
    let report: Report = serde_json::from_value(forged.clone()).unwrap();
    assert_eq!(tcverify::compose::verify::contradictions(&report), [""; 0]);
    assert!(is_refused(&forged));
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
    for name in HONEST {
        assert_eq!(found(name, "", Value::Null), [""; 0], "{name}");
    }
    let first = "/outcome/comparison/first/0";
    for (name, at, value, said) in [
        ("other", "/verdict", json!("identical"), "verdict"),
        ("same", "/verdict", json!("different"), "verdict"),
        ("rows", "/verdict", json!("identical"), "a part of D"),
        ("digest", "/verdict", json!("identical"), "verdict"),
        ("drawn", "/reproduced/sample/rows", json!([9, 9]), "range"),
        ("other", "/reproduced/shape", json!([384]), "no D"),
        (
            "other",
            "/outcome/comparison/mismatches",
            json!(1),
            "counts",
        ),
        (
            "other",
            "/outcome/comparison/histogram/0/count",
            json!(0),
            "histogram",
        ),
        (
            "other",
            &format!("{first}/reproduced"),
            json!("zz"),
            "cannot have",
        ),
        (
            "other",
            &format!("{first}/index"),
            json!([16, 0]),
            "cannot have",
        ),
        (
            "same",
            "/ambiguity",
            json!({"elements": 9, "shared": [], "others": 0, "same": [{"architecture": "volta", "instruction": "mma",
                "accumulator": "fp32", "evidence": "captured", "sha256": "0".repeat(64)}]}),
            "arithmetics",
        ),
    ] {
        let wrong = found(name, at, value);
        assert!(
            wrong.iter().any(|one| one.contains(said)),
            "{name} {at}: {wrong:?}"
        );
    }
}
