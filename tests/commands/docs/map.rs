//! docs/architecture.md names every folder and file at the top of src/ and every crate, and nothing that is not there;
//! crates depend on lower floors alone, and files import each other in no circle.

use crate::support::table;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::{blocks, in_repository, read};

mod circles;

#[test]
fn the_map_is_of_this_house() {
    let entries = std::fs::read_dir(in_repository("src")).unwrap();
    let there: BTreeSet<String> = entries
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if entry.path().is_dir() {
                format!("src/{name}/")
            } else {
                format!("src/{name}")
            }
        })
        .collect();
    let page = read("docs/architecture.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `src/"));
    let named = rows.filter_map(|row| Some(format!("src/{}", row.split_once("` |")?.0)));
    let named: BTreeSet<_> = named.collect();
    assert_eq!(named, there);
}

#[test]
fn crates_depend_on_lower_floors() {
    let page = read("docs/architecture.md");
    let floors = floors(&page);
    let mut edges = 0;
    let mut crates = BTreeSet::new();
    for manifest in manifests() {
        let name = package(&manifest);
        let own = floors.get(name);
        let own = own.unwrap_or_else(|| panic!("{name} is on no floor"));
        for other in dependencies(&manifest) {
            let below = floors.get(other).is_some_and(|floor| floor < own);
            assert!(below, "{name} depends on {other}");
            edges += 1;
        }
        crates.insert(name.to_owned());
    }
    let named: BTreeSet<_> = floors.keys().map(|name| (*name).to_owned()).collect();
    assert_eq!(named, crates);
    assert!(edges > 100, "{edges} dependencies");
    assert!(floors["check"] > floors["emu"] && floors["emu"] > floors["num"]);
}

#[test]
fn the_map_has_every_crate() {
    let entries = std::fs::read_dir(in_repository("crates")).unwrap();
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
    let there: BTreeSet<String> = entries
        .map(|entry| name(entry).into_string().unwrap())
        .collect();
    let page = read("docs/architecture.md");
    let rows = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `crates/"));
    let named = rows.filter_map(|row| Some(row.split_once("/` |")?.0.to_owned()));
    assert_eq!(named.collect::<BTreeSet<_>>(), there);
    let root = read("Cargo.toml");
    let rooms = rooms_that_are_crates().map(|room| {
        let name = room.file_name().unwrap().to_str().unwrap().to_owned();
        format!("src/{name}")
    });
    let crates = there.iter().map(|name| format!("crates/{name}"));
    for name in crates.chain(rooms) {
        let member = format!("\"{name}\"");
        let default = root
            .lines()
            .find(|line| line.starts_with("default-members"));
        assert!(
            default.unwrap().contains(&member),
            "cargo test leaves {name} out"
        );
    }
}

/// Fast engines are handed over: what decides a verdict names none, nor whoever offers them.
#[test]
fn only_the_composition_names_engines() {
    let mut users: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let engines = ["kernels", "gpu", "engines"];
    for manifest in manifests() {
        for engine in dependencies(&manifest) {
            if let Some(engine) = engines.iter().find(|name| **name == engine) {
                let users = users.entry(engine).or_default();
                users.push(package(&manifest).to_owned());
            }
        }
    }
    let users: Vec<_> = engines
        .iter()
        .map(|engine| users[engine].join(" "))
        .collect();
    // `bench` measures kernels, `engines` opens a GPU, and `probe --run-here` captures this processor.
    let expected = [
        "program engines probe",
        "program engines",
        "program screen search",
    ];
    assert_eq!(users, expected);
}

/// The texts of all manifests: of the program, of every crate, of rooms in `src/` that are crates.
fn manifests() -> Vec<String> {
    let crates = std::fs::read_dir(in_repository("crates")).unwrap();
    let crates = crates.map(|entry| entry.unwrap().path());
    let folders = crates
        .chain(rooms_that_are_crates())
        .chain([in_repository("")]);
    let mut folders: Vec<_> = folders.collect();
    folders.sort();
    let text = |folder: &PathBuf| std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    folders.iter().map(text).collect()
}

/// The name of a package, without what all have in common; the program is "program".
fn package(manifest: &str) -> &str {
    let name = manifest.split_once("\nname = \"").expect("a name").1;
    let name = name.split_once('"').expect("its end").0;
    name.strip_prefix("tcverify-").unwrap_or("program")
}

