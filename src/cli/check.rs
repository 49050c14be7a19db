//! `tcverify check`: replay and compare.

use anyhow::Result;
use clap::Args;

use super::args::{CheckArgs, MemoryArgs, OperationHint, RequestArgs, in_options_of};
use super::chooser::Choice;
use super::progress::Bar;
use super::reports::{PageArgs, ReportArgs};
use super::{CHOOSERS, Ending, refuted};
use crate::check::{Attention, CheckError};
use crate::compose::Request;
use crate::forms::View;
use crate::io::Outputs;
use crate::report::Rule;

/// Replay a product and compare every bit with a captured D
///
/// The verdict is "identical" only if every element of D has exactly the bits that the model of
/// the chosen tensor core computes from A, B and C.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  BF16 operands, FP32 result, captured on an H100:
    tcverify check --arch h100 --dtype bf16 a.npy b.npy d.npy

  FP16 accumulation on an A100, weights stored NxK, with an addend:
    tcverify check --arch a100 --dtype fp16 --acc f16 --transpose-b --c c.npy a.npy w.npy d.npy

  The kernel from a cuBLASLt log, or from its name and the setting that the name lacks:
    tcverify check --arch h100 --dtype bf16 --kernel-log lt.log a.npy b.npy d.npy
    tcverify check --kernel nvjet_sm90_tst_64x104_64x10_4x1_v_bz_splitK_TNT --split-k 3 a.npy b.npy d.npy

  E5M2 times E4M3 through wgmma, the result stored as bfloat16 codes in a uint16 array:
    tcverify check --arch hopper --dtype e5m2 --dtype-b e4m3 --d-dtype bf16 a.npy b.npy d.npy

  NVFP4 on a B200, one UE4M3 scale per 16 k:
    tcverify check --arch b200 --dtype e2m1 --scale-dtype ue4m3 --scale-a sa.npy --scale-b sb.npy a.npy b.npy d.npy

  INT8 on an RTX 3080:
    tcverify check --arch rtx3080 --dtype int8 a.npy b.npy d.npy

  BF16 result of a cuBLAS kernel that splits K into 5 slices in a workspace:
    tcverify check --arch a100 --dtype bf16 --schedule cublas-workspace --split-k 5 a.npy b.npy d.npy

  FP8 with scales per block (DeepGEMM), result in BF16:
    tcverify check --arch h100 --dtype e4m3 --schedule deepgemm-sm90 --scale-a sa.npy --scale-b sb.npy a.npy b.npy d.npy

  In CI, quietly, keeping the report:
    tcverify check --arch sm_90 --dtype fp16 --quiet --json report.json a.npy b.npy d.npy

  A page for a browser with a map of the mismatches, and annotations for GitHub Actions:
    tcverify check --arch h100 --dtype bf16 --html report.html --github a.npy b.npy d.npy

  A hundred thousand random elements of a large product; the report states what that proves:
    tcverify check --arch h100 --dtype fp16 --sample 100000 --seed 20261121 a.npy b.npy d.npy

  The same, drawn from a commitment and a public value, so that nobody can choose the seed:
    tcverify check --arch h100 --dtype fp16 --sample 100000 --seed-from c.json --beacon 8430af44... a.npy b.npy d.npy

  A weight of a model, and arrays from one NumPy archive:
    tcverify check --arch h100 --dtype bf16 --transpose-b x.npz#x model.safetensors#q_proj.weight x.npz#y

  An unknown GPU, found from D:
    tcverify check --arch auto --dtype bf16 a.npy b.npy d.npy

  Against a published digest instead of a file:
    tcverify check --arch h100 --dtype fp16 --d-digest 9f86d081... a.npy b.npy

Exit codes: 0 identical, 1 different, 2 anything else.")]
pub struct Check<A: RequestArgs> {
    #[command(flatten)]
    args: A,

    #[command(flatten)]
    memory: MemoryArgs,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    page: PageArgs,
}

/// A product whose D is judged.
#[derive(Args)]
pub struct JudgedProduct {
    #[command(flatten)]
    _operation: OperationHint,

    #[command(flatten)]
    check: CheckArgs,
}

impl RequestArgs for JudgedProduct {
    fn request(&self) -> Result<Request> {
        self.check.check().map(Request::from)
    }
}

impl<A: RequestArgs> Check<A> {
    pub fn run(self) -> Result<Ending> {
        let mut request = self.args.request()?;
        let mut chosen = None;
        for chooser in CHOOSERS {
            let Request::Product(check) = &request else {
                break;
            };
            match chooser.choose(check)? {
                Choice::Named => {}
                Choice::Found(found, by) => {
                    (request, chosen) = (Request::Product(found), Some(by));
                }
                // An answer, but no verdict on a model.
                Choice::Nothing(tested) => {
                    return refuted(format!(
                        "none of the {tested} tested models gives this D; 'tcverify identify' shows how close each \
                         one is"
                    ));
                }
            }
        }
        let prepared = self.memory.prepare(&request)?;
        let mut outputs = Outputs::new();
        request.protect(&mut outputs);
        let reports = self.report.open(&mut outputs, self.page.html.as_deref())?;
        let mapping = reports.html.as_ref().and_then(|_| prepared.mapping());
        let attention = match &mapping {
            Some(mapping) => Attention::Observed(mapping),
            None if reports.html.is_none() && self.report.is_unread() => Attention::Verdict,
            None => Attention::Report,
        };
        let mut judged = match prepared.judge(attention, &Bar::new()) {
            // Not what was committed: an answer, but no verdict.
            Err(error @ CheckError::NotCommitted { .. }) => return refuted(error.to_string()),
            judged => in_options_of(&request, judged)?,
        };
        if let Rule::Product(rule) = &mut judged.report.rule {
            rule.chosen = chosen;
        }
        let report = &judged.report;
        let mut view = View::of(report).then(prepared.next_commands(report));
        if reports.html.is_some() {
            view = view.pictured(&in_options_of(&request, prepared.page(report, mapping))?);
        }
        self.report.forms.tell_report(reports, &view, report)
    }
}
