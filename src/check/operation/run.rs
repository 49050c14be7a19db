//! An operation as what is judged.

use super::part::{compute, computed};
use super::{Operation, PreparedOperation, fail};
use crate::check::command_line::shell_line;
use crate::check::error::CheckError;
use crate::check::part::Part;
use crate::check::progress::Progress;
use crate::check::request::{MAX_MISMATCHES, Scope};
use crate::check::source::Source;
use crate::check::subject::{Diagnosed, Found, Judged, Subject, judge};
use crate::emu::{Band, Element, Evidence};
use crate::num::Format;
use crate::ops::Job;
use crate::report::{
    CommittedOperation, Conclusion, Constant, Differ, Drawn, ModelFile, MultipliedBy, NamedInput,
    Operated, OperationReport, Policy, ReproducedResult, Tool,
};
use crate::role::Role;

impl Subject for PreparedOperation {
    type Report = OperationReport;
    type Inputs = Vec<NamedInput>;
    type Committed = CommittedOperation;

    fn expected_sha256(&self) -> Result<Option<&str>, CheckError> {
        if self.y().is_none() && self.digest.is_none() {
            let reason = "`y` (or `y_digest`) is missing: there is nothing to check";
            return Err(fail("y", reason));
        }
        Ok(self.digest.as_deref())
    }

    fn policy(&self) -> Policy {
        self.asked.policy()
    }

    fn differ(&self, map: bool) -> Option<Differ<'_>> {
        let most = self.asked.max_mismatches.unwrap_or(MAX_MISMATCHES);
        let y = self.y()?;
        Some(Differ::new(&y.tensor, self.asked.policy(), most).mapping(map))
    }

    fn scope(&self) -> Result<Scope, CheckError> {
        self.asked.scope()
    }

    fn confirm_commitment(&self) -> Result<Option<CommittedOperation>, CheckError> {
        self.confirm_committed()
    }

    fn commitment_sha256(committed: &CommittedOperation) -> &str {
        &committed.file_sha256
    }

    fn confirm_unchanged(&self) -> Result<(), CheckError> {
        self.confirm_unchanged()
    }

    fn format(&self) -> Format {
        self.known_job().format
    }

    fn shape(&self) -> Vec<usize> {
        self.known_job().shape
    }

    fn work(&self, part: Option<&Part>) -> u64 {
        let job = self.known_job();
        let all = || job.shape.iter().map(|&n| n as u64).product();
        part.map_or_else(all, |part| computed(part, &job))
    }

    fn compute(&self, progress: &dyn Progress, sink: &mut (dyn FnMut(Band) + Send)) {
        let job = self.known_job();
        job.run(&|elements| progress.step(elements), sink);
    }

    fn compute_part(
        &self,
        part: &Part,
        progress: &dyn Progress,
        sink: &mut (dyn FnMut(&[Element], &[u64]) + Send),
    ) {
        compute(part, &self.known_job(), progress, sink);
    }

    fn inputs(&self) -> Vec<NamedInput> {
        self.inputs()
    }

    fn given_sha256(inputs: &Vec<NamedInput>) -> Option<&str> {
        let y = inputs.iter().find(|named| named.name == Role::Y.field());
        y.map(|y| y.input.payload_sha256.as_str())
    }

    fn diagnosed(&self, found: &Conclusion, part: Option<&Part>) -> Diagnosed {
        match found.comparison.mismatches > 0 && self.asked.no_causes != Some(true) {
            true => self.other_variants(&found.comparison, part),
            false => Diagnosed::default(),
        }
    }

    fn report_on(&self, found: Found<PreparedOperation>) -> OperationReport {
        let job = self.known_job();
        let drawn = found.part.and_then(|part| part.of().1);
        let chosen = drawn.is_some_and(|(_, drawn)| Drawn::is_chosen(drawn));
        OperationReport {
            schema: crate::report::OPERATION_REPORT.into(),
            tool: Tool::default(),
            verdict: found.verdict,
            request: serde_json::to_value(&self.asked).ok(),
            command: self.command(&self.asked),
            operation: self.operated(&job.about),
            commitment: found.commitment,
            inputs: found.inputs,
            reproduced: ReproducedResult {
                output: job.output.to_owned(),
                format: job.format,
                shape: job.shape.clone(),
                payload_sha256: found.payload_sha256,
                sample: found.sample.map(|sample| sample.of_a_result(chosen)),
            },
            outcome: found.outcome,
            causes: found.diagnosed.causes,
            tried: found.diagnosed.tried,
        }
    }
}

