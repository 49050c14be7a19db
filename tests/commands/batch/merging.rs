//! One check as many: the merged report is the whole one's, and what does not belong together is refused.

use serde_json::Value;

use super::products::flip;
use crate::support::{Folder, Members, Says, claims, listed, rows};

/// Plans, runs every part and merges; whether the report is that of `check --tree`, and its exit code.
fn merged(folder: &Folder, shards: usize, words: &str, code: i32) {
    folder
        .tcverify(&format!("check --tree {words} --json whole.json -q"))
        .expect(code);
    folder.passes(&format!("shard plan -n {shards} {words} -o plan.json"));
    let mut parts = Vec::new();
    // Whichever comes first.
    for i in (0..shards).rev() {
        folder.passes(&format!("shard run plan.json {i} -o part-{i}.json"));
        parts.push(format!("part-{i}.json"));
    }
    let run = folder.tcverify(&format!(
        "shard merge plan.json {} -o merged.json",
        parts.join(" ")
    ));
    let run = run.expect(code);
    assert!(!run.stdout.is_empty());
    let [whole, merged] = ["whole.json", "merged.json"].map(|name| read(folder, name));
    assert_eq!(merged["merged"].list("trusted").len(), shards);
    assert!(whole == of_the_whole(merged), "{words}: the reports differ");
}

fn read(folder: &Folder, name: &str) -> Value {
    folder.document(name)
}

/// A merged report, as it is of a check of the whole: without what it says of parts.
pub fn of_the_whole(mut merged: Value) -> Value {
    merged
        .as_object_mut()
        .unwrap()
        .remove("merged")
        .expect("of parts");
    if merged["verdict"] == "identical_in_part" {
        merged["verdict"] = "identical".into();
    }
    merged
}

const OPERANDS: &str = "--arch h100 --dtype fp16 generate:1:normal:150x96 generate:2:normal:96x70";

fn with_d() -> Folder {
    let folder = Folder::new();
    folder.passes(&format!("replay {OPERANDS} -o d.npy"));
    folder
}

#[test]
fn the_report_is_that_of_the_whole() {
    let folder = with_d();
    merged(&folder, 1, &format!("{OPERANDS} d.npy"), 0);
    merged(&folder, 7, &format!("--block-rows 8 {OPERANDS} d.npy"), 0);
    merged(&folder, 30, &format!("--block-rows 5 {OPERANDS} d.npy"), 0);
}

#[test]
fn differences_and_their_causes_are_merged() {
    let folder = with_d();
    // In several rows, in two of which the mismatches of different parts meet.
    let mut bytes = folder.read("d.npy");
    let data = bytes.len() - 150 * 70 * 4;
    for (i, row) in [3, 31, 32, 77, 149].into_iter().enumerate() {
        for column in 0..=i {
            bytes[data + (row * 70 + 11 * column) * 4 + i % 4] ^= 1 << (7 - i);
        }
    }
    folder.write("bad.npy", &bytes);
    merged(
        &folder,
        5,
        &format!("--block-rows 16 --max-mismatches 7 {OPERANDS} bad.npy"),
        1,
    );
    flip(&folder, "d.npy", "one.npy", 40_001);
    merged(
        &folder,
        5,
        &format!("--block-rows 16 {OPERANDS} one.npy"),
        1,
    );
    let report = folder.text("merged.json");
    assert!(
        report.contains("bit_flipped"),
        "a cause that only the whole shows"
    );
    merged(
        &folder,
        5,
        &format!("--block-rows 16 --no-causes {OPERANDS} one.npy"),
        1,
    );
    // Of another unit: every row differs, and the cause is a model.
    merged(
        &folder,
        4,
        &format!("--block-rows 16 {} d.npy", OPERANDS.replace("h100", "v100")),
        1,
    );
}

