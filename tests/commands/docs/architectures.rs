//! docs/architectures: a page for each architecture of the catalogue, and an index with the table of all
//! instructions.

use std::fmt::Write;

use tcverify::emu::model::{Architecture, Instruction, Rule};
use tcverify::emu::{Arithmetic, Catalogue, Evidence};
use tcverify::num::Format::{self, *};

use super::{escape, in_repository, keep};

const NOTICE: &str = "\
Written by `tests/commands/docs/architectures.rs` from the files in `src/emu/catalogue/`; do not edit.
`TCVERIFY_BLESS=1 cargo test --test commands docs` rewrites it.
";

const EVIDENCE: &str = "\
- **captured** (C): replays captured results of real hardware, which pin more of it than the code of NaN; of a constant: another value does not.
- **compared** (E): gives the bits of a published emulator or simulator, whose results are replayed here.
- **published** (P): no captured result that is replayed here pins more of it than the code of NaN; of a constant: none would fail with the value beside it.
- **inferred** (I): concluded from other facts; neither published nor captured.
";

#[test]
fn the_pages_of_architectures_are_up_to_date() {
    keep("docs/architectures/README.md", |_| index());
    for arch in Catalogue::builtin().architectures() {
        keep(&page_of(arch), |_| page(arch));
    }
}

#[test]
fn no_page_is_of_no_architecture() {
    let pages = std::fs::read_dir(in_repository("docs/architectures")).unwrap();
    let mut pages: Vec<_> = pages.map(|page| page.unwrap().file_name()).collect();
    pages.sort();
    let known = Catalogue::builtin().architectures();
    let known = known.iter().map(|arch| format!("{}.md", arch.name).into());
    let mut known: Vec<std::ffi::OsString> = known.collect();
    known.push("README.md".into());
    known.sort();
    assert_eq!(pages, known);
}

fn page_of(arch: &Architecture) -> String {
    format!("docs/architectures/{}.md", arch.name)
}

fn index() -> String {
    format!(
        "# Architectures\n\n{NOTICE}\n\
         One page an architecture: its instructions, and for each constant its value, how that is known and\n\
         from where. `tcverify archs NAME` shows the same. [model-format.md](../model-format.md) defines the\n\
         kinds of step and their constants.\n\n\
         Each cell names the accumulator and the evidence for the rule as a whole:\n\n{EVIDENCE}\n\
         A cell with C still has constants that captured results do not pin down: its page says which. Of\n\
         several instructions, the one named first is the default for the operands it takes; `--instruction`\n\
         chooses. A and B may differ in format: among the two FP8 formats, and where FP6 and FP4 are listed,\n\
         among all five; on Vortex they are equal. The captured FP8 results have A and B of one format.\n\n{}",
        overview()
    )
}

fn page(arch: &Architecture) -> String {
    let mut text = String::new();
    architecture(arch, &mut text).unwrap();
    text
}

/// Columns of the overview: formats that always occur together, or others that do in their place.
pub(super) const COLUMNS: [(&str, &[&[Format]]); 10] = [
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
                0 => (format!("[{0}]({0}.md)", arch.name), some_gpus(arch)),
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
pub(super) fn some_gpus(arch: &Architecture) -> String {
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

/// Whether a rule takes the formats of a column.
pub(super) fn takes(rule: &Rule, alternatives: &[&[Format]]) -> bool {
    let has = |formats: &&[Format]| {
        let all = formats.iter().all(|&f| rule.operands.contains(&[f, f]));
        let any = rule.operands.iter().any(|[a, _]| formats.contains(a));
        // A processor multiplies UINT8 with INT8, and neither with its own kind.
        let mixed = rule.operands.iter().all(|[a, b]| a != b);
        // Of FP8 Tenstorrent's have E5M2 alone, which is less than the column says.
        all || mixed && any
    };
    alternatives.iter().any(has)
}

pub(super) fn letter(evidence: Evidence) -> &'static str {
    match evidence {
        Evidence::Captured => "C",
        Evidence::Compared => "E",
        Evidence::Published => "P",
        Evidence::Inferred => "I",
        Evidence::Claimed => unreachable!("the catalogue claims nothing"),
    }
}

/// `FP32 H, FP16 L`: what the instruction accumulates in, and the evidence.
fn cell(instruction: &Instruction, alternatives: &[&[Format]]) -> String {
    let takes = |rule: &&Rule| takes(rule, alternatives);
    let mut rules: Vec<_> = instruction.rules.iter().filter(takes).collect();
    rules.sort_by_key(|rule| rule.accumulator == Fp16);
    let mut cells: Vec<_> = rules
        .iter()
        .map(|rule| {
            let accumulator = rule.accumulator.name().to_uppercase();
            let scale = rule.scale.map_or(String::new(), |s| format!(" ({s})"));
            format!("{accumulator} {}{scale}", letter(rule.evidence))
        })
        .collect();
    cells.dedup();
    cells.join(", ")
}

fn architecture(arch: &Architecture, text: &mut String) -> std::fmt::Result {
    writeln!(text, "# {} (`{}`)\n\n{NOTICE}", arch.title, arch.name)?;
    writeln!(
        text,
        "[The index](README.md) says what the words for evidence mean,\n\
         [model-format.md](../model-format.md) what the constants do.\n"
    )?;
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
        "{}| instruction | operands | accumulator | K | evidence | step | note |",
        if arch.notes.is_empty() { "" } else { "\n" }
    )?;
    writeln!(text, "|---|---|---|---|---|---|---|")?;
    for instruction in &arch.instructions {
        for rule in &instruction.rules {
            let shapes = rule.instruction_k.iter().flat_map(|k| &k.shapes);
            let shapes: Vec<_> = shapes.map(usize::to_string).collect();
            writeln!(
                text,
                "| `{}` | {} | {} | {} | {} | {} | {} |",
                instruction.name,
                formats(rule),
                rule.accumulator,
                shapes.join(", "),
                rule.evidence,
                escape(&rule.step.summary()),
                escape(rule.note.as_deref().unwrap_or_default()),
            )?;
        }
    }
    for instruction in &arch.instructions {
        writeln!(
            text,
            "\n## `{}`: {}",
            instruction.name,
            escape(&instruction.about)
        )?;
        for rule in &instruction.rules {
            constants(arch, rule, text)?;
        }
    }
    writeln!(text, "\n## Sources\n")?;
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
    if let Some(sparse) = &rule.sparse {
        writeln!(
            text,
            "| `sparse` | {} | {} | {} | {} |",
            sparse.pattern.name(),
            sparse.evidence,
            sparse.source.join(", "),
            escape(sparse.note.as_deref().unwrap_or_default()),
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
