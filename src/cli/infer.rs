//! `tcverify infer`: finds the arithmetic behind a machine's answers.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;

use super::show::write_pretty;
use super::{Ending, show};
use crate::emu::Architecture;
use crate::io::Outputs;
use crate::num::decimal;
use crate::probe::infer::{
    Contradicted, Coverage, Describe, Explained, Inference, KnownRule, Mismatch, NEVER_INFERRED,
    Verdict, architecture, coverage, infer, known, text,
};
use crate::probe::{Suite, folder};

/// Find the arithmetic that explains a machine's answers to probes
///
/// The hypotheses are the kinds of arithmetic that 'tcverify archs' lists. The result is a hypothesis that gives
/// every answer bit for bit: an architecture file in which each constant names its cases. A constant is determined
/// only if every other plausible value fails a case; otherwise all possible values are listed. If nothing gives every
/// answer, the command shows the best hypothesis and the answers that contradict it, and exits with 1. It cannot
/// infer several accumulators, trees, orders of k other than ascending, or floating-point sums that wrap around or
/// saturate. For integers it finds whether sums wrap around or saturate at 32 bits, and after how many products; it
/// rejects other widths.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  tcverify probe --dtype fp16 -o probes
  (compute D on the machine from probes/a.npy, b.npy and c.npy)
  tcverify infer probes d.npy
  tcverify infer probes d.npy --name my-gpu -o my-gpu.json

Exit codes: 0 explained, 1 nothing known explains the answers, 2 anything else.")]
pub struct Infer {
    /// Directory written by 'tcverify probe'
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// The machine's answers as .npy, in C's shape
    #[arg(value_name = "D.npy")]
    answers: PathBuf,

    /// Write the model as an architecture file; "-" is standard output, instead of the text
    #[arg(long, short, value_name = "MODEL.json")]
    output: Option<PathBuf>,

    /// Name of the architecture in that file
    #[arg(long, default_value = "inferred", value_name = "NAME")]
    name: String,

    /// Write the result, or the contradictions, as JSON; "-" is standard output, instead of the text
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,

    /// Number of contradicting answers to list
    #[arg(long, value_name = "N", default_value_t = 10)]
    max_mismatches: usize,

    /// Print nothing; the exit code tells
    #[arg(long, short)]
    quiet: bool,
}

impl Infer {
    pub fn run(self) -> Result<Ending> {
        ensure!(
            !self.name.trim().is_empty() && self.name.chars().all(|c| !c.is_control()),
            "--name must be a printable name"
        );
        let suite = folder::read(&self.folder)?;
        let (answers, digest) = folder::read_answers(&suite, &self.answers)?;
        // Opened before the search: an unwritable place must not cost one.
        let mut outputs = Outputs::new();
        for name in folder::NAMES.into_iter().chain(["manifest.json"]) {
            outputs.protect("a probe", &self.folder.join(name));
        }
        outputs.protect("the answers", &self.answers);
        let model = outputs.open_if("the model", self.output.as_ref())?;
        let json = outputs.open_if("the JSON report", self.json.as_ref())?;
        let mut written = [&self.output, &self.json].into_iter().flatten();
        let silent = self.quiet || written.any(|path| show::is_stdout(path));

        let verdict = infer(&suite, &answers).map_err(anyhow::Error::msg);
        let verdict = verdict.with_context(|| crate::io::escaped_path(&self.answers))?;
        match verdict {
            Verdict::Explained(found) => {
                let describe = Describe {
                    name: self.name.clone(),
                    answers: format!(
                        "Answers to the {} probes of tcverify {} for {}, SHA-256 of the file {digest}",
                        suite.cases.len(),
                        env!("CARGO_PKG_VERSION"),
                        suite.formats(),
                    ),
                };
                let file = architecture(&suite, &found, &describe);
                // The program must be able to read what it writes.
                let rendered = serde_json::to_string_pretty(&file)?;
                Architecture::from_json(&rendered)
                    .map_err(anyhow::Error::msg)
                    .context("the inferred model does not pass the check of models")?;
                let known = known(&suite, &answers, &found.arithmetic);
                if let Some(output) = model {
                    output.commit(|out| writeln!(out, "{rendered}"))?;
                }
                if let Some(json) = json {
                    let report = Inference::explained(&suite, &found, known.clone());
                    json.commit(|out| write_pretty(&report, out))?;
                }
                if !silent {
                    show::print(|out| explained_text(&suite, &found, &known, out))?;
                }
                Ok(Ending::Done)
            }
            Verdict::Contradicted(best) => {
                if let Some(json) = json {
                    let report = Inference::contradicted(&suite, &best);
                    json.commit(|out| write_pretty(&report, out))?;
                }
                if !silent {
                    show::print(|out| contradicted_text(&suite, &best, self.max_mismatches, out))?;
                }
                Ok(Ending::Different)
            }
        }
    }
}

