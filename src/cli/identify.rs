//! `tcverify identify`: which models of the catalogue give this D, or which variants of an operation a result.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;

use super::args::{
    MemoryArgs, OperandArgs, OperationArgs, OperationHint, OperationJudgeArgs, RuleArgs,
    in_operation_options, in_options,
};
use super::progress::Bar;
use super::show::write_pretty;
use super::values::{any_format, word};
use super::{Ending, show};
use crate::check::{CheckError, EngineChoice, Source, Verb, option, shell_line};
use crate::compose::Request as CheckRequest;
use crate::compose::{Fit, identify};
use crate::identify::document::FITS_SHOWN;
use crate::identify::{Formats, Identify as Request, IdentifyError, Limits, Schedules};
use crate::io::{Outputs, escaped};
use crate::num::{F32, Format};
use crate::operation::Operation;
use crate::ops::{self, Variant};

/// Find the models and schedules that give a D
///
/// Tests every architecture, instruction and accumulator whose formats fit the files on a growing sample
/// of D, and replays in full those that give the whole sample. It lists all models that this D cannot
/// distinguish, with operands on which they differ. If no model alone gives D, or D has fewer bits than
/// the sums, it also searches kernel schedules: partial tiles, splits of K, promotion, permutations,
/// scales.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  tcverify identify a.npy b.npy d.npy
  tcverify identify --dtype e4m3 --c c.npy a.npy b.npy d.npy
  tcverify identify --quick --json - a.npy b.npy d.npy
  tcverify identify --dtype bf16 --schedules always a.npy b.npy d.npy
  tcverify identify --kernel nvjet_sm90_tst_64x104_64x10_4x1_v_bz_splitK_TNT a.npy b.npy d.npy
  tcverify identify --dtype bf16 --arch a100 --arch h100 --limit 20 a.npy b.npy d.npy

Without --dtype it tries every format that fits the files. Exit codes: 0 at least one candidate
gives D, 1 none does, 2 anything else.")]
pub struct Identify {
    #[command(flatten)]
    _operation: OperationHint,

    #[command(flatten)]
    operands: OperandArgs,

    /// The captured D: x.npy, x.npz#name or x.safetensors#name
    #[arg(value_name = "D.npy")]
    d: PathBuf,

    /// Format of A and B, if known
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = any_format())]
    dtype: Option<Format>,

    /// Format of B, if it differs from A's
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = any_format(), requires = "dtype")]
    dtype_b: Option<Format>,

    /// Format of D, if known
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = any_format())]
    d_dtype: Option<Format>,

    /// Kernel, from the library: a log line, a configuration, a name. Its settings are kept; only those that it
    /// lacks (slices, reduction, custom options) are searched
    #[arg(long, value_name = "TEXT")]
    kernel: Option<String>,

    /// Factor of FP8 results before rounding (scale_result of torch._scaled_mm): only kernels with such a
    /// scale are searched
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    scale_result: Option<F32>,
    /// Search only this architecture: a name, a compute capability or a GPU. Repeatable
    #[arg(long = "arch", value_name = "NAME")]
    architectures: Vec<String>,

    /// When to search schedules of kernels
    #[arg(long, value_name = "WHEN", default_value = "auto", value_parser = word::<Schedules>())]
    schedules: Schedules,

    /// Budget of the search, in millions of multiply-adds; full replays by vector kernels count one
    /// sixteenth
    #[arg(long, value_name = "N", default_value_t = Limits::BUDGET / 1_000_000)]
    budget: u64,

    /// Stop after the sample, without full replays
    #[arg(long)]
    quick: bool,

    /// Elements of the sample
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    sample: u32,

    /// Seed of the sample
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Number of lines for fits, and for the others. Fits that differ only in the number of slices share
    /// a line; the JSON has all
    #[arg(long, value_name = "N", default_value_t = FITS_SHOWN)]
    limit: usize,

    /// Print nothing; the exit code tells
    #[arg(long, short)]
    quiet: bool,

    /// Write the result as JSON; "-" is standard output, instead of the text
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,
}

/// An error of a search in the words of options.
pub fn in_search_options<T>(result: Result<T, IdentifyError>) -> Result<T> {
    result.map_err(|error| anyhow::Error::msg(error.describe(option)))
}

