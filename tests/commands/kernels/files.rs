//! Logs and tables of a run, manifests, and formats that files name.

use super::{FILES, LOG, product};
use crate::support::{Folder, Says, claims, table};
use serde_json::json;

const OF: &str = "--arch h100 --dtype bf16";

#[test]
fn a_log_has_the_line_of_the_product() {
    let folder = product();
    let other = LOG.replace("rows=4096", "rows=2048");
    let split = LOG.replace("numSplitsK=3", "numSplitsK=5");
    for (name, lines) in table! {
        ("line3", &["noise", &other, LOG, LOG][..]),
        ("both", &[LOG, &split]),
        ("split", &[&split]),
        ("other", &[&other, &other]),
        ("noise", &["noise"]),
        ("odd", &["algo=[algoId=x]"]),
    } {
        folder.write(&format!("{name}.log"), lines.join("\n"));
    }
    claims! {folder, "
        each check {OF} {FILES} --kernel-log ~
        line3.log --json - | 0 | :rule.schedule.kernel.place = line3.log, line 3 | :request.kernel_log = line3.log
        both.log | refused | both.log | lines 1 and 2 | --kernel
        split.log | 1
        other.log | refused | no line for a product of 32x64x4096 | 32x64x2048
        noise.log | refused | CUBLASLT_LOG_LEVEL
        odd.log | refused | line 1 cannot be read
        none.log | refused | none.log
        each ~
        replay {OF} --kernel-log odd.log a.npy b.npy -o odd.log | refused | odd.log
    "}
}

fn table(split: u32) -> String {
    let entry = |workspace: u64, split: u32| {
        json!({
            "m": 32, "n": 64, "k": 4096, "a": "bf16", "b": "bf16", "d": "bf16", "layout": "tn",
            "workspace": workspace,
            "configuration": {"algo": 66, "tile": 15, "stages": 35, "split_k": split,
                "reduction": if split > 1 { 2 } else { 0 }, "swizzle": 0, "custom": 0},
        })
    };
    json!({
        "schema": "tcverify.kernel-table/1", "gpu": "NVIDIA H100 PCIe", "capability": "9.0",
        "library": {"name": "cublasLt", "version": "12.8.4"},
        "entries": [entry(0, 1), entry(1 << 20, split)],
    })
    .to_string()
}

#[test]
fn a_table_answers_for_a_log() {
    let folder = product();
    folder.write("t.json", table(3));
    claims! {folder, "
        each check --dtype bf16 --kernel-table t.json {FILES} ~
        --arch h100 | refused | t.json | several entries | the workspace
        --arch h100 --set workspace=1048576 --json - | 0 | :rule.schedule.kernel.place = t.json | NVIDIA H100 PCIe
        --arch h100 --set workspace=0 | 1
        --arch h100 --set workspace=5 | refused | t.json | 32x64x4096
        --arch b200 --set workspace=0 | refused | sm_90 | sm_100
    "}
}

/// Fields of manifests; a log that changed is read again.
#[test]
fn manifests_have_kernels() {
    let folder = product();
    folder.create("in");
    folder.write("in/lt.log", LOG);
    folder.write("in/t.json", table(3));
    let manifest = json!({
        "schema": "tcverify.manifest/1",
        "defaults": {"arch": "h100", "dtype": "bf16", "a": "../a.npy", "b": "../b.npy", "d": "../d.npy"},
        "cases": [
            {"name": "text", "kernel": LOG},
            {"name": "log", "kernel_log": "lt.log"},
            {"name": "table", "kernel_table": "t.json", "workspace": 1 << 20},
            {"name": "name", "kernel": super::NVJET, "split_k": 3},
        ],
    });
    folder.write("in/cases.json", manifest.to_string());
    let batch = "batch in/cases.json --resume s.json";
    folder.passes(batch);
    folder.passes(batch);
    folder.write("in/lt.log", LOG.replace("numSplitsK=3", "numSplitsK=4"));
    folder.differs(batch);
    folder.write("in/lt.log", LOG);
    folder.write("in/t.json", table(4));
    folder.differs(batch);
}

/// In parts, as a whole.
#[test]
fn parts_have_kernels() {
    let folder = product();
    folder.write("lt.log", LOG);
    claims! {folder, "
        shard plan --shards 2 --block-rows 16 {OF} --kernel-log lt.log {FILES} -o plan.json | 0
        shard run plan.json 0 -o p0.json | 0
        shard run plan.json 1 -o p1.json | 0
        shard merge plan.json p0.json p1.json -o merged.json | 0
    "}
    folder.text("merged.json").says("lt.log, line 1");
}

/// Operands whose files name their formats need no `--dtype`.
#[test]
fn formats_are_the_files_own() {
    claims! {product(), "
        replay --arch h100 a.npy b.npy -o e.npy | 0
        check --arch h100 a.npy b.npy --dtype bf16 e.npy | 0
        check --arch h100 a.npy b.npy e.npy --json - | 0 | :request.dtype = bf16
        check --arch h100 e.npy b.npy d.npy | refused | --dtype | e.npy | narrower
        replay --arch h100 generate:1:normal:2x3 b.npy -o f.npy | refused | --dtype | generate:1:normal:2x3
    "}
}

/// One B for every matrix of A, as a layer has it: the same as that B for each.
#[test]
fn a_batch_shares_b() {
    let folder = Folder::new();
    folder.generate("
        a fp16 7:normal:2x3x5x40 | a fp16 7:normal:30x40 flat.npy | b fp16 7:normal:40x9 | b fp16 7:normal:2x40x9 c.npy
    ");
    let model = "--arch a100 --dtype fp16";
    for engine in ["fast", "exact"] {
        claims! {folder, "
            replay {model} --engine {engine} a.npy b.npy -o d.npy | 0
            replay {model} flat.npy b.npy -o {engine}.npy | 0
        "}
        assert_eq!(
            folder.payload("d.npy"),
            folder.payload(&format!("{engine}.npy"))
        );
    }
    folder.flip("d.npy", "e.npy", 3, 0x10);
    claims! {folder, "
        check {model} a.npy b.npy d.npy | 0
        # What differs is looked into, though A and B cannot change places.
        check {model} a.npy b.npy e.npy | 1
        explain {model} a.npy b.npy e.npy --at 1,2,4,8 | 1
        check {model} a.npy c.npy e.npy | refused | batch dimensions differ | B must be one matrix
    "}
}
