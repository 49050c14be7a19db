//! What documents show of the catalogue, the tool's output and the library cannot drift.
//!
//! `TCVERIFY_BLESS=1 cargo test --test commands docs` rewrites what is rendered from the catalogue.

use crate::support::Says;

mod architectures;
mod core;
mod fields;
mod formats;
mod heads;
mod links;
mod map;
mod messages;
#[cfg(unix)]
mod pages;
mod steps;
mod trust;
mod words;

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use architectures::{COLUMNS, letter, some_gpus, takes};
use tcverify::check::RequestFields;
use tcverify::emu::model::{Architecture, Instruction, Rule};
use tcverify::emu::schedule::presets;
use tcverify::emu::{Catalogue, Evidence};
use tcverify::num::Format::{self, *};

const BEGIN: &str = "<!-- begin: written by tests/commands/docs.rs -->\n";
const END: &str = "<!-- end -->\n";

#[test]
fn the_readme_shows_the_catalogue() {
    keep("README.md", |old| {
        let (before, rest) = old.split_once(BEGIN).expect("README.md has the marker");
        let (_, after) = rest.split_once(END).expect("README.md has the end marker");
        format!("{before}{BEGIN}\n{}\n{END}{after}", overview())
    });
}

#[test]
fn the_page_of_schedules_lists_the_presets() {
    keep("docs/schedules.md", |old| {
        let (before, rest) = old.split_once(BEGIN).expect("the page has the marker");
        let (_, after) = rest.split_once(END).expect("the page has the end marker");
        format!("{before}{BEGIN}\n{}\n{END}{after}", schedules())
    });
}

/// The presets by name: how they are known and what they are. `tcverify schedules NAME` has the rest.
fn schedules() -> String {
    let mut text = String::from("| schedule | evidence | kernel |\n|---|---|---|\n");
    for schedule in presets() {
        let (name, evidence) = (&schedule.name, schedule.evidence);
        writeln!(text, "| `{name}` | {evidence} | {} |", schedule.title).unwrap();
    }
    text
}

#[test]
fn the_readme_and_the_rustdoc_have_one_example() {
    let library: String = read("src/lib.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("//!"))
        .map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line)))
        .filter(|line| !line.starts_with("# Ok"))
        .collect();
    let readme = read("README.md");
    let blocks = blocks(&readme);
    let example = blocks.iter().find(|(info, _)| *info == "rust");
    let (_, example) = example.expect("README.md has an example");
    // The rustdoc's block has no language: it is the one that holds the example.
    library.says(&format!("```\n{example}```\n"));
}

#[test]
fn the_page_of_requests_lists_every_field() {
    keep("docs/request.md", |old| {
        let (before, rest) = old.split_once(BEGIN).expect("the page has the marker");
        let (_, after) = rest.split_once(END).expect("the page has the end marker");
        format!("{before}{BEGIN}\n{}\n{END}{after}", fields())
    });
}

/// The fields of a check, as their options' help has them, with fields in place of options.
fn fields() -> String {
    let mut text = String::from("| field | value | meaning |\n|---|---|---|\n");
    for field in RequestFields::about() {
        let words = field.about.split(' ').map(|word| {
            let bare = word.trim_matches(|c: char| ",;:.()".contains(c));
            let named = bare.strip_prefix("--").map(|name| name.replace('-', "_"));
            match named.filter(|name| RequestFields::NAMES.contains(&name.as_str())) {
                Some(name) => word.replace(bare, &format!("`{name}`")),
                None => word.to_owned(),
            }
        });
        let about = words.collect::<Vec<_>>().join(" ").replace('|', "\\|");
        assert!(!about.contains("--"), "an option among fields: {about}");
        writeln!(text, "| `{}` | {} | {about} |", field.name, field.value).unwrap();
    }
    text
}

/// Python's annotations of the fields of a check, but of the architecture and the matrices, which are arguments.
#[test]
fn python_has_every_field() {
    const BEGIN: &str = "    # begin: written by tests/commands/docs.rs\n";
    const END: &str = "    # end\n";
    keep("python/tcverify/_request.py", |old| {
        let (before, rest) = old.split_once(BEGIN).expect("the class has the marker");
        let (_, after) = rest.split_once(END).expect("the class has the end marker");
        let own = ["arch", "a", "b", "d"];
        let fields = RequestFields::about().into_iter();
        let fields = fields.filter(|field| !own.contains(&field.name));
        let lines = fields.map(|field| {
            let python = match field.name {
                "region" => "str | tuple[SpanLike, SpanLike]",
                _ => &field.python,
            };
            format!("    {}: {python} | None\n", field.name)
        });
        format!("{before}{BEGIN}{}{END}{after}", lines.collect::<String>())
    });
}

