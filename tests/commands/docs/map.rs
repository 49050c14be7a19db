//! docs/architecture.md names every folder and file at the top of src/, and nothing that is not there;
//! imports go down its floors, and files import each other in no circle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

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
    let floors: BTreeSet<_> = floors(&page).into_keys().map(str::to_owned).collect();
    let rooms = there.iter().map(|name| {
        let name = name.trim_start_matches("src/").trim_end_matches('/');
        name.trim_end_matches(".rs").to_owned()
    });
    let rooms = rooms.filter(|name| name != "lib");
    let rooms: BTreeSet<_> = rooms.chain(handed_on()).collect();
    assert_eq!(floors, rooms);
}

#[test]
fn imports_go_down_the_floors() {
    let page = read("docs/architecture.md");
    let floors = floors(&page);
    let mut imports = 0;
    for (room, floor) in &floors {
        if handed_on().any(|name| name == *room) {
            continue; // cargo sees to its imports
        }
        let folder = in_repository(&format!("src/{room}"));
        let mut sources = Vec::new();
        if folder.is_dir() {
            sources_in(&folder, &mut sources);
        } else {
            sources.push(std::fs::read_to_string(folder.with_extension("rs")).unwrap());
        }
        for source in sources {
            for other in imported(&source) {
                let below = floors.get(other);
                let below = below.unwrap_or_else(|| panic!("{other} is on no floor"));
                assert!(
                    other == *room || below < floor,
                    "{room} imports from {other}"
                );
                imports += usize::from(other != *room);
            }
        }
    }
    assert!(imports > 200, "{imports} imports");
}

#[test]
fn an_import_from_above_would_be_seen() {
    let page = read("docs/architecture.md");
    let floors = floors(&page);
    let source = "use crate::check::Check;\nlet x = crate::num::Format::Fp16;";
    let imported: Vec<_> = self::imported(source).collect();
    assert_eq!(imported, ["check", "num"]);
    let grouped = "use crate::{\n    check::{Check, Source as S},\n    io, num::{self, Format},\n};\nuse crate::emu;";
    let imported: Vec<_> = self::imported(grouped).collect();
    assert_eq!(imported, ["check", "io", "num", "emu"]);
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

/// Fast engines are handed over: what decides a verdict names none.
#[test]
fn only_the_composition_names_engines() {
    let manifest = read("src/emu/Cargo.toml");
    assert!(manifest.contains("tcverify-num"));
    let engines = ["kernels", "gpu"];
    assert!(
        !engines
            .iter()
            .any(|name| manifest.contains(&format!("tcverify-{name}")))
    );
    let named = |room: &str| {
        let mut sources = Vec::new();
        sources_in(&in_repository(&format!("src/{room}")), &mut sources);
        let names = |source: &String| {
            let imported: Vec<_> = self::imported(source).collect();
            let own = |name: &&str| {
                imported.contains(name) || source.contains(&format!("tcverify_{name}"))
            };
            imported.contains(&"engines") || engines.iter().any(own)
        };
        sources.iter().any(names)
    };
    let judging = [
        "audit",
        "candidates",
        "check",
        "commit",
        "diagnose",
        "explain",
        "io",
        "report",
        "shard",
    ];
    for room in judging {
        assert!(!named(room), "{room} names an engine");
    }
    assert!(named("cli"));
}

/// What the library hands on from crates below, by the names it has there.
fn handed_on() -> impl Iterator<Item = String> {
    let library = read("src/lib.rs");
    let groups: Vec<String> = library
        .lines()
        .filter_map(|line| line.strip_prefix("pub use tcverify_")?.split_once("::"))
        .map(|(_, names)| names.trim_matches(['{', '}', ';']).to_owned())
        .collect();
    let names = groups.into_iter().flat_map(|group| {
        let names = group
            .split(", ")
            .filter_map(|name| name.split(' ').next_back());
        names.map(str::to_owned).collect::<Vec<_>>()
    });
    names.collect::<Vec<_>>().into_iter()
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

/// The floor of each room.
fn floors(page: &str) -> BTreeMap<&str, usize> {
    let blocks = blocks(page);
    let list = blocks.iter().find(|(_, block)| block.contains("\n 0  num"));
    let (_, list) = list.expect("a list of floors");
    let rows = list.lines().flat_map(|row| {
        let mut words = row.split_whitespace();
        let floor: usize = words.next().unwrap().parse().unwrap();
        words.map(move |room| (room, floor))
    });
    rows.collect()
}

/// The modules at the top that a source names: `crate::a::b`, and each of `crate::{a, b::{c, d}}`.
fn imported(source: &str) -> impl Iterator<Item = &str> {
    let after = source.split("crate::").skip(1);
    after
        .flat_map(|rest| match rest.strip_prefix('{') {
            None => vec![rest],
            Some(group) => first_words(group),
        })
        .filter_map(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '_')?;
            Some(&rest[..end]).filter(|name| !name.is_empty())
        })
}

/// Where each entry of a group begins; groups in it are passed over.
fn first_words(group: &str) -> Vec<&str> {
    let (mut depth, mut begins) = (0, true);
    let mut entries = Vec::new();
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => begins = true,
            c if begins && !c.is_whitespace() => {
                entries.push(&group[at..]);
                begins = false;
            }
            _ => {}
        }
    }
    entries
}

/// Without tests, which may use what they like.
fn sources_in(folder: &Path, sources: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.file_stem().is_some_and(|name| name == "tests") {
            continue;
        }
        if path.is_dir() {
            sources_in(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push(std::fs::read_to_string(path).unwrap());
        }
    }
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
    let files = [
        ("a/mod.rs", "mod b;\nmod c;\npub use b::B;\n"),
        ("a/b.rs", "use super::c;\npub struct B(c::C);\n"),
        (
            "a/c.rs",
            "use crate::a::{self, B as Other};\npub struct C;\n",
        ),
        (
            "d.rs",
            "use crate::a::B;\n#[cfg(test)]\nmod tests {\n    use crate::e::E;\n}\n",
        ),
        ("e.rs", "use super::d;\n"),
    ];
    let files = files.map(|(name, source)| (name.to_owned(), source.to_owned()));
    let found = circles::of(&files.into());
    assert_eq!(found, [["a/b.rs", "a/c.rs"]]);
}
