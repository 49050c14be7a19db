//! Captured results as they lie in their folders.

use std::path::PathBuf;

use crate::support::{Folder, say};

/// Every case of a collection is identical, and is said to be.
fn all(collection: &str, count: u64) {
    let Some(vectors) = std::env::var_os("TCVERIFY_VECTORS") else {
        say(format_args!(
            "SKIPPED: {collection} as a batch: TCVERIFY_VECTORS is not set"
        ));
        return;
    };
    let root = PathBuf::from(vectors).join(collection);
    let folder = Folder::new();
    let run = folder.run(
        folder
            .command()
            .arg("batch")
            .arg(&root)
            .args(["--json", "-"]),
    );
    let report = run.expect(0).json();
    assert_eq!(report["totals"]["cases"], count);
    assert_eq!(report["totals"]["identical"], count);
    for case in report["cases"].as_array().unwrap() {
        assert_eq!(case["report"]["verdict"], "identical", "{}", case["name"]);
        let comparison = &case["report"]["outcome"]["comparison"];
        assert_eq!(comparison["mismatches"], 0, "{}", case["name"]);
        assert!(comparison["elements"].as_u64().unwrap() > 0);
    }
    say(format_args!(
        "{collection} as a batch: {count} cases identical"
    ));
}

#[test]
fn results_of_real_gpus() {
    all("hw-vectors", 31);
}

#[test]
fn results_of_rdna() {
    all("rdna-vectors", 39);
}

#[test]
fn results_of_a_processors_tiles() {
    let cases = crate::support::vectors::amx("results of AMX as a batch");
    if let Some(cases) = cases {
        all(crate::support::vectors::AMX, cases.len() as u64);
    }
}

#[test]
fn results_of_an_arm_simulator() {
    let cases = crate::support::vectors::arm("results of Arm as a batch");
    if let Some(cases) = cases {
        all(crate::support::vectors::ARM, cases.len() as u64);
    }
}

/// Products; what packer and unpacker do alone is none.
#[test]
fn results_of_tenstorrents_simulator() {
    all("tenstorrent-vectors", 140);
}

#[test]
fn results_of_an_emulator() {
    all("peer-vectors", 212);
}

#[test]
fn results_of_open_models() {
    all("open-vectors", 28);
}
