//! What is judged, and how: `check`, `batch` and `shard` all judge by this.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, Parser, ValueEnum};
use sha2::Digest;

use super::against::AgainstArgs;
use super::args::{ModelArgs, OperandArgs, check_conversion, result_format};
use super::exports::Extras;
use super::inputs::{self, Operand, Operands, read_d_rows};
use super::part::PartArgs;
use super::progress::Meter;
use super::schedule::{Chosen, ScheduleArgs};
use crate::commit::{Growing, Hash, Rows};
use crate::emu::{Choice, Replay};
use crate::io::{hex, parse_sha256};
use crate::num::Format;
use crate::report::{Differ, Inputs, Policy, Report, Sampled};

// A plain comment: a doc comment would become the text of every command that has these options.
// What a verdict depends on.
#[derive(Args)]
pub struct Judge {
    #[command(flatten)]
    pub operands: OperandArgs,

    /// The captured D: x.npy, x.npz#name or x.safetensors#name
    #[arg(value_name = "D.npy", required_unless_present = "d_digest")]
    pub d: Option<PathBuf>,

    #[command(flatten)]
    pub model: ModelArgs,

    #[command(flatten)]
    pub schedule: ScheduleArgs,

    /// Format of D: the accumulator's, or (from f32) fp16 or bf16 by one rounding to nearest even; a
    /// schedule's epilogue also has fp8. Needed only where the file cannot say it
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = result_format(), help_heading = "Comparison")]
    pub d_dtype: Option<Format>,

    /// Judge by the SHA-256 of D's canonical payload instead of a file
    #[arg(long, value_name = "SHA256", value_parser = parse_sha256, conflicts_with = "d",
          help_heading = "Comparison")]
    pub d_digest: Option<String>,

    /// NaN bits must agree exactly, or any NaN will do for a NaN
    #[arg(
        long,
        value_name = "HOW",
        default_value = "exact",
        conflicts_with = "d_digest",
        help_heading = "Comparison"
    )]
    pub nan: Strictness,

    /// Signs of zeros must agree exactly, or either zero will do
    #[arg(
        long,
        value_name = "HOW",
        default_value = "exact",
        conflicts_with = "d_digest",
        help_heading = "Comparison"
    )]
    pub zero: Strictness,

    #[command(flatten)]
    pub against: AgainstArgs,

    #[command(flatten)]
    pub part: PartArgs,

    /// How many mismatches to list
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Report")]
    pub max_mismatches: usize,

    #[command(flatten)]
    pub tree: TreeArgs,

    /// Do not look for what would give a D that differs
    #[arg(long, help_heading = "Report")]
    pub no_causes: bool,
}

/// By what the reproduced D is named.
#[derive(Args)]
pub struct TreeArgs {
    /// Name the reproduced D by the root of its Merkle tree, as a commitment does, instead of the
    /// SHA-256 of its payload: what 'tcverify shard merge' reports, too
    #[arg(long, conflicts_with_all = ["d_digest", "sample", "rows", "cols", "region"], help_heading = "Report")]
    pub tree: bool,

    /// Rows of D in a block of the tree; by default as many as make about a mebibyte
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Report")]
    pub block_rows: Option<u64>,
}

impl TreeArgs {
    /// How the D of a replay is cut.
    pub fn rows(&self, replay: &Replay) -> Result<Rows> {
        let (format, shape) = (replay.format(), replay.shape());
        let about = Rows::about_a_mebibyte(format, &shape);
        Ok(Rows::new(format, shape, self.block_rows.unwrap_or(about))?)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Strictness {
    Exact,
    Any,
}

impl Strictness {
    pub fn name(self) -> &'static str {
        match self {
            Strictness::Exact => "exact",
            Strictness::Any => "any",
        }
    }
}

/// What a replay leaves: the digest of all of D, or its leaves and how it was cut, or what became of a
/// part.
pub enum Found {
    All(String),
    Leaves(Rows, Vec<Hash>),
    Sample(Box<Sampled>),
}

/// Everything that has been read and chosen before anything is computed.
pub struct Setup<'a> {
    pub choice: &'a Choice<'static>,
    pub schedule: &'a Chosen,
    pub operands: &'a Operands<'a>,
    pub d: Option<&'a Operand>,
    pub replay: Replay<'a>,
}

impl Setup<'_> {
    /// All files.
    pub fn files(&self) -> impl Iterator<Item = &Operand> {
        self.operands.all().chain(self.d)
    }

    /// What the report says of them; hashes them.
    pub fn inputs(&self) -> Inputs {
        let operands = self.operands;
        Inputs {
            a: operands.a.describe(),
            b: operands.b.describe(),
            c: operands.c.as_ref().map(Operand::describe),
            scale_a: operands.scales.as_ref().map(|[a, _]| a.describe()),
            scale_b: operands.scales.as_ref().map(|[_, b]| b.describe()),
            bias: operands.bias.as_ref().map(Operand::describe),
            d: self.d.map(Operand::describe),
        }
    }
}

#[derive(Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Words {
    #[command(flatten)]
    judge: Judge,
}

impl Judge {
    /// From the words of a command line.
    ///
    /// # Errors
    /// Those that `check` has, in one line.
    pub fn parse(words: &[String]) -> Result<Judge> {
        let parsed = Words::try_parse_from(words).map_err(|error| {
            let text = error.to_string();
            let text = text.strip_prefix("error: ").unwrap_or(&text);
            // What follows the first paragraph is usage and advice for a terminal.
            let text = text.split("\n\n").next().unwrap_or(text);
            let words: Vec<_> = text.split_whitespace().collect();
            anyhow::anyhow!(crate::io::printable(&words.join(" ")))
        })?;
        Ok(parsed.judge)
    }

