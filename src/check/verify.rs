//! A report that somebody hands over: whether everything in it follows from its request and the files that it
//! names, and, if the product is replayed, whether its result does.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::CheckError;
pub use super::finding::Finding;
use super::finding::{causes, difference, forgiven, likeness, no_digest, same, verdict_of};
use super::prepare::Prepared;
use super::progress::Progress;
use super::request::{Check, Claim, Naming};
use crate::commit::Tree;
use crate::envelope;
use crate::io::{Files, printable};
use crate::num::Rounding;
use crate::report::{
    Compared, Conversion, Model, OPERATION_REPORT, OperationReport, Outcome, Report, Reproduced,
    SCHEMA, Sampled, Tool,
};
use crate::role::Role;
use crate::sample::Region;

/// What became of a report.
#[derive(Clone, Debug)]
pub struct Verified {
    pub findings: Vec<Finding>,
    /// Whether the product was replayed. Without, that D is what the model computes is the report's word.
    pub replayed: bool,
    /// Whether it says that the model was chosen to fit D. How many others fit is the report's word, with a replay,
    /// too: that is for `identify` to say.
    pub chosen: bool,
}

impl Verified {
    /// Whether nothing is wrong.
    pub fn agrees(&self) -> bool {
        self.findings.iter().all(|finding| finding.wrong.is_empty())
    }
}

/// A report of either kind.
#[derive(Clone, Debug)]
pub enum Written {
    Product(Box<Report>),
    Operation(Box<OperationReport>),
}

impl Written {
    /// Which tool wrote it.
    pub fn tool(&self) -> &Tool {
        match self {
            Written::Product(report) => &report.tool,
            Written::Operation(report) => &report.tool,
        }
    }

    /// Confirms what it says, as [`verify`] and [`verify_operation`](super::verify_operation) do.
    ///
    /// # Errors
    /// As there.
    pub fn verify(
        &self,
        replay: bool,
        files: &Files,
        progress: &dyn Progress,
    ) -> Result<Verified, CheckError> {
        match self {
            Written::Product(report) => verify(report, replay, files, progress),
            Written::Operation(report) => super::verify_operation(report, replay, files, progress),
        }
    }
}

/// A report on a product out of its JSON, in which nothing may be that a report does not have.
///
/// # Errors
/// What is wrong, as words to follow its name.
pub fn parse(text: &str) -> Result<Report, String> {
    let no = |reason: String| format!("is not a report ({SCHEMA}): {reason}");
    document(text, SCHEMA).map_err(no)
}

/// A report of either kind out of its JSON, as strictly.
///
/// # Errors
/// What is wrong, as words to follow its name.
pub fn read(text: &str) -> Result<Written, String> {
    let no = |reason: String| format!("is not a report ({SCHEMA} or {OPERATION_REPORT}): {reason}");
    #[derive(serde::Deserialize)]
    struct Said {
        schema: Option<String>,
    }
    // What is no object has no schema either.
    let said = serde_json::from_str::<Said>(text).ok();
    match said.and_then(|said| said.schema).as_deref() {
        Some(OPERATION_REPORT) => {
            let report = document(text, OPERATION_REPORT).map_err(no)?;
            Ok(Written::Operation(Box::new(report)))
        }
        _ => {
            let report = document(text, SCHEMA).map_err(no)?;
            Ok(Written::Product(Box::new(report)))
        }
    }
}

/// A document of a schema that says all of itself, and nothing else.
fn document<T: Serialize + DeserializeOwned>(text: &str, schema: &str) -> Result<T, String> {
    let said = |error: serde_json::Error| printable(&error.to_string());
    let written: Value = serde_json::from_str(text).map_err(said)?;
    match written.get("schema").and_then(Value::as_str) {
        Some(own) if own == schema => {}
        Some(other) => return Err(format!("its schema is {:?}", printable(other))),
        None => return Err("it has no schema".into()),
    }
    let report: T = serde_json::from_str(text).map_err(said)?;
    let meant = serde_json::to_string(&report).map_err(said)?;
    let meant: Value = serde_json::from_str(&meant).map_err(said)?;
    envelope::each_once(text)?;
    match difference(&written, &meant, String::new()) {
        Some(place) => Err(place),
        None => Ok(report),
    }
}

