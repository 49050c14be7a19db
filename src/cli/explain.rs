//! `tcverify explain`: one element of D, step by step.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use super::args::{
    MemoryArgs, OperationHint, ProductArgs, RequestArgs, WholeOperation, in_options, in_options_of,
};
use super::values::{ranges, result_format};
use super::{Ending, show};
use crate::check::{Check, Expected, RequestFields, Resources};
use crate::compose::{Examined, Explained, Request};
use crate::emu::shape_text;
use crate::explain::picture::{Plan, Unit};
use crate::explain::{Explanation, Wish};
use crate::io::Outputs;
use crate::num::Format;
use crate::report::Rule;

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
pub struct Explain<A: ExplainArgs> {
    /// The element: row and column, after the indices of a batch
    #[arg(long, value_name = "I,J", value_parser = parse_index)]
    at: Index,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    args: A,

    #[command(flatten)]
    memory: MemoryArgs,
}

/// A unit's name in the request, and the request for it.
type Named = (String, Request);

/// What is explained, and how.
pub trait ExplainArgs: RequestArgs {
    /// Steps to show in full.
    fn wish(&self) -> Wish {
        Wish::default()
    }

    /// A page, and the units on it.
    fn page(&self) -> Result<Option<(&Path, Vec<Named>)>> {
        Ok(None)
    }
}

impl ExplainArgs for WholeOperation {}

/// A product, perhaps with its D.
#[derive(Args)]
pub struct ShownProduct {
    /// More steps to show in full, counted from 1: 3,5-8 or "all". The first, the last and the remarkable ones are
    /// always shown
    #[arg(long, value_name = "STEPS", value_parser = parse_steps)]
    steps: Option<Wish>,

    /// Write a page for a browser: every step as rows of bits, truncated bits shaded. --arch then accepts several
    /// units, separated by commas, side by side. "-" is standard output, instead of the text
    #[arg(long, value_name = "PATH", conflicts_with = "json")]
    html: Option<PathBuf>,

    #[command(flatten)]
    _operation: OperationHint,

    #[command(flatten)]
    product: ProductArgs,

    /// The captured D: x.npy, x.npz#name or x.safetensors#name
    #[arg(value_name = "D.npy", help_heading = None::<&str>)]
    d: Option<PathBuf>,

    /// Format of D, as for check
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = result_format(), help_heading = "Comparison")]
    d_dtype: Option<Format>,
}

impl ShownProduct {
    fn fields(&self) -> Result<RequestFields> {
        in_options(self.product.naming(self.d.as_deref(), self.d_dtype))
    }
}

impl RequestArgs for ShownProduct {
    fn request(&self) -> Result<Request> {
        in_options(Check::try_from(self.fields()?)).map(Request::from)
    }
}

impl ExplainArgs for ShownProduct {
    fn wish(&self) -> Wish {
        self.steps.clone().unwrap_or_default()
    }

    fn page(&self) -> Result<Option<(&Path, Vec<Named>)>> {
        let Some(path) = &self.html else {
            return Ok(None);
        };
        let fields = self.fields()?;
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
        let units = names.into_iter().map(|name| {
            let check = in_options(Check::try_from(RequestFields {
                arch: name.clone(),
                ..fields.clone()
            }))?;
            Ok((name.unwrap_or_default(), check.into()))
        });
        let units: Result<Vec<_>> = units.collect();
        Ok(Some((path, units?)))
    }
}

#[derive(Clone, Debug)]
struct Index(Vec<usize>);

impl<A: ExplainArgs> Explain<A> {
    pub fn run(self) -> Result<Ending> {
        if let Some((path, units)) = self.args.page()? {
            return self.draw(path, &units);
        }
        let request = self.args.request()?;
        let prepared = self.prepare(&request, &self.memory.resources())?;
        let explained = self.explain(&request, &*prepared, self.args.wish())?;
        in_options_of(&request, prepared.confirm_unchanged())?;
        show::either(self.json, &explained, |out| explained.text(out))?;
        Ok(ending(&[explained]))
    }

    fn explain(&self, request: &Request, prepared: &dyn Examined, wish: Wish) -> Result<Explained> {
        in_options_of(request, prepared.explained(&self.at.0, wish))
    }

    /// Prepares a request, which must have this element and these steps.
    fn prepare(&self, request: &Request, resources: &Resources) -> Result<Box<dyn Examined>> {
        let prepared = in_options_of(request, request.prepare(resources))?;
        check_index(&self.at.0, request.called(), &prepared.shape())?;
        if let (Wish::These(steps), Rule::Product(rule)) = (self.args.wish(), prepared.rule())
            && let Some(&last) = steps.last()
            && last > prepared.explained_steps()
        {
            bail!(
                "--steps requests step {last}, but K = {} takes {} here",
                rule.product.k,
                match prepared.explained_steps() {
                    1 => "one step".to_owned(),
                    n => format!("{n} steps"),
                }
            );
        }
        Ok(prepared)
    }

