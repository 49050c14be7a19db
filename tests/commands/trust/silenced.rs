//! What a case may not leave out under a policy: the file that it is about, what reports warn of, and time.

use serde_json::{Value, json};

use crate::support::{Folder, good, sha256};

/// Cases of the good product in `pushed/`; its D is what `d` says.
fn pushed(d: &[u8], case: &Value) -> Folder {
    let folder = good();
    folder.create("pushed");
    for name in ["a.npy", "b.npy"] {
        folder.copy(name, &format!("pushed/{name}"));
    }
    folder.write("pushed/d.npy", d);
    let mut all =
        json!({"name": "d.npy", "arch": "a100", "dtype": "fp16", "a": "a.npy", "b": "b.npy"});
    for (field, value) in case.as_object().unwrap() {
        all[field] = value.clone();
    }
    let manifest = json!({"schema": "tcverify.manifest/1", "cases": [all]});
    folder.write("pushed/tcverify.json", manifest.to_string());
    folder
}

fn batch(folder: &Folder, policy: &str) -> crate::support::Run {
    folder.tcverify(&format!("batch pushed/tcverify.json --policy {policy}"))
}

fn policy(folder: &Folder, mut says: Value) {
    says["schema"] = "tcverify.policy/1".into();
    folder.write("policy.json", says.to_string());
}

/// The digest of the right D, beside a wrong file of the name that the case has.
#[test]
fn a_digest_is_no_claim_about_the_file_beside_it() {
    let right = good().read("d.npy");
    let digest = sha256(&right[right.len() - 16..]);
    let mut wrong = right.clone();
    *wrong.last_mut().unwrap() ^= 1;
    let folder = pushed(&wrong, &json!({"d_digest": digest}));
    batch(&folder, "strict").refuses(&["`d_digest`", "requires the array D, not just its digest"]);
    policy(&folder, json!({"claims": ["array", "digest"]}));
    batch(&folder, "policy.json").expect(0);
    let folder = pushed(&wrong, &json!({"d": "d.npy"}));
    batch(&folder, "strict").expect(1);
    policy(&folder, json!({"claims": ["digest"]}));
    batch(&folder, "policy.json").refuses(&["only digests"]);
    policy(&folder, json!({"claims": ["word"]}));
    batch(&folder, "policy.json").refuses(&["policy.json", "word"]);
}

#[test]
fn no_report_is_silenced() {
    let right = good().read("d.npy");
    for (field, value, silenced) in [
        ("no_ambiguity", json!(true), "ambiguity"),
        ("tree", json!(true), "ambiguity"),
        ("no_causes", json!(true), "causes"),
    ] {
        let mut case = json!({"d": "d.npy"});
        case[field] = value;
        let folder = pushed(&right, &case);
        batch(&folder, "strict").refuses(&[&format!("`{field}`"), silenced, "policy"]);
        policy(&folder, json!({"silenced": [silenced]}));
        batch(&folder, "policy.json").expect(0);
        let other = if silenced == "causes" {
            "ambiguity"
        } else {
            "causes"
        };
        policy(&folder, json!({"silenced": [other]}));
        batch(&folder, "policy.json").refuses(&[&format!("`{field}`")]);
    }
}

/// Whoever pushes does not choose an engine that takes hundreds of times as long.
#[test]
fn the_engine_is_the_policys() {
    let folder = pushed(
        &good().read("d.npy"),
        &json!({"d": "d.npy", "engine": "exact"}),
    );
    batch(&folder, "strict").refuses(&["`engine`", "fast"]);
    policy(&folder, json!({"engines": ["exact"]}));
    batch(&folder, "policy.json").expect(0);
    let folder = pushed(&good().read("d.npy"), &json!({"d": "d.npy"}));
    policy(&folder, json!({"engines": ["exact"]}));
    batch(&folder, "policy.json").refuses(&["`engine`", "exact"]);
}

#[test]
fn operations_too() {
    let folder = crate::operations::copied();
    let case = |more: Value| {
        let mut case = json!({"name": "n", "operation": "rms_norm", "eps": "1e-6", "x": "f_x.npy", "weight": "f_w.npy"});
        for (field, value) in more.as_object().unwrap() {
            case[field] = value.clone();
        }
        let manifest = json!({"schema": "tcverify.manifest/1", "cases": [case]});
        folder.write("tcverify.json", manifest.to_string());
        folder.tcverify("batch tcverify.json --policy strict")
    };
    case(json!({"y": "f_hf.npy"})).expect(0);
    case(json!({"y": "f_hf.npy", "no_causes": true})).refuses(&["`no_causes`"]);
    case(json!({"y": "f_hf.npy", "engine": "exact"})).refuses(&["`engine`"]);
    case(json!({"y_digest": "7".repeat(64)})).refuses(&["`y_digest`", "the result"]);
}
