//! What documents show of the catalogue, the tool's output and the library cannot drift.
//!
//! `TCVERIFY_BLESS=1 cargo test --test commands docs` rewrites what is rendered from the catalogue.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tcverify::emu::model::{Architecture, Instruction, Rule};
use tcverify::emu::schedule::presets;
use tcverify::emu::{Arithmetic, Catalogue, Evidence};
use tcverify::num::Format::{self, *};

const BEGIN: &str = "<!-- begin: written by tests/commands/docs.rs -->\n";
const END: &str = "<!-- end -->\n";

#[test]
fn the_page_of_architectures_is_up_to_date() {
    keep("docs/architectures.md", |_| page());
}

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

/// The presets, with the sources of their constants.
fn schedules() -> String {
    let mut text = String::from("## The built-in schedules\n");
    for schedule in presets() {
        let name = &schedule.name;
        write!(text, "\n### `{name}`: {}\n\n", schedule.title).unwrap();
        let summary = schedule.spec.summary();
        writeln!(text, "{summary}. Evidence: {}.", schedule.evidence).unwrap();
        for note in &schedule.notes {
            write!(text, "\n{note}\n").unwrap();
        }
        text += "\n| constants | evidence | source | note |\n|---|---|---|---|\n";
        for (constant, known) in &schedule.known_by {
            let note = known.note.as_deref().unwrap_or_default();
            let source = known.source.join(", ");
            let evidence = known.evidence;
            writeln!(text, "| `{constant}` | {evidence} | {source} | {note} |").unwrap();
        }
    }
    let mut sources = std::collections::BTreeMap::new();
    presets()
        .iter()
        .for_each(|schedule| sources.extend(&schedule.sources));
    text += "\n### Sources\n\n";
    for (key, source) in sources {
        writeln!(text, "- `{key}`: {}", source.replace('*', "\\*")).unwrap();
    }
    text
}

#[test]
fn the_reports_in_the_readme_are_real() {
    let readme = read("README.md");
    let shown: Vec<_> = blocks(&readme, "text")
        .filter_map(|block| block.strip_prefix("$ tcverify "))
        .collect();
    assert_eq!(shown.len(), 2);
    for block in shown {
        let (arguments, report) = block.split_once('\n').unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_tcverify"))
            .args(arguments.split_whitespace())
            .current_dir(in_repository("tests/fixtures/papers/ampere-mma-fp16-f32"))
            .output()
            .unwrap();
        let real = String::from_utf8(output.stdout).unwrap();
        match report.strip_suffix("    ...\n") {
            Some(beginning) => assert_eq!(&real[..beginning.len()], beginning),
            None => assert_eq!(real, report),
        }
    }
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
    let example = blocks(&readme, "rust").next().unwrap();
    // The rustdoc's block has no language: it is the one that holds the example.
    assert!(library.contains(&format!("```\n{example}```\n")));
}

fn in_repository(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn read(name: &str) -> String {
    fs::read_to_string(in_repository(name)).unwrap()
}

/// The contents of a page's blocks of code in this language.
fn blocks<'a>(page: &'a str, language: &str) -> impl Iterator<Item = &'a str> {
    let begin = format!("```{language}\n");
    let mut rest = page;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(&begin)?;
        let (block, after) = after.split_once("```\n")?;
        rest = after;
        Some(block)
    })
}

