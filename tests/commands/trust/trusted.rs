//! A merged report says what was believed: a part of zeros is no verdict of the tool's.

use serde_json::{Value, json};

use crate::support::{Folder, Says, claims, holds, sha256};

const PRODUCT: &str =
    "--block-rows 8 --arch h100 --dtype bf16 generate:1:normal:32x64 generate:2:normal:64x24 d.npy";
const PARTS: &str = "part-0.json part-1.json part-2.json part-3.json";

#[test]
fn too_many_parts_name_the_option() {
    let folder = Folder::new();
    claims! {folder, "replay --arch h100 --dtype bf16 generate:1:normal:32x64 generate:2:normal:64x24 -o d.npy | 0"}
    claims! {folder, "shard plan -n 99 {PRODUCT} -o plan.json | refused | 99 parts of 4 blocks
    | cut D finer with --block-rows"}
}

/// A plan of four parts for a D of zeros, and parts that say that it is right.
fn forged() -> Folder {
    let folder = Folder::new();
    let run = |line: &str| folder.passes(line);
    run("replay --arch h100 --dtype bf16 generate:1:normal:32x64 generate:2:normal:64x24 -o d.npy");
    run(&format!("shard plan -n 4 {PRODUCT} -o honest.json"));
    run("shard run honest.json 0 -o clean.json");
    let mut d = folder.read("d.npy");
    let start = d.len() - 32 * 24 * 4;
    d[start..].fill(0);
    folder.write("d.npy", d);
    run(&format!("shard plan -n 4 {PRODUCT} -o plan.json"));
    let content = |name: &str| -> Value {
        let document: Value = folder.document(name);
        document["content"].clone()
    };
    let (plan, clean) = (content("plan.json"), content("clean.json"));
    let digest = sha256(folder.read("plan.json"));
    for part in 0..4usize {
        run(&format!("shard run plan.json {part} -o real.json"));
        let document: Value = folder.document("real.json");
        let mut lie = document["content"].clone();
        lie["plan"] = json!(digest);
        lie["found"] = clean["found"].clone();
        lie["found"]["found"]["reach"]["equal"] = json!([]);
        lie["leaves"] = json!([plan["leaves"][part]]);
        let lie = lie.to_string();
        let text = format!(
            "{{\"schema\":{},\"tool\":{},\"sha256\":\"{}\",\"content\":{lie}}}",
            document["schema"],
            document["tool"],
            sha256(&lie)
        );
        folder.write(&format!("part-{part}.json"), text);
    }
    folder
}

#[test]
fn a_forged_part_is_believed_at_most() {
    let folder = forged();
    let merge = |more: &str| folder.tcverify(&format!("shard merge plan.json {PARTS} {more}"));
    merge("-o merged.json").expect(0);
    let report: Value = folder.document("merged.json");
    holds! {report, "verdict = identical_in_part | merged.parts = 4 | merged.trusted = [0, 1, 2, 3]"}
    for form in [
        "",
        "--brief",
        "--markdown -",
        "--junit -",
        "--html -",
        "--github",
    ] {
        let run = merge(form).expect(0);
        let text = run.stdout.to_lowercase();
        let words =
            "bit for bit, if 4 of 4 parts are believed that were neither signed nor run again";
        for words in ["identical in part, 4 of 4 parts trusted", words] {
            let words = match form {
                // A property of a command: its comma is written as a code.
                "--github" => {
                    words.replacen(',', if words.starts_with('i') { "%2c" } else { "," }, 1)
                }
                _ => words.to_owned(),
            };
            assert!(text.contains(&words), "{form}: {run:?}");
        }
        assert!(!run.stdout.contains("IDENTICAL  all"), "{form}: {run:?}");
    }
    // No report says more than it does.
    folder.differs("verify-report merged.json");
    // Run again, it is found.
    claims! {folder, "shard merge plan.json {PARTS} --audit 4 --seed 1 | 1 | &differ from those supplied: 0, 1, 2, 3"}
    merge("--audit 1 --seed 1").expect(1);
    merge("--audit 1").expect(2).mentions(&["--seed"]);
}

#[test]
fn who_ran_all_parts_again_knows() {
    let folder = Folder::new();
    let run = |line: &str| folder.passes(line);
    run("replay --arch h100 --dtype bf16 generate:1:normal:32x64 generate:2:normal:64x24 -o d.npy");
    run(&format!("shard plan -n 4 {PRODUCT} -o plan.json"));
    for part in 0..4 {
        run(&format!("shard run plan.json {part} -o part-{part}.json"));
    }
    let merge = |more: &str| {
        let said = run(&format!("shard merge plan.json {PARTS} {more}")).stdout;
        claims! {folder, "shard merge plan.json {PARTS} {more} --json merged.json -q | 0"}
        let confirmed = run("verify-report merged.json").stdout;
        confirmed.begins("CONFIRMED except merged:");
        said
    };
    assert!(merge("").starts_with("IDENTICAL IN PART, 4 of 4 parts trusted  all 768 elements of D are reproduced, bit for bit, if"));
    let some = merge("--audit 2 --seed 7");
    some.begins("IDENTICAL IN PART, 2 of 4 parts trusted");
    some.says("run again");
    let all = merge("--audit 9 --seed 7");
    all.begins("IDENTICAL  all 768 elements");
    all.says("from 4 parts: 4 (0, 1, 2, 3) run again");
    // The claim that nothing was believed is no verdict of a report either.
    let text = folder.text("merged.json");
    let mut report: Value = serde_json::from_str(&text).unwrap();
    report["merged"]["run_again"] = json!([0]);
    folder.write("merged.json", report.to_string());
    folder.differs("verify-report merged.json");
}
