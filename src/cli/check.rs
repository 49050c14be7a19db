//! `tcverify check`: replay and compare.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use sha2::Digest;

use super::against::AgainstArgs;
use super::args::{ModelArgs, OperandArgs, check_conversion, result_format};
use super::causes::Asked;
use super::command_line::quoted_path;
use super::exports::{ExportArgs, Extras};
use super::inputs::{Operand, Operands, read_d};
use super::part::PartArgs;
use super::progress::Meter;
use super::schedule::{Chosen, ScheduleArgs};
use super::{Ending, show};
use crate::emu::{Choice, Replay};
use crate::io::{Output, hex, parse_sha256};
use crate::num::{Format, Rounding};
use crate::report::{
    Cause, Conclusion, Conversion, Differ, Exporter, Inputs, Json, Model, Outcome, Policy, Report,
    Reproduced, Sampled, Scheduled, Text, Tool, Verdict,
};

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

  E5M2 times E4M3 through wgmma, the result stored as bfloat16 codes in a uint16 array:
    tcverify check --arch hopper --dtype e5m2 --dtype-b e4m3 --d-dtype bf16 a.npy b.npy d.npy

  NVFP4 on a B200, one UE4M3 scale for every 16 k:
    tcverify check --arch b200 --dtype e2m1 --scale-dtype ue4m3 --scale-a sa.npy --scale-b sb.npy a.npy b.npy d.npy

  INT8 on an RTX 3080:
    tcverify check --arch rtx3080 --dtype int8 a.npy b.npy d.npy

  BF16 result of a cuBLAS kernel that splits K into 5 slices through a workspace:
    tcverify check --arch a100 --dtype bf16 --schedule cublas-workspace --split-k 5 a.npy b.npy d.npy

  FP8 with scales per block (DeepGEMM), result in BF16:
    tcverify check --arch h100 --dtype e4m3 --schedule deepgemm-sm90 --scale-a sa.npy --scale-b sb.npy a.npy b.npy d.npy

  In CI, quietly, keeping the report:
    tcverify check --arch sm_90 --dtype fp16 --quiet --json report.json a.npy b.npy d.npy

  A page for a browser, with a map of the mismatches; and for a run of GitHub Actions:
    tcverify check --arch h100 --dtype bf16 --html report.html --github a.npy b.npy d.npy

  A hundred thousand random elements of a big product; the report says what that proves:
    tcverify check --arch h100 --dtype fp16 --sample 100000 --seed 20261121 a.npy b.npy d.npy

  A weight of a model, and arrays that NumPy saved together:
    tcverify check --arch h100 --dtype bf16 --transpose-b x.npz#x model.safetensors#q_proj.weight x.npz#y

  Against a published digest instead of a file:
    tcverify check --arch h100 --dtype fp16 --d-digest 9f86d081... a.npy b.npy

Exit codes: 0 identical, 1 different, 2 anything else.")]
pub struct Check {
    #[command(flatten)]
    operands: OperandArgs,

    /// The captured D: x.npy, x.npz#name or x.safetensors#name
    #[arg(value_name = "D.npy", required_unless_present = "d_digest")]
    d: Option<PathBuf>,

    #[command(flatten)]
    model: ModelArgs,

    #[command(flatten)]
    schedule: ScheduleArgs,

    /// Format of D: the accumulator's, or (from f32) fp16 or bf16 by one rounding to nearest even; a
    /// schedule's epilogue also has fp8. Needed only where the file cannot say it
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = result_format(), help_heading = "Comparison")]
    d_dtype: Option<Format>,

    /// Judge by the SHA-256 of D's canonical payload instead of a file
    #[arg(long, value_name = "SHA256", value_parser = parse_sha256, conflicts_with = "d",
          help_heading = "Comparison")]
    d_digest: Option<String>,

    /// NaN bits must agree exactly, or any NaN will do for a NaN
    #[arg(
        long,
        value_name = "HOW",
        default_value = "exact",
        conflicts_with = "d_digest",
        help_heading = "Comparison"
    )]
    nan: Strictness,

    /// Signs of zeros must agree exactly, or either zero will do
    #[arg(
        long,
        value_name = "HOW",
        default_value = "exact",
        conflicts_with = "d_digest",
        help_heading = "Comparison"
    )]
    zero: Strictness,

    #[command(flatten)]
    against: AgainstArgs,

    #[command(flatten)]
    part: PartArgs,

    /// How many mismatches to list
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Report")]
    max_mismatches: usize,

    /// Print nothing; the exit code tells
    #[arg(long, short, help_heading = "Report")]
    quiet: bool,

    /// Write the report as JSON; "-" is standard output, instead of the text
    #[arg(long, value_name = "PATH", help_heading = "Report")]
    json: Option<PathBuf>,

    #[command(flatten)]
    exports: ExportArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Strictness {
    Exact,
    Any,
}