fn explained_text(
    suite: &Suite,
    found: &Explained,
    known: &[KnownRule],
    out: &mut dyn Write,
) -> io::Result<()> {
    let step = &found.arithmetic.step;
    writeln!(
        out,
        "EXPLAINED  one model gives all {} answers, bit for bit\n",
        suite.cases.len()
    )?;
    writeln!(out, "  model     {}", suite.formats())?;
    writeln!(out, "            {}", step.summary())?;
    writeln!(out, "  SHA-256   {}", found.arithmetic.sha256())?;
    for finding in &found.constants {
        let value = text(&finding.value);
        let how = if finding.determined() {
            "determined"
        } else {
            "NOT DETERMINED"
        };
        writeln!(out, "\n  {:<22} {value:<12} {how}", finding.name)?;
        writeln!(out, "    {}", finding.rests_on(suite))?;
    }
    for step in &found.also {
        writeln!(out, "\n  also gives all answers: {}", step.summary())?;
    }
    let names = |same: bool| {
        let rules = known.iter().filter(|k| k.same == same);
        let names: Vec<_> = rules
            .map(|k| format!("{} {}", k.architecture, k.instruction))
            .collect();
        if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        }
    };
    writeln!(
        out,
        "\n  catalogue, every constant the same:  {}",
        names(true)
    )?;
    writeln!(
        out,
        "  catalogue, every answer the same:    {}",
        names(false)
    )?;
    tested(&coverage(suite), out)?;
    writeln!(
        out,
        "\nCase numbers refer to manifest.json. Each constant was varied while the others kept their values.\n\
         The probes miss a unit that differs only where no case tests it: compare the model with more of\n\
         the machine's results (tcverify check --model)."
    )
}

/// The cases that were answered.
fn tested(coverage: &Coverage, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = vec![String::new()];
    for (name, n) in &coverage.families {
        let family = format!("{n} {name}");
        let line = lines.last_mut().expect("one at least");
        if line.len() + family.len() > 76 {
            lines.push(family);
        } else if line.is_empty() {
            *line = family;
        } else {
            *line = format!("{line}, {family}");
        }
    }
    writeln!(
        out,
        "\n  tested on {} cases: {}",
        coverage.cases,
        lines.join(",\n            ")
    )?;
    if let Some(sums) = &coverage.sums {
        writeln!(
            out,
            "            sums above 32 bits: {} cases; below: {}",
            sums.above, sums.below
        )?;
        writeln!(
            out,
            "            sums of products alone: up to {}",
            sums.products
        )?;
    } else {
        writeln!(
            out,
            "            exponents of products apart: {}",
            coverage.products_apart
        )?;
        writeln!(
            out,
            "            C above the largest product: {}; below it: {}",
            coverage.addend_above, coverage.addend_below
        )?;
    }
    writeln!(
        out,
        "            up to {} products of K = {}",
        coverage.most_products, coverage.k
    )
}

