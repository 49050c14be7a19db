//! `tcverify explain`: one element of D, step by step.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;

use super::args::{MemoryArgs, ProductArgs, said, source};
use super::operation::OperationHint;
use super::values::result_format;
use super::{Ending, show};
use crate::check::{Check, Fields};
use crate::emu::shape_text;
use crate::explain::{self, Wish};
use crate::num::Format;

/// Show how one element of D comes about, step by step
///
/// Every product, the exponent that terms are aligned to, what alignment and rounding cut off, and
/// the accumulator after each step. Where D is given and differs, also what would give exactly that
/// D: a chain that stopped early, a missing product, a flipped bit, another model ...
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  One element of a product of BF16 matrices on an H100:
    tcverify explain --arch h100 --dtype bf16 a.npy b.npy --at 12,7

  The first mismatch that check reported, compared with D:
    tcverify explain --arch h100 --dtype bf16 a.npy b.npy d.npy --at 12,7

  A product whose kernel splits K: each partial sum, and every addition and rounding after them:
    tcverify explain --arch a100 --dtype bf16 --schedule cublas-workspace --split-k 5 a.npy b.npy d.npy --at 12,7

  In a batch, with steps 3 and 5 to 8 in full whatever happens there:
    tcverify explain --arch a100 --dtype fp16 a.npy b.npy --at 0,12,7 --steps 3,5-8

  For a program:
    tcverify explain --arch a100 --dtype fp16 a.npy b.npy d.npy --at 12,7 --json

Exit codes: 0 shown, and D (if given) has these bits; 1 D has others; 2 anything else.")]
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

    /// Which element: row and column, after the indices of a batch
    #[arg(long, value_name = "I,J", value_parser = parse_index)]
    at: Index,

    /// Steps to show in full, counted from 1, besides those where something happens: 3,5-8 or "all"
    #[arg(long, value_name = "STEPS", value_parser = parse_steps)]
    steps: Option<Wish>,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Debug)]
struct Index(Vec<usize>);

impl Explain {
    pub fn run(self) -> Result<Ending> {
        let fields = said(self.product.fields())?;
        let check = said(Check::try_from(Fields {
            d: said(source("d", self.d.as_deref()))?,
            d_dtype: self.d_dtype,
            ..fields
        }))?;
        let prepared = said(check.prepare_in(&self.memory.files()))?;
        let problem = prepared.problem();
        check_index(&self.at.0, &problem.d_shape())?;
        if let Some(Wish::These(steps)) = &self.steps
            && let Some(&last) = steps.last()
            && last > prepared.explained_steps()
        {
            bail!(
                "--steps asks for step {last}, but K = {} is {} here",
                problem.k,
                match prepared.explained_steps() {
                    1 => "one step".to_owned(),
                    n => format!("{n} steps"),
                }
            );
        }
        let explanation = said(prepared.explain(&self.at.0, self.steps.unwrap_or_default()))?;
        said(prepared.confirm_unchanged())?;
        show::print(|out| {
            if self.json {
                serde_json::to_writer_pretty(&mut *out, &explanation)?;
                out.write_all(b"\n")
            } else {
                explain::write(&explanation, out)
            }
        })?;
        Ok(match explanation.given {
            Some(given) if !given.same => Ending::Different,
            _ => Ending::Done,
        })
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