impl Strictness {
    fn name(self) -> &'static str {
        match self {
            Strictness::Exact => "exact",
            Strictness::Any => "any",
        }
    }
}

/// What a replay leaves: the digest of all of D, or what became of a part.
enum Found {
    All(String),
    Sample(Box<Sampled>),
}

impl Check {
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
        let json = self.prepare_json(&operands, d.as_ref())?;
        let Ok(commitment) =
            self.against
                .confirm(&choice, kernel.as_ref(), &operands, d.as_ref())?
        else {
            return Ok(Ending::Different);
        };
        let inputs = operands.all().chain(&d).map(|o| o.file.path());
        let inputs = inputs.chain(self.against.path());
        let exports = self.exports.prepare(self.json.as_deref(), inputs)?;

        let replay = Replay {
            problem,
            arithmetic: &choice.arithmetic,
            convert_to: (format != accumulator).then_some(format),
            engine: self.operands.engine()?,
            kernel,
        };
        let policy = Policy {
            any_nan: self.nan == Strictness::Any,
            any_zero: self.zero == Strictness::Any,
        };
        // In less than a tile every element is in the same few units.
        let layout = choice.layout().filter(|layout| {
            let [m, n] = layout.tile();
            problem.m >= m && problem.n >= n.min(8)
        });
        let differ = |d| Differ::new(d, policy, self.max_mismatches).counting(layout);
        let mut differ = d
            .as_ref()
            .map(|d| differ(&d.tensor).mapping(self.exports.wants_map()));
        let part = self.part.part(&problem)?;
        let work = part
            .as_ref()
            .map_or(replay.work(), |part| part.work(&problem));
        let meter = Meter::new(work);
        let (found, inputs) = rayon::join(
            || {
                if let (Some(part), Some(differ)) = (&part, &mut differ) {
                    return Found::Sample(Box::new(part.compare(&replay, differ, &meter)));
                }
                let mut hash = sha2::Sha256::new();
                let done = replay.run(&|work| meter.add(work), |band| {
                    let compare = || {
                        if let Some(differ) = &mut differ {
                            differ.compare(&band);
                        }
                    };
                    rayon::join(compare, || hash.update(band.payload));
                    Ok::<(), std::convert::Infallible>(())
                });
                let Ok(()) = done;
                Found::All(hex(&hash.finalize()))
            },
            || Inputs {
                a: operands.a.describe(),
                b: operands.b.describe(),
                c: operands.c.as_ref().map(Operand::describe),
                scale_a: operands.scales.as_ref().map(|[a, _]| a.describe()),
                scale_b: operands.scales.as_ref().map(|[_, b]| b.describe()),
                bias: operands.bias.as_ref().map(Operand::describe),
                d: d.as_ref().map(Operand::describe),
            },
        );
        drop(meter);
        let (digest, sample) = match found {
            Found::All(digest) => (Some(digest), None),
            Found::Sample(sample) => (None, Some(*sample)),
        };
        let mut causes = Vec::new();
        let mut extras = Extras {
            map: None,
            choice: &choice,
            problem: &problem,
            kernel: kernel.map(|kernel| {
                let scheduled = Scheduled::of(&schedule.schedule, &schedule.given, kernel.values);
                (kernel, scheduled)
            }),
            d: d.as_ref().map(|d| &d.tensor),
        };
        let (outcome, same) = match (differ, &self.d_digest) {
            (Some(differ), _) => {
                let conclusion = differ.conclude();
                if let (Some(d), false) = (&d, self.exports.no_causes) {
                    causes = self.causes(&operands, &choice, &schedule, replay, d, &conclusion);
                }
                let Conclusion {
                    comparison, map, ..
                } = conclusion;
                extras.map = map;
                let same = comparison.mismatches == 0;
                let outcome = Outcome::Elements {
                    nan: self.nan.name(),
                    zero: self.zero.name(),
                    comparison: Box::new(comparison),
                };
                (outcome, same)
            }
            (None, Some(expected)) => {
                let expected_payload_sha256 = expected.clone();
                let outcome = Outcome::Digest {
                    expected_payload_sha256,
                };
                (outcome, Some(expected) == digest.as_ref())
            }
            (None, None) => unreachable!("clap asks for D or its digest"),
        };
        let report = Report {
            schema: crate::report::SCHEMA,
            tool: Tool::default(),
            verdict: if same {
                Verdict::Identical
            } else {
                Verdict::Different
            },
            model: Model::of(&choice),
            schedule: kernel
                .map(|kernel| Scheduled::of(&schedule.schedule, &schedule.given, kernel.values)),
            product: operands.product()?,
            commitment,
            inputs,
            reproduced: Reproduced {
                format,
                shape: replay.shape(),
                payload_sha256: digest,
                sample,
                conversion: replay.convert_to.map(|to| Conversion {
                    from: accumulator,
                    to,
                    rounding: Rounding::NearestEven,
                }),
            },
            outcome,
            causes,
        };
        let exports = exports.ready(&report, extras)?;
        for operand in operands.all().chain(&d) {
            operand.confirm_unchanged()?;
        }
        let to_stdout = exports.to_stdout();
        exports.publish(&report)?;
        self.publish(&report, json, to_stdout)?;
        self.exports.annotate(&report)?;
        Ok(if same {
            Ending::Done
        } else {
            Ending::Different
        })
    }

    /// Opened before the replay, so that an unwritable place does not cost one.
    fn prepare_json(&self, operands: &Operands, d: Option<&Operand>) -> Result<Option<Output>> {
        let Some(path) = &self.json else {
            return Ok(None);
        };
        let inputs = operands.all().chain(d).map(|operand| operand.file.path());
        for input in inputs.chain(self.against.path()) {
            if same_file(path, input) {
                bail!(
                    "{}: is an input; the report would overwrite it",
                    path.display()
                );
            }
        }
        Output::prepare(path).map(Some)
    }

    /// What would give a D that differs.
    fn causes(
        &self,
        operands: &Operands,
        choice: &Choice,
        schedule: &Chosen,
        replay: Replay,
        d: &Operand,
        found: &Conclusion,
    ) -> Vec<Cause> {
        let policies = [("--nan", self.nan), ("--zero", self.zero)].into_iter();
        let policies = policies.filter(|(_, how)| *how == Strictness::Any);
        let asked = Asked {
            model: &self.model,
            schedule: &self.schedule,
            chosen: schedule,
            operands: &self.operands,
            read: operands,
            d: d.file.path(),
            d_dtype: self.d_dtype,
            policy: policies
                .flat_map(|(option, how)| [option.to_owned(), how.name().to_owned()])
                .collect(),
        };
        asked.causes(
            choice,
            replay,
            &d.tensor,
            (&found.comparison, &found.spread),
        )
    }

    /// The command that explains the first mismatch.
    fn explain(&self, report: &Report) -> Option<String> {
        let Outcome::Elements { comparison, .. } = &report.outcome else {
            return None;
        };
        let first = comparison.first.first()?;
        let mut words = vec!["tcverify explain".to_owned()];
        words.extend(self.model.words());
        words.extend(self.schedule.words());
        if let Some(format) = self.d_dtype {
            words.extend(["--d-dtype".to_owned(), format.to_string()]);
        }
        words.extend(self.operands.words());
        words.extend(self.d.as_deref().map(quoted_path));
        let index: Vec<_> = first.index.iter().map(usize::to_string).collect();
        words.extend(["--at".to_owned(), index.join(",")]);
        Some(words.join(" "))
    }

    fn publish(&self, report: &Report, json: Option<Output>, instead: bool) -> Result<()> {
        let json_there = self
            .json
            .as_ref()
            .is_some_and(|path| path.as_os_str() == "-");
        let to_stdout = instead || json_there;
        if let Some(json) = json {
            json.commit(|out| Json.export(report, out))?;
        }
        if !self.quiet && !to_stdout {
            let explain = self.explain(report);
            show::print(|out| {
                Text.export(report, out)?;
                match explain {
                    Some(command) => {
                        writeln!(out, "\n  the first mismatch, step by step:\n  {command}")
                    }
                    None => Ok(()),
                }
            })?;
        }
        Ok(())
    }
}

/// Whether two paths name one existing file.
pub fn same_file(one: &std::path::Path, other: &std::path::Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}