fn contradicted_text(
    suite: &Suite,
    best: &Contradicted,
    most: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (n, failed) = (suite.cases.len(), best.cases.len());
    writeln!(
        out,
        "UNEXPLAINED  no hypothesis of a known kind gives all {n} answers\n"
    )?;
    writeln!(out, "  best      {}", best.arithmetic.step.summary())?;
    writeln!(
        out,
        "            gives {} of {n} answers, not {failed}",
        n - failed
    )?;
    let json = serde_json::to_string(&best.arithmetic.step)?;
    writeln!(out, "            {json}")?;
    let mut families: Vec<(&str, usize)> = Vec::new();
    for mismatch in &best.cases {
        let family = suite.cases[mismatch.case].family;
        match families.iter_mut().find(|(name, _)| *name == family) {
            Some((_, n)) => *n += 1,
            None => families.push((family, 1)),
        }
    }
    let families: Vec<_> = families
        .iter()
        .map(|(name, n)| format!("{n} {name}"))
        .collect();
    writeln!(out, "  families  {}\n", families.join(", "))?;
    // The cases that refute most come first.
    let mut order: Vec<&Mismatch> = Vec::new();
    for (case, refuted) in &best.witnesses {
        writeln!(
            out,
            "  case {case} alone refutes {refuted} of {} hypotheses{}",
            best.hypotheses,
            match best.cases.iter().find(|m| m.case == *case) {
                Some(_) => "",
                None => ", not the best",
            }
        )?;
        order.extend(best.cases.iter().filter(|m| m.case == *case));
    }
    writeln!(out)?;
    let rest = best
        .cases
        .iter()
        .filter(|m| !best.witnesses.iter().any(|w| w.0 == m.case));
    order.extend(rest);
    for mismatch in order.into_iter().take(most) {
        mismatch_text(suite, mismatch, out)?;
    }
    if failed > most {
        writeln!(out, "  ... and {} more", failed - most)?;
    }
    writeln!(
        out,
        "\nIf a few cases of unrelated families fail, suspect the capture. If whole families fail, the unit\n\
         is of an unknown kind. The search does not prove that no known kind would fit.\n"
    )?;
    writeln!(out, "Never inferred")?;
    for what in NEVER_INFERRED {
        writeln!(out, "  {what}")?;
    }
    Ok(())
}

fn mismatch_text(suite: &Suite, mismatch: &Mismatch, out: &mut dyn Write) -> io::Result<()> {
    let format = suite.accumulator;
    let digits = 2 * format.bytes();
    let case = &suite.cases[mismatch.case];
    writeln!(
        out,
        "  case {}, {}: {}",
        mismatch.case, case.family, case.purpose
    )?;
    let used = case.a.iter().zip(&case.b).enumerate();
    let used: Vec<_> = used.filter(|(_, (a, b))| **a != 0 || **b != 0).collect();
    let terms: Vec<_> = used
        .iter()
        .take(4)
        .map(|(k, (a, b))| {
            let scales = suite.scale.map_or(String::new(), |scale| {
                let [x, y] = [0, 1].map(|side| case.scales[side][k / scale.block]);
                format!(" (scales {x:02x} and {y:02x})")
            });
            format!(
                "k {k}: {} * {}{scales}",
                decimal(suite.a, **a),
                decimal(suite.b, **b)
            )
        })
        .collect();
    let more = if used.len() > 4 {
        format!(", and {} more", used.len() - 4)
    } else {
        String::new()
    };
    writeln!(
        out,
        "    C = {}  {}{more}",
        decimal(format, case.c),
        terms.join(", ")
    )?;
    for (what, code) in [
        ("expected", mismatch.expected),
        ("answered", mismatch.answered),
    ] {
        writeln!(
            out,
            "    {what}  0x{code:0digits$x}  {}",
            decimal(format, code)
        )?;
    }
    Ok(())
}
