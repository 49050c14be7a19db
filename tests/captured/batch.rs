//! Captured results as they lie in their folders.

use std::io::Write;
use std::path::PathBuf;

use crate::support::Folder;

/// Every case of a collection is identical; false where there is none.
fn all(collection: &str, count: u64) {
    // Not caught by the test's runner: who looks for it should find it.
    let mut stderr = std::io::stderr();
    let Some(vectors) = std::env::var_os("TCVERIFY_VECTORS") else {
        writeln!(
            stderr,
            "SKIPPED: {collection} as a batch: TCVERIFY_VECTORS is not set"
        )
        .unwrap();
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
    writeln!(stderr, "{collection} as a batch: {count} cases identical").unwrap();
}

#[test]
fn results_of_real_gpus() {
    all("hw-vectors", 31);
}

#[test]
fn results_of_an_emulator() {
    all("peer-vectors", 212);
}

#[test]
fn results_of_open_models() {
    all("open-vectors", 28);
}