impl Identify {
    pub fn run(self) -> Result<Ending> {
        let request = in_options(self.request())?;
        let prepared = in_search_options(request.prepare())?;
        let mut outputs = Outputs::new();
        request.protect(&mut outputs);
        let json = self.json.as_deref();
        let output = outputs.open_if("the JSON report", json)?;
        let found = in_search_options(prepared.run(&Bar::new()))?;
        if let Some(output) = output {
            let written = output.commit(|out| write_pretty(&found, out));
            written.context("the JSON cannot be written")?;
        }
        if !self.quiet && !json.is_some_and(show::is_stdout) {
            show::view(&found.view(self.limit))?;
        }
        Ok(Ending::of(!found.fits.is_empty()))
    }

    fn request(&self) -> Result<Request, CheckError> {
        Ok(Request {
            operands: self.operands.operands()?,
            d: Source::of(self.d.as_os_str()),
            formats: Formats {
                a: self.dtype,
                b: self.dtype_b,
                d: self.d_dtype,
            },
            kernel: self.kernel.clone(),
            scale_result: self.scale_result,
            architectures: self.architectures.clone(),
            schedules: self.schedules,
            limits: Limits {
                sample: self.sample as usize,
                seed: self.seed,
                budget: self.budget.saturating_mul(1_000_000),
                quick: self.quick,
            },
            engine: self.operands.engine.engine.unwrap_or(EngineChoice::Fast),
        })
    }
}

/// Find the variants of an operation that give a result
///
/// Computes every variant that takes these arrays, and compares it with the captured result.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  tcverify identify --op silu_and_mul --dtype bf16 x.npy y.npy

Exit codes: 0 at least one variant gives the result, 1 none does, 2 anything else.")]
pub struct Variants {
    /// Print nothing; the exit code tells
    #[arg(long, short)]
    quiet: bool,

    #[command(flatten)]
    operation: OperationArgs,

    #[command(flatten)]
    judge: OperationJudgeArgs,

    #[command(flatten)]
    memory: MemoryArgs,
}

impl Variants {
    pub fn run(self) -> Result<Ending> {
        let mut request = self.operation.request(&RuleArgs::default())?;
        in_options(self.judge.fill(&mut request))?;
        let request = request.without_defaults();
        let of_a_check = [
            ("--against", request.against.is_some()),
            ("--tree", request.tree.is_some()),
            ("--block-rows", request.block_rows.is_some()),
            ("--no-causes", request.no_causes.is_some()),
            ("--max-mismatches", request.max_mismatches.is_some()),
        ];
        if let Some((option, _)) = of_a_check.iter().find(|(_, given)| *given) {
            bail!("{option} applies only to a check by one variant; 'identify' writes no report");
        }
        let of_variant = |variant: &Variant, request: &Operation| Operation {
            variant: Some(variant.name.clone()),
            ..request.clone()
        };
        let resources = self.memory.resources();
        // The first variant that takes these arrays; if none does, the error is the default's.
        let prepared = request.prepare(&resources).or_else(|error| {
            let all = ops::of(request.operation.as_deref().unwrap_or_default());
            let mut all = all.unwrap_or_default().into_iter();
            all.find_map(|variant| of_variant(variant, &request).prepare(&resources).ok())
                .ok_or(error)
        });
        let prepared = in_operation_options(prepared)?;
        let found = in_operation_options(identify(&prepared))?;
        let whole: Vec<_> = found.iter().filter(|(_, fit)| fit.is_whole()).collect();
        show::unless(self.quiet, |out| {
            for (variant, fit) in &found {
                let name = escaped(&variant.name);
                writeln!(
                    out,
                    "{:<22} {name:<24} {:<11} {}",
                    fit.to_string(),
                    variant.evidence,
                    variant.title
                )?;
            }
            match whole.len() {
                0 => writeln!(out, "\nNo variant gives this result."),
                1 => Ok(()),
                fits => {
                    let all = found.iter().all(|(_, fit)| !matches!(fit, Fit::Tested(_)));
                    let place = if all {
                        "everywhere in it"
                    } else {
                        "in all that was tested of it"
                    };
                    writeln!(
                        out,
                        "\nThese {fits} cannot be told apart by this result: their bits agree {place}."
                    )
                }
            }?;
            match whole.first() {
                Some((variant, _)) => {
                    let check = CheckRequest::from(of_variant(variant, prepared.request()));
                    let line = shell_line(check.command_line(Verb::Check));
                    writeln!(out, "\n{}", escaped(&line))
                }
                None => Ok(()),
            }
        })?;
        Ok(Ending::of(!whole.is_empty()))
    }
}
