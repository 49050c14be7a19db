//! The one way from a request to a verdict, and to what is shown of it.

use sha2::Digest;

use super::command_line::{Verb, shell_line};
use super::committed::confirm_committed;
use super::error::CheckError;
use super::part::Part;
use super::product::{Expected, Naming};
use super::progress::Progress;
use super::request::Request;
use super::resources::Resources;
use super::subject::{Diagnosed, Subject};
use crate::commit::{Hash, Rows, StreamingLeaves, Tree};
use crate::deadline::interruptible;
use crate::explain::Wish;
use crate::io::hex;
use crate::report::{
    Committed, Comparator, Conclusion, Input, MismatchMap, Outcome, Pictured, Report, Reproduced,
    ReproducedTree, SCHEMA, Sampled, Tool, Verdict,
};
use crate::role::ByRole;
use crate::sample::Region;
use crate::tensor::parallel;

impl Request {
    /// Reads and chooses everything that it needs, with what the checks of a run share; nothing is computed.
    pub fn prepare_in(&self, resources: &Resources) -> Result<Box<dyn Subject>, CheckError> {
        Ok(match self {
            Request::Product(check) => Box::new(check.prepare_in(resources)?),
            Request::Operation(operation) => Box::new(operation.prepare_in(resources)?),
        })
    }

    /// Everything that decides a verdict, except the request's own fields and the arrays, which are not read.
    pub fn basis(&self) -> Result<String, CheckError> {
        match self {
            Request::Product(check) => check.basis(),
            Request::Operation(operation) => operation.basis(),
        }
    }
}

/// What can be done with a prepared subject.
pub trait Judge: Subject {
    /// Computes, compares, and reports.
    fn run(&self, progress: &dyn Progress) -> Result<Report, CheckError> {
        self.judge(false, progress).map(|judged| judged.report)
    }

    /// The same; `map` counts mismatches by place, too.
    fn judge(&self, map: bool, progress: &dyn Progress) -> Result<Judged, CheckError> {
        let judged = interruptible(|| judge(self, map, progress));
        judged.unwrap_or_else(|ended| Err(CheckError::ended(ended)))
    }

    /// The report on what was found elsewhere, and the map if there is one.
    ///
    /// # Errors
    /// If what was found contradicts the digests.
    fn report(
        &self,
        inputs: ByRole<Input>,
        trace: Trace,
        found: Option<Conclusion>,
    ) -> Result<Judged, CheckError> {
        conclude(self, (None, None), inputs, trace, found)
    }

    /// The next commands for a report with mismatches: one explains the first, and, where no cause was found, one
    /// searches for a cause.
    fn next_commands(&self, report: &Report) -> Vec<String> {
        let request = self.spelled_out();
        if report.verdict != Verdict::Different || request.is_in_memory() {
            return Vec::new();
        }
        let causeless = report.causes.is_empty() && !report.tried.is_empty();
        let first = report.first_mismatch().map(|index| {
            let index: Vec<_> = index.iter().map(usize::to_string).collect();
            let mut words = request.command_line(Verb::Explain);
            words.extend(["--at".into(), index.join(",").into()]);
            shell_line(words)
        });
        let search = if causeless { self.searches() } else { None };
        first.into_iter().chain(search).collect()
    }

    /// The page of what was judged: the map, and how the first mismatch is computed.
    ///
    /// # Errors
    /// If a file has changed.
    fn page(&self, judged: &Judged) -> Result<Pictured, CheckError> {
        let first = judged.report.first_mismatch();
        let first = first.filter(|_| self.is_explained_on_pages());
        let trace = first.map(|index| {
            let explained = self.explained(index, Wish::default())?;
            self.confirm_unchanged()?;
            Ok(explained.plain_text())
        });
        Ok(Pictured {
            trace: trace.transpose()?,
            map: judged.map.clone(),
        })
    }
}

impl<S: Subject + ?Sized> Judge for S {}

