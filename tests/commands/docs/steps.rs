//! docs/steps.md has every kind of step as its file in src/emu/step begins, and the constants as the schema has them.

use std::fmt::Write;

use serde_json::Value;

use super::fields::table;
use super::{keep, read};

const BEGIN: &str = "<!-- begin: heads of src/emu/step -->\n";
const END: &str = "<!-- end -->\n";

#[test]
fn the_page_of_steps_is_the_heads_of_their_files() {
    keep("docs/steps.md", |old| {
        let (before, rest) = old.split_once(BEGIN).expect("the page has the marker");
        let (_, after) = rest.split_once(END).expect("the page has the end marker");
        format!("{before}{BEGIN}{}{END}{after}", sections())
    });
}

fn sections() -> String {
    let schema: Value = serde_json::from_str(&read("docs/schemas/architecture.json")).unwrap();
    let kinds = schema["$defs"]["Step"]["oneOf"].as_array().expect("kinds");
    assert!(kinds.len() > 10, "{} kinds", kinds.len());
    let mut text = String::new();
    for kind in kinds {
        let name = kind["properties"]["kind"]["const"]
            .as_str()
            .expect("a kind");
        let head = head(&read(&format!("src/emu/step/{name}.rs")));
        let (first, rest) = head.split_once("\n\n").expect("a head has rules");
        let table = table(&format!("architecture.json, Step.{name}"));
        write!(text, "\n## `{name}`\n\n{first}\n\n{table}\n{rest}").unwrap();
    }
    text + "\n"
}

/// The comment that a file begins with.
fn head(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    lines
        .map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line)))
        .collect()
}
