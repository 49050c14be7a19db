//! Each forgery is refused, by both.

use serde_json::{Value, json};

use super::{HONEST, folder, forge, passed_by_script, read, script};

/// Who can know better.
#[derive(Clone, Copy, PartialEq)]
enum Seen {
    /// By the program and by the script.
    Both,
    /// Only who knows the catalogue.
    Catalogue,
}
use Seen::{Both, Catalogue};

/// What is forged: in which report, where, and what stands there; null takes away what need not be there.
fn forgeries() -> Vec<(&'static str, &'static str, Value, Seen)> {
    let zeros = json!("0".repeat(64));
    let cause =
        json!([{"kind": "alpha", "sentence": "x", "mismatches": 1, "area": null, "command": null}]);
    let digest = |d: &str| json!({"judged_by": "digest", "expected_payload_sha256": d});
    vec![
        // What it is.
        ("same", "/schema", json!("tcverify.report/9"), Both),
        ("same", "/tool/name", json!("other"), Both),
        ("same", "/note", json!("checked twice"), Both),
        ("same", "/inputs/a/more", json!(1), Both),
        ("same", "/outcome/comparison/more", json!(1), Both),
        ("same", "/outcome/comparison/classes/none", json!(0), Both),
        // The verdict.
        ("same", "/verdict", json!("different"), Both),
        ("same", "/verdict", json!("identical_in_part"), Both),
        ("other", "/verdict", json!("identical"), Both),
        ("rows", "/verdict", json!("identical"), Both),
        ("drawn", "/verdict", json!("identical"), Both),
        ("digest", "/verdict", json!("identical"), Both),
        // What was asked.
        ("same", "/request", json!(null), Both),
        ("same", "/request/dtype", json!("bf16"), Both),
        ("same", "/request/rows", json!("0..4"), Both),
        ("same", "/request/nan", json!("any"), Both),
        ("drawn", "/request/sample", json!(3), Both),
        ("same", "/request/transpose_a", json!(true), Both),
        ("same", "/request/d", json!("other.npy"), Both),
        ("same", "/request/arch", json!("h100"), Both),
        (
            "same",
            "/command",
            json!("tcverify check --arch a100 --dtype fp16 a.npy b.npy other.npy"),
            Both,
        ),
        (
            "same",
            "/command",
            json!("tcverify check --arch a100 --dtype fp16 --nan any a.npy b.npy d.npy"),
            Both,
        ),
        ("same", "/command", json!("curl example.org"), Both),
        ("rows", "/request/rows", json!("2..6"), Both),
        ("drawn", "/request/seed", json!(4), Both),
        // The model.
        ("same", "/model/sha256", zeros.clone(), Both),
        ("same", "/model/sha256", json!(null), Both),
        ("same", "/model/arithmetic/accumulator", json!("fp16"), Both),
        ("same", "/model/arithmetic/step/products", json!(4), Both),
        ("same", "/model/evidence", json!("claimed"), Catalogue),
        ("same", "/model/architecture", json!("hopper"), Catalogue),
        ("same", "/model/title", json!("NVIDIA Other"), Catalogue),
        ("same", "/model/instruction", json!("wgmma"), Catalogue),
        (
            "same",
            "/model/file",
            json!({"path": "x", "sha256": "0".repeat(64), "says": "hardware"}),
            Both,
        ),
        ("scheduled", "/schedule/sha256", zeros.clone(), Both),
        ("scheduled", "/schedule/title", json!("Other"), Catalogue),
        ("scheduled", "/schedule", json!(null), Both),
        // What was multiplied.
        ("same", "/product/k", json!(65), Both),
        ("same", "/product/m", json!(15), Both),
        ("same", "/product/batch", json!([1]), Both),
        ("same", "/product/transpose_b", json!(true), Both),
        ("same", "/inputs", json!({}), Both),
        ("same", "/inputs/a", json!(null), Both),
        ("same", "/inputs/d", json!(null), Both),
        ("same", "/inputs/a/path", json!("b.npy"), Both),
        ("same", "/inputs/a/file_sha256", json!(null), Both),
        ("same", "/inputs/a/file_sha256", zeros.clone(), Both),
        ("same", "/inputs/b/payload_sha256", json!(null), Both),
        ("same", "/inputs/b/payload_sha256", zeros.clone(), Both),
        ("same", "/inputs/d/payload_sha256", zeros.clone(), Both),
        ("same", "/inputs/a/shape", json!([64, 16]), Both),
        ("same", "/inputs/a/descr", json!("<f4"), Both),
        ("same", "/inputs/a/format", json!("bf16"), Both),
        ("same", "/inputs/a/fortran_order", json!(true), Both),
        (
            "same",
            "/commitment",
            json!({"path": "a.npy", "file_sha256": "0", "root": "0"}),
            Both,
        ),
        // What was reproduced.
        ("same", "/reproduced/payload_sha256", json!(null), Both),
        ("same", "/reproduced/payload_sha256", zeros.clone(), Both),
        ("same", "/reproduced/payload_sha256", json!(""), Both),
        ("same", "/reproduced/format", json!("bf16"), Both),
        ("same", "/reproduced/shape", json!([24, 16]), Both),
        (
            "same",
            "/reproduced/conversion",
            json!({"from": "fp32", "to": "fp32", "rounding": "rne"}),
            Both,
        ),
        (
            "same",
            "/reproduced/tree",
            json!({"block_rows": 4, "root": "0".repeat(64)}),
            Both,
        ),
        ("tree", "/reproduced/tree/root", zeros.clone(), Both),
        ("tree", "/reproduced/tree/block_rows", json!(2), Both),
        ("tree", "/reproduced/tree", json!(null), Both),
        ("rows", "/reproduced/sample", json!(null), Both),
        ("rows", "/reproduced/sample/rows", json!([0, 16]), Both),
        ("rows", "/reproduced/sample/population", json!(384), Both),
        ("rows", "/reproduced/sample/sha256", zeros.clone(), Both),
        (
            "rows",
            "/reproduced/sample/caught_99_percent",
            json!(1),
            Both,
        ),
        (
            "rows",
            "/reproduced/sample/missed",
            json!([{"tampered": 1, "probability": 0.0}]),
            Both,
        ),
        ("rows", "/reproduced/payload_sha256", zeros.clone(), Both),
        ("drawn", "/reproduced/sample/seed", json!(4), Both),
        ("drawn", "/reproduced/sample/elements", json!(384), Both),
        (
            "drawn",
            "/reproduced/sample/caught_99_percent",
            json!(1),
            Both,
        ),
        (
            "drawn",
            "/reproduced/sample/missed/0/probability",
            json!(0.0),
            Both,
        ),
        ("drawn", "/reproduced/sample/sha256", zeros.clone(), Both),
        // What it was compared with.
        ("same", "/outcome", digest(&"7".repeat(64)), Both),
        (
            "digest",
            "/outcome/expected_payload_sha256",
            zeros.clone(),
            Both,
        ),
        ("digest", "/reproduced/payload_sha256", json!(null), Both),
        ("digest", "/causes", cause.clone(), Both),
        ("same", "/outcome/nan", json!("any"), Both),
        ("same", "/outcome/comparison/accepted", json!(1), Both),
        ("same", "/outcome/comparison/accepted", json!(384), Both),
        ("lenient", "/outcome/comparison/accepted", json!(384), Both),
        ("lenient", "/outcome/zero", json!("exact"), Both),
        ("same", "/outcome/comparison/elements", json!(0), Both),
        ("same", "/outcome/comparison/elements", json!(383), Both),
        ("rows", "/outcome/comparison/elements", json!(384), Both),
        ("same", "/outcome/comparison/mismatches", json!(1), Both),
        (
            "same",
            "/outcome/comparison/mismatch_percent",
            json!(0.5),
            Both,
        ),
        ("same", "/outcome/comparison/rows", json!(17), Both),
        ("same", "/outcome/comparison/rows_touched", json!(1), Both),
        ("same", "/outcome/comparison/columns", json!(23), Both),
        (
            "same",
            "/outcome/comparison/columns_touched",
            json!(1),
            Both,
        ),
        ("same", "/outcome/comparison/classes/sign", json!(1), Both),
        (
            "same",
            "/outcome/comparison/histogram",
            json!([{"from": 1, "to": 1, "count": 1}]),
            Both,
        ),
        (
            "same",
            "/outcome/comparison/largest",
            json!({"ulp": 1, "index": [0, 0]}),
            Both,
        ),
        ("same", "/outcome/comparison/units/counts/0", json!(1), Both),
        ("same", "/causes", cause.clone(), Both),
        ("same", "/tried", json!(["much"]), Both),
        // Where something differs.
        ("other", "/outcome/comparison/mismatches", json!(0), Both),
        ("other", "/outcome/comparison/mismatches", json!(2), Both),
        ("other", "/outcome/comparison/mismatches", json!(-1), Both),
        ("other", "/outcome/comparison/accepted", json!(9), Both),
        (
            "other",
            "/outcome/comparison/classes/significand",
            json!(1),
            Both,
        ),
        ("other", "/outcome/comparison/largest", json!(null), Both),
        (
            "other",
            "/outcome/comparison/largest/ulp",
            json!(100_000),
            Both,
        ),
        (
            "other",
            "/outcome/comparison/histogram/0/count",
            json!(1),
            Both,
        ),
        (
            "other",
            "/outcome/comparison/histogram/0/from",
            json!(0),
            Both,
        ),
        ("other", "/outcome/comparison/rows_touched", json!(17), Both),
        (
            "other",
            "/outcome/comparison/units/counts",
            json!([311]),
            Both,
        ),
        ("other", "/outcome/comparison/first", json!([]), Both),
        (
            "other",
            "/outcome/comparison/first/0/given",
            json!("00000000"),
            Both,
        ),
        (
            "other",
            "/outcome/comparison/first/0/index",
            json!([0, 5]),
            Both,
        ),
        (
            "other",
            "/outcome/comparison/first/0/index",
            json!([99, 5]),
            Both,
        ),
        ("other", "/outcome/comparison/first/0/ulp", json!(7), Both),
        (
            "other",
            "/outcome/comparison/first/0/class",
            json!("sign"),
            Both,
        ),
        (
            "other",
            "/outcome/comparison/first/0/xor",
            json!("00000000"),
            Both,
        ),
        (
            "other",
            "/outcome/comparison/first/0/reproduced",
            json!("x"),
            Both,
        ),
        (
            "wrong",
            "/outcome/comparison/first/0/index",
            json!([0, 0]),
            Both,
        ),
        ("other", "/causes/0/mismatches", json!(100_000), Both),
        (
            "other",
            "/reproduced/payload_sha256",
            json!("the given D's"),
            Both,
        ),
    ]
}

