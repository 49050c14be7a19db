//! The core: rooms that decide a verdict. It may depend on itself alone, and may only shrink.

use super::{in_repository, read};

/// The crates of the core, by their folders.
const CRATES: [&str; 7] = [
    "crates/common",
    "crates/num",
    "crates/tensor",
    "src/check",
    "src/emu",
    "src/io",
    "src/report",
];

/// Lines of code, without blanks, comments and files of tests.
const MOST_LINES: usize = 25_000;

#[test]
fn the_crates_of_the_core_depend_on_each_other_alone() {
    let names = CRATES.map(|folder| {
        let last = folder.rsplit('/').next().expect("a folder has a name");
        format!("tcverify-{last}")
    });
    let mut edges = 0;
    for folder in CRATES {
        for dependency in own_dependencies(&read(&format!("{folder}/Cargo.toml"))) {
            assert!(
                names.contains(&dependency),
                "{folder} depends on {dependency}, which is not of the core"
            );
            edges += 1;
        }
    }
    assert!(edges >= 12, "{edges} dependencies");
    let wrong = "[dependencies]\ntcverify-kernels = { version = \"0.1.0\" }\n";
    assert_eq!(own_dependencies(wrong), ["tcverify-kernels"]);
}

#[test]
fn the_core_only_shrinks() {
    let lines: usize = CRATES
        .iter()
        .map(|folder| lines_in(&in_repository(folder)))
        .sum();
    assert!(
        lines <= MOST_LINES,
        "the core has {lines} lines, {MOST_LINES} at most: what judges nothing belongs elsewhere"
    );
    assert!(
        lines + 500 > MOST_LINES,
        "the core shrank to {lines} lines: lower the limit"
    );
}

/// Crates of this repository that a manifest names as dependencies.
fn own_dependencies(manifest: &str) -> Vec<String> {
    let names = manifest.lines().filter_map(|line| line.split_once(" = "));
    let names = names
        .map(|(name, _)| name)
        .filter(|name| name.starts_with("tcverify-"));
    names.map(str::to_owned).collect()
}

fn lines_in(folder: &std::path::Path) -> usize {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let lines = entries.map(|path| {
        let is_test = path.file_stem().is_some_and(|name| {
            ["tests", "benches", "examples"]
                .iter()
                .any(|own| name == *own)
        });
        if is_test {
            0
        } else if path.is_dir() {
            lines_in(&path)
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            super::trust::code_lines(&std::fs::read_to_string(path).unwrap())
        } else {
            0
        }
    });
    lines.sum()
}
