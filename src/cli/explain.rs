//! `tcverify explain`: one element of D, step by step.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use super::args::{MemoryArgs, ProductArgs, said, source};
use super::operation::OperationHint;
use super::values::result_format;
use super::{Ending, show};
use crate::check::{Check, Fields, Prepared};
use crate::emu::shape_text;
use crate::explain::picture::{Plan, Unit};
use crate::explain::{self, Explanation, Wish};
use crate::io::{Files, Outputs};
use crate::num::Format;

/// Show how one element of D is computed, step by step
///
/// Shows every product, the exponent that terms are aligned to, the bits that alignment and
/// rounding remove, and the accumulator after each step. If D is given and differs, it also shows
/// what would give exactly that D: a chain that stopped early, a missing product, a flipped bit,
/// another model ...
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  One element of a product of BF16 matrices on an H100:
    tcverify explain --arch h100 --dtype bf16 a.npy b.npy --at 12,7

  The first mismatch that check reported, compared with D:
    tcverify explain --arch h100 --dtype bf16 a.npy b.npy d.npy --at 12,7

  A product whose kernel splits K: each partial sum, and every addition and rounding after them:
    tcverify explain --arch a100 --dtype bf16 --schedule cublas-workspace --split-k 5 a.npy b.npy d.npy --at 12,7

  In a batch, always with steps 3 and 5 to 8 in full:
    tcverify explain --arch a100 --dtype fp16 a.npy b.npy --at 0,12,7 --steps 3,5-8

  A page that draws its terms as rows of bits, truncated bits shaded, on three units side by side:
    tcverify explain --arch h100,a100,v100 --dtype fp16 a.npy b.npy --at 12,7 --html element.html

  For a program:
    tcverify explain --arch a100 --dtype fp16 a.npy b.npy d.npy --at 12,7 --json

Exit codes: 0 shown, and D (if given) has these bits; 1 D has other bits; 2 anything else.")]
pub struct Explain {
    #[command(flatten)]
    _operation: OperationHint,

    #[command(flatten)]
    product: ProductArgs,

    #[command(flatten)]
    memory: MemoryArgs,

    /// The captured D: x.npy, x.npz#name or x.safetensors#name
    #[arg(value_name = "D.npy", help_heading = None::<&str>)]
    d: Option<PathBuf>,

    /// Format of D, as for check
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = result_format(), help_heading = "Comparison")]
    d_dtype: Option<Format>,

    /// The element: row and column, after the indices of a batch
    #[arg(long, value_name = "I,J", value_parser = parse_index)]
    at: Index,

    /// More steps to show in full, counted from 1: 3,5-8 or "all"; by default those that change
    /// something
    #[arg(long, value_name = "STEPS", value_parser = parse_steps)]
    steps: Option<Wish>,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,

    /// Write a page for a browser: every step as rows of bits, truncated bits shaded. --arch then accepts several
    /// units, separated by commas, side by side. "-" is standard output, instead of the text
    #[arg(long, value_name = "PATH", conflicts_with = "json")]
    html: Option<PathBuf>,
}

#[derive(Clone, Debug)]
struct Index(Vec<usize>);

impl Explain {
    pub fn run(self) -> Result<Ending> {
        let fields = Fields {
            d: said(source("d", self.d.as_deref()))?,
            d_dtype: self.d_dtype,
            ..said(self.product.fields())?
        };
        if let Some(path) = &self.html {
            return self.page(&fields, path);
        }
        let prepared = self.prepare(fields, &self.memory.files())?;
        let explanation =
            said(prepared.explain(&self.at.0, self.steps.clone().unwrap_or_default()))?;
        said(prepared.confirm_unchanged())?;
        show::print(|out| {
            if self.json {
                serde_json::to_writer_pretty(&mut *out, &explanation)?;
                out.write_all(b"\n")
            } else {
                explain::write(&explanation, out)
            }
        })?;
        Ok(ending(&[explanation]))
    }

    /// A check whose element there is.
    fn prepare(&self, fields: Fields, files: &Files) -> Result<Prepared> {
        let check = said(Check::try_from(fields))?;
        let prepared = said(check.prepare_in(files))?;
        let problem = prepared.problem();
        check_index(&self.at.0, &problem.d_shape())?;
        if let Some(Wish::These(steps)) = &self.steps
            && let Some(&last) = steps.last()
            && last > prepared.explained_steps()
        {
            bail!(
                "--steps requests step {last}, but K = {} takes {} here",
                problem.k,
                match prepared.explained_steps() {
                    1 => "one step".to_owned(),
                    n => format!("{n} steps"),
                }
            );
        }
        Ok(prepared)
    }

