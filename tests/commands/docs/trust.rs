//! docs/trust.md names files and tests that exist, and counts their lines as they are.

use std::collections::BTreeSet;

use super::{blocks, in_repository, keep, read};

const PAGE: &str = "docs/trust.md";

#[test]
fn the_lines_are_counted() {
    keep(PAGE, |old| {
        let mut total = 0;
        let lines = old.lines().map(|line| {
            if let Some((file, cells)) = row(line) {
                let counted = code_lines(&read(file));
                total += counted;
                let (_, rest) = cells.split_once(" | ").expect("a row counts lines");
                return format!("| `{file}` | {counted} | {rest}\n");
            }
            match line.strip_prefix("Together ") {
                Some(_) => format!("Together {total} lines.\n"),
                None => format!("{line}\n"),
            }
        });
        let lines: String = lines.collect();
        lines
    });
    let files = read(PAGE)
        .lines()
        .filter_map(row)
        .map(|(file, _)| file.to_owned())
        .collect::<BTreeSet<_>>();
    let said = format!("rests on {} files", files.len());
    assert!(read(PAGE).contains(&said), "{PAGE} does not say: {said}");
}

#[test]
fn every_test_it_names_exists() {
    let mut sources = String::new();
    for folder in ["tests", "crates", "src"] {
        all_sources(&in_repository(folder), &mut sources);
    }
    let page = read(PAGE);
    assert!(blocks(&page).is_empty(), "a block of code hides names");
    let words = page.split('`').skip(1).step_by(2);
    let names: BTreeSet<_> = words
        .filter(|word| {
            word.contains('_')
                && word
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || "_0123456789".contains(c))
        })
        .filter(|word| *word != "serde_json")
        .collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        assert!(
            sources.contains(&format!("#[test]\nfn {name}(")),
            "no test is called {name}"
        );
    }
}

#[test]
fn comments_blanks_and_tests_do_not_count() {
    let source = "//! Head.\n\nuse x;\n/// Doc.\nfn f() {} // counts\n    // not\n\n#[cfg(test)]\nmod tests {\n}\n";
    assert_eq!(code_lines(source), 2);
    assert_eq!(
        row("| `a.rs` | 3 | it | `t` |"),
        Some(("a.rs", "3 | it | `t` |"))
    );
    assert_eq!(row("| file | lines |"), None);
}

/// The file of a row, and its other cells.
fn row(line: &str) -> Option<(&str, &str)> {
    let (file, cells) = line.strip_prefix("| `")?.split_once("` | ")?;
    file.ends_with(".rs").then_some((file, cells))
}

/// Lines of a source that are neither blank nor comments, up to its tests.
pub fn code_lines(source: &str) -> usize {
    let code = source
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .expect("a first part");
    let lines = code.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with("//") && *line != "#[cfg(test)]")
        .count()
}

/// The text of all Rust files below a folder, without indentation.
fn all_sources(folder: &std::path::Path, into: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all_sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            for line in std::fs::read_to_string(&path).unwrap().lines() {
                into.push_str(line.trim());
                into.push('\n');
            }
        }
    }
}
