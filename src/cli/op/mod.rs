//! `tcverify op`: what stands between products. `sweep`: functions on all patterns.

mod sweep;

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use sha2::Digest;

use super::args::{MemoryArgs, is_npy};
use super::progress::Bar;
use super::reports::{Destinations, PageArgs, ReportArgs};
use super::values::{any_format, word};
use super::{Ending, show};
use crate::check::{
    CheckError, EngineChoice, Fit, Operation, OperationJudged, PreparedOperation, Progress, Source,
    Strictness, option, shell_line,
};
use crate::io::npy::write_header;
use crate::io::{Outputs, escaped, escaped_path, hex};
use crate::num::{F32, Format};
use crate::ops::{self, Layout};
use crate::report::Verdict;
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
        array if Operation::default().set(array, Source::Memory) => format!("{array}=FILE"),
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
        ];
        let form = self.report.asked();
        let form = form.or(self.page.html.as_ref().map(|_| "--html"));
        if let (Some((other, _)), Some(form)) = (others.iter().find(|(_, given)| *given), form) {
            bail!(
                "{other} writes no report, so there is nothing for {form}; ask for one of the two"
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
        let judged = said(prepared.judge(reports.html.is_some(), &Bar::new()))?;
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

    fn asked(&self) -> Result<Operation> {
        let number = |field: &str, text: &Option<String>| -> Result<Option<F32>> {
            let read = text.as_ref().map(|text| text.parse::<F32>()).transpose();
            read.map_err(|reason| anyhow::anyhow!("{} {reason}", option(field)))
        };
        let strict = |word: Strictness| (word == Strictness::Any).then_some(word);
        let mut asked = Operation {
            operation: Some(self.operation.replace('-', "_")),
            variant: self.variant.clone(),
            variant_file: self.variant_file.clone(),
            arch: self.arch.clone(),
            dtype: self.dtype,
            eps: number("eps", &self.eps)?,
            softmax_scale: number("softmax_scale", &self.softmax_scale)?,
            causal: self.causal.then_some(true),
            layout: self.layout.as_deref().map(|axes| match axes {
                "bhsd" => Layout::Bhsd,
                _ => Layout::Bshd,
            }),
            interleaved: self.interleaved.then_some(true),
            group: self.group,
            tile: self.tile.clone(),
            output: self.output.clone(),
            y_digest: self.y_digest.clone(),
            nan: strict(self.nan),
            zero: strict(self.zero),
            max_mismatches: self.max_mismatches,
            no_causes: self.no_causes.then_some(true),
            engine: (self.engine != EngineChoice::Fast).then_some(self.engine),
            ..Operation::default()
        };
        // Why an operation is none comes before what its arrays would be.
        let rule = match &self.variant_file {
            Some(_) => None,
            None => {
                let operation = asked.operation.as_deref().unwrap_or_default();
                let found = ops::find(operation, self.variant.as_deref());
                Some(&found.map_err(anyhow::Error::msg)?.rule)
            }
        };
        let expected: Vec<&str> = match rule {
            Some(rule) => rule.arrays().to_vec(),
            None => ops::of(asked.operation.as_deref().unwrap_or_default())
                .map_err(anyhow::Error::msg)?[0]
                .rule
                .arrays()
                .to_vec(),
        };
        let mut plain = Vec::new();
        for word in &self.arrays {
            let named = word.to_str().and_then(|text| text.split_once('='));
            let named = named.filter(|(name, _)| Operation::default().set(name, Source::Memory));
            match named {
                Some((name, path)) => {
                    let source = Source::parse(path.as_ref()).map_err(anyhow::Error::msg)?;
                    let twice = asked.sources().iter().any(|(known, _)| *known == name);
                    ensure!(!twice, "{name} is named twice");
                    asked.set(name, source);
                }
                None => plain.push(word),
            }
        }
        let given: Vec<_> = asked.sources().into_iter().map(|(name, _)| name).collect();
        let free: Vec<_> = expected
            .into_iter()
            .chain(["y"])
            .filter(|n| !given.contains(n))
            .collect();
        if plain.len() > free.len() {
            let missing: Vec<_> = free
                .iter()
                .map(|&name| if name == "y" { "the result" } else { name })
                .collect();
            let missing = match missing.is_empty() {
                true => "no file".to_owned(),
                false => missing.join(", "),
            };
            bail!(
                "{} takes {missing} beside those that are named; name what else it takes, such as weight=FILE \
                 ({} files are given)",
                self.operation,
                self.arrays.len()
            );
        }
        for (name, path) in free.into_iter().zip(plain) {
            let source = Source::parse(path).map_err(anyhow::Error::msg)?;
            asked.set(name, source);
        }
        Ok(asked)
    }

    fn replay(
        &self,
        prepared: &PreparedOperation,
        mut outputs: Outputs,
        path: &std::path::Path,
    ) -> Result<Ending> {
        is_npy(path)?;
        let job = said(prepared.job())?;
        let output = outputs.open("the result", path)?;
        let mut hash = sha2::Sha256::new();
        output.commit(|out| {
            write_header(job.format, &job.shape, out)?;
            let bar = Bar::new();
            bar.begin(job.shape.iter().map(|&n| n as u64).product());
            let mut written = Ok(());
            job.run(&|elements| bar.advance(elements), |band| {
                hash.update(band.payload);
                if written.is_ok() {
                    written = out.write_all(band.payload);
                }
            });
            drop(bar);
            written?;
            // Before the file becomes visible.
            prepared.confirm_unchanged().map_err(std::io::Error::other)
        })?;
        if !self.report.quiet && path.as_os_str() != "-" {
            let digest = hex(&hash.finalize());
            show::print(|out| writeln!(out, "{digest}  {}", escaped_path(path)))?;
        }
        Ok(Ending::Done)
    }

    /// Every variant, and whether it gives the result.
    fn identify(&self, asked: &Operation) -> Result<Ending> {
        let files = self.memory.files();
        let all = ops::of(asked.operation.as_deref().unwrap_or_default());
        // The first variant that takes these arrays; why the default does not, if none does.
        let mut prepared = asked.prepare_in(&files);
        for variant in all.unwrap_or_default() {
            if prepared.is_ok() {
                break;
            }
            let other = Operation {
                variant: Some(variant.name.clone()),
                ..asked.clone()
            };
            if let Ok(found) = other.prepare_in(&files) {
                prepared = Ok(found);
            }
        }
        let prepared = said(prepared)?;
        let found = said(prepared.identify())?;
        if !self.report.quiet {
            show::print(|out| {
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
                let fits = found.iter().filter(|(_, fit)| fit.is_whole()).count();
                match fits {
                    0 => writeln!(out, "\nNo variant gives this result."),
                    1 => Ok(()),
                    _ => {
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
                let asked = |name: &str| Operation {
                    variant: Some(name.to_owned()),
                    ..prepared.asked().clone()
                };
                match found.iter().find(|(_, fit)| fit.is_whole()) {
                    Some((variant, _)) => {
                        let words = asked(&variant.name).command_line();
                        writeln!(out, "\n{}", escaped(&shell_line(words)))
                    }
                    None => Ok(()),
                }
            })?;
        }
        Ok(match found.iter().any(|(_, fit)| fit.is_whole()) {
            true => Ending::Done,
            false => Ending::Different,
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
