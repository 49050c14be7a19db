//! `tcverify op`: what stands between products. `asked`: words into a request; `identify`: which variants fit; `part`: rows
//! and samples; `sweep`: functions on all patterns; `write`: results and commitments.

mod asked;
mod identify;
mod part;
mod sweep;
mod write;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;

use super::args::MemoryArgs;
use super::progress::Bar;
use super::reports::{Destinations, PageArgs, ReportArgs};
use super::values::{any_format, word};
use super::{Ending, show};
use crate::check::{
    CheckError, EngineChoice, OperationJudged, PreparedOperation, Strictness, option,
};
use crate::io::Outputs;
use crate::num::Format;
use crate::report::Verdict;
use crate::role::Role;
use part::PartArgs;
use sweep::SweepArgs;

/// Judge an operation between products: a norm, an activation, softmax, attention ...
///
/// tcverify computes it as the kernels of a library do, by the rules of 'tcverify ops', and compares every
/// bit with a captured result. docs/layers.md says which rules are proven on hardware, and which are not.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  RMSNorm as vLLM computes it; arrays as 'tcverify ops rms_norm' lists them, the result last:
    tcverify op rms_norm --variant vllm --eps 1e-6 --dtype bf16 x.npy weight.npy y.npy

  Arrays by name, and two that are optional:
    tcverify op layer_norm --eps 1e-5 x=x.npy weight=w.npy bias=b.npy y=y.npy

  Attention: FlashAttention-2 on an A100, causal, with its mma.sync as the A100's:
    tcverify op attention --arch a100 --causal --dtype bf16 q.npy k.npy v.npy o.npy

  Which variant gives this result?
    tcverify op silu_and_mul --identify --dtype bf16 x.npy y.npy

  One element, operation by operation:
    tcverify op rms_norm --variant vllm --eps 1e-6 --dtype bf16 x.npy weight.npy y.npy --at 3,17

  A sample, drawn by a commitment and a public value that came after it:
    tcverify op gelu --dtype bf16 x.npy y.npy --commit c.json
    tcverify op gelu --dtype bf16 x.npy y.npy --sample 10000 --seed-from c.json --beacon 5af1...

  The result, computed and written; a scale of FP8 quantisation instead of the codes:
    tcverify op gelu --dtype bf16 x.npy --replay y.npy
    tcverify op quantize_fp8 --output scale --dtype bf16 x.npy scales.npy

  A function on all 2^32 patterns: what a GPU gave, as digests (docs/layers.md)
    tcverify op ex2_approx --variant ptx-ftz --sweep-against gpu.json

Exit codes: 0 identical (or done), 1 different, 2 anything else.")]
pub struct Op {
    /// Which: rms_norm, softmax, silu, attention ... ('tcverify ops')
    #[arg(value_name = "OPERATION")]
    operation: String,

    /// Arrays, in the operation's order or as NAME=FILE; the captured result is y, and the last one
    #[arg(value_name = "[NAME=]FILE", required_unless_present_any = ["sweep", "sweep_against", "sweep_blocks"])]
    arrays: Vec<std::ffi::OsString>,

    /// How it is computed; by default the operation's first variant
    #[arg(long, value_name = "NAME", help_heading = "Rule")]
    variant: Option<String>,

    /// A variant file of your own, in its place (docs/layers.md)
    #[arg(
        long,
        value_name = "FILE.json",
        conflicts_with = "variant",
        help_heading = "Rule"
    )]
    variant_file: Option<PathBuf>,

    /// GPU or architecture whose tensor core multiplies (attention)
    #[arg(long, value_name = "NAME", help_heading = "Rule")]
    arch: Option<String>,

    /// Format of the arrays, where their files cannot say it
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = any_format())]
    dtype: Option<Format>,

    /// What is added to the variance (norms)
    #[arg(long, value_name = "X", help_heading = "Parameters")]
    eps: Option<String>,

    /// Factor of scores (attention); by default 1/sqrt(d)
    #[arg(long, value_name = "X", help_heading = "Parameters")]
    softmax_scale: Option<String>,

    /// A query sees keys up to its own only (attention)
    #[arg(long, help_heading = "Parameters")]
    causal: bool,

    /// Axes: bshd (batch, tokens, heads, elements) or bhsd; by default the variant's (attention, rope)
    #[arg(long, value_name = "AXES", value_parser = ["bshd", "bhsd"], help_heading = "Parameters")]
    layout: Option<String>,

    /// Neighbours are rotated instead of halves (rope)
    #[arg(long, help_heading = "Parameters")]
    interleaved: bool,

    /// Elements that share a scale (quantize_fp8); by default 128
    #[arg(long, value_name = "N", help_heading = "Parameters")]
    group: Option<usize>,

    /// Rows of Q and keys of a block, such as 128x64, instead of the variant's (attention)
    #[arg(long, value_name = "MxN", help_heading = "Parameters")]
    tile: Option<String>,

    /// Which of the results: residual (fused rms_norm), scale (quantize_fp8); by default y
    #[arg(long, value_name = "NAME", help_heading = "Parameters")]
    output: Option<String>,

    /// SHA-256 of the result's canonical payload, instead of the result
    #[arg(long, value_name = "HEX", help_heading = "Comparison")]
    y_digest: Option<String>,

    /// Whether NaN bits must agree
    #[arg(long, value_name = "HOW", default_value = "exact", value_parser = word::<Strictness>(), help_heading = "Comparison")]
    nan: Strictness,

    /// Whether signs of zeros must agree
    #[arg(long, value_name = "HOW", default_value = "exact", value_parser = word::<Strictness>(), help_heading = "Comparison")]
    zero: Strictness,

    /// How many mismatches to list
    #[arg(long, value_name = "N", help_heading = "Comparison")]
    max_mismatches: Option<usize>,

    /// Do not look for variants that would give a result that differs
    #[arg(long, help_heading = "Comparison")]
    no_causes: bool,

    /// Who computes; both give the same bits
    #[arg(long, value_name = "ENGINE", default_value = "fast", value_parser = word::<EngineChoice>())]
    engine: EngineChoice,

    /// Name every variant of the operation that gives the result
    #[arg(long, conflicts_with_all = ["at", "replay", "variant", "variant_file"])]
    identify: bool,

    /// Show how this element comes about, operation by operation
    #[arg(long, value_name = "I,J", conflicts_with = "replay")]
    at: Option<String>,

    /// Compute the result and write it here; nothing is compared
    #[arg(long, value_name = "Y.npy")]
    replay: Option<PathBuf>,

    #[command(flatten)]
    part: PartArgs,

    #[command(flatten)]
    sweep: SweepArgs,

    #[command(flatten)]
    memory: MemoryArgs,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    page: PageArgs,
}

