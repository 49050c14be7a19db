//! Rows and samples of results.

use serde_json::{Value, json};

use super::copied;
use crate::support::{Folder, Members, Npy, Says, claims, holds, ran};

const NORM: &str = "check --op rms_norm --engine exact --eps 1e-6 op_x.npy op_w.npy";

/// The commitment to it.
fn commit() -> String {
    NORM.replace("check", "commit")
}

/// The same array with a bit of one element changed.
fn flip(folder: &Folder, from: &str, to: &str, element: usize) {
    folder.with_codes16(from, to, |codes| codes[element] ^= 1);
}

#[test]
fn rows_that_agree_are_identical_in_part() {
    let folder = copied();
    // The first row, which is not looked at.
    flip(&folder, "op_hf.npy", "bad.npy", 3);
    claims! {folder, "{NORM} bad.npy --rows 1.. | 0
        | IDENTICAL IN PART under a published rule, 66.6 % of the result compared
        | all 800 chosen elements of the 1,200 of the result are reproduced
        | rows 1 to 2, columns 0 to 399
        | About the others, this verdict says nothing"}
    let report = folder.differing(&format!("{NORM} bad.npy --rows ..1 --json -"));
    let comparison = &report["outcome"]["comparison"];
    holds! {comparison, "mismatches = 1 | elements = 400 | first.0.index = [0, 3]"}
    assert_eq!(report["reproduced"]["payload_sha256"], Value::Null);
    // A variant that gives what was compared is told, and how much that was.
    claims! {folder, "check --op rms_norm --variant vllm-2024 --eps 1e-6 op_x.npy op_w.npy op_fused.npy --rows 0 | 1
    | pytorch-fused (torch.nn.functional.rms_norm, vectorised; published). It gives all 400 compared elements"}
}

#[test]
fn samples_have_the_odds_of_the_draw() {
    let folder = copied();
    let words = format!("{NORM} op_hf.npy --sample 245 --seed 3 --json -");
    let report = folder.json(&words);
    assert_eq!(report["verdict"], "identical_in_part");
    let sample = &report["reproduced"]["sample"];
    holds! {sample, "population = 1200 | elements = 245"}
    // One of 1,200 by 245.
    let missed = sample["missed"][0]["probability"].as_f64().unwrap();
    assert!((missed - (1.0 - 245.0 / 1200.0)).abs() < 1e-12);
    holds! {sample, "assumes = nobody who could still change the result knew the seed"}
    // All of it is drawn: whatever is wrong is found, and still it is a draw.
    flip(&folder, "op_hf.npy", "bad.npy", 777);
    claims! {folder, "{NORM} bad.npy --sample 1200 --seed 3 --json - | 1 | :outcome.comparison.mismatches = 1"}
    for form in ["--markdown", "--junit", "--html"] {
        claims! {folder, "{NORM} op_hf.npy --sample 50 --seed 3 {form} out -q | 0"}
        let text = folder.text("out");
        let compared = text.contains("50 of 1,200 elements") || text.contains("all 50 sampled");
        assert!(compared && text.contains("in part"), "{form}: {text}");
    }
}

/// Each kind of kernel, by both engines: what is computed row by row is what is computed in one.
#[test]
fn every_operation_can_be_sampled() {
    let folder = copied();
    let mut manifest: Value = folder.document("operations.json");
    let cases = manifest["cases"].as_array_mut().unwrap();
    // Of a digest there are no parts.
    cases.retain(|case| case.get("y_digest").is_none());
    assert!(cases.len() > 45);
    for case in cases {
        // Scales are few.
        let few = case["output"] == "scale";
        case["sample"] = json!(if few { 1 } else { 9 });
        case["seed"] = json!(5);
    }
    let text = manifest.to_string();
    folder.write("sampled.json", text.clone());
    folder.write(
        "exact.json",
        text.replace("\"operation\"", "\"engine\":\"exact\",\"operation\""),
    );
    let count = manifest.list("cases").len();
    let [fast, exact] =
        ["sampled", "exact"].map(|name| folder.json(&format!("batch {name}.json --json -")));
    for report in [&fast, &exact] {
        assert_eq!(report["totals"]["identical_in_part"], count);
        assert_eq!(report["totals"]["identical"], 0);
    }
    let digests = |report: &Value| -> Vec<Value> {
        let cases = report.list("cases").iter();
        cases
            .map(|case| case["report"]["reproduced"]["sample"]["sha256"].clone())
            .collect()
    };
    assert_eq!(digests(&fast), digests(&exact));
    // Wrong ones are found by all their elements.
    let mut wrong: Value = folder.document("wrong.json");
    for case in wrong["cases"].as_array_mut().unwrap() {
        case["rows"] = json!("0..1");
        case["no_causes"] = json!(true);
    }
    folder.write("rows.json", wrong.to_string());
    let report = folder.differing("batch rows.json --json -");
    assert!(report["totals"].number("different") > 10);
}

/// A layer of which steps were compared in part is not said to be identical.
#[test]
fn a_chain_tells_parts_from_wholes() {
    let folder = copied();
    let mut layer: Value = folder.document("layer.json");
    let case = &mut layer["cases"][0];
    case["rows"] = json!("0..1");
    let name = case["name"].clone();
    folder.write("part.json", layer.to_string());
    let report = folder.json("batch part.json --json -");
    assert_eq!(report["verdict"], "identical_in_part");
    assert_eq!(report["chain"]["identical_in_part"], json!([name]));
    let identical = report["chain"].list("identical");
    assert!(!identical.contains(&name) && !identical.is_empty());
    claims! {folder, "batch part.json | 0 | compared only in part, and identical there"}
}

#[test]
fn a_beacon_draws_from_what_was_committed() {
    let folder = copied();
    folder.passes(&format!("{} op_hf.npy -o c.json", commit()));
    let drawn = |beacon: &str, result: &str, eps: &str| {
        folder.tcverify(&format!(
            "check --op rms_norm --engine exact --eps {eps} op_x.npy op_w.npy {result} --sample 50 --seed-from c.json --beacon {beacon} --json -"
        ))
    };
    let seed = |beacon: &str| {
        let report = drawn(beacon, "op_hf.npy", "1e-6").expect(0).json();
        report["reproduced"]["sample"]["seed"].clone()
    };
    assert_ne!(seed("1b35a8b2"), seed("1b35a8b3"));
    // Another result, another number, another rule.
    for run in [
        drawn("1b35a8b2", "op_fused.npy", "1e-6"),
        drawn("1b35a8b2", "op_hf.npy", "1e-5"),
        folder.tcverify(
            "check --op rms_norm --variant vllm --eps 1e-6 op_x.npy op_w.npy op_hf.npy --sample 5 --seed-from c.json --beacon 1",
        ),
    ] {
        let run = run.expect(1);
        run.stderr.says("the commitment has");
        assert_eq!(run.stdout, "");
    }
    // A commitment to a product fixes nothing of this.
    folder.write("p.json", r#"{"schema": "tcverify.commitment/1"}"#);
    claims! {folder, "
        each {NORM} op_hf.npy ~ | 2
        --sample 5 --seed-from p.json --beacon 1 | is not a commitment
        --sample 5 --seed-from op_x.npy --beacon 1 | op_x.npy
        --sample 5 --seed-from c.json | --beacon
        --sample 5 --seed 1 --seed-from c.json --beacon 1 | exclude
        --sample 5 | --seed-from and --beacon
        --seed 5 | --sample
        --sample 1201 --seed 1 | 1200 elements
        --rows 3 | rows 0 to 2
        --rows 2..2 | rows 0 to 2
        --rows x | --rows
    "}
    let digest = "7".repeat(64);
    claims! {folder, "{NORM} --y-digest {digest} --rows 1 | refused | --y-digest and --rows exclude"}
    ran! {folder, "{} -o c2.json", commit()}.refuses(&["a commitment needs a result"]);
}

/// Rows that are not asked for are not computed: those of a result that would take hours.
#[test]
fn a_part_costs_its_rows() {
    let folder = Folder::new();
    // 2^31 scores of 64 elements, were all of them computed by integers.
    let zeros = |rows: usize| Npy::new("<f2", &[1, rows, 1, 64], vec![0; rows * 128]);
    folder.save("q.npy", &zeros(1 << 14));
    folder.save("k.npy", &zeros(256));
    folder.save("y.npy", &zeros(1 << 14));
    let words = "check --op attention --arch a100 --layout bshd q.npy k.npy k.npy y.npy --engine exact --sample 2 --seed 1 -q";
    let start = std::time::Instant::now();
    folder.passes(words);
    assert!(start.elapsed().as_secs() < 60);
}
