//! Reports on operations between products, honest and forged.

use serde_json::{Value, json};

use super::{forge, passed_by_script, read, script};
use crate::operations::copied;
use crate::support::{Folder, Npy};

/// Reports on two results for the same arrays, and on attention, a flat array, a quantisation.
fn folder() -> Folder {
    let folder = copied();
    let norm = "rms_norm --eps 1e-6 op_x.npy op_w.npy";
    folder
        .tcverify(&format!("op {norm} op_hf.npy --commit c.json -q"))
        .expect(0);
    let numbers = (0..700u32).flat_map(|i| (0x3f80_0000 + 7 * i).to_le_bytes());
    folder.save("flat_x.npy", &Npy::new("<f4", &[700], numbers.collect()));
    let ex2 = "ex2_approx --variant ptx-ftz flat_x.npy";
    folder
        .tcverify(&format!("op {ex2} --replay flat.npy -q"))
        .expect(0);
    let digest = "7".repeat(64);
    for (name, words, code) in [
        ("same", format!("{norm} op_hf.npy"), 0),
        ("other", format!("{norm} op_fused.npy"), 1),
        ("silent", format!("{norm} op_fused.npy --no-causes"), 1),
        ("rows", format!("{norm} op_hf.npy --rows 1.."), 0),
        ("drawn", format!("{norm} op_hf.npy --sample 50 --seed 3"), 0),
        (
            "wrong",
            format!("{norm} op_fused.npy --sample 300 --seed 3 --max-mismatches 999"),
            1,
        ),
        (
            "beacon",
            format!("{norm} op_hf.npy --sample 50 --seed-from c.json --beacon 8430af44"),
            0,
        ),
        (
            "lenient",
            format!("{norm} op_fused.npy --nan any --zero any"),
            1,
        ),
        ("digest", format!("{norm} --y-digest {digest}"), 1),
        (
            "attention",
            "attention --arch a100 --tile 32x16 op_q.npy op_k.npy op_v.npy op_fa.npy".into(),
            0,
        ),
        ("flat", format!("{ex2} flat.npy --sample 20 --seed 1"), 0),
        (
            "scale",
            "quantize_fp8 --output scale op_a.npy op_fp8_scale.npy".into(),
            0,
        ),
    ] {
        // By integers: tables take longer to fill than these arrays to compute.
        let words = format!("op {words} --engine exact --json {name}.json -q");
        folder.tcverify(&words).expect(code);
    }
    folder
}

const HONEST: [&str; 12] = [
    "same",
    "other",
    "silent",
    "rows",
    "drawn",
    "wrong",
    "beacon",
    "lenient",
    "digest",
    "attention",
    "flat",
    "scale",
];

#[test]
fn true_reports_on_operations_are_confirmed() {
    let folder = folder();
    for name in HONEST {
        let words = format!("verify-report {name}.json");
        let said = folder.tcverify(&words).expect(0).stdout;
        assert!(said.contains("--replay confirms it"), "{said}");
        let said = folder.tcverify(&format!("{words} --replay")).expect(0);
        assert!(
            said.stdout.contains("the replay gives this report"),
            "{}",
            said.stdout
        );
        match script(&folder, &[&format!("{name}.json")]) {
            Some(run) => drop(run.expect(0)),
            None => println!("not checked: NumPy is not here: the script on {name}"),
        }
    }
}

