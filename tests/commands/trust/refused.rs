//! What a document or a name says beside what it is.

use serde_json::{Value, json};

use crate::support::{Folder, Says, claims, good, lines, listed, rows, set, sha256, words};

const PLAN: &str =
    "shard plan -n 2 --block-rows 1 --arch a100 --dtype fp16 a.npy b.npy d.npy -o plan.json";

fn manifest(folder: &Folder, name: &str) {
    let cases = json!({
        "schema": "tcverify.manifest/1",
        "cases": [{"name": "one", "arch": "a100", "dtype": "fp16", "a": "a.npy", "b": "b.npy", "d": "d.npy"}],
    });
    folder.write(name, cases.to_string());
}

#[test]
fn the_state_of_another_batch() {
    let folder = good();
    manifest(&folder, "one.json");
    manifest(&folder, "two.json");
    folder.passes("batch one.json --resume s.json");
    let before = folder.read("s.json");
    claims! {folder, "batch two.json --resume s.json | refused | s.json | is the state of | one.json, not of
    | two.json"}
    assert_eq!(folder.read("s.json"), before);
    folder.passes("batch one.json --resume s.json");
}

#[test]
fn arrays_under_names_of_containers() {
    let folder = good();
    let replay = "replay --arch a100 --dtype fp16 a.npy b.npy -o";
    for name in ["x.safetensors", "x.npz", "x.NPZ"] {
        claims! {folder, "
            {replay} {name} | refused | {name} | the output is a .npy file
            generate generate:1:normal:2x2 --dtype fp16 --role a -o {name} | refused | {name} | .npy
        "}
    }
    folder.passes(&format!("{replay} x.npy"));
    folder.passes(&format!("{replay} x"));
}

/// The document with another content, sealed as it was.
fn resealed(folder: &Folder, name: &str, change: impl Fn(&mut Value)) {
    let document: Value = folder.document(name);
    let mut content = document["content"].clone();
    change(&mut content);
    let content = content.to_string();
    let text = format!(
        "{{\"schema\":{},\"tool\":{},\"sha256\":\"{}\",\"content\":{content}}}",
        document["schema"],
        document["tool"],
        sha256(&content)
    );
    folder.write(name, text);
}

/// Documents of which an object is a list of its values, in the order of the program's fields.
#[test]
fn lists_for_objects() {
    let folder = good();
    manifest(&folder, "cases.json");
    let values = |of: &Value, fields: &str| -> Value {
        fields.split(' ').map(|field| of[field].clone()).collect()
    };
    let read: Value = folder.document("cases.json");
    folder.write(
        "cases.json",
        json!([read["schema"], {}, read["cases"]]).to_string(),
    );
    claims! {folder, "
        batch cases.json | refused | cases.json | it is a list, and an object is expected
        {PLAN} | 0
    "}
    let list = values(&folder.document("plan.json"), "schema tool sha256 content");
    folder.write("list.json", list.to_string());
    claims! {folder, "shard run list.json 0 -o part.json | refused | list.json | an object is expected"}
    for [place, fields] in rows! {"
        /shards/0 | rows a c d
        /inputs/a | path descr fortran_order format shape file_sha256 payload_sha256 tf32_low_bits
    "}
    {
        folder.passes(PLAN);
        resealed(&folder, "plan.json", |plan| {
            let value = plan.pointer_mut(place).unwrap();
            *value = values(value, fields);
        });
        claims! {folder, "shard run plan.json 0 -o part.json | refused | plan.json
        | is a list where an object is expected"}
    }
}

#[cfg(unix)]
#[test]
fn links_that_lead_nowhere_in_a_folder_of_cases() {
    let folder = good();
    folder.create("cases");
    std::os::unix::fs::symlink("nowhere", folder.path("cases/one")).unwrap();
    claims! {folder, "batch cases | refused | cases/one | is a broken link"}
}

#[test]
fn honest_parts_and_forged_ones() {
    let folder = good();
    // D is wrong in its second row.
    folder.flip("d.npy", "d.npy", 1, 1);
    folder.passes(PLAN);
    for part in 0..2 {
        folder.passes(&format!("shard run plan.json {part} -o part-{part}.json"));
    }
    let merge = "shard merge plan.json part-0.json part-1.json";
    folder.differs(merge);
    let audit = "shard audit plan.json --parts 2 --seed 1 part-0.json part-1.json";
    claims! {folder, "{audit} | 0 | 2 of 2 parts, seed 1: 0, 1 | missed with 0.0000 %"}
    let [clean, wrong] = ["part-0.json", "part-1.json"].map(|name| folder.read(name));
    let content = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap()["content"].clone();
    let clean_found = content(&clean)["found"].clone();
    let forged = |change: &dyn Fn(&mut Value), words: &[&str]| {
        folder.write("part-1.json", &wrong);
        resealed(&folder, "part-1.json", change);
        folder.tcverify(merge).refuses(words);
    };
    // Clean counts, honest leaves: what gave IDENTICAL.
    forged(
        &|part| {
            part["found"] = clean_found.clone();
            part["found"]["found"]["reach"]["equal"] = json!([]);
        },
        &words! {"part 1 contradicts the plan | its leaves are not those of D"},
    );
    // Mismatches where leaves say that there are none.
    let plan = content(&folder.read("plan.json"));
    forged(
        &|part| part["leaves"] = json!([plan["leaves"][1]]),
        &["part 1 contradicts the plan", "its leaves are those of D"],
    );
    // Clean counts and D's leaves: what only an audit finds.
    folder.write("part-1.json", &wrong);
    resealed(&folder, "part-1.json", |part| {
        part["found"] = clean_found.clone();
        part["found"]["found"]["reach"]["equal"] = json!([]);
        part["leaves"] = json!([plan["leaves"][1]]);
    });
    folder.passes(merge);
    let run = folder.differs(audit);
    run.stderr.says("differ from those supplied: 1");
    // The draw decides, and depends on the seed alone.
    let one = |seed: u64| {
        let line = format!("shard audit plan.json --parts 1 --seed {seed} part-0.json part-1.json");
        folder.tcverify(&line).code
    };
    let found: Vec<_> = (0..16).map(one).collect();
    assert!(
        found.contains(&Some(0)) && found.contains(&Some(1)),
        "{found:?}"
    );
    // Counts that do not agree.
    for row in lines(
        "
        found.mismatches | 2 | 18446744073709551615
        found.accepted | 18446744073709551615
        found.rows_touched | 0 | 2
        found.classes.sign | 18446744073709551615
        found.buckets | {} | {\"4000000000\": 1} | {\"3\": 0}
        found.largest | null | [-9223372036854775808, 3]
        found.first | [] | [[3, 1, 1]] | [[3, 1, 18446744073709551615]]
        found.reach.different | []
        found.reach.rows | null
        found.reach.touched | []
        columns | [] | [[1, 0]] | [[0, 2]]
        units | [18446744073709551615, 1]
    ",
    ) {
        let words = listed(row);
        for value in &words[1..] {
            println!("row: {} = {value}", words[0]);
            forged(
                &|part| set(&mut part["found"], words[0], value),
                &["part 1"],
            );
        }
    }
    // And a plan without D's leaves.
    folder.write("part-1.json", &wrong);
    resealed(&folder, "plan.json", |plan| plan["leaves"] = json!([]));
    claims! {folder, "{merge} | refused | plan.json | does not have one leaf per block of D"}
}