/// The library shows no type of them, so their names are read in the source.
#[test]
fn the_page_of_causes_has_every_shape_of_a_place() {
    let source = read("crates/causes/src/diagnose/groups/sentences.rs");
    let (names, _) = source.split_once("\n    }\n").expect("the names first");
    let names = names.split("=> \"").skip(1);
    let names: Vec<_> = names.filter_map(|rest| rest.split('"').next()).collect();
    assert!(names.len() >= 7, "{names:?}");
    let page = read("docs/causes.md");
    let (_, table) = page
        .split_once("\n| `shape` of a place |")
        .expect("a table");
    let (table, _) = table.split_once("\n\n").expect("its end");
    for name in names {
        assert!(table.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn the_example_of_requests_compiles() {
    // It is the body of this function, which nobody calls: its files are not there.
    #[allow(dead_code)]
    fn example() -> Result<(), Box<dyn std::error::Error>> {
        use tcverify::check::Check;
        use tcverify::engines::resources;
        use tcverify::forms::{Layout, View};
        use tcverify::num::Format;

        let files = ["a.npy".into(), "b.npy".into(), "d.npy".into()];
        let mut check = Check::new("h100", Format::Bf16, files);
        check.operands.transpose_b = true;
        let report = check.prepare(&resources())?.run(&())?;
        View::of(&report).text(Layout::default(), &mut std::io::stdout())?;
        Ok(())
    }
    let page = read("docs/request.md");
    let blocks = blocks(&page);
    let (_, shown) = blocks.iter().find(|(info, _)| *info == "rust").unwrap();
    let shown: String = shown
        .lines()
        .map(|line| match line {
            "" => "\n".to_owned(),
            _ => format!("        {line}\n"),
        })
        .collect();
    assert!(include_str!("docs.rs").contains(&shown));
}

fn in_repository(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn read(name: &str) -> String {
    fs::read_to_string(in_repository(name)).unwrap()
}

/// Every page, by its name in the repository.
fn all_pages() -> Vec<String> {
    let mut pages = vec![
        "README.md".into(),
        "CONTRIBUTING.md".into(),
        "CHANGELOG.md".into(),
    ];
    let mut folders = vec!["docs".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(in_repository(&folder)).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{folder}/{}", entry.file_name().to_str().unwrap());
            if entry.path().is_dir() {
                folders.push(name);
            } else if name.ends_with(".md") {
                pages.push(name);
            }
        }
    }
    pages.sort();
    pages
}

/// A page's blocks of code with what follows their first three backticks, in order.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let mut blocks = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once("\n```") {
        let (info, after) = after.split_once('\n').expect("a line");
        // The newline before may be the block's own: one without lines ends at once.
        let end = after
            .find("```")
            .filter(|&end| end == 0 || after[..end].ends_with('\n'));
        let (block, after) = after.split_at(end.expect("a block has an end"));
        blocks.push((info, block));
        rest = &after[3..];
    }
    blocks
}

/// Fails if a file differs from what `render` makes of it, or writes that if so asked.
pub fn keep(name: &str, render: impl Fn(&str) -> String) {
    let path = in_repository(name);
    let old = fs::read_to_string(&path).unwrap_or_default();
    let new = render(&old);
    if std::env::var_os("TCVERIFY_BLESS").is_some_and(|v| v == "1") {
        if old != new {
            fs::write(&path, new).unwrap();
        }
        return;
    }
    let differing = old.lines().zip(new.lines()).position(|(a, b)| a != b);
    assert!(
        old == new,
        "{name} is out of date (first at line {}); TCVERIFY_BLESS=1 cargo test --test commands docs rewrites it",
        1 + differing.unwrap_or(old.lines().count().min(new.lines().count()))
    );
}

/// One row an architecture: how each format is known.
fn overview() -> String {
    let mut text = String::from("| `--arch` | GPUs |");
    for (name, _) in COLUMNS {
        let name = name.split([' ', ',']).next().expect("a name");
        write!(text, " {name} |").unwrap();
    }
    text += &format!("\n|---|---|{}\n", "---|".repeat(COLUMNS.len()));
    for arch in Catalogue::builtin().architectures() {
        write!(text, "| `{}` | {} |", arch.name, some_gpus(arch)).unwrap();
        for (_, formats) in COLUMNS {
            write!(text, " {} |", evidence(arch, formats)).unwrap();
        }
        text += "\n";
    }
    text
}

/// The evidence for the rule that a check takes if nothing but the format is said; where another
/// instruction is better known, its name, too.
fn evidence(arch: &Architecture, formats: &[&[Format]]) -> String {
    let rules = || {
        let rules = |i| rules_of(i);
        let all = arch.instructions.iter().flat_map(rules);
        all.filter(|(_, rule)| takes(rule, formats))
    };
    let default = [false, true].into_iter().find_map(|scaled| {
        let first = |accumulator: &Format| {
            let fits =
                |rule: &Rule| rule.accumulator == *accumulator && rule.scale.is_some() == scaled;
            rules().find(|(_, rule)| fits(rule))
        };
        [Fp32, Fp64, Fp16, Int32].iter().find_map(first)
    });
    let Some((_, rule)) = default else {
        return String::new();
    };
    let better = rules().find(|(_, other)| {
        other.accumulator == rule.accumulator
            && other.scale.is_some() == rule.scale.is_some()
            && other.evidence == Evidence::Captured
    });
    match better {
        Some((instruction, _)) if rule.evidence != Evidence::Captured => {
            format!("{} (`{}` C)", letter(rule.evidence), instruction.name)
        }
        _ => letter(rule.evidence).into(),
    }
}

fn rules_of(instruction: &Instruction) -> impl Iterator<Item = (&Instruction, &Rule)> {
    instruction
        .rules
        .iter()
        .map(move |rule| (instruction, rule))
}

/// Text that Markdown must not interpret.
fn escape(text: &str) -> String {
    let special = |c| matches!(c, '*' | '|' | '<' | '[' | ']' | '`' | '\\');
    let mut escaped = String::new();
    for c in text.chars() {
        if special(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}
