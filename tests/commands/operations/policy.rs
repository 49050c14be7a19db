//! Operations under a policy: each way around a strict gate, and the word that allows it.

use serde_json::{Value, json};

use super::copied;
use crate::support::{Folder, Members, Run, Says, holds, json_of, rows, table};

/// Arrays in `pushed/`, everything else beside it.
fn pushed() -> Folder {
    let folder = copied();
    folder.create("pushed");
    for name in folder.names().iter().filter(|name| name.ends_with(".npy")) {
        folder.copy(name, &format!("pushed/{name}"));
    }
    let own = folder.stdout("ops --raw rms_norm hf-eager");
    folder.write("pushed/mine.json", own);
    folder
}

fn norm() -> Value {
    json!({"name": "it", "operation": "rms_norm", "eps": "1e-6", "x": "op_x.npy", "weight": "op_w.npy",
        "y": "op_hf.npy"})
}

fn attention() -> Value {
    json!({"name": "it", "operation": "attention", "arch": "a100", "tile": "32x16", "q": "op_q.npy",
        "k": "op_k.npy", "v": "op_v.npy", "y": "op_fa.npy"})
}

fn judged(folder: &Folder, case: &Value, mut policy: Value) -> Run {
    let manifest = json!({"schema": "tcverify.manifest/1", "cases": [case]});
    folder.write("pushed/cases.json", manifest.to_string());
    policy["schema"] = "tcverify.policy/1".into();
    folder.write("policy.json", policy.to_string());
    folder.tcverify("batch pushed/cases.json --policy policy.json --json -")
}

fn with(mut case: Value, says: Value) -> Value {
    for (name, value) in says.as_object().unwrap() {
        case[name] = value.clone();
    }
    case
}

#[test]
fn a_strict_gate_judges_operations() {
    let folder = pushed();
    for case in [norm(), attention()] {
        let report = judged(&folder, &case, json!({})).expect(0).json();
        assert_eq!(report["cases"][0]["verdict"], "identical");
    }
    // The word says the same as a file that says nothing.
    holds! {folder.json("batch pushed/cases.json --policy strict --json -"), "policy.name = strict"}
    judged(
        &folder,
        &with(norm(), json!({"y": "op_fused.npy"})),
        json!({}),
    )
    .expect(1);
}

#[test]
fn each_way_to_weaken_an_operation_is_refused() {
    let folder = pushed();
    folder.copy("op_x.npy", "away.npy");
    let operations = |says: Value| json!({"operations": says});
    for (case, field, allowing, code) in table! {
        (with(norm(), json!({"rows": "0"})), "rows", json!({"scope": "part"}), 0),
        (with(norm(), json!({"sample": 1, "seed": 1})), "sample", json!({"scope": "part"}), 0),
        (with(norm(), json!({"nan": "any"})), "nan", json!({"nan": "any"}), 0),
        (with(norm(), json!({"zero": "any"})), "zero", json!({"zero": "any"}), 0),
        (with(norm(), json!({"variant_file": "mine.json"})), "variant_file", operations(json!({"files": true})), 0),
        (with(norm(), json!({"eps": "1e30"})), "eps", operations(json!({"largest_eps": null})), 1),
        (with(attention(), json!({"softmax_scale": 0.5})), "softmax_scale", operations(json!({"factors": true})), 1),
        (with(norm(), json!({"max_mismatches": 1001})), "max_mismatches", json!({"limits": {"mismatches": 1001}}), 0),
        (with(norm(), json!({"x": "../away.npy"})), "x", json!({"paths": {"outside": true}}), 0),
    } {
        let run = judged(&folder, &case, json!({}));
        run.refuses(&["case 1 (it)", &format!("`{field}`"), "policy"]);
        judged(&folder, &case, allowing).expect(code);
    }
}

/// What a policy narrows beyond the strict one.
#[test]
fn a_policy_names_operations_and_what_is_known_of_them() {
    let folder = pushed();
    for (case, policy, why) in table! {
        (norm(), json!({"operations": {"variants": []}}), "no operations between products"),
        (norm(), json!({"operations": {"variants": ["softmax", "rms_norm vllm"]}}),
            "softmax, rms_norm vllm; this is rms_norm hf-eager"),
        (attention(), json!({"operations": {"changes": false}}), "the variants' own tiles"),
        (attention(), json!({"models": {"architectures": ["h100"]}}), "the policy allows only these: h100"),
    } {
        judged(&folder, &case, policy).refuses(&[why, "case 1 (it)"]);
    }
    // What shows only when a case is opened leaves it without a verdict.
    for (case, policy, why) in table! {
        (norm(), json!({"operations": {"evidence": "captured"}}),
            "requires rules of evidence captured or better; this one is published"),
        (norm(), json!({"limits": {"products": 100}}), "limits a case to 100 multiply-adds"),
        (attention(), json!({"limits": {"products": 100}}), "limits a case to 100 multiply-adds"),
    } {
        let report = judged(&folder, &case, policy).expect(2).json();
        assert_eq!(report["cases"][0]["verdict"], "unjudged");
        let error = report["cases"][0].string("error");
        assert!(error.contains(why), "{error}");
    }
    for policy in [
        json!({"operations": {"variants": ["rms_norm", "softmax pytorch"], "evidence": "published"}}),
        json!({"models": {"architectures": ["a100"], "evidence": "captured"}}),
    ] {
        judged(&folder, &norm(), policy).expect(0);
    }
    // A file's rule is claimed, whatever it says of itself.
    let own = with(norm(), json!({"variant_file": "mine.json"}));
    let policy = json!({"operations": {"files": true, "evidence": "inferred"}});
    let report = judged(&folder, &own, policy).expect(2).json();
    let error = report["cases"][0].string("error");
    error.says("evidence inferred or better; this one is claimed");
}

#[test]
fn policies_that_name_nothing_are_refused() {
    let folder = pushed();
    for [says, why] in rows! {r#"
        {{"variants": ["rmsnorm"]}} | no operation called
        {{"variants": ["rms_norm none"]}} | rms_norm has no variant called "none"
        {{"variants": ["tanh_approx"]}} | cannot be replayed
        {{"largest_eps": -1}} | negative
        {{"largest_eps": "nan"}} | expected f64
        {{"surprise": 1}} | surprise
    "#}
    {
        let says = json_of(says);
        judged(&folder, &norm(), json!({"operations": says})).refuses(&["policy.json", why]);
    }
}

/// A verdict that was kept under another policy, or under none, is none under this one.
#[test]
fn a_state_of_another_policy_is_not_believed() {
    let folder = pushed();
    let manifest = json!({"schema": "tcverify.manifest/1", "cases": [norm()]});
    folder.write("pushed/cases.json", manifest.to_string());
    folder.write(
        "policy.json",
        r#"{"schema": "tcverify.policy/1", "operations": {"evidence": "captured"}}"#,
    );
    let words = "batch pushed/cases.json --resume state.json -q";
    folder.passes(words);
    folder.fails(&format!("{words} --policy policy.json"));
    // Nor is one of another number.
    let case = with(norm(), json!({"eps": "0.5"}));
    let manifest = json!({"schema": "tcverify.manifest/1", "cases": [case]});
    folder.write("pushed/cases.json", manifest.to_string());
    folder.differs(words);
}