impl PreparedOperation {
    /// Computes the operation, compares, and reports.
    ///
    /// # Errors
    /// Why there is no verdict.
    pub fn run(&self, progress: &dyn Progress) -> Result<OperationReport, CheckError> {
        self.judge(false, progress).map(|judged| judged.report)
    }

    /// The same; `map` counts mismatches by place, too.
    ///
    /// # Errors
    /// As of [`PreparedOperation::run`].
    pub fn judge(
        &self,
        map: bool,
        progress: &dyn Progress,
    ) -> Result<Judged<OperationReport>, CheckError> {
        judge(self, map, progress)
    }

    /// The operation as it is to be computed.
    fn known_job(&self) -> Job<'_> {
        self.job().expect("checked when it was prepared")
    }

    /// The command that asks for this, where a command line can.
    pub(super) fn command(&self, asked: &Operation) -> Option<String> {
        let memory = asked
            .sources()
            .values()
            .any(|source| *source == Source::Memory);
        (!memory).then(|| shell_line(asked.command_line()))
    }

    /// How the rule is known, and the tensor core's part in it. A file says of itself what it likes.
    pub fn evidence(&self) -> (Evidence, Option<Evidence>) {
        let unit = self.arithmetic.as_ref().map(|chosen| chosen.evidence);
        let own = match self.file {
            Some(_) => Evidence::Claimed,
            None => self.variant.evidence,
        };
        // No more is known of the whole than of its parts.
        (unit.map_or(own, |unit| own.min(unit)), unit)
    }

    /// Products of numbers that all of the result takes, of attention; elements of others.
    ///
    /// # Errors
    /// None once it is prepared.
    pub fn work(&self) -> Result<u64, CheckError> {
        let job = self.job()?;
        let of_row = job.products().max(job.columns() as u64);
        Ok(of_row.saturating_mul(job.rows() as u64))
    }

    /// The variant as a report has it.
    pub(super) fn operated(&self, about: &str) -> Operated {
        let variant = &self.variant;
        let own = variant.evidence;
        let chosen = self.arithmetic.as_ref();
        let constants = variant.constants().into_iter().map(|constant| {
            let known = variant
                .known_by(&constant.name)
                .expect("checked when it was read");
            Constant {
                name: constant.name,
                value: constant.value,
                evidence: known.evidence,
                source: known.source.clone(),
                note: known.note.clone(),
            }
        });
        Operated {
            name: variant.rule.operation().to_owned(),
            variant: variant.name.clone(),
            title: variant.title.clone(),
            library: variant.library.clone(),
            versions: variant.versions.clone(),
            evidence: self.evidence().0,
            file: self.file.clone().map(|(path, sha256)| ModelFile {
                path,
                sha256,
                says: own,
            }),
            about: about.to_owned(),
            multiplied_by: chosen.map(|chosen| MultipliedBy {
                architecture: chosen.architecture.clone(),
                instruction: chosen.instruction.clone(),
                evidence: chosen.evidence,
                summary: chosen.arithmetic.step.summary(),
                sha256: chosen.arithmetic.sha256(),
            }),
            rule: serde_json::to_value(&variant.rule).unwrap_or_default(),
            sha256: variant.sha256(),
            constants: constants.collect(),
            notes: variant.notes.clone(),
            sources: variant.sources.clone(),
        }
    }
}