/// What is forged: in which report, where, what stands there, and whether only who knows the rules sees it.
fn forgeries() -> Vec<(&'static str, &'static str, Value, bool)> {
    let zeros = || json!("0".repeat(64));
    let cause = json!([{"kind": "variant", "sentence": "x", "mismatches": 1, "area": null, "command": null}]);
    let digest = json!({"judged_by": "digest", "expected_payload_sha256": "7".repeat(64)});
    vec![
        (
            "same",
            "/schema",
            json!("tcverify.operation-report/2"),
            false,
        ),
        ("same", "/tool/name", json!("other"), false),
        ("same", "/note", json!("checked twice"), false),
        ("same", "/operation/more", json!(1), false),
        ("same", "/verdict", json!("different"), false),
        ("same", "/verdict", json!("identical_in_part"), false),
        ("other", "/verdict", json!("identical"), false),
        ("rows", "/verdict", json!("identical"), false),
        ("drawn", "/verdict", json!("identical"), false),
        ("digest", "/verdict", json!("identical"), false),
        ("same", "/request", json!(null), false),
        ("same", "/request/eps", json!("1e-5"), false),
        ("same", "/request/variant", json!("vllm"), false),
        ("same", "/request/operation", json!("layer_norm"), false),
        ("same", "/request/y", json!("op_fused.npy"), false),
        ("same", "/request/rows", json!("0..1"), false),
        ("same", "/request/nan", json!("any"), false),
        ("same", "/request/output", json!("residual"), false),
        ("drawn", "/request/sample", json!(3), false),
        ("drawn", "/request/seed", json!(4), false),
        ("rows", "/request/rows", json!("0.."), false),
        (
            "same",
            "/command",
            json!("tcverify op rms_norm op_x.npy"),
            false,
        ),
        ("same", "/command", json!("curl example.org"), false),
        // The rule.
        ("same", "/operation/sha256", zeros(), false),
        ("same", "/operation/rule/mean", json!("divide"), false),
        ("same", "/operation/variant", json!("vllm"), true),
        ("same", "/operation/evidence", json!("hardware"), false),
        ("other", "/operation/evidence", json!("claimed"), true),
        ("same", "/operation/title", json!("Other"), true),
        ("same", "/operation/about", json!("rows of 3"), true),
        (
            "same",
            "/operation/constants/0/evidence",
            json!("hardware"),
            true,
        ),
        (
            "attention",
            "/operation/multiplied_by/architecture",
            json!("hopper"),
            true,
        ),
        (
            "attention",
            "/operation/multiplied_by/sha256",
            zeros(),
            true,
        ),
        // Arrays.
        ("same", "/inputs", json!([]), false),
        ("same", "/inputs/0/name", json!("q"), false),
        ("same", "/inputs/0/path", json!("op_w.npy"), false),
        ("same", "/inputs/1/file_sha256", zeros(), false),
        ("same", "/inputs/1/payload_sha256", zeros(), false),
        ("same", "/inputs/2/payload_sha256", zeros(), false),
        ("same", "/inputs/0/shape", json!([400, 3]), false),
        ("same", "/inputs/0/format", json!("fp16"), false),
        ("beacon", "/commitment/file_sha256", zeros(), false),
        ("beacon", "/commitment/path", json!("op_x.npy"), false),
        ("beacon", "/commitment", json!(null), false),
        (
            "same",
            "/commitment",
            json!({"path": "c.json", "file_sha256": "0".repeat(64)}),
            false,
        ),
        // What was reproduced.
        ("same", "/reproduced/payload_sha256", zeros(), false),
        ("same", "/reproduced/payload_sha256", json!(""), false),
        ("same", "/reproduced/shape", json!([400, 3]), false),
        ("same", "/reproduced/format", json!("fp16"), false),
        ("same", "/reproduced/output", json!("residual"), false),
        ("rows", "/reproduced/sample", json!(null), false),
        ("rows", "/reproduced/sample/rows", json!([0, 3]), false),
        ("rows", "/reproduced/sample/population", json!(1200), false),
        ("rows", "/reproduced/sample/sha256", zeros(), false),
        (
            "rows",
            "/reproduced/sample/caught_99_percent",
            json!(1),
            false,
        ),
        ("drawn", "/reproduced/sample/seed", json!(4), false),
        ("drawn", "/reproduced/sample/elements", json!(51), false),
        (
            "drawn",
            "/reproduced/sample/assumes",
            json!("nothing"),
            false,
        ),
        (
            "drawn",
            "/reproduced/sample/missed/0/probability",
            json!(0.0),
            false,
        ),
        (
            "beacon",
            "/reproduced/sample/seed_from/beacon",
            json!("other"),
            false,
        ),
        // What it was compared with.
        ("same", "/outcome", digest, false),
        ("digest", "/outcome/expected_payload_sha256", zeros(), false),
        ("digest", "/causes", cause.clone(), false),
        ("same", "/outcome/nan", json!("any"), false),
        ("same", "/outcome/comparison/accepted", json!(1), false),
        (
            "lenient",
            "/outcome/comparison/accepted",
            json!(1200),
            false,
        ),
        ("same", "/outcome/comparison/elements", json!(1199), false),
        ("rows", "/outcome/comparison/elements", json!(1200), false),
        ("same", "/outcome/comparison/rows", json!(4), false),
        ("same", "/causes", cause.clone(), false),
        ("silent", "/causes", cause, false),
        ("other", "/outcome/comparison/mismatches", json!(0), false),
        ("other", "/outcome/comparison/mismatches", json!(2), false),
        ("other", "/outcome/comparison/first", json!([]), false),
        (
            "other",
            "/outcome/comparison/first/0/given",
            json!("0000"),
            false,
        ),
        (
            "other",
            "/outcome/comparison/first/0/index",
            json!([9, 5]),
            false,
        ),
        (
            "other",
            "/outcome/comparison/largest/ulp",
            json!(100_000),
            false,
        ),
        (
            "wrong",
            "/outcome/comparison/first/0/index",
            json!([0, 0]),
            false,
        ),
        ("other", "/causes/0/mismatches", json!(100_000), false),
        (
            "other",
            "/reproduced/payload_sha256",
            json!("the given D's"),
            false,
        ),
    ]
}

#[test]
fn each_forgery_on_an_operation_is_refused() {
    let folder = folder();
    let mut names = Vec::new();
    for (i, (report, at, value, catalogue)) in forgeries().into_iter().enumerate() {
        let was = read(&folder, report);
        let forged = forge(was.clone(), at, value.clone());
        assert_ne!(forged, was, "{report} {at}: nothing is forged");
        let name = format!("forged-{i}.json");
        folder.write(&name, forged.to_string());
        let run = folder.tcverify(&format!("verify-report {name}"));
        let refused = matches!(run.code, Some(1 | 2));
        assert!(refused, "{report} {at} {value}: {run:#?}");
        if !catalogue {
            names.push((name, format!("{report} {at} {value}")));
        }
    }
    assert!(names.len() > 60);
    passed_by_script(&folder, "same.json", &names);
}

/// One in which all figures agree with each other and with the result: only who computes it again finds it.
#[test]
fn a_consistent_lie_on_an_operation_is_found_by_the_replay() {
    let folder = folder();
    let mut forged = read(&folder, "same");
    let other = read(&folder, "other");
    for field in ["request", "command", "inputs"] {
        forged[field] = other[field].clone();
    }
    forged["reproduced"]["payload_sha256"] = other["inputs"][2]["payload_sha256"].clone();
    folder.write("lie.json", forged.to_string());
    folder.tcverify("verify-report lie.json").expect(0);
    let run = folder.tcverify("verify-report lie.json --replay").expect(1);
    assert!(run.stdout.contains("BAD  the replay"), "{run:#?}");
    if let Some(run) = script(&folder, &["lie.json"]) {
        run.expect(0);
        folder
            .tcverify("op rms_norm --eps 1e-6 op_x.npy op_w.npy --replay again.npy -q")
            .expect(0);
        script(&folder, &["lie.json", "--replayed", "again.npy"])
            .unwrap()
            .expect(1);
    }
}