/// Confirms what a report says, without believing it: its request is prepared anew from the files that it
/// names, which hashes them; `replay` computes D, too.
///
/// # Errors
/// If that cannot be: a report without a request, or files that are not there.
pub fn verify(
    report: &Report,
    replay: bool,
    files: &Files,
    progress: &dyn Progress,
) -> Result<Verified, CheckError> {
    let unusable = |reason: String| CheckError::request("a", reason);
    let request = report.request.clone();
    let request = request.ok_or_else(|| unusable("it does not say what was asked".into()))?;
    let check: Result<Check, _> = serde_json::from_value(request);
    let check = check
        .map_err(|error| unusable(format!("its request: {}", printable(&error.to_string()))))?;
    let prepared = check.prepare_in(files)?;
    let mut findings = prepared.confirm_report(report)?;
    if replay {
        let again = prepared.run(progress)?;
        findings.push(same(
            "the replay",
            report,
            &Report {
                tool: report.tool.clone(),
                chosen: report.chosen.clone(),
                ..again
            },
        ));
    }
    prepared.confirm_unchanged()?;
    Ok(Verified {
        findings,
        replayed: replay,
        chosen: report.chosen.is_some(),
    })
}

impl Prepared {
    /// What of a report follows from what was prepared, nothing computed.
    fn confirm_report(&self, report: &Report) -> Result<Vec<Finding>, CheckError> {
        let tool = &report.tool.name;
        let mut all = vec![
            same("the tool", tool, Tool::default().name),
            same("the request", &report.request, self.asked()),
            same("the command", &report.command, self.ask_again()),
            same(
                "the model",
                &report.model,
                Model::of(&self.choice(), self.model.file()),
            ),
            same("the schedule", &report.schedule, self.scheduled()),
            same("the product", &report.product, self.product()),
        ];
        let found = self.inputs();
        for role in Role::PRODUCT {
            let (said, found) = (report.inputs.get(role), found.get(role));
            if said.is_some() || found.is_some() {
                all.push(same(role.called(), said, found));
            }
        }
        all.push(match self.confirm_commitment() {
            Ok(commitment) => same("the commitment", &report.commitment, commitment),
            Err(error @ CheckError::NotCommitted { .. }) => Finding {
                what: "the commitment",
                wrong: vec![error.to_string()],
            },
            Err(error) => return Err(error),
        });
        all.retain(|finding| {
            let there = match finding.what {
                "the schedule" => report.schedule.is_some(),
                "the commitment" => report.commitment.is_some(),
                _ => true,
            };
            there || !finding.wrong.is_empty()
        });
        all.push(self.confirm_reproduced(&report.reproduced)?);
        all.push(self.confirm_outcome(report)?);
        all.push(self.confirm_verdict(report)?);
        let told = self.told(report.verdict, self.part()?.as_ref());
        all.push(same("what is alike", &report.discrimination, told));
        Ok(all)
    }

    /// What was reproduced, and by what it is named.
    fn confirm_reproduced(&self, said: &Reproduced) -> Result<Finding, CheckError> {
        let replay = self.replay();
        let part = self.part()?;
        let conversion = replay.convert_to.map(|to| Conversion {
            from: replay.arithmetic.accumulator,
            to,
            rounding: Rounding::NearestEven,
        });
        let tree = match self.check.naming {
            Naming::Tree { block_rows } => Some(self.blocks(block_rows)?.block_rows),
            Naming::Payload => None,
        };
        // Its digests are compared with the outcome; here only whether they are some.
        let sample = part
            .as_ref()
            .zip(said.sample.as_ref())
            .map(|(part, sample)| {
                let (region, draw) = part.of();
                let elements = draw.map_or(region.len(), |(elements, _)| *elements);
                let drawn = draw.map(|(_, drawn)| drawn.clone());
                Sampled::of(region, elements, drawn, sample.sha256.clone())
            });
        let expected = Reproduced {
            format: replay.format(),
            shape: replay.shape(),
            payload_sha256: said.payload_sha256.clone(),
            tree: said.tree.clone(),
            conversion,
            sample,
        };
        let mut finding = same("what was reproduced", said, &expected);
        let wrong = &mut finding.wrong;
        let whole = part.is_none();
        let payload = said.payload_sha256.as_deref();
        wrong.extend(no_digest(
            "payload_sha256",
            payload,
            whole && tree.is_none(),
        ));
        let root = said.tree.as_ref().map(|tree| tree.root.as_str());
        wrong.extend(no_digest("tree.root", root, tree.is_some()));
        let sampled = said.sample.as_ref().map(|sample| sample.sha256.as_str());
        wrong.extend(no_digest("sample.sha256", sampled, !whole));
        if let (Some(rows), Some(said)) = (tree, &said.tree)
            && said.block_rows != rows
        {
            wrong.push(format!(
                "`tree.block_rows` is said to be {}; it is {rows}",
                said.block_rows
            ));
        }
        Ok(finding)
    }

