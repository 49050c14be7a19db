//! Time and memory are whoever judges' to give: what a pusher or a report asks for ends when they do.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Folder, Npy, Run, Says, claims};

/// Far more than a second, far less than the work that is asked for.
const SOON: Duration = Duration::from_secs(40);

fn policy(folder: &Folder, mut says: Value) {
    says["schema"] = "tcverify.policy/1".into();
    folder.write("policy.json", says.to_string());
}

/// A batch of one case under the policy, in a folder of its own.
fn batch(folder: &Folder, case: Value) -> Run {
    std::fs::create_dir_all(folder.path("pushed")).unwrap();
    let mut case = case;
    case["name"] = "it".into();
    let manifest = json!({"schema": "tcverify.manifest/1", "cases": [case]});
    folder.write("pushed/cases.json", manifest.to_string());
    let begun = Instant::now();
    let run = folder.tcverify("batch pushed/cases.json --policy policy.json");
    assert!(begun.elapsed() < SOON, "{:?}: {run:?}", begun.elapsed());
    run
}

/// A D of ones.
fn d(folder: &Folder, m: usize, n: usize) {
    std::fs::create_dir_all(folder.path("pushed")).unwrap();
    folder.save(
        "pushed/d.npy",
        &Npy::new("<f4", &[m, n], vec![0; 4 * m * n]),
    );
}

/// One band of the exact engine, which used to run to its end; and a generation of 2.4 GB.
#[test]
fn time_ends_what_it_finds() {
    let folder = Folder::new();
    d(&folder, 64, 64);
    let says = |seconds: u64| json!({"engines": ["exact"], "limits": {"seconds": seconds}});
    policy(&folder, says(2));
    let case = |rows: usize, k: usize| {
        json!({"arch": "h100", "dtype": "bf16", "engine": "exact", "d": "d.npy",
            "a": format!("generate:1:normal:{rows}x{k}"), "b": format!("generate:2:normal:{k}x64")})
    };
    for (rows, k) in [(64, 120_000), (60_000, 20_000)] {
        let run = batch(&folder, case(rows, k)).expect(2);
        run.says("stopped at its time limit");
    }
    // Not because it could not be judged anyway.
    policy(&folder, says(1000));
    batch(&folder, case(64, 16)).expect(1);
}

/// Two sparse files of 20 GB: nothing of them is read.
#[cfg(target_os = "linux")]
#[test]
fn files_are_no_larger_than_the_policy_has_it() {
    let folder = Folder::new();
    d(&folder, 100_000, 100_000 / 10_000);
    let sparse = |name: &str, shape: &str| {
        let header = format!("{{'descr': '<f2', 'fortran_order': False, 'shape': {shape}, }}");
        let path = folder.save(name, &Npy::with_header(&header, Vec::new()));
        let file = std::fs::File::options().write(true).open(path).unwrap();
        let start = file.metadata().unwrap().len();
        file.set_len(start + 20_000_000_000).unwrap();
    };
    sparse("pushed/a.npy", "(100000, 100000)");
    sparse("pushed/b.npy", "(100000, 100000)");
    let case =
        || json!({"arch": "h100", "dtype": "fp16", "a": "a.npy", "b": "b.npy", "d": "d.npy"});
    let refused = |says: Value, words: &[&str]| {
        policy(&folder, says);
        let run = batch(&folder, case()).expect(2);
        for word in words {
            assert!(run.stdout.contains(word), "{word}: {run:?}");
        }
    };
    refused(json!({}), &["a.npy", "has 200000", "limit: 4294967296"]);
    // What is mapped is in the account.
    refused(
        json!({"limits": {"file": null}}),
        &["a.npy", "needs 200000", "of the allowed 4294967296"],
    );
    refused(
        json!({"limits": {"file": null, "memory": 30_000_000_000u64}}),
        &["needs 200000"],
    );
}

/// The report of a product of other sizes, by this engine.
fn asked(honest: &str, [m, k, n]: [usize; 3], engine: &str) -> String {
    let mut report: Value = serde_json::from_str(honest).unwrap();
    report["request"]["a"] = json!(format!("generate:1:normal:{m}x{k}"));
    report["request"]["b"] = json!(format!("generate:2:normal:{k}x{n}"));
    if engine != "fast" {
        report["request"]["engine"] = json!(engine);
    }
    for (axis, size) in ["m", "k", "n"].into_iter().zip([m, k, n]) {
        report["rule"]["product"][axis] = json!(size);
    }
    report.to_string()
}

/// A report asks for what its author likes.
#[test]
fn a_report_is_verified_within_limits() {
    let folder = Folder::new();
    let operands = "generate:1:normal:8x64 generate:2:normal:64x8";
    claims! {folder, "replay --arch h100 --dtype bf16 {operands} -o d.npy | 0"}
    claims! {folder, "check --arch h100 --dtype bf16 {operands} d.npy --json r.json -q | 0"}
    folder.passes("verify-report r.json");
    let honest = folder.text("r.json");
    let ask = |sizes: [usize; 3], engine: &str| {
        folder.write("r.json", asked(&honest, sizes, engine));
    };
    let verify = |options: &str| {
        let begun = Instant::now();
        let run = folder.tcverify(&format!("verify-report r.json {options}"));
        assert!(begun.elapsed() < SOON, "{:?}: {run:?}", begun.elapsed());
        run
    };
    ask([60_000; 3], "fast");
    verify("").refuses(&["needs 216000000000000 multiply-adds", "4398046511104"]);
    ask([usize::MAX >> 1, 64, 8], "fast");
    verify("").expect(2);
    // Shapes that contradict the product: nothing is made of them.
    ask([8, 64, 8], "fast");
    let text = folder.text("r.json");
    folder.write(
        "r.json",
        text.replace("generate:1:normal:8x64", "generate:1:normal:60000x60000"),
    );
    verify("").expect(1);
    // Time: one that says the digest of its D, so that nothing else is wrong with it.
    let digest = "7".repeat(64);
    claims! {folder, "check --arch h100 --dtype bf16 {operands} --d-digest {digest} --json r.json -q | 1"}
    let honest = folder.text("r.json");
    folder.write("r.json", asked(&honest, [64, 120_000, 64], "exact"));
    let limits = json!({"claims": ["digest"], "engines": ["exact"], "limits": {"seconds": 2}});
    policy(&folder, limits);
    verify("--policy policy.json").refuses(&["r.json", "stopped after 2 seconds"]);
    verify("--policy strict").expect(2).mentions(&["digest"]);
    folder.write("r.json", asked(&honest, [8, 64, 8], "fast"));
    verify("").expect(0);
}

/// A name is compared with those of schedules only if it is about as long.
#[test]
fn a_long_name_of_a_schedule_takes_no_time() {
    let folder = Folder::new();
    let case = json!({
        "name": "one", "arch": "h100", "dtype": "bf16", "a": "generate:1:normal:8x64",
        "b": "generate:2:normal:64x8", "d_digest": "7".repeat(64), "schedule": "x".repeat(8_000_000),
    });
    let manifest = json!({"schema": "tcverify.manifest/1", "cases": [case]});
    folder.write("m.json", manifest.to_string());
    let begun = Instant::now();
    folder.tcverify("batch m.json -q").expect(2);
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
}
