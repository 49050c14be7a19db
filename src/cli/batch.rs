//! `tcverify batch`: many checks, one report.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;

use super::Ending;
use super::args::MemoryArgs;
use super::progress::Bar;
use super::reports::ReportArgs;
use crate::batch::report::{CaseVerdict, Known};
use crate::batch::{self, Pages, State};
use crate::check::Attention;
use crate::deadline::{Deadline, interruptible};
use crate::engines::resources_of;
use crate::io::{Outputs, printable};
use crate::policy::AdmissionPolicy;

/// Run many checks from a manifest or a folder of cases
///
/// Each case gives the verdict of 'check' with the same options. A case that cannot be judged does
/// not stop the others. docs/batch.md specifies manifests, reports and states.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  Two products of one GPU, with this cases.json:
    {\"schema\": \"tcverify.manifest/1\",
     \"defaults\": {\"arch\": \"h100\", \"dtype\": \"bf16\", \"transpose_b\": true},
     \"cases\": [{\"name\": \"q\", \"a\": \"x.npy\", \"b\": \"w.safetensors#q\", \"d\": \"q.npy\"},
               {\"name\": \"k\", \"a\": \"x.npy\", \"b\": \"w.safetensors#k\", \"d\": \"k.npy\", \"d_dtype\": \"bf16\"}]}
    tcverify batch cases.json

  Captured cases, one folder with a case.json each, and a JSON report:
    tcverify batch captures/ --json report.json

  The same, as pages for a browser (pages/index.html):
    tcverify batch captures/ --html pages

  A long batch that may be interrupted; the same command resumes it:
    tcverify batch cases.json --resume state.json --junit report.xml

  A gate for cases from untrusted people (docs/policy.md): all of D, every bit, no model or
  schedule files, nothing outside their folder, no links
    tcverify batch --policy strict pushed/tcverify.json --junit reports/tcverify.xml

  Known failures: exit with 1 only for what changed since the report of the last release
    tcverify batch captures/ --baseline known.json --json report.json

Exit codes: 0 if all that was compared is identical, or as expected (--baseline, or \"expect\" of a case); 2 if a case could not be judged, if no case was judged, or if\nall agree but some products that ran were not recorded; else 1.")]
pub struct BatchArgs {
    /// Manifest (tcverify.manifest/1), or a folder of case folders, each with a case.json and
    /// arrays
    #[arg(value_name = "MANIFEST.json|FOLDER")]
    cases: PathBuf,

    /// Keep verdicts in this file, and judge only cases that it lacks. A case is skipped if its
    /// options, model, schedule and the SHA-256 of all its files are unchanged
    #[arg(long, value_name = "STATE.json")]
    resume: Option<PathBuf>,

    /// Rules for cases whose author is not trusted: "strict", or a policy (tcverify.policy/1) that changes
    /// some of its rules. A case that breaks a rule makes the whole batch fail
    #[arg(long, value_name = "strict|FILE.json")]
    policy: Option<PathBuf>,

    /// A report of an earlier run (--json): exit with 1 only for what changed since, in either direction. A case
    /// that differed and is identical now is a change; so is a case that is gone. Cases that are new must be identical
    #[arg(long, value_name = "REPORT.json")]
    baseline: Option<PathBuf>,

    #[command(flatten)]
    memory: MemoryArgs,

    #[command(flatten)]
    report: ReportArgs,

    /// Write a folder of pages for a browser: index.html lists all cases and links to a page for each. Existing
    /// files of these names are replaced. The pages load nothing from elsewhere
    #[arg(long, value_name = "FOLDER", help_heading = "Report")]
    html: Option<PathBuf>,
}

impl BatchArgs {
    pub fn run(self) -> Result<Ending> {
        let policy = self.policy.as_deref();
        let policy = policy.map(|path| AdmissionPolicy::of_cases(path, batch::root(&self.cases)));
        let policy = policy.transpose()?;
        let terms = policy.as_ref();
        let deadline = Deadline::after(terms.and_then(AdmissionPolicy::time));
        let read = deadline.within(|| interruptible(|| batch::read(&self.cases, terms)))?;
        let read = read
            .ok()
            .context("reading the cases exceeded the policy's time limit")??;
        let products = read.products();
        let batch::Read {
            cases,
            own,
            coverage,
            no_products,
            refused,
        } = read;
        if !no_products.is_empty() {
            let names: Vec<_> = no_products.iter().map(|name| printable(name)).collect();
            eprintln!(
                "tcverify: {} cases contain no product and do not count in the verdict: {}",
                names.len(),
                names.join(", ")
            );
        }
        let baseline = self.baseline.as_deref().map(Known::read).transpose()?;
        let mut outputs = Outputs::new();
        if let Some(path) = &self.baseline {
            outputs.protect("the baseline", path);
        }
        let named = terms.zip(self.policy.as_deref());
        batch::protect(&mut outputs, &self.cases, (&cases, &own), named);
        let reports = self.report.open(&mut outputs, None)?;
        if let Some(path) = &self.resume {
            outputs.claim("the state", path)?;
        }
        let pages = self.html.as_deref();
        let pages = pages.map(|folder| Pages::open(folder, &cases, &mut outputs));
        let pages = pages.transpose()?;
        let state = State::open(self.resume.as_deref(), &self.cases, &cases)?;
        // No other output is opened, and a hundred thousand cases name many files.
        drop((outputs, own));
        let resources = resources_of(self.memory.files_under(terms));
        // Coverage and a state need digests of what a case was judged from.
        let attention = if self.report.is_unread() && coverage.is_none() && self.resume.is_none() {
            Attention::Verdict
        } else {
            Attention::Report
        };
        let bar = Bar::new();
        let run = || {
            batch::run(
                (cases, refused),
                &state,
                &resources,
                terms,
                (pages.as_ref(), attention),
                &bar,
            )
        };
        let mut batch = deadline.within(run)??;
        batch.policy = named.map(|(policy, path)| policy.described(path));
        if let Some(coverage) = coverage {
            batch.cover(coverage, &products);
        }
        if let Some(known) = baseline {
            batch.expect(known);
        }
        let view = batch.view(&|_| None);
        let to_stdout = reports.to_stdout;
        reports.publish(&view, |out| batch.json(out), || batch.claims())?;
        if let Some(pages) = pages {
            pages.finish(&batch)?;
        }
        self.report.forms.print(&view, to_stdout)?;
        match batch.verdict {
            CaseVerdict::IdenticalInPart | CaseVerdict::Different
                if batch.missed() > 0 && batch.surprises() == 0 =>
            {
                let missed = batch.missed();
                bail!(
                    "{missed} products that ran were not recorded, so nothing is known about them"
                )
            }
            CaseVerdict::Identical | CaseVerdict::IdenticalInPart | CaseVerdict::Different => {
                match batch.surprises() {
                    0 => Ok(Ending::Done),
                    _ => Ok(Ending::Different),
                }
            }
            CaseVerdict::Unjudged => {
                let (n, all) = (batch.totals.unjudged, batch.totals.cases);
                bail!("{n} of {all} cases could not be judged")
            }
        }
    }
}
