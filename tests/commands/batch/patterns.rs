//! A case of a manifest that stands for many.

use serde_json::{Value, json};

use super::products::{manifest, small};
use crate::support::{Folder, Members, Says, claims, holds, listed, table};

/// Copies of x, w and y = D of [`small`] under these names, which end so, as a `.safetensors` file.
pub fn pack(folder: &Folder, names: &str) {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for name in listed(names) {
        let (file, dtype, shape) = match name.rsplit_once('.') {
            Some((_, "x")) => ("x.npy", "F16", [4, 32]),
            Some((_, "w")) => ("w.npy", "F16", [32, 8]),
            _ => ("d.npy", "F32", [4, 8]),
        };
        let from = data.len();
        data.extend(folder.payload(file));
        let about = json!({"dtype": dtype, "shape": shape, "data_offsets": [from, data.len()]});
        header.insert(name.to_owned(), about);
    }
    let header = Value::Object(header).to_string();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.bytes());
    file.extend(data);
    folder.write("dump.safetensors", file);
}

fn every() -> Value {
    json!([{"name": "all *", "a": "dump.safetensors#*.x", "b": "dump.safetensors#*.w", "d": "dump.safetensors#*.y"}])
}

fn defaults() -> Value {
    json!({"arch": "h100", "dtype": "fp16"})
}

#[test]
fn every_array_that_d_names_is_a_case() {
    let folder = small();
    pack(&folder, "k.x | k.w | k.y | norm.w | q.x | q.w | q.y");
    manifest(&folder, defaults(), every());
    let report = folder.json("batch cases.json --json -");
    let cases = report.list("cases");
    let names: Vec<_> = cases.iter().map(|case| case.string("name")).collect();
    assert_eq!(names, ["all k", "all q"]);
    for (case, stem) in cases.iter().zip(["k", "q"]) {
        let paths = ["a", "b", "d"].map(|name| &case["report"]["inputs"][name]["path"]);
        let wanted = ["x", "w", "y"].map(|end| json!(format!("dump.safetensors#{stem}.{end}")));
        assert_eq!(paths, wanted.each_ref());
    }
    // An operand without a pattern is the same for all.
    let cases = json!([{"name": "*", "a": "x.npy", "b": "w.npy", "d": "dump.safetensors#*.y"}]);
    manifest(&folder, defaults(), cases);
    folder.passes("batch cases.json");
}

/// What D's names promise and the file does not hold is no case that passes.
#[test]
fn a_missing_operand_is_a_case_without_a_verdict() {
    let folder = small();
    pack(&folder, "k.x | k.w | k.y | q.w | q.y");
    manifest(&folder, defaults(), every());
    let run = folder.fails("batch cases.json --json r.json");
    run.says("has no array named \"q.x\"");
    holds! {folder.document("r.json"), "totals.identical = 1 | totals.unjudged = 1"}
}

#[test]
fn patterns_that_mean_nothing_are_refused() {
    let folder = small();
    pack(&folder, "k.x | k.w | k.y");
    for (change, said) in table! {
        (json!({"d": "d.npy"}), "\"d\" must name arrays of one file with a *"),
        (json!({"d": "dump.safetensors#**"}), "\"d\" must name arrays"),
        (json!({"d": "*.safetensors#*.y"}), "\"d\" must name arrays"),
        (json!({"d": null, "d_digest": "0".repeat(64)}), "\"d\" must name arrays"),
        (json!({"d": "dump.safetensors#*.z"}), "has no array whose name matches *.z"),
        (json!({"d": "gone.npz#*.y"}), "gone.npz"),
        (json!({"a": "dump.safetensors#*.*"}), "field \"a\": the name of an array can have one *"),
        (json!({"a": "*.npy"}), "field \"a\": the name of an array can have one *"),
        (json!({"name": "all **"}), "its name has more than one *"),
    } {
        let mut cases = every();
        let case = cases[0].as_object_mut().unwrap();
        case.extend(change.as_object().unwrap().clone());
        manifest(&folder, defaults(), cases);
        claims! {folder, "batch cases.json | refused | cases.json: case 1 (all * | {said}"}
    }
    let mut twice = every();
    let more = twice[0].clone();
    twice.as_array_mut().unwrap().push(more);
    manifest(&folder, defaults(), twice);
    claims! {folder, "batch cases.json | refused | case 2 (all *): another case has the same name (all k)"}
}
