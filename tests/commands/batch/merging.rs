//! One check as many: the merged report is the whole one's, and what does not belong together is refused.

use serde_json::Value;

use super::products::flip;
use crate::support::{Folder, Members, Says, claims, holds, read_rows, rows, set, table};

/// Rows `SHARDS | WORDS | CODE`: plans, runs every part and merges; the report is that of `check --tree`, and so is its
/// exit code.
fn merged(folder: &Folder, table: &str) {
    for [shards, words, code] in read_rows(table) {
        let shards: usize = shards.parse().expect("a number");
        // Whichever comes first.
        let parts = (0..shards).rev().map(|i| format!("part-{i}.json"));
        let parts = parts.collect::<Vec<_>>().join(" ");
        claims! {folder, "
            check --tree {words} --json whole.json -q | {code}
            shard plan -n {shards} {words} -o plan.json | 0
        "}
        for i in 0..shards {
            claims! {folder, "shard run plan.json {i} -o part-{i}.json | 0"}
        }
        let run = folder.tcverify(&format!("shard merge plan.json {parts} -o merged.json"));
        assert!(!run.expect(code.parse().expect("a code")).stdout.is_empty());
        let [whole, merged] = ["whole.json", "merged.json"].map(|name| folder.document(name));
        assert_eq!(merged["merged"].list("trusted").len(), shards);
        assert!(whole == of_the_whole(merged), "{words}: the reports differ");
    }
}

/// [`merged`] of a table in which `{names}` stand for what they hold.
macro_rules! merged {
    ($folder:expr, $table:literal) => {
        merged(&$folder, &format!($table))
    };
}

/// A merged report, as it is of a check of the whole: without what it says of parts.
pub fn of_the_whole(mut merged: Value) -> Value {
    set(&mut merged, "merged", "-");
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
    merged! {with_d(), "
        1 | {OPERANDS} d.npy | 0
        7 | --block-rows 8 {OPERANDS} d.npy | 0
        30 | --block-rows 5 {OPERANDS} d.npy | 0
    "}
}

#[test]
fn differences_and_their_causes_are_merged() {
    let folder = with_d();
    // In several rows, in two of which the mismatches of different parts meet.
    folder.with_payload("d.npy", "bad.npy", |d| {
        for (i, row) in [3, 31, 32, 77, 149].into_iter().enumerate() {
            for column in 0..=i {
                d[(row * 70 + 11 * column) * 4 + i % 4] ^= 1 << (7 - i);
            }
        }
    });
    flip(&folder, "d.npy", "one.npy", 40_001);
    merged! {folder, "
        5 | --block-rows 16 --max-mismatches 7 {OPERANDS} bad.npy | 1
        5 | --block-rows 16 --no-causes {OPERANDS} one.npy | 1
        5 | --block-rows 16 {OPERANDS} one.npy | 1
    "}
    // A cause that only the whole shows.
    folder.text("merged.json").says("bit_flipped");
    // Of another unit: every row differs, and the cause is a model.
    let other = OPERANDS.replace("h100", "v100");
    merged! {folder, "4 | --block-rows 16 {other} d.npy | 1"}
}

#[test]
fn kernels_batches_and_turned_operands() {
    let folder = Folder::new();
    for [shards, rows, words] in rows! {"
        4 | 13 | --arch h100 --dtype bf16 --schedule cublas-workspace --split-k 3 --d-dtype bf16 generate:1:normal:90x192 generate:2:normal:192x40
        4 | 13 | --arch a100 --dtype tf32 generate:3:normal:3x50x24 generate:4:normal:3x24x33
        4 | 13 | --arch h100 --dtype e4m3 --transpose-a --transpose-b generate:5:normal:64x90 generate:6:normal:30x64
        3 | 9 | --c generate:7:normal:150x70 {OPERANDS}
    "}
    {
        folder.replay(words, "d.npy");
        merged! {folder, "{shards} | --block-rows {rows} {words} d.npy | 0"}
    }
}

/// A plan keeps options as words: none may lose its quotes, its sign or its spaces.
#[test]
fn options_survive_the_plan() {
    let folder = super::products::small();
    folder.rename("x.npy", "it's x $(1).npy");
    let options = "--arch h100 --dtype fp16 --schedule cublas-workspace --split-k 2 --alpha -0.75 --beta 0xbf000000 \
                   --c d.npy --engine exact `it's x $(1).npy` w.npy";
    // What is compared is no option of a replay.
    let compared = format!("--nan any --max-mismatches 2 {options} --block-rows 1");
    claims! {folder, "replay {options} -o r.npy | 0"}
    flip(&folder, "r.npy", "r2.npy", 3);
    for (d, code) in [("r.npy", 0), ("r2.npy", 1)] {
        claims! {folder, "
            check --tree --json whole.json {compared} {d} | {code}
            shard plan -n 2 -o plan.json {compared} {d} | 0
            shard run plan.json 0 -o 0.json | 0
            shard run plan.json 1 -o 1.json | 0
            shard merge plan.json 1.json 0.json -o merged.json | {code}
        "}
        let [whole, merged] = ["whole.json", "merged.json"].map(|name| folder.document(name));
        assert!(whole == of_the_whole(merged), "{d}");
    }
}

#[test]
fn the_root_is_that_of_a_commitment() {
    let folder = with_d();
    claims! {folder, "commit --block-rows 32 {OPERANDS} d.npy -o c.json | 0"}
    merged! {folder, "2 | --block-rows 32 {OPERANDS} d.npy | 0"}
    let root = folder.document("c.json")["d"]["root"].clone();
    let merged = folder.document("merged.json");
    holds! {merged, "reproduced.tree.root = {root} | reproduced.payload_sha256 = null"}
}

#[test]
fn parts_that_do_not_belong_together_are_refused() {
    let folder = with_d();
    claims! {folder, "
        shard plan -n 3 --block-rows 10 {OPERANDS} d.npy -o plan.json | 0
        shard plan -n 3 --block-rows 10 --nan any {OPERANDS} d.npy -o other.json | 0
        shard run plan.json 0 -o p0.json | 0
        shard run plan.json 1 -o p1.json | 0
        shard run plan.json 2 -o p2.json | 0
        shard run other.json 1 -o foreign.json | 0
    "}
    folder.copy("p1.json", "again.json");
    let whole = folder.text("p1.json");
    folder.flip("p1.json", "damaged.json", whole.len() - whole.len() / 2, 1);
    folder.write("version.json", whole.replace("\"tool\":\"", "\"tool\":\"9"));
    // A part that says to be another one, sealed anew.
    let (_, content) = whole.split_once("\"content\":").unwrap();
    let content = content.trim_end().strip_suffix('}').unwrap();
    let version = env!("CARGO_PKG_VERSION");
    for (name, said, other) in table! {
        ("moved.json", r#""shard":1"#, r#""shard":2"#),
        ("nine.json", r#""shard":1"#, r#""shard":9"#),
        ("fewer.json", r#""compared":3500"#, r#""compared":3499"#),
    } {
        content.says(said);
        let content = content.replace(said, other);
        let digest = crate::support::sha256(&content);
        folder.write(name, format!(
            "{{\"schema\":\"tcverify.part/1\",\"tool\":\"{version}\",\"sha256\":\"{digest}\",\"content\":{content}}}\n"
        ));
    }
    let merge = "shard merge plan.json";
    claims! {folder, "
        each {merge} ~ -o merged.json | refused
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
    assert!(!folder.path("merged.json").exists());
    claims! {folder, "
        {merge} p0.json p1.json p2.json -o merged.json | 0
        {merge} p0.json p1.json p2.json -o p1.json | refused | p1.json | overwrite
    "}
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
    claims! {folder, "
        each shard plan --arch h100 --dtype fp16 ~ -o plan.json | refused
        -n 5 x.npy w.npy d.npy | block
        -n 5 --block-rows 1 x.npy w.npy d.npy | 5 parts of 4 blocks
        -n 1 --sample 3 --seed 1 x.npy w.npy d.npy | --sample
        -n 1 --rows 1 x.npy w.npy d.npy | --rows
    "}
    let digest = "0".repeat(64);
    claims! {folder, "
        shard plan -n 1 --arch h100 --dtype fp16 --d-digest {digest} x.npy w.npy -o plan.json
            | refused | digest
        check --arch h100 --dtype fp16 --block-rows 2 x.npy w.npy d.npy | refused | --tree
    "}
    assert!(!folder.path("plan.json").exists());
}
