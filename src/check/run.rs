//! A product as what is judged.

use super::error::CheckError;
use super::part::Part;
use super::prepare::Prepared;
use super::progress::Progress;
use super::request::{Claim, Naming, Scope};
use super::subject::{Diagnosed, Found, Judged, Subject, Trace, conclude, judge};
use crate::commit::{Hash, Rows};
use crate::deadline::interruptible;
use crate::emu::layout::LayoutKind;
use crate::emu::{Band, Element};
use crate::num::Format;
use crate::report::{
    Committed, Conclusion, Differ, Inputs, Model, Policy, Report, Reproduced, Tool,
};
use crate::role::Role;

impl Prepared {
    /// Replays the product, compares, and reports.
    ///
    /// # Errors
    /// Why there is no verdict.
    pub fn run(&self, progress: &dyn Progress) -> Result<Report, CheckError> {
        self.judge(false, progress).map(|judged| judged.report)
    }

    /// The same; `map` counts mismatches by place, too.
    ///
    /// # Errors
    /// As of [`Prepared::run`].
    pub fn judge(&self, map: bool, progress: &dyn Progress) -> Result<Judged<Report>, CheckError> {
        judge(self, map, progress)
    }

    /// Computes D and hands it to `sink` from the first row to the last.
    ///
    /// # Errors
    /// If it was interrupted, or a file was changed meanwhile.
    pub fn stream(
        &self,
        progress: &dyn Progress,
        mut sink: impl FnMut(Band),
    ) -> Result<(), CheckError> {
        let replay = self.replay();
        progress.begin(replay.work());
        let done = interruptible(|| {
            replay.run(&|work| progress.step(work), |band| {
                sink(band);
                Ok::<(), std::convert::Infallible>(())
            })
        });
        self.confirm_unchanged()?;
        let Ok(()) = done.map_err(CheckError::ended)?;
        Ok(())
    }

    /// What compares D, if it is there.
    pub fn differ(&self, map: bool) -> Option<Differ<'_>> {
        let d = self.d()?;
        let differ = Differ::new(d, self.check.policy, self.check.max_mismatches);
        Some(differ.counting(self.layout()).mapping(map))
    }

    /// Where mismatches are counted by unit.
    pub(super) fn layout(&self) -> Option<LayoutKind> {
        let problem = self.problem();
        // In less than a tile every element is in the same few units.
        self.choice().layout().filter(|layout| {
            let [m, n] = layout.tile();
            problem.m >= m && problem.n >= n.min(8)
        })
    }

    /// The report on what was found elsewhere, and the map if there is one.
    ///
    /// # Errors
    /// If what was found contradicts the digests.
    pub fn report(
        &self,
        inputs: Inputs,
        trace: Trace,
        found: Option<Conclusion>,
    ) -> Result<Judged<Report>, CheckError> {
        conclude(self, (None, None), inputs, trace, found)
    }
}

impl Subject for Prepared {
    type Report = Report;
    type Inputs = Inputs;
    type Committed = Committed;

    fn expected_sha256(&self) -> Result<Option<&str>, CheckError> {
        match &self.check.claim {
            Claim::Tensor(_) => Ok(None),
            Claim::PayloadSha256(expected) => Ok(Some(expected)),
            Claim::Nothing => Err(CheckError::request(
                "d",
                "`d` (or `d_digest`) is missing: there is nothing to check",
            )),
        }
    }

    fn policy(&self) -> Policy {
        self.check.policy
    }

    fn differ(&self, map: bool) -> Option<Differ<'_>> {
        self.differ(map)
    }

    fn scope(&self) -> Result<Scope, CheckError> {
        Ok(self.check.scope.clone())
    }

    fn tree(&self) -> Result<Option<Rows>, CheckError> {
        match self.check.naming {
            Naming::Tree { block_rows } => self.blocks(block_rows).map(Some),
            Naming::Payload => Ok(None),
        }
    }

    fn given_leaves(&self, rows: &Rows) -> Vec<Hash> {
        self.leaves_of_d(rows)
    }

    fn confirm_commitment(&self) -> Result<Option<Committed>, CheckError> {
        self.confirm_committed()
    }

    fn commitment_sha256(committed: &Committed) -> &str {
        &committed.file_sha256
    }

    fn confirm_unchanged(&self) -> Result<(), CheckError> {
        self.confirm_unchanged()
    }

    fn format(&self) -> Format {
        self.replay().format()
    }

    fn shape(&self) -> Vec<usize> {
        self.replay().shape()
    }

    fn work(&self, part: Option<&Part>) -> u64 {
        let replay = self.replay();
        part.map_or_else(|| replay.work(), |part| part.work(&replay.problem))
    }

    fn compute(&self, progress: &dyn Progress, sink: &mut (dyn FnMut(Band) + Send)) {
        let done = self.replay().run(&|work| progress.step(work), |band| {
            sink(band);
            Ok::<(), std::convert::Infallible>(())
        });
        let Ok(()) = done;
    }

    fn compute_part(
        &self,
        part: &Part,
        progress: &dyn Progress,
        sink: &mut (dyn FnMut(&[Element], &[u64]) + Send),
    ) {
        part.replay(&self.replay(), progress, sink);
    }

    fn inputs(&self) -> Inputs {
        self.inputs()
    }

    fn given_sha256(inputs: &Inputs) -> Option<&str> {
        inputs.get(&Role::D).map(|d| d.payload_sha256.as_str())
    }

    fn diagnosed(&self, found: &Conclusion, _: Option<&Part>) -> Diagnosed {
        match self.check.causes {
            true => self.diagnosed(found),
            false => Diagnosed::default(),
        }
    }

    fn report_on(&self, found: Found<Prepared>) -> Report {
        let replay = self.replay();
        Report {
            schema: crate::report::SCHEMA.into(),
            tool: Tool::default(),
            verdict: found.verdict,
            request: serde_json::to_value(self.asked()).ok(),
            command: self.ask_again(),
            model: Model::of(&self.choice(), self.model.file()),
            merged: None,
            chosen: None,
            schedule: self.scheduled(),
            product: self.product(),
            commitment: found.commitment,
            inputs: found.inputs,
            reproduced: Reproduced {
                format: replay.format(),
                shape: replay.shape(),
                payload_sha256: found.payload_sha256,
                tree: found.tree,
                sample: found.sample,
                conversion: self.conversion(),
            },
            outcome: found.outcome,
            causes: found.diagnosed.causes,
            places: found.diagnosed.places,
            tried: found.diagnosed.tried,
            untried: found.diagnosed.untried,
            discrimination: self.told(found.verdict, found.part),
            engine: self.engine_used(),
        }
    }
}
