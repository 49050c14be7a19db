//! From what was prepared to a report.

use sha2::Digest;

use super::part::{compare, computed};
use super::{Operation, PreparedOperation, fail};
use crate::check::command_line::shell_line;
use crate::check::error::CheckError;
use crate::check::progress::{Progress, interruptible};
use crate::check::request::MAX_MISMATCHES;
use crate::check::source::Source;
use crate::emu::Evidence;
use crate::io::hex;
use crate::report::{
    Constant, Differ, MismatchMap, ModelFile, MultipliedBy, Operated, OperationReport, Outcome,
    ReproducedResult, Tool, Verdict,
};
use crate::role::Role;

/// A report, and what else was asked for.
#[derive(Debug)]
pub struct OperationJudged {
    pub report: OperationReport,
    /// Mismatches counted by place.
    pub map: Option<MismatchMap>,
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
    pub fn judge(&self, map: bool, progress: &dyn Progress) -> Result<OperationJudged, CheckError> {
        let judged = interruptible(|| self.judge_all(map, progress));
        judged.unwrap_or(Err(CheckError::Interrupted))
    }

    fn judge_all(&self, map: bool, progress: &dyn Progress) -> Result<OperationJudged, CheckError> {
        if self.y().is_none() && self.digest.is_none() {
            let reason = "`y` (or `y_digest`) is missing: there is nothing to check";
            return Err(fail("y", reason));
        }
        let commitment = self.confirm_commitment()?;
        let job = self.job()?;
        let part = self.part()?;
        let most = self.asked.max_mismatches.unwrap_or(MAX_MISMATCHES);
        let policy = self.asked.policy();
        let mut differ = self
            .y()
            .map(|y| Differ::new(&y.tensor, policy, most).mapping(map));
        let all = || job.shape.iter().map(|&n| n as u64).product();
        progress.begin(part.as_ref().map_or_else(all, |part| computed(part, &job)));
        let (mut digest, mut sample) = (None, None);
        match (&part, &mut differ) {
            (Some(part), Some(differ)) => sample = Some(compare(part, &job, differ, progress)),
            (_, differ) => {
                let mut hash = sha2::Sha256::new();
                job.run(&|elements| progress.step(elements), |band| {
                    if let Some(differ) = differ {
                        differ.compare(&band);
                    }
                    hash.update(band.payload);
                });
                digest = Some(hex(&hash.finalize()));
            }
        }
        let inputs = self.inputs();
        self.confirm_unchanged()?;
        let mut map = None;
        let (outcome, same) = match (differ, &self.digest) {
            (Some(differ), _) => {
                let found = differ.conclude();
                map = found.map;
                let comparison = found.comparison;
                if let (Some(digest), Some(y)) = (
                    &digest,
                    inputs.iter().find(|named| named.name == Role::Y.field()),
                ) {
                    self.confirm_agreement(&comparison, y.input.payload_sha256 == *digest)?;
                }
                let word = |any| if any { "any" } else { "exact" }.into();
                let same = comparison.mismatches == 0;
                let outcome = Outcome::Elements {
                    nan: word(policy.any_nan),
                    zero: word(policy.any_zero),
                    comparison: Box::new(comparison),
                };
                (outcome, same)
            }
            (None, expected) => {
                let expected = expected.clone().unwrap_or_default();
                let same = Some(&expected) == digest.as_ref();
                let outcome = Outcome::Digest {
                    expected_payload_sha256: expected,
                };
                (outcome, same)
            }
        };
        let (mut causes, mut tried) = (Vec::new(), Vec::new());
        if !same && self.asked.no_causes != Some(true) {
            (causes, tried) = self.causes(&outcome, part.as_ref());
        }
        let report = OperationReport {
            schema: crate::report::OPERATION_REPORT.into(),
            tool: Tool::default(),
            verdict: match (same, &sample) {
                (true, None) => Verdict::Identical,
                (true, Some(_)) => Verdict::IdenticalInPart,
                (false, _) => Verdict::Different,
            },
            request: serde_json::to_value(&self.asked).ok(),
            command: self.command(&self.asked),
            operation: self.operated(&job.about),
            commitment,
            inputs,
            reproduced: ReproducedResult {
                output: job.output.to_owned(),
                format: job.format,
                shape: job.shape.clone(),
                payload_sha256: digest,
                sample,
            },
            outcome,
            causes,
            tried,
        };
        self.confirm_unchanged()?;
        Ok(OperationJudged { report, map })
    }

    /// A comparison says of all bits what digests say, which were made apart.
    fn confirm_agreement(
        &self,
        comparison: &crate::report::Comparison,
        alike: bool,
    ) -> Result<(), CheckError> {
        let same = comparison.mismatches == 0 && comparison.accepted == 0;
        match same == alike {
            true => Ok(()),
            false => Err(CheckError::Contradiction {
                reason: "the comparison and the digests of the result contradict each other",
            }),
        }
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