    /// The figures: whether they can be true of D and of each other.
    fn confirm_outcome(&self, report: &Report) -> Result<Finding, CheckError> {
        let mut wrong = Vec::new();
        match (&report.outcome, &self.check.claim, self.d()) {
            (
                Outcome::Digest {
                    expected_payload_sha256,
                },
                Claim::PayloadSha256(asked),
                _,
            ) => {
                if expected_payload_sha256 != asked {
                    wrong.push("the digest of D is not the one that was asked about".into());
                }
                if !report.causes.is_empty() || !report.tried.is_empty() {
                    wrong.push("a D that is known by its digest alone has no causes".into());
                }
            }
            (
                Outcome::Elements {
                    nan,
                    zero,
                    comparison,
                },
                Claim::Tensor(_),
                Some(d),
            ) => {
                let policy = self.check.policy;
                wrong.extend(forgiven(policy, [nan, zero]));
                let problem = self.problem();
                let part = self.part()?;
                let (region, elements) = match &part {
                    None => (Region::all(&problem), None),
                    Some(part) => {
                        let (region, draw) = part.of();
                        (region.clone(), draw.map(|(elements, _)| *elements))
                    }
                };
                wrong.extend(comparison.contradictions(&Compared {
                    d,
                    elements: elements.unwrap_or(region.len()),
                    region,
                    policy,
                    keep: self.check.max_mismatches,
                    layout: self.layout(),
                }));
                let explained = report.causes.iter().map(|cause| cause.mismatches).max();
                let looked = !(report.causes.is_empty() && report.tried.is_empty());
                wrong.extend(causes(explained, comparison, looked, self.check.causes));
            }
            _ => wrong.push("it is not judged by what was asked about".into()),
        }
        Ok(Finding {
            what: "the outcome",
            wrong,
        })
    }

    /// The verdict, and the digests that must be those of D where nothing differs, and must not be where
    /// something does.
    fn confirm_verdict(&self, report: &Report) -> Result<Finding, CheckError> {
        let mut wrong = Vec::new();
        let reproduced = &report.reproduced;
        let part = self.part()?;
        let same = match &report.outcome {
            Outcome::Digest {
                expected_payload_sha256: expected,
            } => reproduced.payload_sha256.as_ref() == Some(expected),
            Outcome::Elements { comparison, .. } => {
                let alike = self.alike(report)?;
                wrong.extend(alike.and_then(|alike| likeness(alike, comparison, "D")));
                comparison.mismatches == 0
            }
        };
        wrong.extend(verdict_of(report.verdict, same, part.is_some()));
        Ok(Finding {
            what: "the verdict",
            wrong,
        })
    }

    /// Whether the digest of what was reproduced is that of the same elements of D.
    fn alike(&self, report: &Report) -> Result<Option<bool>, CheckError> {
        let Some(d) = self.d() else { return Ok(None) };
        let reproduced = &report.reproduced;
        let part = self.part()?;
        Ok(match (&part, &reproduced.sample, &reproduced.tree) {
            (Some(part), Some(sample), _) => Some(part.digest(d) == sample.sha256),
            (None, None, Some(tree)) => {
                let rows = self.blocks(Some(tree.block_rows))?;
                let leaves = self.leaves_of_d(&rows);
                Some(rows.root(Tree::new(leaves).root()).to_string() == tree.root)
            }
            (None, None, None) => {
                let payload = crate::io::payload_sha256(d);
                reproduced
                    .payload_sha256
                    .as_ref()
                    .map(|said| *said == payload)
            }
            // Said by what was reproduced.
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests;
