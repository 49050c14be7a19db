//! `tcverify compare`: two results of one product, or two runs.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clap::Args;

use super::Ending;
use super::args::{LayoutArgs, in_options};
use super::identify::in_search_options;
use super::progress::Bar;
use super::reports::{FormArgs, PageArgs};
use super::values::{any_format, word};
use crate::batch;
use crate::check::{CheckError, MAX_MISMATCHES, Operands, RequestFields, Source, Tf32Input};
use crate::compare::document::{Answer, Explained};
use crate::compare::runs::document::{RunsVerdict, StepResult};
use crate::compare::{Compare as Request, CompareRuns, Hints, RunsError, Span};
use crate::identify::{Limits, Schedules};
use crate::io::Outputs;
use crate::num::Format;
use crate::policy::{Accept, AdmissionPolicy};

/// Explain why two results of one product differ
///
/// Two GPUs, two versions of a library, or batch sizes 1 and 8 gave different bits. This command shows where they
/// differ and by how much. With A and B it also shows which unit and which order of additions gives each result,
/// and whether both are right by their own rules. It shows where the sums of the first difference diverge.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  Only the two results: where they differ, by how much, and in which pattern:
    tcverify compare d_old.npy d_new.npy

  Which unit computed each of them:
    tcverify compare d_a100.npy d_h100.npy a.npy b.npy --dtype fp16

  Known GPUs, and a kernel from a log:
    tcverify compare d_a100.npy d_h100.npy a.npy b.npy --arch1 a100 --arch2 h100 --dtype bf16
    tcverify compare d1.npy d2.npy a.npy b.npy --kernel2 \"$(grep -m1 algo lt.log)\"

  Results whose operands may also differ:
    tcverify compare d1.npy d2.npy a1.npy b1.npy --a2 a2.npy --b2 b2.npy

  Two runs of a program, step by step (recordings, manifests, folders of cases): the first step that differs, and why:
    tcverify compare run1/manifest.json run2/manifest.json

  The same 16 rows, computed alone and in a batch of 256 (the left A holds 16 rows, the right A 256):
    tcverify compare d16.npy d256.npy --rows2 0:16 a16.npy b.npy --a2 a256.npy

Exit codes: 0 equal bits (with --accept explained also different results that are both explained and
not wrong), 1 different, 2 anything else.")]
pub struct Compare {
    /// First result: x.npy, x.npz#name or x.safetensors#name; or a run: a manifest or a folder of cases
    #[arg(value_name = "LEFT.npy")]
    left: PathBuf,

    /// Second result, or run
    #[arg(value_name = "RIGHT.npy")]
    right: PathBuf,

    /// A of both results, or of the left one
    #[arg(value_name = "A.npy", requires = "b")]
    a: Option<PathBuf>,

    /// B of both results, or of the left one
    #[arg(value_name = "B.npy")]
    b: Option<PathBuf>,

    /// A of the right result, if it is another file
    #[arg(long, value_name = "A.npy", requires = "a")]
    a2: Option<PathBuf>,

    /// B of the right result, if it is another file
    #[arg(long, value_name = "B.npy", requires = "a")]
    b2: Option<PathBuf>,

    #[command(flatten)]
    layout: LayoutArgs,

