//! `tcverify explain`: one element of D, step by step.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;

use super::args::{ModelArgs, OperandArgs, check_conversion, result_format};
use super::inputs::{Operands, read_d};
use super::schedule::ScheduleArgs;
use super::{Ending, show};
use crate::emu::shape_text;
use crate::explain::{self, Question, Wish};
use crate::num::Format;
use crate::report::Scheduled;

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
    operands: OperandArgs,

    /// The captured D: x.npy, x.npz#name or x.safetensors#name
    #[arg(value_name = "D.npy")]
    d: Option<PathBuf>,

    #[command(flatten)]
    model: ModelArgs,

    #[command(flatten)]
    schedule: ScheduleArgs,

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
        let schedule = self.schedule.choose()?;
        let choice = self.model.choose(self.operands.scaled(), &schedule)?;
        let accumulator = choice.arithmetic.accumulator;
        let operands = Operands::read(
            &self.operands,
            &choice.arithmetic,
            &self.schedule,
            self.model.c_dtype,
            &schedule,
        )?;
        let problem = operands.problem()?;
        let values = operands.values(&problem)?;
        let d = self.d.as_deref();
        let d = d.map(|path| read_d(path, self.d_dtype, &problem, accumulator, &schedule));
        let d = d.transpose()?;
        let format = match &d {
            Some(d) => d.tensor.format(),
            None => self.d_dtype.unwrap_or(accumulator),
        };
        check_conversion(accumulator, format, &schedule)?;
        let kernel = schedule.kernel(&values, &choice.arithmetic, &problem, format)?;
        let index = self.at.0;
        check_index(&index, &problem.d_shape())?;
        let given = d.as_ref().map(|d| d.tensor.planes()).map(|planes| {
            let (batch, element) = index.split_at(index.len() - 2);
            let sizes = batch.iter().zip(planes.batch_shape());
            let batch = sizes.fold(0, |at, (i, n)| at * n + i);
            planes.plane(batch).code(element[0], element[1])
        });
        let question = Question {
            choice: &choice,
            problem: &problem,
            product: operands.product()?,
            index,
            format,
            given,
            wish: self.steps.clone().unwrap_or_default(),
            kernel: kernel.map(|kernel| {
                let scheduled = Scheduled::of(&schedule.schedule, &schedule.given, &values);
                (kernel, scheduled)
            }),
        };
        if let Some(Wish::These(steps)) = &self.steps
            && let Some(&last) = steps.last()
            && last > question.steps()
        {
            bail!(
                "--steps asks for step {last}, but K = {} is {} here",
                problem.k,
                match question.steps() {
                    1 => "one step".to_owned(),
                    n => format!("{n} steps"),
                }
            );
        }
        let explanation = question.answer();
        for operand in operands.all().chain(&d) {
            operand.confirm_unchanged()?;
        }
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
