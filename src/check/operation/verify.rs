//! A report on an operation that somebody hands over: whether everything in it follows from its request and the files
//! that it names, and, if the operation is computed again, whether its result does.

use super::part::all_of;
use super::{Operation, PreparedOperation};
use crate::check::error::CheckError;
use crate::check::finding::{Finding, causes, forgiven, likeness, no_digest, same, verdict_of};
use crate::check::progress::Progress;
use crate::check::request::MAX_MISMATCHES;
use crate::check::verify::Verified;
use crate::io::{Files, payload_sha256, printable};
use crate::report::{Compared, Drawn, OperationReport, Outcome, ReproducedResult, Sampled, Tool};

/// Confirms what a report says, without believing it; `replay` computes the result, too.
///
/// # Errors
/// If that cannot be: a report without a request, or files that are not there.
pub fn verify_operation(
    report: &OperationReport,
    replay: bool,
    files: &Files,
    progress: &dyn Progress,
) -> Result<Verified, CheckError> {
    let unusable = |reason: String| CheckError::request("operation", reason);
    let request = report.request.clone();
    let request = request.ok_or_else(|| unusable("it does not say what was asked".into()))?;
    let asked: Result<Operation, _> = serde_json::from_value(request);
    let asked = asked
        .map_err(|error| unusable(format!("its request: {}", printable(&error.to_string()))))?;
    let prepared = asked.prepare_in(files)?;
    let mut findings = prepared.confirm_report(report)?;
    if replay {
        let again = prepared.run(progress)?;
        let again = OperationReport {
            tool: report.tool.clone(),
            ..again
        };
        findings.push(same("the replay", report, &again));
    }
    prepared.confirm_unchanged()?;
    Ok(Verified {
        findings,
        replayed: replay,
        chosen: false,
    })
}

impl PreparedOperation {
    /// What of a report follows from what was prepared, nothing computed.
    fn confirm_report(&self, report: &OperationReport) -> Result<Vec<Finding>, CheckError> {
        let job = self.job()?;
        let found = self.inputs();
        let mut all = vec![
            same("the tool", &report.tool.name, Tool::default().name),
            same("the request", &report.request, self.asked()),
            same("the command", &report.command, self.command(&self.asked)),
            same("the rule", &report.operation, self.operated(&job.about)),
            same("the arrays", &report.inputs, found),
        ];
        match self.confirm_commitment() {
            Ok(None) if report.commitment.is_none() => {}
            Ok(committed) => all.push(same("the commitment", &report.commitment, committed)),
            Err(error @ CheckError::NotCommitted { .. }) => all.push(Finding {
                what: "the commitment",
                wrong: vec![error.to_string()],
            }),
            Err(error) => return Err(error),
        }
        all.push(self.confirm_reproduced(&report.reproduced)?);
        all.push(self.confirm_outcome(report)?);
        all.push(self.confirm_verdict(report)?);
        Ok(all)
    }

    fn confirm_reproduced(&self, said: &ReproducedResult) -> Result<Finding, CheckError> {
        let job = self.job()?;
        let part = self.part()?;
        // Its digest is compared with the outcome; here only whether it is one.
        let sample = part
            .as_ref()
            .zip(said.sample.as_ref())
            .map(|(part, sample)| {
                let (region, draw) = part.of();
                let drawn = draw.map(|(_, drawn)| drawn.clone());
                let sampled = Sampled::of(region, part.elements(), drawn, sample.sha256.clone());
                sampled.of_a_result(draw.is_some_and(|(_, drawn)| Drawn::is_chosen(drawn)))
            });
        let expected = ReproducedResult {
            output: job.output.to_owned(),
            format: job.format,
            shape: job.shape.clone(),
            payload_sha256: said.payload_sha256.clone(),
            sample,
        };
        let mut finding = same("what was reproduced", said, &expected);
        let payload = said.payload_sha256.as_deref();
        let sampled = said.sample.as_ref().map(|sample| sample.sha256.as_str());
        let wrong = [
            no_digest("payload_sha256", payload, part.is_none()),
            no_digest("sample.sha256", sampled, part.is_some()),
        ];
        finding.wrong.extend(wrong.into_iter().flatten());
        Ok(finding)
    }

    /// The figures: whether they can be true of the result and of each other.
    fn confirm_outcome(&self, report: &OperationReport) -> Result<Finding, CheckError> {
        let mut wrong = Vec::new();
        let without = report.causes.is_empty() && report.tried.is_empty();
        match (&report.outcome, &self.digest, self.y()) {
            (
                Outcome::Digest {
                    expected_payload_sha256,
                },
                Some(asked),
                None,
            ) => {
                if expected_payload_sha256 != asked {
                    wrong.push("the digest is not the one that was asked about".into());
                }
                if !without {
                    wrong.push("a result that is known by its digest alone has no causes".into());
                }
            }
            (
                Outcome::Elements {
                    nan,
                    zero,
                    comparison,
                },
                None,
                Some(y),
            ) => {
                let policy = self.asked.policy();
                wrong.extend(forgiven(policy, [nan, zero]));
                let part = self.part()?;
                let region = match &part {
                    Some(part) => part.region().clone(),
                    None => all_of(y.tensor.shape()),
                };
                wrong.extend(comparison.contradictions(&Compared {
                    d: &y.tensor,
                    elements: part.as_ref().map_or(region.len(), |part| part.elements()),
                    region,
                    policy,
                    keep: self.asked.max_mismatches.unwrap_or(MAX_MISMATCHES),
                    layout: None,
                }));
                let explained = report.causes.iter().map(|cause| cause.mismatches).max();
                let asked = self.asked.no_causes != Some(true);
                wrong.extend(causes(explained, comparison, !without, asked));
            }
            _ => wrong.push("it is not judged by what was asked about".into()),
        }
        Ok(Finding {
            what: "the outcome",
            wrong,
        })
    }

    /// The verdict, and the digests that must be those of the result where nothing differs, and must not be where
    /// something does.
    fn confirm_verdict(&self, report: &OperationReport) -> Result<Finding, CheckError> {
        let mut wrong = Vec::new();
        let part = self.part()?;
        let reproduced = &report.reproduced;
        let agrees = match &report.outcome {
            Outcome::Digest {
                expected_payload_sha256: expected,
            } => reproduced.payload_sha256.as_ref() == Some(expected),
            Outcome::Elements { comparison, .. } => {
                let given = self.y().map(|y| match &part {
                    Some(part) => part.digest(&y.tensor),
                    None => payload_sha256(&y.tensor),
                });
                let said = match (&part, &reproduced.sample) {
                    (Some(_), sample) => sample.as_ref().map(|sample| &sample.sha256),
                    (None, _) => reproduced.payload_sha256.as_ref(),
                };
                let alike = given.zip(said).map(|(given, said)| given == *said);
                wrong.extend(alike.and_then(|alike| likeness(alike, comparison, "the result")));
                comparison.mismatches == 0
            }
        };
        wrong.extend(verdict_of(report.verdict, agrees, part.is_some()));
        Ok(Finding {
            what: "the verdict",
            wrong,
        })
    }
}