#[test]
fn each_forgery_is_refused() {
    let folder = folder();
    let mut names = Vec::new();
    for (i, (report, at, value, seen)) in forgeries().into_iter().enumerate() {
        let was = read(&folder, report);
        let forged = forge(was.clone(), at, value.clone());
        assert_ne!(forged, was, "{report} {at}: nothing is forged");
        let name = format!("forged-{i}.json");
        folder.write(&name, forged.to_string());
        let run = folder.tcverify(&format!("verify-report {name}"));
        let refused = matches!(run.code, Some(1 | 2));
        assert!(refused, "{report} {at} {value}: {run:#?}");
        if run.code == Some(1) {
            assert!(run.stdout.contains("BAD  "), "{at}: {run:#?}");
        }
        if seen == Both {
            names.push((name, format!("{report} {at} {value}")));
        }
    }
    assert!(names.len() > 100);
    passed_by_script(&folder, "same.json", &names);
}

/// One in which all figures agree with each other and with D: only who computes it again finds it.
#[test]
fn a_consistent_lie_is_found_by_the_replay() {
    let folder = folder();
    let mut forged = read(&folder, "same");
    let other = read(&folder, "other");
    for field in ["request", "command", "inputs"] {
        forged[field] = other[field].clone();
    }
    forged["reproduced"]["payload_sha256"] = other["inputs"]["d"]["payload_sha256"].clone();
    folder.write("lie.json", forged.to_string());
    folder.tcverify("verify-report lie.json").expect(0);
    let run = folder.tcverify("verify-report lie.json --replay").expect(1);
    assert!(run.stdout.contains("BAD  the replay"), "{run:#?}");
    if let Some(run) = script(&folder, &["lie.json"]) {
        run.expect(0);
        let replayed = script(&folder, &["lie.json", "--replayed", "d.npy"]).unwrap();
        replayed.expect(1);
    }
    // So is a part of it.
    let mut forged = read(&folder, "wrong");
    forged["outcome"]["comparison"]["largest"]["index"] = json!([0, 1]);
    folder.write("index.json", forged.to_string());
    folder
        .tcverify("verify-report index.json --replay")
        .expect(1);
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
        let report: tcverify::report::Report = serde_json::from_value(forged).unwrap();
        report.contradictions()
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
            "/discrimination",
            json!({"elements": 9, "others": 0, "same": [{"architecture": "volta", "instruction": "mma",
                "accumulator": "fp32", "evidence": "hardware", "sha256": "0".repeat(64)}]}),
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
