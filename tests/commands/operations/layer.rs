//! A transformer layer from one manifest, and errors in each of its steps.

use crate::support::{Members, claims};

use serde_json::Value;

use super::copied;

#[test]
fn a_layer_is_judged_from_one_manifest() {
    let folder = copied();
    let report = folder.json("batch layer.json --json -");
    assert_eq!(report["verdict"], "identical");
    let chain = &report["chain"];
    let names = |value: &Value| -> Vec<String> {
        let all = value.as_array().unwrap().iter();
        all.map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    let cases = report.list("cases");
    // Every step is linked to another.
    assert_eq!(names(&chain["identical"]).len(), cases.len());
    assert_eq!(names(&chain["first_different"]), Vec::<String>::new());
    let link = |from: &str, to: &str, array: &str| {
        let all = chain.list("links");
        all.iter()
            .any(|l| l["from"] == from && l["to"] == to && l["array"] == array)
    };
    assert!(link("norm1", "q", "a"));
    // Heads of a product's rows are the same bytes in another shape.
    assert!(link("q", "q_rope", "x"));
    assert!(link("v", "attention", "v"));
    assert!(link("k_rope", "attention", "k"));
    assert!(link("residual1", "residual2", "x"));
    assert!(!link("norm1", "norm2", "x"));
    claims! {folder, "batch layer.json | 0 | IDENTICAL | steps are identical | Identical under a published rule"}
}

/// Wherever a bit of a step's result is another, that step is named first.
#[test]
fn an_error_is_located_at_its_step() {
    let text = std::fs::read_to_string(super::fixtures().join("layer.json")).unwrap();
    let manifest: Value = serde_json::from_str(&text).unwrap();
    let cases = manifest.list("cases");
    assert!(cases.len() >= 13);
    for case in cases {
        let name = case.string("name");
        let result = case.get("y").or(case.get("d")).unwrap().as_str().unwrap();
        let folder = copied();
        let payload = |file: &str| {
            let bytes = folder.read(file);
            let header = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
            (bytes[header..].to_vec(), header)
        };
        let (wrong, _) = payload(result);
        // In every copy of it, whatever its shape.
        for file in folder.names().iter().filter(|file| file.ends_with(".npy")) {
            let (bytes, header) = payload(file);
            if bytes == wrong {
                let mut all = folder.read(file);
                all[header + 2 * (wrong.len() / 5)] ^= 1;
                folder.write(file, all);
            }
        }
        let report = folder.differing("batch layer.json --json -");
        assert_eq!(
            report["chain"]["first_different"],
            serde_json::json!([name]),
            "{name}"
        );
        let text = folder.differs("batch layer.json").stdout;
        assert!(
            text.contains(&format!("differs first: {name}\n")),
            "{name}: {text}"
        );
    }
}

#[test]
fn a_step_that_cannot_be_judged_is_said_to_be_so() {
    let folder = copied();
    let file = folder.read("wo.npy");
    folder.write("wo.npy", &file[..file.len() - 2]);
    let report = folder.tcverify("batch layer.json --json -");
    let report = report.expect(2).json();
    assert_eq!(report["chain"]["unjudged"], serde_json::json!(["proj"]));
    assert_eq!(report["chain"]["first_different"], serde_json::json!([]));
}