    /// Format of A and B, if known
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = any_format())]
    dtype: Option<Format>,

    /// Format of B, if it differs from A's
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = any_format(), requires = "dtype")]
    dtype_b: Option<Format>,

    /// Format of both results, if their files do not state it
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = any_format())]
    d_dtype: Option<Format>,

    /// Format of the right result, if it differs
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = any_format())]
    d_dtype2: Option<Format>,

    /// Rows of the left file to compare, counted from 0, end excluded: 0:16
    #[arg(long, value_name = "FROM:TO", value_parser = rows)]
    rows1: Option<Span>,

    /// Rows of the right file to compare
    #[arg(long, value_name = "FROM:TO", value_parser = rows)]
    rows2: Option<Span>,

    /// Search only this architecture: a name, a compute capability or a GPU. Repeatable
    #[arg(long = "arch", value_name = "NAME")]
    architectures: Vec<String>,

    /// The same, only for the left result
    #[arg(long = "arch1", value_name = "NAME")]
    architectures1: Vec<String>,

    /// The same, only for the right result
    #[arg(long = "arch2", value_name = "NAME")]
    architectures2: Vec<String>,

    /// Kernel of the left result, from the library: a log line, a configuration, a name
    #[arg(long, value_name = "TEXT", requires = "a")]
    kernel1: Option<String>,

    /// Kernel of the right result, from the library
    #[arg(long, value_name = "TEXT", requires = "a")]
    kernel2: Option<String>,

    /// When to search schedules of kernels
    #[arg(long, value_name = "WHEN", default_value = "auto", value_parser = word::<Schedules>())]
    schedules: Schedules,

    /// Budget of the search for each result, in millions of multiply-adds
    #[arg(long, value_name = "N", default_value_t = Limits::BUDGET / 1_000_000)]
    budget: u64,

    /// Which answers exit with 0; by default only equal results, or what the policy says
    #[arg(long, value_name = "WHICH", value_parser = word::<Accept>())]
    accept: Option<Accept>,

    /// Which answers pass, and rules for the cases of runs: "strict", or a policy (tcverify.policy/1)
    #[arg(long, value_name = "POLICY")]
    policy: Option<PathBuf>,

    /// For two runs: search causes for this many of the first steps in which a difference begins
    #[arg(long, value_name = "N", default_value_t = 1)]
    explain: usize,

    /// Number of differences to list
    #[arg(long, value_name = "N", default_value_t = MAX_MISMATCHES)]
    max_mismatches: usize,

    #[command(flatten)]
    report: FormArgs,

    #[command(flatten)]
    page: PageArgs,
}

impl Compare {
    pub fn run(self) -> Result<Ending> {
        if self.is_about_runs() {
            return self.run_on_runs();
        }
        let accept = self.accepts(self.policy()?.as_ref())?;
        let request = self.request()?;
        let mut outputs = Outputs::new();
        request.protect(&mut outputs);
        let reports = self.report.open(&mut outputs, self.page.html.as_deref())?;
        let found = in_search_options(request.run(&Bar::new()))?;
        self.report
            .tell(reports, &found.view(), &found, || Ok(None))?;
        let both = found.explained == Some(Explained::Both) && found.wrong.is_none();
        Ok(match (found.verdict, accept) {
            (Answer::Equal, _) => Ending::Done,
            (Answer::Different, Accept::Explained) if both => Ending::Done,
            _ => Ending::Different,
        })
    }

    fn request(&self) -> Result<Request> {
        let results = [&self.left, &self.right];
        let mut request = Request::new(results.map(|path| Source::of(path.as_os_str())));
        request.operands = self.operands()?;
        let searches = self.schedules != Schedules::Auto || self.limits() != Limits::default();
        ensure!(
            request.operands.is_some() || !(self.names_gpus() || self.says_operands()? || searches),
            "--arch, --schedules, --budget and what is said of operands apply to the search for each result's unit, \
             which needs A and B: name them after the two results"
        );
        ensure!(
            self.explain == 1,
            "--explain applies only to two runs: the first difference of two results is always explained"
        );
        let hints = |own: &[String], kernel: &Option<String>| Hints {
            architectures: self.architectures.iter().chain(own).cloned().collect(),
            kernel: kernel.clone(),
        };
        request.formats = [self.d_dtype, self.d_dtype2.or(self.d_dtype)];
        request.operand_formats = [self.dtype, self.dtype_b];
        request.hints = [
            hints(&self.architectures1, &self.kernel1),
            hints(&self.architectures2, &self.kernel2),
        ];
        request.rows = [self.rows1.clone(), self.rows2.clone()];
        request.schedules = self.schedules;
        request.limits = self.limits();
        request.max_mismatches = self.max_mismatches;
        Ok(request)
    }

    fn limits(&self) -> Limits {
        Limits {
            budget: self.budget.saturating_mul(1_000_000),
            ..Limits::default()
        }
    }

    /// The policy, which must not come from the author of the cases.
    fn policy(&self) -> Result<Option<AdmissionPolicy>> {
        let Some(path) = &self.policy else {
            return Ok(None);
        };
        let [left, right] = [&self.left, &self.right]
            .map(|cases| AdmissionPolicy::of_cases(path, batch::root(cases)));
        left?;
        Ok(Some(right?))
    }

