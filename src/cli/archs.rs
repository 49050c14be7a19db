//! `tcverify archs`: which architectures are modelled, and with what evidence.

use std::io::{self, Write};

use anyhow::Result;
use clap::Args;

use super::show;
use crate::emu::model::pairs;
use crate::emu::{Architecture, Arithmetic, Catalogue, Evidence, NotModelled, Rule};
use crate::forms::wrapped;
use crate::num::Format;

/// List architectures, or show the rules, constants, sources and evidence of one
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  tcverify archs
  tcverify archs h100
  tcverify archs hopper --json > hopper.json")]
pub struct Archs {
    /// Architecture, compute capability or GPU
    #[arg(value_parser = super::values::arch_names(), hide_possible_values = true)]
    name: Option<String>,

    /// Print the catalogue as JSON
    #[arg(long)]
    json: bool,
}

impl Archs {
    pub fn run(self) -> Result<()> {
        let catalogue = Catalogue::builtin();
        let one = self.name.as_deref();
        let one = one.map(|name| catalogue.find(name)).transpose()?;
        let all = catalogue.architectures();
        match one {
            Some(arch) => show::either(self.json, arch, |out| detail(arch, out)),
            None => show::either(self.json, all, |out| list(all, out)),
        }
    }
}

fn list(architectures: &[Architecture], out: &mut dyn Write) -> io::Result<()> {
    let head = ["name", "evidence", "GPU", "instructions"].map(str::to_owned);
    let mut rows = vec![(head, "operand formats".to_owned())];
    for arch in architectures {
        let used = |format: &Format| {
            let mut operands = rules(arch).flat_map(|rule| &rule.operands);
            operands.any(|pair| pair.contains(format))
        };
        let formats: Vec<_> = Format::ALL.into_iter().filter(used).collect();
        let formats: Vec<_> = formats.iter().map(Format::to_string).collect();
        let gpu = arch.gpus.first().map_or("-", String::as_str);
        let cells = [
            arch.name.clone(),
            strongest(arch).to_string(),
            gpu.to_owned(),
            instructions(arch),
        ];
        rows.push((cells, formats.join(" ")));
    }
    let widths = [0, 1, 2, 3].map(|column| {
        let widths = rows.iter().map(|(cells, _)| cells[column].chars().count());
        widths.max().unwrap_or(0)
    });
    let columns = show::columns();
    let indent = widths.iter().map(|width| width + 2).sum::<usize>();
    // The last column wraps under itself; on a narrow terminal it moves to a second line, with the GPU.
    let narrow = columns.saturating_sub(indent) < 24;
    for ([name, evidence, gpu, instructions], formats) in &rows {
        let [a, b, c, d] = widths;
        if narrow {
            writeln!(out, "{name:a$}  {evidence:b$}  {instructions}")?;
            let rest = format!("{gpu}: {formats}");
            let rest = wrapped(&rest, columns.saturating_sub(4));
            writeln!(out, "    {}", rest.join("\n    "))?;
            continue;
        }
        let formats = wrapped(formats, columns.saturating_sub(indent));
        let formats = formats.join(&format!("\n{:indent$}", ""));
        writeln!(
            out,
            "{name:a$}  {evidence:b$}  {gpu:c$}  {instructions:d$}  {formats}"
        )?;
    }
    writeln!(out)?;
    let legend = "'tcverify archs NAME' shows rules, constants and their sources. The evidence shown is that of the \
                  best rule: captured = reproduces captured results, compared = gives the bits of an independent \
                  emulator, published = from a publication, not compared, inferred = concluded, not published.";
    let others = NotModelled::all().iter().map(|known| known.title.as_str());
    let others: Vec<_> = others.collect();
    let others = format!("Known but not modelled: {}.", others.join(", "));
    for line in wrapped(legend, columns.min(95))
        .into_iter()
        .chain(wrapped(&others, columns.min(95)))
    {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// All names, or the first one and the number of the others.
fn instructions(arch: &Architecture) -> String {
    match arch.instructions.as_slice() {
        [first, rest @ ..] if rest.len() > 1 => format!("{} and {} more", first.name, rest.len()),
        all => {
            let names: Vec<_> = all.iter().map(|i| i.name.as_str()).collect();
            names.join(", ")
        }
    }
}

fn rules(arch: &Architecture) -> impl Iterator<Item = &Rule> {
    arch.instructions.iter().flat_map(|i| &i.rules)
}

fn strongest(arch: &Architecture) -> Evidence {
    let best = rules(arch).map(|rule| rule.evidence).max();
    best.unwrap_or(Evidence::Inferred)
}

fn detail(arch: &Architecture, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{} ({})", arch.title, arch.name)?;
    let gpus = if arch.gpus.len() == 1 { "GPU " } else { "GPUs" };
    for (what, names) in [("also", &arch.also), (gpus, &arch.gpus)] {
        if !names.is_empty() {
            writeln!(out, "  {what}   {}", names.join(", "))?;
        }
    }
    for note in &arch.notes {
        writeln!(out, "  note   {note}")?;
    }
    for instruction in &arch.instructions {
        writeln!(out, "\n{}: {}", instruction.name, instruction.about)?;
        for rule in &instruction.rules {
            writeln!(
                out,
                "\n  {}{}{} -> {}   [{}]",
                pairs(&rule.operands),
                rule.scale
                    .map_or(String::new(), |s| format!(", scales {s}")),
                rule.addend.map_or(String::new(), |c| format!(", C {c}")),
                rule.accumulator,
                rule.evidence
            )?;
            writeln!(out, "    {}", rule.step.summary())?;
            if let Some(k) = &rule.instruction_k {
                let shapes: Vec<_> = k.shapes.iter().map(usize::to_string).collect();
                let (evidence, source) = (k.evidence, k.source.join(", "));
                writeln!(
                    out,
                    "    K of the instruction: {}  [{evidence}] {source}",
                    shapes.join(", ")
                )?;
            }
            if let Some(sparse) = &rule.sparse {
                let (pattern, evidence) = (sparse.pattern.name(), sparse.evidence);
                let source = sparse.source.join(", ");
                writeln!(out, "    sparse form: {pattern}  [{evidence}] {source}")?;
            }
            if let Some(note) = &rule.note {
                writeln!(out, "    {note}")?;
            }
            for constant in Arithmetic::of(rule, rule.operands[0]).constants() {
                let known = arch.known_by(rule, &constant.name);
                let known = known.expect("checked when the architecture was read");
                let value = constant.value.to_string();
                let note = known
                    .note
                    .as_ref()
                    .map_or(String::new(), |n| format!(": {n}"));
                writeln!(
                    out,
                    "    {:<20} {:<20} {:<10} {}{note}",
                    constant.name,
                    value.trim_matches('"'),
                    known.evidence,
                    known.source.join(", "),
                )?;
            }
        }
    }
    writeln!(out, "\nSources")?;
    for (key, citation) in &arch.sources {
        writeln!(out, "  {key:<18} {citation}")?;
    }
    Ok(())
}
