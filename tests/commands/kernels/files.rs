//! Logs and tables of a run, manifests, and formats that files name.

use super::{FILES, LOG, product};
use crate::support::{Folder, Says, claims, holds};
use serde_json::json;

const OF: &str = "--arch h100 --dtype bf16";

#[test]
fn a_log_has_the_line_of_the_product() {
    let folder = product();
    let other = LOG.replace("rows=4096", "rows=2048");
    let log = |lines: &[&str]| folder.write("lt.log", lines.join("\n"));
    let check =
        |more: &str| folder.tcverify(&format!("check {OF} --kernel-log lt.log {FILES} {more}"));
    log(&["noise", &other, LOG, LOG]);
    let report = check("--json -").expect(0).json();
    holds! {report, "rule.schedule.kernel.place = lt.log, line 3 | request.kernel_log = lt.log"}
    let split = LOG.replace("numSplitsK=3", "numSplitsK=5");
    log(&[LOG, &split]);
    check("").refuses(&["lt.log", "lines 1 and 2", "--kernel"]);
    log(&[&split]);
    check("").expect(1);
    log(&[&other, &other]);
    check("").refuses(&["no line for a product of 32x64x4096", "32x64x2048"]);
    log(&["noise"]);
    check("").refuses(&["CUBLASLT_LOG_LEVEL"]);
    log(&["algo=[algoId=x]"]);
    check("").refuses(&["line 1 cannot be read"]);
    claims! {folder, "
        check {OF} --kernel-log none.log {FILES} | refused | none.log
        replay {OF} --kernel-log lt.log a.npy b.npy -o lt.log | refused | lt.log
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
    let check =
        |more: &str| folder.tcverify(&format!("check {OF} --kernel-table t.json {FILES} {more}"));
    check("").refuses(&["t.json", "several entries", "the workspace"]);
    let report = check("--set workspace=1048576 --json -").expect(0).json();
    let kernel = &report["rule"]["schedule"]["kernel"];
    assert_eq!(kernel["place"], "t.json");
    assert!(kernel["notes"].to_string().contains("NVIDIA H100 PCIe"));
    check("--set workspace=0").expect(1);
    check("--set workspace=5").refuses(&["t.json", "32x64x4096"]);
    claims! {folder, "check --arch b200 --dtype bf16 --set workspace=0 --kernel-table t.json {FILES}
    | refused | sm_90 | sm_100"}
}

/// Fields of manifests; a log that changed is read again.
#[test]
fn manifests_have_kernels() {
    let folder = product();
    std::fs::create_dir(folder.path("in")).expect("a folder");
    folder.write("in/lt.log", LOG);
    folder.write("in/t.json", table(3));
    let case = |name: &str, more: serde_json::Value| {
        let mut case = json!({"name": name, "arch": "h100", "dtype": "bf16",
            "a": "../a.npy", "b": "../b.npy", "d": "../d.npy"});
        let fields = more.as_object().expect("fields").clone();
        case.as_object_mut().expect("an object").extend(fields);
        case
    };
    let cases = [
        case("text", json!({"kernel": LOG})),
        case("log", json!({"kernel_log": "lt.log"})),
        case(
            "table",
            json!({"kernel_table": "t.json", "workspace": 1 << 20}),
        ),
        case("name", json!({"kernel": super::NVJET, "split_k": 3})),
    ];
    let manifest = json!({"schema": "tcverify.manifest/1", "cases": cases});
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
    claims! {folder, "shard plan --shards 2 --block-rows 16 {OF} --kernel-log lt.log {FILES} -o plan.json | 0"}
    for part in 0..2 {
        folder.passes(&format!("shard run plan.json {part} -o p{part}.json"));
    }
    let merge = "shard merge plan.json p0.json p1.json -o merged.json";
    folder.passes(merge);
    let merged = folder.text("merged.json");
    merged.says("lt.log, line 1");
}

/// Operands whose files name their formats need no `--dtype`.
#[test]
fn formats_are_the_files_own() {
    let folder = product();
    let files = "--arch h100 a.npy b.npy";
    folder.passes(&format!("replay {files} -o e.npy"));
    folder.passes(&format!("check {files} --dtype bf16 e.npy"));
    holds! {folder.json(&format!("check {files} e.npy --json -")), "request.dtype = bf16"}
    claims! {folder, "
        check --arch h100 e.npy b.npy d.npy | refused | --dtype | e.npy | narrower
        replay --arch h100 generate:1:normal:2x3 b.npy -o f.npy | refused | --dtype
            | generate:1:normal:2x3
    "}
}

/// One B for every matrix of A, as a layer has it: the same as that B for each.
#[test]
fn a_batch_shares_b() {
    let folder = Folder::new();
    let generate = |shape: &str, role: &str, name: &str| {
        claims! {folder, "generate generate:7:normal:{shape} --dtype fp16 --role {role} -o {name} | 0"}
    };
    generate("2x3x5x40", "a", "a.npy");
    generate("30x40", "a", "flat.npy");
    generate("40x9", "b", "b.npy");
    let model = "--arch a100 --dtype fp16";
    for engine in ["fast", "exact"] {
        folder.passes(&format!(
            "replay {model} --engine {engine} a.npy b.npy -o d.npy"
        ));
        folder.passes(&format!("replay {model} flat.npy b.npy -o e.npy"));
        let [d, e] = ["d.npy", "e.npy"].map(|name| folder.read(name));
        assert_eq!(d[d.len() - 30 * 9 * 4..], e[e.len() - 30 * 9 * 4..]);
        std::fs::remove_file(folder.path("e.npy")).expect("written");
    }
    let check = format!("check {model} a.npy b.npy d.npy");
    folder.passes(&check);
    // What differs is looked into, though A and B cannot change places.
    folder.flip("d.npy", "d.npy", 3, 0x10);
    folder.differs(&check);
    folder.differs(&format!("explain {model} a.npy b.npy d.npy --at 1,2,4,8"));
    generate("2x40x9", "b", "c.npy");
    claims! {folder, "check {model} a.npy c.npy d.npy | refused | batch dimensions differ | B must be one matrix"}
}
