//! `tcverify check --op`: compute an operation and compare.

use anyhow::Result;
use clap::Args;

use super::args::CompareArgs;
use super::{OperationArgs, RuleArgs, said};
use crate::attest::Claims;
use crate::check::CheckError;
use crate::cli::args::MemoryArgs;
use crate::cli::progress::Bar;
use crate::cli::reports::{PageArgs, ReportArgs};
use crate::cli::{Ending, show};
use crate::io::Outputs;
use crate::report::{Verdict, write_json};

/// Judge an operation between products: a norm, an activation, softmax, attention ...
///
/// tcverify computes the operation as a library's kernels do, by the rules of 'tcverify ops', and compares
/// every bit with a captured result. docs/layers.md lists which rules are proven on hardware.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  RMSNorm as vLLM computes it; arrays as 'tcverify ops rms_norm' lists them, the result last:
    tcverify check --op rms_norm --variant vllm --eps 1e-6 --dtype bf16 x.npy weight.npy y.npy

  Arrays by name, and two that are optional:
    tcverify check --op layer_norm --eps 1e-5 x=x.npy weight=w.npy bias=b.npy y=y.npy

  Attention: FlashAttention-2 on an A100, causal, with its mma.sync as the A100's:
    tcverify check --op attention --arch a100 --causal --dtype bf16 q.npy k.npy v.npy o.npy

  A sample, drawn by a commitment and a public value that came after it:
    tcverify commit --op gelu --dtype bf16 x.npy y.npy -o c.json
    tcverify check --op gelu --dtype bf16 x.npy y.npy --sample 10000 --seed-from c.json --beacon 5af1...

  A scale of FP8 quantisation instead of the codes:
    tcverify check --op quantize_fp8 --output scale --dtype bf16 x.npy scales.npy

Exit codes: 0 identical, 1 different, 2 anything else.")]
pub struct Check {
    #[command(flatten)]
    operation: OperationArgs,

    #[command(flatten)]
    rule: RuleArgs,

    /// SHA-256 of the result's canonical payload, instead of the result
    #[arg(long, value_name = "HEX", help_heading = "Comparison")]
    y_digest: Option<String>,

    #[command(flatten)]
    compare: CompareArgs,

    /// Number of mismatches to list
    #[arg(long, value_name = "N", help_heading = "Report")]
    max_mismatches: Option<usize>,

    /// Do not search for variants that give a differing result
    #[arg(long, help_heading = "Report")]
    no_causes: bool,

    #[command(flatten)]
    memory: MemoryArgs,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    page: PageArgs,
}

impl Check {
    pub fn run(self) -> Result<Ending> {
        let mut asked = self.operation.asked(&self.rule)?;
        self.compare.fill(&mut asked)?;
        asked.y_digest = self.y_digest.clone();
        asked.max_mismatches = self.max_mismatches;
        asked.no_causes = self.no_causes.then_some(true);
        let prepared = said(asked.prepare_in(&self.memory.files()))?;
        let mut outputs = Outputs::new();
        asked.protect(&mut outputs);
        let reports = self.report.open(&mut outputs, self.page.html.as_deref())?;
        let judged = match prepared.judge(reports.html.is_some(), &Bar::new()) {
            Err(error @ CheckError::NotCommitted { .. }) => {
                show::different(&error.to_string());
                return Ok(Ending::Different);
            }
            judged => said(judged)?,
        };
        let report = &judged.report;
        let mut view = report.view();
        if reports.html.is_some() {
            view = view.pictured(&said(prepared.page(&judged))?);
        }
        let to_stdout = reports.to_stdout;
        reports.publish(
            &view,
            |out| write_json(report, out),
            || Claims::of_operation(report).map(Some),
        )?;
        self.report.print(&view, false, to_stdout)?;
        Ok(match report.verdict {
            Verdict::Different => Ending::Different,
            _ => Ending::Done,
        })
    }
}