/// What a replay leaves behind.
#[derive(Debug)]
pub enum Trace {
    /// The digest of all of the result.
    Payload(String),
    /// The leaves of its tree, and how it was cut.
    Leaves {
        rows: Rows,
        reproduced: Vec<Hash>,
        /// Of the result that was read.
        given: Vec<Hash>,
    },
    /// What became of a part.
    Part(Box<Sampled>),
}

/// A report, and the map if it was requested.
#[derive(Debug)]
pub struct Judged {
    pub report: Report,
    /// Mismatches counted by place.
    pub map: Option<MismatchMap>,
}

fn judge<S: Subject + ?Sized>(
    subject: &S,
    map: bool,
    progress: &dyn Progress,
) -> Result<Judged, CheckError> {
    let request = subject.reported_request();
    expected_sha256(&request)?;
    let committed = confirm_committed(subject, &request)?;
    let drawn_by = committed.as_ref().map(|of| of.file_sha256.as_str());
    let all = Region::of(&subject.shape());
    let part = request.selection()?.part_of(&all, drawn_by)?;
    let tree = match request.naming() {
        Naming::Tree { block_rows } => Some(subject.blocks(block_rows)?),
        Naming::Payload => None,
    };
    let mut differ = subject.differ(map);
    progress.begin(subject.work(part.as_ref()));
    let (trace, inputs) = parallel::join(
        || match (&part, &mut differ) {
            (Some(part), Some(differ)) => {
                Trace::Part(Box::new(compare_part(subject, part, differ, progress)))
            }
            _ => compare_all(subject, tree, &mut differ, progress),
        },
        || subject.inputs(),
    );
    // A file that has changed explains what would else be a contradiction.
    subject.confirm_unchanged()?;
    let found = differ.map(Comparator::conclude);
    let judged = conclude(subject, (committed, part.as_ref()), inputs, trace, found)?;
    subject.confirm_unchanged()?;
    Ok(judged)
}

/// The digest that the result shall have, where that is all that is known of it.
fn expected_sha256(request: &Request) -> Result<Option<String>, CheckError> {
    let (field, digest) = match request {
        Request::Product(_) => ("d", "d_digest"),
        Request::Operation(_) => ("y", "y_digest"),
    };
    match request.expected()? {
        Expected::Tensor(_) => Ok(None),
        Expected::PayloadSha256(sha256) => Ok(Some(sha256)),
        Expected::Nothing => Err(CheckError::request(
            field,
            format!("`{field}` (or `{digest}`) is missing: there is nothing to check"),
        )),
    }
}

fn compare_all<S: Subject + ?Sized>(
    subject: &S,
    tree: Option<Rows>,
    differ: &mut Option<Comparator>,
    progress: &dyn Progress,
) -> Trace {
    let mut hash = sha2::Sha256::new();
    let mut leaves = tree.as_ref().map(StreamingLeaves::new);
    subject.compute(progress, &mut |band| {
        let compare = || {
            if let Some(differ) = differ {
                differ.compare(&band);
            }
        };
        let digest = || match &mut leaves {
            Some(leaves) => leaves.update(band.payload),
            None => hash.update(band.payload),
        };
        parallel::join(compare, digest);
    });
    match (tree, leaves) {
        (Some(rows), Some(leaves)) => Trace::Leaves {
            given: subject.given_leaves(&rows),
            reproduced: leaves.finish(),
            rows,
        },
        _ => Trace::Payload(hex(&hash.finalize())),
    }
}

fn compare_part<S: Subject + ?Sized>(
    subject: &S,
    part: &Part,
    differ: &mut Comparator,
    progress: &dyn Progress,
) -> Sampled {
    let mut hash = sha2::Sha256::new();
    let width = subject.format().bytes();
    subject.compute_part(part, progress, &mut |elements, codes| {
        differ.compare_some(elements, codes);
        for code in codes {
            hash.update(&code.to_le_bytes()[..width]);
        }
    });
    let (region, draw) = part.of();
    let drawn = draw.map(|(_, drawn)| drawn.clone());
    let result = subject.reported_request().called();
    let sha256 = hex(&hash.finalize());
    Sampled::of((region, result), part.elements(), drawn, sha256)
}