    /// Which answers a policy accepts.
    fn accepts(&self, policy: Option<&AdmissionPolicy>) -> Result<Accept> {
        let allowed = policy.map(|policy| policy.comparisons);
        ensure!(
            allowed != Some(Accept::Equal) || self.accept != Some(Accept::Explained),
            "--accept explained: the policy accepts only equal results (`comparisons`)"
        );
        Ok(self.accept.or(allowed).unwrap_or(Accept::Equal))
    }

    fn names_gpus(&self) -> bool {
        let all = [
            &self.architectures,
            &self.architectures1,
            &self.architectures2,
        ];
        all.iter().any(|names| !names.is_empty())
    }

    /// Whether an option describes arrays, which runs describe themselves.
    fn hints_at_arrays(&self) -> Result<bool> {
        let formats = [self.dtype, self.dtype_b, self.d_dtype, self.d_dtype2];
        let some_rows = self.rows1.is_some() || self.rows2.is_some();
        let formats = formats.iter().any(Option::is_some);
        Ok(some_rows || self.names_gpus() || formats || self.says_operands()?)
    }

    /// Whether there are operands beside A and B, or A and B are not stored in the default way.
    fn says_operands(&self) -> Result<bool> {
        let mut fields = RequestFields::default();
        in_options(self.layout.fill(&mut fields))?;
        let transposed = [fields.transpose_a, fields.transpose_b].contains(&Some(true));
        let rounded = fields
            .tf32_input
            .is_some_and(|how| how != Tf32Input::Truncate);
        Ok(transposed || rounded || !fields.arrays().is_empty())
    }

    /// What was multiplied on each side.
    fn operands(&self) -> Result<Option<[Operands; 2]>> {
        let (Some(a), Some(b)) = (&self.a, &self.b) else {
            return Ok(None);
        };
        let of = |a: &PathBuf, b: &PathBuf| -> Result<Operands, CheckError> {
            let mut fields = RequestFields {
                a: Some(Source::of(a.as_os_str())),
                b: Some(Source::of(b.as_os_str())),
                ..RequestFields::default()
            };
            self.layout.fill(&mut fields)?;
            fields.operands()
        };
        let [a2, b2] = [self.a2.as_ref().unwrap_or(a), self.b2.as_ref().unwrap_or(b)];
        Ok(Some([in_options(of(a, b))?, in_options(of(a2, b2))?]))
    }

    /// Whether both are runs: folders of cases, or manifests.
    fn is_about_runs(&self) -> bool {
        let is_run =
            |path: &Path| path.is_dir() || path.extension().is_some_and(|ending| ending == "json");
        is_run(&self.left) && is_run(&self.right)
    }

    fn run_on_runs(self) -> Result<Ending> {
        ensure!(
            self.a.is_none() && !self.hints_at_arrays()?,
            "two runs name their own arrays, formats and architectures: omit options for a single result"
        );
        let policy = self.policy()?;
        ensure!(
            self.accepts(policy.as_ref())? == Accept::Equal,
            "--accept explained applies only to two results: steps that inherit a difference are not explained"
        );
        let request = CompareRuns {
            runs: [self.left.clone(), self.right.clone()],
            policy,
            explain: self.explain,
            schedules: self.schedules,
            limits: self.limits(),
            max_mismatches: self.max_mismatches,
        };
        let mut outputs = Outputs::new();
        request.protect(&mut outputs)?;
        let reports = self.report.open(&mut outputs, self.page.html.as_deref())?;
        let found = match request.run(&Bar::new()) {
            Err(RunsError::Search(error)) => in_search_options(Err(error))?,
            found => found?,
        };
        self.report
            .tell(reports, &found.view(), &found, || Ok(None))?;
        match found.verdict {
            RunsVerdict::Equal => Ok(Ending::Done),
            RunsVerdict::Different => Ok(Ending::Different),
            RunsVerdict::Incomplete => {
                let unknown = found.count(StepResult::Unknown);
                let missed = found.left.missed.max(found.right.missed);
                bail!(
                    "{unknown} of {} steps could not be compared, and {missed} products that ran were not recorded",
                    found.steps.len()
                )
            }
        }
    }
}

/// `0:16`
fn rows(text: &str) -> Result<Span, String> {
    let (from, to) = text.split_once(':').ok_or("write FROM:TO, such as 0:16")?;
    let number = |text: &str| {
        text.parse::<usize>()
            .map_err(|_| format!("{text:?} is not a row: write FROM:TO, such as 0:16"))
    };
    Ok(number(from)?..number(to)?)
}
