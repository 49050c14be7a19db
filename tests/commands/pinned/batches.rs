//! Many checks: manifests, policies, states, shards.

use crate::support::Members;

use serde_json::json;

use super::{H100, Session, damaged, product};
use crate::exports::example;
use crate::operations::copied;

#[test]
fn a_manifest() {
    let mut session = Session::new(example());
    let manifest = json!({
        "schema": "tcverify.manifest/1",
        "defaults": { "arch": "a100", "dtype": "fp16", "a": "a.npy", "b": "b.npy", "c": "c.npy" },
        "cases": [
            { "name": "right", "d": "good.npy" },
            { "name": "wrong", "d": "d.npy" },
            { "name": "absent", "d": "none.npy" },
        ],
    });
    session.folder.write("cases.json", manifest.to_string());
    session.run(
        "batch cases.json --json b.json --junit b.xml --markdown b.md --html pages --github --resume state.json",
    );
    for file in ["b.json", "b.xml", "b.md", "pages/index.html"] {
        session.show(file);
    }
    session.run("batch cases.json --resume state.json --brief");
    session.keep("batch");
}

/// Of a whole layer: products and operations.
#[test]
fn a_layer() {
    let mut session = Session::new(copied());
    session.run("batch layer.json --json b.json --markdown b.md");
    session.show("b.md");
    let json: serde_json::Value = serde_json::from_slice(&session.folder.read("b.json")).unwrap();
    let cases = json.list("cases");
    let digests = cases.iter().map(|case| {
        let digest = &case["report"]["reproduced"]["payload_sha256"];
        format!("{} {} {digest}", case["name"], case["verdict"])
    });
    let digests: Vec<_> = digests.collect();
    session.add("what was reproduced", &digests.join("\n"));
    session.keep("layer");
}

#[test]
fn parts_of_a_check() {
    let mut session = product();
    damaged(&session, "flip.npy", |data| data[404] ^= 4);
    session.run(&format!(
        "shard plan {H100} flip.npy --block-rows 4 -n 2 -o plan.json"
    ));
    session.show("plan.json");
    session.run("shard run plan.json 0 -o p0.json");
    session.show("p0.json");
    session.run("shard run plan.json 1 -o p1.json");
    session.run("shard merge plan.json p0.json --json m.json");
    session.run("shard merge plan.json p0.json p1.json --json m.json");
    session.show("m.json");
    session.keep("shard");
}