/// The report on what was found, and the map if there is one.
///
/// # Errors
/// If what was found contradicts the digests.
fn conclude<S: Subject + ?Sized>(
    subject: &S,
    (commitment, part): (Option<Committed>, Option<&Part>),
    inputs: ByRole<Input>,
    trace: Trace,
    found: Option<Conclusion>,
) -> Result<Judged, CheckError> {
    let request = subject.reported_request();
    confirm_agreement(subject, &inputs, &trace, found.as_ref())?;
    let (mut digest, mut tree, mut sample) = (None, None, None);
    match trace {
        Trace::Payload(all) => digest = Some(all),
        Trace::Leaves {
            rows, reproduced, ..
        } => {
            tree = Some(ReproducedTree {
                block_rows: rows.block_rows,
                root: rows.root(Tree::new(reproduced).root()).to_string(),
            });
        }
        Trace::Part(part) => sample = Some(*part),
    }
    let mut diagnosed = Diagnosed::default();
    let mut map = None;
    let (outcome, same) = match found {
        Some(found) => {
            if request.looks_for_causes() {
                diagnosed = subject.diagnosed(&found, part);
            }
            if !diagnosed.causes.is_empty() {
                diagnosed.tried.clear();
                diagnosed.untried.clear();
            }
            map = found.map;
            let comparison = found.comparison;
            let same = comparison.mismatches == 0;
            let tolerance = request.tolerance();
            let word = |any| if any { "any" } else { "exact" }.into();
            let outcome = Outcome::Elements {
                nan: word(tolerance.any_nan),
                zero: word(tolerance.any_zero),
                comparison: Box::new(comparison),
            };
            (outcome, same)
        }
        None => {
            let expected = expected_sha256(&request)?;
            let expected = expected.expect("a result that was read is compared");
            let same = digest.as_ref() == Some(&expected);
            let outcome = Outcome::Digest {
                expected_payload_sha256: expected,
            };
            (outcome, same)
        }
    };
    let verdict = match (same, &sample) {
        (true, None) => Verdict::Identical,
        (true, Some(_)) => Verdict::IdenticalInPart,
        (false, _) => Verdict::Different,
    };
    let report = Report {
        schema: SCHEMA.into(),
        tool: Tool::default(),
        verdict,
        request: serde_json::to_value(&request).ok(),
        command: request.check_command(),
        rule: subject.rule(),
        merged: None,
        commitment,
        inputs,
        reproduced: Reproduced {
            output: subject.output().map(str::to_owned),
            format: subject.format(),
            shape: subject.shape(),
            payload_sha256: digest,
            tree,
            conversion: subject.conversion(),
            sample,
        },
        outcome,
        causes: diagnosed.causes,
        ambiguity: subject.ambiguity(verdict, part),
        engine: subject.engine_used(),
        places: diagnosed.places,
        tried: diagnosed.tried,
        untried: diagnosed.untried,
    };
    Ok(Judged { report, map })
}

/// Makes sure that the comparison of a whole result and the digests, which were computed independently, agree.
fn confirm_agreement<S: Subject + ?Sized>(
    subject: &S,
    inputs: &ByRole<Input>,
    trace: &Trace,
    found: Option<&Conclusion>,
) -> Result<(), CheckError> {
    let (Some(found), Some(given)) = (found, inputs.get(&subject.result())) else {
        return Ok(());
    };
    let same_digest = match trace {
        Trace::Payload(reproduced) => *reproduced == given.payload_sha256,
        Trace::Leaves {
            reproduced, given, ..
        } => reproduced == given,
        Trace::Part(_) => return Ok(()),
    };
    let found = &found.comparison;
    let all: u64 = subject.shape().iter().map(|&n| n as u64).product();
    let same = found.mismatches == 0 && found.accepted == 0;
    let reason = match (same, same_digest) {
        _ if found.elements != all => "not all of D was compared",
        (true, false) => {
            "the comparison found no differing bit, but D's digest is not the replay's"
        }
        (false, true) => "the comparison found differing bits, but D's digest is the replay's",
        (true, true) | (false, false) => return Ok(()),
    };
    Err(CheckError::Contradiction { reason })
}
