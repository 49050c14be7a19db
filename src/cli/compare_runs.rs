//! `tcverify compare` of two runs.

use anyhow::{Result, bail, ensure};

use super::Ending;
use super::compare::Compare;
use super::progress::Bar;
use crate::batch::Accept;
use crate::check::option;
use crate::compare::{CompareRuns, RunsError};
use crate::io::Outputs;
use crate::report::{RunsVerdict, StepResult, write_json};

impl Compare {
    /// Whether both are runs: folders of cases, or manifests.
    pub fn is_about_runs(&self) -> bool {
        let is_run = |path: &std::path::Path| {
            path.is_dir() || path.extension().is_some_and(|ending| ending == "json")
        };
        is_run(&self.left) && is_run(&self.right)
    }

    pub fn run_on_runs(self) -> Result<Ending> {
        ensure!(
            self.a.is_none() && !self.hints_at_arrays(),
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
        let found = request.run(&Bar::new()).map_err(|error| match error {
            RunsError::Search(error) => anyhow::Error::msg(error.in_words(option)),
            RunsError::Read(error) => error.into(),
        })?;
        let view = found.view();
        let to_stdout = reports.to_stdout;
        reports.publish(&view, |out| write_json(&found, out), || Ok(None))?;
        self.report.print(&view, false, to_stdout)?;
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