/// Fails if a file differs from what `render` makes of it, or writes that if so asked.
fn keep(name: &str, render: impl Fn(&str) -> String) {
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

// ------------------------------------------------------------------------------ README.md

/// Columns of the overview: formats that always occur together, or others that do in their place.
const COLUMNS: [(&str, &[&[Format]]); 10] = [
    ("FP16", &[&[Fp16]]),
    ("BF16", &[&[Bf16]]),
    ("TF32 (AMD: XF32)", &[&[Tf32], &[Xf32]]),
    (
        "FP8 (E4M3, E5M2; AMD: FNUZ)",
        &[&[E4m3, E5m2], &[E4m3fnuz, E5m2fnuz]],
    ),
    ("FP6 (E3M2, E2M3)", &[&[E3m2, E2m3]]),
    ("FP4 (E2M1)", &[&[E2m1]]),
    ("FP32", &[&[Fp32]]),
    ("FP64", &[&[Fp64]]),
    ("INT8, UINT8", &[&[Int8, Uint8]]),
    ("INT4, UINT4", &[&[Int4, Uint4]]),
];

fn overview() -> String {
    let mut text = String::from("| architecture | GPUs | instruction |");
    for (name, _) in COLUMNS {
        write!(text, " {name} |").unwrap();
    }
    text += &format!("\n|---|---|---|{}\n", "---|".repeat(COLUMNS.len()));
    for arch in Catalogue::builtin().architectures() {
        for (i, instruction) in arch.instructions.iter().enumerate() {
            let (name, gpus) = match i {
                0 => (format!("`{}`", arch.name), some_gpus(arch)),
                _ => (String::new(), String::new()),
            };
            write!(text, "| {name} | {gpus} | `{}` |", instruction.name).unwrap();
            for (_, formats) in COLUMNS {
                write!(text, " {} |", cell(instruction, formats)).unwrap();
            }
            text += "\n";
        }
    }
    text
}

/// The first few, with the compute capabilities.
fn some_gpus(arch: &Architecture) -> String {
    let gpus: Vec<_> = arch.gpus.iter().take(3).map(String::as_str).collect();
    let more = if arch.gpus.len() > 3 { ", ..." } else { "" };
    let target = |name: &&String| name.starts_with("sm_") || name.starts_with("gfx");
    let names = arch.also.iter().filter(target);
    let names: Vec<_> = names.map(String::as_str).collect();
    match names.is_empty() {
        true if gpus.is_empty() => escape(&arch.title),
        true => escape(&format!("{}{more}", gpus.join(", "))),
        false => escape(&format!("{}{more} ({})", gpus.join(", "), names.join(", "))),
    }
}

/// `FP32 H, FP16 L`: what the instruction accumulates in, and the evidence.
fn cell(instruction: &Instruction, alternatives: &[&[Format]]) -> String {
    let evidence = |rule: &Rule| match rule.evidence {
        Evidence::Hardware => "H",
        Evidence::Literature => "L",
        Evidence::Inferred => "I",
        Evidence::Claimed => panic!("the catalogue claims nothing"),
    };
    let has = |rule: &Rule, formats: &[Format]| {
        let has = formats.iter().all(|&f| rule.operands.contains(&[f, f]));
        let any = rule.operands.iter().any(|[a, _]| formats.contains(a));
        assert_eq!(has, any, "a column of formats that do not occur together");
        has
    };
    let all = |rule: &&Rule| alternatives.iter().any(|formats| has(rule, formats));
    let mut rules: Vec<_> = instruction.rules.iter().filter(all).collect();
    rules.sort_by_key(|rule| rule.accumulator == Fp16);
    let mut cells: Vec<_> = rules
        .iter()
        .map(|rule| {
            let accumulator = rule.accumulator.name().to_uppercase();
            let scale = rule.scale.map_or(String::new(), |s| format!(" ({s})"));
            format!("{accumulator} {}{scale}", evidence(rule))
        })
        .collect();
    cells.dedup();
    cells.join(", ")
}

// ------------------------------------------------------------------------------ docs/architectures.md

const INTRODUCTION: &str = "\
# Architectures

Written by `tests/commands/docs.rs` from the files in `src/emu/catalogue/`; do not edit.
`TCVERIFY_BLESS=1 cargo test --test commands docs` rewrites it. `tcverify archs NAME` shows the same.

[model-format.md](model-format.md) defines the kinds of step and their constants. Evidence:

- **hardware**: replays captured results of real GPUs; of a constant: another value does not.
- **literature**: published; no captured result that is replayed here would fail if it were otherwise.
- **inferred**: concluded from other facts; neither published nor captured.

An instruction named first is the default where it has a rule for the operands.
";

fn page() -> String {
    let mut text = String::from(INTRODUCTION);
    for arch in Catalogue::builtin().architectures() {
        architecture(arch, &mut text).unwrap();
    }
    text
}

fn architecture(arch: &Architecture, text: &mut String) -> std::fmt::Result {
    writeln!(text, "\n## {} (`{}`)\n", arch.title, arch.name)?;
    if !arch.gpus.is_empty() {
        if !arch.also.is_empty() {
            write!(text, "Also {}. ", escape(&arch.also.join(", ")))?;
        }
        writeln!(text, "GPUs: {}.\n", escape(&arch.gpus.join(", ")))?;
    }
    for note in &arch.notes {
        writeln!(text, "- {}", escape(note))?;
    }
    writeln!(
        text,
        "{}| instruction | operands | accumulator | evidence | step | note |",
        if arch.notes.is_empty() { "" } else { "\n" }
    )?;
    writeln!(text, "|---|---|---|---|---|---|")?;
    for instruction in &arch.instructions {
        for rule in &instruction.rules {
            writeln!(
                text,
                "| `{}` | {} | {} | {} | {} | {} |",
                instruction.name,
                formats(rule),
                rule.accumulator,
                rule.evidence,
                escape(&rule.step.summary()),
                escape(rule.note.as_deref().unwrap_or_default()),
            )?;
        }
    }
    for instruction in &arch.instructions {
        writeln!(
            text,
            "\n### `{}` `{}`: {}",
            arch.name,
            instruction.name,
            escape(&instruction.about)
        )?;
        for rule in &instruction.rules {
            constants(arch, rule, text)?;
        }
    }
    writeln!(text, "\n### Sources of `{}`\n", arch.name)?;
    for (key, citation) in &arch.sources {
        writeln!(text, "- **{key}**: {}", escape(citation))?;
    }
    Ok(())
}

fn constants(arch: &Architecture, rule: &Rule, text: &mut String) -> std::fmt::Result {
    writeln!(text, "\n{} → {}\n", formats(rule), rule.accumulator)?;
    writeln!(text, "| constant | value | evidence | source | note |")?;
    writeln!(text, "|---|---|---|---|---|")?;
    for constant in Arithmetic::of(rule, rule.operands[0]).constants() {
        let known = arch.known_by(rule, &constant.name);
        let known = known.expect("checked when the architecture was read");
        writeln!(
            text,
            "| `{}` | {} | {} | {} | {} |",
            constant.name,
            constant.value.to_string().trim_matches('"'),
            known.evidence,
            known.source.join(", "),
            escape(known.note.as_deref().unwrap_or_default()),
        )?;
    }
    Ok(())
}

/// Operands, their scales, and C where it is not of the accumulator's format.
fn formats(rule: &Rule) -> String {
    let scale = rule
        .scale
        .map_or(String::new(), |s| format!(", scales {s}"));
    let addend = rule.addend.map_or(String::new(), |c| format!(", C {c}"));
    operands(rule) + &scale + &addend
}

/// All pairs, or `{e4m3, e5m2} × {e4m3, e5m2}` where every A goes with every B.
fn operands(rule: &Rule) -> String {
    let side = |side: usize| {
        let mut names: Vec<_> = rule.operands.iter().map(|pair| pair[side].name()).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    let (a, b) = (side(0), side(1));
    if a.len() > 1 && a.len() * b.len() == rule.operands.len() {
        return format!("{{{}}} × {{{}}}", a.join(", "), b.join(", "));
    }
    let pairs: Vec<_> = rule
        .operands
        .iter()
        .map(|[a, b]| format!("{a} × {b}"))
        .collect();
    pairs.join("; ")
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