#[test]
fn kernels_batches_and_turned_operands() {
    let folder = Folder::new();
    for [words, operands] in rows! {"
        --arch h100 --dtype bf16 --schedule cublas-workspace --split-k 3 --d-dtype bf16
            | generate:1:normal:90x192 generate:2:normal:192x40
        --arch a100 --dtype tf32 | generate:3:normal:3x50x24 generate:4:normal:3x24x33
        --arch h100 --dtype e4m3 --transpose-a --transpose-b
            | generate:5:normal:64x90 generate:6:normal:30x64
    "}
    {
        let d = "-o d.npy";
        folder.passes(&format!("replay {words} {operands} {d}"));
        merged(
            &folder,
            4,
            &format!("--block-rows 13 {words} {operands} d.npy"),
            0,
        );
    }
    claims! {folder, "replay {OPERANDS} --c generate:7:normal:150x70 -o d.npy | 0"}
    merged(
        &folder,
        3,
        &format!("--block-rows 9 --c generate:7:normal:150x70 {OPERANDS} d.npy"),
        0,
    );
}

/// A plan keeps options as words: none may lose its quotes, its sign or its spaces.
#[test]
fn options_survive_the_plan() {
    let folder = super::products::small();
    folder.rename("x.npy", "it's x $(1).npy");
    let options = [
        "--arch",
        "h100",
        "--dtype",
        "fp16",
        "--schedule",
        "cublas-workspace",
        "--split-k",
        "2",
        "--alpha",
        "-0.75",
        "--beta",
        "0xbf000000",
        "--c",
        "d.npy",
        "--nan",
        "any",
        "--max-mismatches",
        "2",
        "--engine",
        "exact",
        "it's x $(1).npy",
        "w.npy",
    ];
    let run = |words: &[&str], more: &[&str]| {
        // What is compared is no option of a replay.
        let replay = words == ["replay"];
        let skip = |i: usize| replay && (14..18).contains(&i);
        let options = options.iter().enumerate();
        let options = options.filter(|(i, _)| !skip(*i)).map(|(_, word)| word);
        folder.words(words.iter().chain(options).chain(more))
    };
    run(&["replay"], &["-o", "r.npy"]).expect(0);
    flip(&folder, "r.npy", "r2.npy", 3);
    for (d, code) in [("r.npy", 0), ("r2.npy", 1)] {
        let block = ["--block-rows", "1", d];
        run(&["check", "--tree", "--json", "whole.json"], &block).expect(code);
        run(&["shard", "plan", "-n", "2", "-o", "plan.json"], &block).expect(0);
        for i in 0..2 {
            folder.passes(&format!("shard run plan.json {i} -o {i}.json"));
        }
        let merge = "shard merge plan.json 1.json 0.json -o merged.json";
        folder.tcverify(merge).expect(code);
        let [whole, merged] = ["whole.json", "merged.json"].map(|name| read(&folder, name));
        assert!(whole == of_the_whole(merged), "{d}");
    }
}

#[test]
fn the_root_is_that_of_a_commitment() {
    let folder = with_d();
    claims! {folder, "commit --block-rows 32 {OPERANDS} d.npy -o c.json | 0"}
    let commitment: serde_json::Value = folder.document("c.json");
    merged(&folder, 2, &format!("--block-rows 32 {OPERANDS} d.npy"), 0);
    let report: serde_json::Value = folder.document("merged.json");
    assert_eq!(
        report["reproduced"]["tree"]["root"],
        commitment["d"]["root"]
    );
    assert!(report["reproduced"]["payload_sha256"].is_null());
}

#[test]
fn parts_that_do_not_belong_together_are_refused() {
    let folder = with_d();
    let plan = |name: &str, words: &str| {
        claims! {folder, "shard plan -n 3 --block-rows 10 {words} {OPERANDS} d.npy -o {name} | 0"}
    };
    plan("plan.json", "");
    plan("other.json", "--nan any");
    let run = |plan: &str, i: usize, to: &str| {
        folder.passes(&format!("shard run {plan} {i} -o {to}"));
    };
    for i in 0..3 {
        run("plan.json", i, &format!("p{i}.json"));
    }
    run("other.json", 1, "foreign.json");
    folder.copy("p1.json", "again.json");
    let mut damaged = folder.read("p1.json");
    let at = damaged.len() / 2;
    damaged[at] ^= 1;
    folder.write("damaged.json", &damaged);
    let whole = folder.text("p1.json");
    folder.write("version.json", whole.replace("\"tool\":\"", "\"tool\":\"9"));
    // A part that says to be another one, sealed anew.
    let (_, content) = whole.split_once("\"content\":").unwrap();
    let content = content.trim_end().strip_suffix('}').unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let seal = |content: &str| {
        let digest = crate::support::sha256(content);
        format!(
            "{{\"schema\":\"tcverify.part/1\",\"tool\":\"{version}\",\"sha256\":\"{digest}\",\"content\":{content}}}\n"
        )
    };
    folder.write(
        "moved.json",
        seal(&content.replace("\"shard\":1", "\"shard\":2")),
    );
    folder.write(
        "nine.json",
        seal(&content.replace("\"shard\":1", "\"shard\":9")),
    );
    let fewer = seal(&content.replace("\"compared\":3500", "\"compared\":3499"));
    fewer.lacks("\"compared\":3500");
    folder.write("fewer.json", fewer);
    for [parts, words] in rows! {"
        p0.json p2.json | 1 of 3 parts | missing: 1
        p0.json p1.json p2.json again.json | p1.json and again.json | part 1
        p0.json foreign.json p2.json | foreign.json | another plan
        p0.json damaged.json p2.json | damaged.json | damaged
        p0.json version.json p2.json | version.json | tcverify 9
        p0.json p1.json moved.json | moved.json | part 2
        p0.json nine.json p2.json | nine.json
        p0.json fewer.json p2.json | part 1 | the number of compared elements does not match
        p0.json plan.json p2.json | plan.json | tcverify.plan/1
    "}
    {
        let words = &listed(words)[..];
        let run = folder.tcverify(&format!("shard merge plan.json {parts} -o merged.json"));
        run.refuses(words);
        assert!(!folder.path("merged.json").exists());
    }
    folder.passes("shard merge plan.json p0.json p1.json p2.json -o merged.json");
    folder
        .tcverify("shard merge plan.json p0.json p1.json p2.json -o p1.json")
        .refuses(&["p1.json", "overwrite"]);
}

#[test]
fn inputs_that_changed_since_the_plan_are_refused() {
    let folder = super::products::small();
    let words = "--arch h100 --dtype fp16 x.npy w.npy d.npy";
    claims! {folder, "shard plan -n 2 --block-rows 2 {words} -o plan.json | 0"}
    for (file, back, of_part) in [
        ("x.npy", 1, 1),
        ("x.npy", 2 * 128, 0),
        ("d.npy", 1, 1),
        ("w.npy", 1, 0),
    ] {
        let before = folder.read(file);
        flip(&folder, file, file, back);
        claims! {folder, "shard run plan.json {of_part} -o p.json | refused | {file}
        | is not the array that plan.json was made from"}
        assert!(!folder.path("p.json").exists());
        if file != "w.npy" {
            // The other part reads nothing of it.
            let other = 1 - of_part;
            folder.passes(&format!("shard run plan.json {other} -o q.json"));
        }
        folder.write(file, before);
    }
    claims! {folder, "shard run plan.json 2 -o p.json | refused | parts 0 to 1"}
}

#[test]
fn what_cannot_be_cut_is_refused() {
    let folder = super::products::small();
    for [words, said] in rows! {"
        -n 5 x.npy w.npy d.npy | block
        -n 5 --block-rows 1 x.npy w.npy d.npy | 5 parts of 4 blocks
        -n 1 --sample 3 --seed 1 x.npy w.npy d.npy | --sample
        -n 1 --rows 1 x.npy w.npy d.npy | --rows
    "}
    {
        claims! {folder, "shard plan --arch h100 --dtype fp16 {words} -o plan.json | refused | {said}"}
    }
    let digest = "0".repeat(64);
    claims! {folder, "
        shard plan -n 1 --arch h100 --dtype fp16 --d-digest {digest} x.npy w.npy -o plan.json
            | refused | digest
        check --arch h100 --dtype fp16 --block-rows 2 x.npy w.npy d.npy | refused | --tree
    "}
    assert!(!folder.path("plan.json").exists());
}