    /// The element on every unit that `--arch` names, drawn; what the terminal says of each is printed, too.
    fn page(&self, fields: &Fields, path: &Path) -> Result<Ending> {
        let files = self.memory.files();
        let names: Vec<Option<String>> = match &fields.arch {
            None => vec![None],
            Some(names) => names
                .split(',')
                .map(|name| Some(name.trim().to_owned()))
                .collect(),
        };
        ensure!(
            names.len() <= MOST_UNITS,
            "--arch names {} units; limit: {MOST_UNITS} per page",
            names.len()
        );
        let mut units = Vec::new();
        for name in names {
            let fields = Fields {
                arch: name.clone(),
                ..fields.clone()
            };
            let prepared = self.prepare(fields, &files)?;
            let name = name.unwrap_or_else(|| prepared.choice().architecture.name.clone());
            units.push((name, prepared));
        }
        let mut outputs = Outputs::new();
        for (_, prepared) in &units {
            prepared.request().protect(&mut outputs);
        }
        let output = outputs.open("the page", path)?;
        let wish = self.steps.clone().unwrap_or_default();
        let explain = |(_, prepared): &(String, Prepared), wish: Wish| {
            said(prepared.explain(&self.at.0, wish))
        };
        let first: Result<Vec<Explanation>> = units
            .iter()
            .map(|unit| explain(unit, wish.clone()))
            .collect();
        let first = first?;
        let known: Vec<&Explanation> = first.iter().collect();
        let plan = Plan::of(&known);
        let again = units.iter().zip(plan.wishes(&known, &wish));
        let drawn: Result<Vec<Unit>> = again
            .map(|(unit, wish)| {
                Ok(Unit {
                    name: unit.0.clone(),
                    explanation: explain(unit, wish)?,
                })
            })
            .collect();
        let drawn = drawn?;
        for (_, prepared) in &units {
            said(prepared.confirm_unchanged())?;
        }
        let told: io::Result<Vec<String>> = first.iter().map(plainly).collect();
        let told = told?;
        let to_stdout = path == Path::new("-");
        output.commit(|out| plan.write(&drawn, &told, out))?;
        if !to_stdout {
            show::print(|out| first.iter().try_for_each(|one| explain::write(one, out)))?;
        }
        Ok(ending(&first))
    }
}

/// Units that stand side by side, at most.
const MOST_UNITS: usize = 8;

/// What the terminal says, without colours.
fn plainly(explanation: &Explanation) -> io::Result<String> {
    let mut text = Vec::new();
    explain::write(explanation, &mut text)?;
    Ok(String::from_utf8_lossy(&strip_ansi_escapes::strip(text)).into_owned())
}

fn ending(explanations: &[Explanation]) -> Ending {
    let mut given = explanations.iter().filter_map(|one| one.given.as_ref());
    match given.any(|given| !given.same) {
        true => Ending::Different,
        false => Ending::Done,
    }
}

fn check_index(index: &[usize], shape: &[usize]) -> Result<()> {
    let typed: Vec<_> = index.iter().map(usize::to_string).collect();
    let typed = typed.join(",");
    if index.len() != shape.len() {
        bail!(
            "--at {typed} has {} indices, but D is {} and needs {}",
            index.len(),
            shape_text(shape),
            shape.len()
        );
    }
    if let Some(axis) = (0..shape.len()).find(|&axis| index[axis] >= shape[axis]) {
        bail!(
            "--at {typed} is outside D, which is {}: index {} must be 0 to {}",
            shape_text(shape),
            index[axis],
            shape[axis] - 1
        );
    }
    Ok(())
}

fn parse_index(text: &str) -> Result<Index> {
    let indices = text.split(',').map(|part| part.trim().parse());
    let indices: Result<Vec<usize>, _> = indices.collect();
    let indices = indices.ok().filter(|indices| indices.len() >= 2);
    indices
        .map(Index)
        .context("write row and column, such as 12,7; in a batch its indices first: 0,12,7")
}

fn parse_steps(text: &str) -> Result<Wish> {
    if text == "all" {
        return Ok(Wish::All);
    }
    let mut steps = BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<usize>().ok();
        let range = number(first).zip(number(last));
        // Nobody reads more; and a mistyped number shall not fill the memory.
        let fits = |&(first, last): &(usize, usize)| {
            first >= 1 && first <= last && last - first < 1_000_000
        };
        let (first, last) = range
            .filter(fits)
            .context("write steps counted from 1, such as 3,5-8, or all")?;
        steps.extend(first..=last);
    }
    Ok(Wish::These(steps))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_numbers_and_ranges() {
        let these = |steps: &[usize]| Some(Wish::These(steps.iter().copied().collect()));
        assert_eq!(parse_steps("3,5-8").ok(), these(&[3, 5, 6, 7, 8]));
        assert_eq!(parse_steps("all").ok(), Some(Wish::All));
        for wrong in ["", "0", "3-1", "x", "1,", "1-99999999999"] {
            assert!(parse_steps(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn an_index_has_two_numbers_or_more() {
        assert_eq!(parse_index("0, 12,7").unwrap().0, [0, 12, 7]);
        for wrong in ["", "3", "1,-2", "1,b", "1,,2"] {
            assert!(parse_index(wrong).is_err(), "{wrong:?}");
        }
    }
}