    /// Draws the element on every unit, and prints the text for each.
    fn draw(&self, path: &Path, units: &[Named]) -> Result<Ending> {
        let resources = self.memory.resources();
        let mut outputs = Outputs::new();
        let mut prepared = Vec::new();
        for (_, request) in units {
            prepared.push(self.prepare(request, &resources)?);
            request.protect(&mut outputs);
        }
        let output = outputs.open("the page", path)?;
        let explain = |i: usize, wish: Wish| -> Result<Explanation> {
            match self.explain(&units[i].1, &*prepared[i], wish)? {
                Explained::Product(explained) => Ok(*explained),
                Explained::Operation(_) => unreachable!("pages are of products"),
            }
        };
        let wish = self.args.wish();
        let first: Result<Vec<Explanation>> =
            (0..units.len()).map(|i| explain(i, wish.clone())).collect();
        let first = first?;
        let known: Vec<&Explanation> = first.iter().collect();
        let plan = Plan::of(&known);
        let again = plan.wishes(&known, &wish).into_iter().enumerate();
        let drawn: Result<Vec<Unit>> = again
            .map(|(i, wish)| {
                let name = match (&*units[i].0, prepared[i].rule()) {
                    ("", rule) => rule.names()[0].to_owned(),
                    (name, _) => name.to_owned(),
                };
                Ok(Unit {
                    name,
                    explanation: explain(i, wish)?,
                })
            })
            .collect();
        let drawn = drawn?;
        for ((_, request), prepared) in units.iter().zip(&prepared) {
            in_options_of(request, prepared.confirm_unchanged())?;
        }
        let first = first.into_iter().map(|one| Explained::Product(one.into()));
        let first: Vec<Explained> = first.collect();
        let texts: Vec<String> = first.iter().map(Explained::plain_text).collect();
        let file = match units.first() {
            Some((_, Request::Product(check))) => match &check.expected {
                Expected::Tensor(d) => format!("{d}: "),
                _ => String::new(),
            },
            _ => String::new(),
        };
        output.commit(|out| plan.write(&file, (&drawn, &texts), out))?;
        if !show::is_stdout(path) {
            show::print(|out| first.iter().try_for_each(|one| one.text(out)))?;
        }
        Ok(ending(&first))
    }
}

/// Most units on a page.
const MOST_UNITS: usize = 8;

fn ending(all: &[Explained]) -> Ending {
    Ending::of(all.iter().all(|one| one.same() != Some(false)))
}

fn check_index(index: &[usize], called: &str, shape: &[usize]) -> Result<()> {
    let typed: Vec<_> = index.iter().map(usize::to_string).collect();
    let typed = typed.join(",");
    if index.len() != shape.len() {
        bail!(
            "--at {typed} has {} indices, but {called} is {} and needs {}",
            index.len(),
            shape_text(shape),
            shape.len()
        );
    }
    if let Some(axis) = (0..shape.len()).find(|&axis| index[axis] >= shape[axis]) {
        bail!(
            "--at {typed} is outside {called}, which is {}: index {} must be 0 to {}",
            shape_text(shape),
            index[axis],
            shape[axis] - 1
        );
    }
    Ok(())
}

fn parse_index(text: &str) -> Result<Index> {
    let indices = text.split(',').map(|part| part.trim().parse().ok());
    let indices: Option<Vec<usize>> = indices.collect();
    indices
        .map(Index)
        .context("write row and column, such as 12,7; in a batch its indices first: 0,12,7")
}

fn parse_steps(text: &str) -> Result<Wish> {
    if text == "all" {
        return Ok(Wish::All);
    }
    // Nobody reads more, and a mistyped number must not fill the memory.
    let fits = |steps: &RangeInclusive<usize>| {
        *steps.start() >= 1 && steps.end() - steps.start() < 1_000_000
    };
    let steps = ranges(text).filter(|all| all.iter().all(fits));
    let steps = steps.context("write steps counted from 1, such as 3,5-8, or all")?;
    Ok(Wish::These(steps.into_iter().flatten().collect()))
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
    fn an_index_has_numbers() {
        assert_eq!(parse_index("0, 12,7").unwrap().0, [0, 12, 7]);
        for wrong in ["", "1,-2", "1,b", "1,,2"] {
            assert!(parse_index(wrong).is_err(), "{wrong:?}");
        }
    }
}