    /// Reads everything and lets `then` go on with it.
    ///
    /// # Errors
    /// What is wrong with options or files; those of `then`.
    pub fn set_up<T>(&self, then: impl FnOnce(&Setup) -> Result<T>) -> Result<T> {
        self.set_up_rows(&None, then)
    }

    /// The same; of A, C and D only some rows are looked at, and may be used.
    ///
    /// # Errors
    /// As for [`Judge::set_up`].
    pub fn set_up_rows<T>(
        &self,
        rows: &inputs::Rows,
        then: impl FnOnce(&Setup) -> Result<T>,
    ) -> Result<T> {
        let schedule = self.schedule.choose()?;
        let choice = self.model.choose(self.operands.scaled(), &schedule)?;
        let accumulator = choice.arithmetic.accumulator;
        let operands = Operands::read_rows(
            &self.operands,
            &choice.arithmetic,
            &self.schedule,
            self.model.c_dtype,
            &schedule,
            rows,
        )?;
        let problem = operands.problem()?;
        let values = operands.values(&problem)?;
        let d = self.d.as_deref();
        let d =
            d.map(|path| read_d_rows(path, self.d_dtype, &problem, accumulator, &schedule, rows));
        let d = d.transpose()?;
        let format = match &d {
            Some(d) => d.tensor.format(),
            None => self.d_dtype.unwrap_or(accumulator),
        };
        check_conversion(accumulator, format, &schedule)?;
        let kernel = schedule.kernel(&values, &choice.arithmetic, &problem, format)?;
        then(&Setup {
            choice: &choice,
            schedule: &schedule,
            operands: &operands,
            d: d.as_ref(),
            replay: Replay {
                problem,
                arithmetic: &choice.arithmetic,
                convert_to: (format != accumulator).then_some(format),
                engine: self.operands.engine()?,
                kernel,
            },
        })
    }

    /// What compares D, if it is there.
    pub fn differ<'a>(&self, setup: &Setup<'a>, map: bool) -> Option<Differ<'a>> {
        let policy = Policy {
            any_nan: self.nan == Strictness::Any,
            any_zero: self.zero == Strictness::Any,
        };
        let problem = &setup.replay.problem;
        // In less than a tile every element is in the same few units.
        let layout = setup.choice.layout().filter(|layout| {
            let [m, n] = layout.tile();
            problem.m >= m && problem.n >= n.min(8)
        });
        let differ = |d| Differ::new(d, policy, self.max_mismatches).counting(layout);
        setup.d.map(|d| differ(&d.tensor).mapping(map))
    }

    /// Judges a product: reads, lets `prepare` look at what was read, replays, and lets `ready` take
    /// what the report leaves out. Nothing if something is not what was committed, which has been
    /// said then.
    ///
    /// # Errors
    /// Why there is no verdict; those of `prepare` and `ready`.
    pub fn judge<'m, P, R>(
        &self,
        map: bool,
        meter: impl FnOnce(u64) -> Meter<'m>,
        prepare: impl FnOnce(&Setup) -> Result<P>,
        ready: impl FnOnce(P, &Setup, &Report, Extras) -> Result<R>,
    ) -> Result<Option<(Report, R)>> {
        self.set_up(|setup| {
            let tree = match (self.tree.tree, self.tree.block_rows) {
                (true, _) => Some(self.tree.rows(&setup.replay)?),
                (false, Some(_)) => {
                    bail!("--block-rows cuts the D of --tree, which is not asked for")
                }
                (false, None) => None,
            };
            let prepared = prepare(setup)?;
            let Setup {
                choice, operands, ..
            } = setup;
            let kernel = setup.replay.kernel.as_ref();
            let Ok(commitment) = self.against.confirm(choice, kernel, operands, setup.d)? else {
                return Ok(None);
            };
            let replay = setup.replay;
            let mut differ = self.differ(setup, map);
            let part = self.part.part(&replay.problem)?;
            let work = part
                .as_ref()
                .map_or(replay.work(), |part| part.work(&replay.problem));
            let meter = meter(work);
            let (found, inputs) = rayon::join(
                || {
                    if let (Some(part), Some(differ)) = (&part, &mut differ) {
                        return Found::Sample(Box::new(part.compare(&replay, differ, &meter)));
                    }
                    let mut hash = sha2::Sha256::new();
                    let mut growing = tree.as_ref().map(Growing::new);
                    let done = replay.run(&|work| meter.add(work), |band| {
                        let compare = || {
                            if let Some(differ) = &mut differ {
                                differ.compare(&band);
                            }
                        };
                        let digest = || match &mut growing {
                            Some(growing) => growing.update(band.payload),
                            None => hash.update(band.payload),
                        };
                        rayon::join(compare, digest);
                        Ok::<(), std::convert::Infallible>(())
                    });
                    let Ok(()) = done;
                    match (tree, growing) {
                        (Some(rows), Some(growing)) => Found::Leaves(rows, growing.finish()),
                        _ => Found::All(hex(&hash.finalize())),
                    }
                },
                || setup.inputs(),
            );
            drop(meter);
            let conclusion = differ.map(Differ::conclude);
            let (mut report, map) = self.report(setup, inputs, found, conclusion)?;
            report.commitment = commitment;
            let extras = Extras {
                map,
                choice,
                problem: &replay.problem,
                kernel: replay.kernel.zip(report.schedule.clone()),
                d: setup.d.map(|d| &d.tensor),
            };
            let ready = ready(prepared, setup, &report, extras)?;
            for operand in setup.files() {
                operand.confirm_unchanged()?;
            }
            Ok(Some((report, ready)))
        })
    }
}