fn said<T>(result: Result<T, CheckError>) -> Result<T> {
    let name = |field: &'static str| match field {
        "operation" => "OPERATION".to_owned(),
        array if Role::of_field(array).is_some_and(|role| Role::OPERATION.contains(&role)) => {
            format!("{array}=FILE")
        }
        other => option(other),
    };
    result.map_err(|error| anyhow::Error::msg(error.in_words(name)))
}

impl Op {
    pub fn run(self) -> Result<Ending> {
        let asked = self.asked()?;
        let others = [
            (
                self.sweep.asked().unwrap_or_default(),
                self.sweep.asked().is_some(),
            ),
            ("--identify", self.identify),
            ("--at", self.at.is_some()),
            ("--replay", self.replay.is_some()),
            ("--commit", self.part.commit.is_some()),
        ];
        let form = self.report.asked();
        let form = form.or(self.page.html.as_ref().map(|_| "--html"));
        if let (Some((other, _)), Some(form)) = (others.iter().find(|(_, given)| *given), form) {
            bail!(
                "{other} writes no report, so there is nothing for {form}; ask for one of the two"
            );
        }
        let whole = others
            .iter()
            .find(|(name, given)| *given && *name != "--identify");
        if let (Some(part), Some((other, _))) = (self.part.asked(), whole) {
            bail!(
                "{other} is not about a part of the result, so {part} says nothing; leave one of them out"
            );
        }
        if self.sweep.asked().is_some() {
            return self.sweep.run(&asked, self.report.quiet);
        }
        if self.identify {
            return self.identify(&asked);
        }
        let prepared = said(asked.prepare_in(&self.memory.files()))?;
        let mut outputs = Outputs::new();
        asked.protect(&mut outputs);
        if let Some(path) = &self.replay {
            return self.replay(&prepared, outputs, path);
        }
        if let Some(path) = &self.part.commit {
            return self.commit(&prepared, outputs, path);
        }
        if let Some(at) = &self.at {
            let index = at.split(',').map(|i| i.trim().parse());
            let index: Result<Vec<usize>, _> = index.collect();
            let index = index
                .ok()
                .context("--at takes the element's indices, such as 3,17")?;
            let explanation = said(prepared.explain(&index))?;
            if !self.report.quiet {
                show::print(|out| explanation.text(out))?;
            }
            return Ok(match explanation.same {
                Some(false) => Ending::Different,
                _ => Ending::Done,
            });
        }
        let reports = self.report.open(&mut outputs, self.page.html.as_deref())?;
        let judged = match prepared.judge(reports.html.is_some(), &Bar::new()) {
            Err(error @ CheckError::NotCommitted { .. }) => {
                show::different(&error.to_string());
                return Ok(Ending::Different);
            }
            judged => said(judged)?,
        };
        let report = &judged.report;
        let to_stdout = reports.to_stdout;
        publish(&prepared, &judged, reports)?;
        if self.report.brief && !to_stdout {
            show::print(|out| report.brief(out))?;
        } else if !self.report.quiet && !to_stdout {
            show::print(|out| report.write_text(show::columns(), out))?;
        }
        if self.report.github {
            show::commands(|out| report.write_github(out))?;
        }
        Ok(match report.verdict {
            Verdict::Different => Ending::Different,
            _ => Ending::Done,
        })
    }
}

fn publish(
    prepared: &PreparedOperation,
    judged: &OperationJudged,
    mut to: Destinations,
) -> Result<()> {
    let report = &judged.report;
    if let Some(html) = to.html.take() {
        let page = said(prepared.page(judged))?;
        html.commit(|out| page.operation(report, out))?;
    }
    if let Some(output) = to.junit {
        output.commit(|out| report.write_junit(out))?;
    }
    if let Some(output) = to.markdown {
        output.commit(|out| report.write_markdown(out))?;
    }
    if let Some(output) = to.json {
        output.commit(|out| report.write_json(out))?;
    }
    if let Some(output) = to.summary {
        output.commit(|out| {
            report.write_markdown(out)?;
            writeln!(out)
        })?;
    }
    Ok(())
}
