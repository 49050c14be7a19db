//! What the heads of crates and modules name exists: files, types, functions, options.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::in_repository;

#[test]
fn what_heads_name_exists() {
    let (files, words) = house();
    let mut named = 0;
    let mut gone = Vec::new();
    for (path, source) in files.iter().filter(|(path, _)| !path.starts_with("tests")) {
        for name in names(&head(source)) {
            named += 1;
            if !exists(&name, path, &words) {
                gone.push(format!("{}: `{name}`", path.display()));
            }
        }
    }
    assert!(named > 200, "{named} names");
    assert!(
        gone.is_empty(),
        "heads name what is not there:\n{}",
        gone.join("\n")
    );
}

#[test]
fn a_stale_head_is_found() {
    let (_, words) = house();
    let source = "//! Made by `Check::prepare`, not by\n//! `Czeck`; see `judge.rs` and `gone.rs`, `--arch` and `--arsch`.\nfn f() {}\n";
    let names = names(&head(source));
    let path = Path::new("src/check/lib.rs");
    let gone: Vec<_> = names
        .iter()
        .filter(|name| !exists(name, path, &words))
        .collect();
    assert_eq!(gone, ["Czeck", "gone.rs", "--arsch"]);
}

/// The comment that a file begins with.
fn head(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    let mut in_block = false;
    let lines = lines.filter(|line| {
        let fence = line.trim_start().starts_with("```");
        in_block ^= fence;
        !in_block && !fence
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Words in backticks that look like names.
fn names(head: &str) -> Vec<String> {
    let quoted = head
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|name| !name.contains('\n'));
    quoted
        .filter(|name| {
            let word = |c: char| c.is_ascii_alphanumeric() || "_:-.".contains(c);
            name.len() < 50
                && name.len() > 2
                && !name.ends_with("...")
                && !name.ends_with(".h")
                && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '-')
                && name.chars().all(word)
        })
        .map(str::to_owned)
        .collect()
}

fn exists(name: &str, named_in: &Path, words: &BTreeSet<String>) -> bool {
    if let Some(option) = name.strip_prefix("--") {
        return words.contains(&option.replace('-', "_"));
    }
    let folder = named_in.parent().expect("a file lies in a folder");
    let places = [folder, Path::new(""), Path::new("src"), Path::new("crates")];
    let is_there = |name: &str| {
        places.iter().any(|place| {
            let path = in_repository(place.join(name).to_str().expect("names are text"));
            path.exists() || path.with_extension("rs").exists()
        })
    };
    if is_there(name) {
        return true;
    }
    let is_file = [".rs", ".md", ".json"]
        .iter()
        .any(|end| name.ends_with(end));
    let mut parts = name
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|part| !part.is_empty());
    !is_file && parts.all(|part| words.contains(part) || is_there(part))
}

/// All sources, by their paths in the repository, and every word of their code and texts.
fn house() -> (Vec<(PathBuf, String)>, BTreeSet<String>) {
    let root = in_repository("");
    let mut files = Vec::new();
    for folder in ["src", "crates", "tests", "python", "benches", "examples"] {
        collect(&root.join(folder), &root, &mut files);
    }
    let mut words = BTreeSet::new();
    for (_, source) in &files {
        let code = source
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        for line in code {
            let parts = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            words.extend(parts.map(str::to_owned));
        }
    }
    files.retain(|(path, _)| path.extension().is_some_and(|extension| extension == "rs"));
    (files, words)
}

fn collect(folder: &Path, root: &Path, into: &mut Vec<(PathBuf, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, root, into);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "rs" || extension == "py")
            && path.file_name().is_some_and(|name| name != "heads.rs")
        {
            let relative = path.strip_prefix(root).unwrap().to_owned();
            into.push((relative, std::fs::read_to_string(&path).unwrap()));
        }
    }
}
