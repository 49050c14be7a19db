//! docs/architectures.md: the table of all instructions of the catalogue.

use crate::support::table;
use std::fmt::Write;

use tcverify::emu::model::{Architecture, Instruction, Rule};
use tcverify::emu::{Catalogue, Evidence};
use tcverify::num::Format::{self, *};

use super::{BEGIN, END, escape, keep};

#[test]
fn the_page_of_architectures_lists_every_instruction() {
    keep("docs/architectures.md", |old| {
        let (before, rest) = old.split_once(BEGIN).expect("the page has the marker");
        let (_, after) = rest.split_once(END).expect("the page has the end marker");
        format!("{before}{BEGIN}\n{}\n{END}{after}", overview())
    });
}

/// Columns of the overview: formats that always occur together, or others that do in their place.
pub(super) const COLUMNS: [(&str, &[&[Format]]); 10] = table! {
    ("FP16", &[&[Fp16]]),
    ("BF16", &[&[Bf16]]),
    ("TF32 (AMD: XF32)", &[&[Tf32], &[Xf32]]),
    ("FP8 (E4M3, E5M2; AMD: FNUZ)", &[&[E4m3, E5m2], &[E4m3fnuz, E5m2fnuz]]),
    ("FP6 (E3M2, E2M3)", &[&[E3m2, E2m3]]),
    ("FP4 (E2M1)", &[&[E2m1]]),
    ("FP32", &[&[Fp32]]),
    ("FP64", &[&[Fp64]]),
    ("INT8, UINT8", &[&[Int8, Uint8]]),
    ("INT4, UINT4", &[&[Int4, Uint4]]),
};

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
