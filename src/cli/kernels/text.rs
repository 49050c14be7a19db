//! Readings and plans for people.

use std::io::{self, Write};

use serde_json::json;

use crate::emu::Evidence;
use crate::io::printable;
use crate::libraries::{self, Family, KernelReading, Options, Plan, Settings, citation};

pub fn listed(family: &Family, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}: {}", family.id, family.title)?;
    writeln!(out, "  kernels   {}", family.kernels)?;
    if !family.algos.is_empty() {
        let algos: Vec<String> = family.algos.iter().map(u32::to_string).collect();
        writeln!(out, "  ALGO_ID   {}", algos.join(", "))?;
    }
    for row in family.coverage {
        let known = row.evidence.map_or("unknown", Evidence::word);
        writeln!(
            out,
            "  {known:<9} {}: {} [{}]",
            row.gpus, row.what, row.source
        )?;
    }
    writeln!(out)
}

pub fn explained(reading: &KernelReading, out: &mut dyn Write) -> io::Result<()> {
    head(reading, out)?;
    let words = reading.tokens.iter().map(libraries::Token::text);
    let width = words.map(|word| word.chars().count());
    let width = width.max().unwrap_or(0).clamp(8, 44);
    writeln!(out)?;
    for token in &reading.tokens {
        let known = match (token.known, token.source) {
            (Some(known), Some(source)) => format!(" [{known}: {source}]"),
            _ => String::new(),
        };
        let (word, status) = (token.text(), token.status.name());
        writeln!(
            out,
            "  {word:<width$}  {status:<8} {}{known}",
            token.meaning
        )?;
    }
    writeln!(out)?;
    settings(&reading.settings, out)?;
    for note in &reading.notes {
        writeln!(out, "  note: {note}")?;
    }
    let open = reading.open(&Options::default()).unwrap_or_default();
    for open in &open {
        writeln!(
            out,
            "  open: {}: {}; give --{}",
            open.what, open.why, open.ask
        )?;
    }
    if reading.unknown().next().is_some() {
        writeln!(out, "  words marked UNKNOWN are not known and may affect D")?;
    }
    if reading.family.value.is_unknown() {
        writeln!(
            out,
            "  the order of this kernel's sums is not known; 'tcverify identify' searches for orders that give D"
        )?;
    }
    facts(&reading.facts, out)
}

fn head(reading: &KernelReading, out: &mut dyn Write) -> io::Result<()> {
    let family = reading.family.value;
    writeln!(
        out,
        "{} of {} ({})",
        reading.kind.name(),
        family.title,
        family.id
    )?;
    if let Some(shape) = reading.product {
        writeln!(out, "  product {shape} (M x N x K of D in row-major order)")?;
    }
    if let Some(batch) = reading.batch {
        writeln!(out, "  in a batch of {batch}")?;
    }
    Ok(())
}

/// Every setting that affects the result, and whether it was stated, given or assumed.
fn settings(settings: &Settings, out: &mut dyn Write) -> io::Result<()> {
    for (name, value, how, from) in settings.rows() {
        let from = match from.as_str() {
            "" => String::new(),
            from => format!(" ({from})"),
        };
        writeln!(out, "  {name:<18} {value:<20} {}{from}", how.name())?;
    }
    Ok(())
}

fn facts(facts: &[libraries::Fact], out: &mut dyn Write) -> io::Result<()> {
    if facts.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nHow the order is known")?;
    for fact in facts {
        writeln!(out, "  {:<9} {} [{}]", fact.known, fact.says, fact.source)?;
    }
    let mut keys: Vec<&str> = facts.iter().map(|fact| fact.source).collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        writeln!(out, "  [{key}] {}", citation(key).unwrap_or(""))?;
    }
    Ok(())
}

pub fn planned(reading: &KernelReading, plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}, {}: {}", plan.family, plan.shape, plan.summary())?;
    if let Some(lost) = plan.lost {
        writeln!(out, "\nwarning: {}", lost.sentence())?;
    }
    writeln!(out)?;
    for line in plan.slice_lines(16) {
        writeln!(out, "  {line}")?;
    }
    if plan.slices.len() > 1 {
        writeln!(out, "  sum: {}", plan.merge_text())?;
    }
    if let Some(sum) = plan.merge_expression() {
        writeln!(out, "       {sum}")?;
    }
    writeln!(out)?;
    settings(&plan.settings, out)?;
    let model = plan.model();
    if let (Some(architecture), Some(instruction)) = (model.architecture, model.instruction) {
        writeln!(
            out,
            "  model              --arch {architecture} --instruction {instruction}"
        )?;
    }
    match plan.spec() {
        Ok(spec) => writeln!(out, "  schedule           {}", spec.sha256())?,
        Err(error) => writeln!(out, "  {error}")?,
    }
    for note in &reading.notes {
        writeln!(out, "  note: {note}")?;
    }
    for what in &plan.assumed {
        writeln!(out, "  assumed: {what}")?;
    }
    facts(&plan.facts, out)
}

pub fn document(reading: &KernelReading, plan: &Plan) -> serde_json::Value {
    let model = plan.model();
    json!({
        "reading": reading,
        "plan": plan,
        "summary": plan.summary(),
        "warning": plan.lost.map(libraries::DroppedRemainder::sentence),
        "model": { "architecture": model.architecture, "instruction": model.instruction },
        "schedule": plan.schedule().ok(),
        "schedule_error": plan.spec().err().map(|error| printable(&error.to_string())),
    })
}
