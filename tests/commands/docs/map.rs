//! docs/architecture.md names every folder and file at the top of src/, and nothing that is not there.

use std::collections::BTreeSet;

use super::{in_repository, read};

#[test]
fn the_map_is_of_this_house() {
    let entries = std::fs::read_dir(in_repository("src")).unwrap();
    let there: BTreeSet<String> = entries
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            match entry.path().is_dir() {
                true => format!("src/{name}/"),
                false => format!("src/{name}"),
            }
        })
        .collect();
    let page = read("docs/architecture.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `src/"));
    let named = rows.filter_map(|row| Some(format!("src/{}", row.split_once("` |")?.0)));
    let named: BTreeSet<_> = named.collect();
    assert_eq!(named, there);
}