/// The crates of this repository that a package needs to run.
fn dependencies(manifest: &str) -> impl Iterator<Item = &str> {
    let all = manifest.split_once("\n[dependencies]\n");
    let all = all.map_or("", |(_, rest)| rest.split("\n[").next().unwrap_or_default());
    all.lines()
        .filter_map(|line| line.strip_prefix("tcverify-")?.split_once(" = "))
        .map(|(name, _)| name)
}

/// The folder of every crate's sources: of those in `crates/`, of rooms in `src/` with a manifest, and `src/`.
fn roots() -> impl Iterator<Item = PathBuf> {
    let crates = std::fs::read_dir(in_repository("crates")).unwrap();
    let crates = crates.map(|entry| entry.unwrap().path().join("src"));
    crates
        .chain(rooms_that_are_crates())
        .chain([in_repository("src")])
}

fn rooms_that_are_crates() -> impl Iterator<Item = PathBuf> {
    let rooms = std::fs::read_dir(in_repository("src")).unwrap();
    let rooms = rooms.map(|entry| entry.unwrap().path());
    rooms.filter(|room| room.join("Cargo.toml").exists())
}

/// The floor of each crate.
fn floors(page: &str) -> BTreeMap<&str, usize> {
    let blocks = blocks(page);
    let list = blocks
        .iter()
        .find(|(_, block)| block.contains("\n 0  common"));
    let (_, list) = list.expect("a list of floors");
    let rows = list.lines().flat_map(|row| {
        let mut words = row.split_whitespace();
        let floor: usize = words.next().unwrap().parse().unwrap();
        words.map(move |room| (room, floor))
    });
    rows.collect()
}

/// Circles that are still there, each by one of its files: to be broken, never to be added to.
const CIRCLES: [&str; 2] = ["replay.rs", "source.rs"];

#[test]
fn files_import_each_other_in_no_circle() {
    let mut found = Vec::new();
    let mut count = 0;
    for root in roots() {
        let mut files = BTreeMap::new();
        circles::read(&root, &root, &mut files);
        count += files.len();
        found.extend(circles::of(&files));
    }
    assert!(count > 450, "{count} files");
    let new: Vec<_> = found
        .iter()
        .filter(|circle| !circle.iter().any(|file| CIRCLES.contains(&file.as_str())))
        .collect();
    assert!(new.is_empty(), "files that import each other: {new:#?}");
    for known in CIRCLES {
        let there = found.iter().flatten().any(|file| file == known);
        assert!(
            there,
            "{known} is in no circle any more: take it off the list"
        );
    }
}

/// A file that no module names is not compiled, and nobody misses it.
#[test]
fn every_file_is_a_module() {
    for root in roots() {
        let mut files = BTreeMap::new();
        circles::read(&root, &root, &mut files);
        for name in files.keys() {
            let own = name.trim_end_matches(".rs").trim_end_matches("/mod");
            let (folder, module) = own.rsplit_once('/').unwrap_or(("", own));
            let above = match folder {
                "" => vec!["lib.rs".to_owned()],
                _ => vec![format!("{folder}/mod.rs"), format!("{folder}.rs")],
            };
            let named = |file: &String| {
                let mut lines = files
                    .get(file)
                    .into_iter()
                    .flat_map(|source| source.lines());
                lines.any(|line| line.ends_with(&format!("mod {module};")))
            };
            let roots = ["lib.rs", "main.rs"].contains(&name.as_str());
            assert!(roots || above.iter().any(named), "no module is {name}");
        }
    }
}

#[test]
fn a_circle_of_files_would_be_seen() {
    let files = table! {
        ("a/mod.rs", "mod b;\nmod c;\npub use b::B;\n"),
        ("a/b.rs", "use super::c;\npub struct B(c::C);\n"),
        ("a/c.rs", "use crate::a::{self, B as Other};\npub struct C;\n"),
        ("d.rs", "use crate::a::B;\n#[cfg(test)]\nmod tests {\n    use crate::e::E;\n}\n"),
        ("e.rs", "use super::d;\n"),
    };
    let files = files.map(|(name, source)| (name.to_owned(), source.to_owned()));
    let found = circles::of(&files.into());
    assert_eq!(found, [["a/b.rs", "a/c.rs"]]);
}
