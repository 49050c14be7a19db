//! The one way from a prepared subject to a verdict: replay, comparison, digests, and the report on them.
//!
//! The comparison and the digests are computed apart and must agree, or there is no verdict. Nothing here says why a
//! result differs.

use sha2::Digest;

use super::error::CheckError;
use super::part::Part;
use super::product::{Expected, Naming};
use super::progress::Progress;
use super::subject::{Subject, Terms};
use crate::deadline::interruptible;
use crate::io::hex;
use crate::io::tree::{Hash, Rows, StreamingLeaves, Tree};
use crate::report::{
    Committed, Comparator, Conclusion, Input, Observer, Outcome, Report, Reproduced,
    ReproducedTree, SCHEMA, Sampled, Tool, Verdict,
};
use crate::role::ByRole;
use crate::sample::Region;
use crate::tensor::parallel;

/// What somebody reads of what is judged.
#[derive(Clone, Copy, Debug)]
pub enum Attention<'a> {
    /// The verdict alone: nothing is computed that does not decide it.
    Verdict,
    Report,
    /// The report; and this one is told where mismatches are.
    Observed(&'a dyn Observer),
}

/// The judgement of a prepared subject.
pub trait Judge: Subject {
    /// Computes, compares, and reports, without a word on why a result differs.
    ///
    /// # Errors
    /// If the request names a commitment and `confirmed` is none, or files change, or the work is interrupted.
    fn verdict(
        &self,
        confirmed: Option<Committed>,
        attention: Attention,
        progress: &dyn Progress,
    ) -> Result<Judged, CheckError> {
        let judged = interruptible(|| judge(self, confirmed, attention, progress));
        judged.unwrap_or_else(|ended| Err(CheckError::ended(ended)))
    }

    /// The report on what was found elsewhere.
    ///
    /// # Errors
    /// If what was found contradicts the digests.
    fn concluded(
        &self,
        inputs: ByRole<Input>,
        trace: Trace,
        found: Option<Conclusion>,
    ) -> Result<Judged, CheckError> {
        conclude(self, (None, None), inputs, trace, found)
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

/// A report, and what was found of elements.
#[derive(Debug)]
pub struct Judged {
    pub report: Report,
    /// How the elements that were compared differ; none if a digest was compared.
    pub found: Option<Conclusion>,
    /// What was compared, if it was not all of the result.
    pub part: Option<Part>,
}

fn judge<S: Subject + ?Sized>(
    subject: &S,
    committed: Option<Committed>,
    attention: Attention,
    progress: &dyn Progress,
) -> Result<Judged, CheckError> {
    let terms = subject.terms()?;
    expected_sha256(subject, &terms)?;
    if let (Some(field), None) = (terms.committed, &committed) {
        let reason =
            format!("`{field}` names a commitment that nobody has compared with the arrays");
        return Err(CheckError::request(field, reason));
    }
    let drawn_by = committed.as_ref().map(|of| of.file_sha256.as_str());
    let all = Region::of(&subject.shape());
    let part = terms.selection.part_of(&all, drawn_by)?;
    let tree = match terms.naming {
        Naming::Tree { block_rows } => Some(subject.blocks(block_rows)?),
        Naming::Payload => None,
    };
    let observer = match attention {
        Attention::Observed(observer) => Some(observer),
        Attention::Verdict | Attention::Report => None,
    };
    let differ = subject.differ();
    let mut differ = differ.map(|differ| differ.observed_by(observer));
    progress.begin(subject.work(part.as_ref()));
    let (trace, inputs) = parallel::join(
        || match (&part, &mut differ) {
            (Some(part), Some(differ)) => Trace::Part(Box::new(compare_part(
                (subject, terms.called),
                part,
                differ,
                progress,
            ))),
            _ => compare_all(subject, tree, &mut differ, progress),
        },
        || match attention {
            // What the comparison is held against.
            Attention::Verdict => {
                let result = subject.by_role().get_key_value(&subject.result());
                let described = result.map(|(role, array)| (*role, array.describe()));
                described.into_iter().collect()
            }
            Attention::Report | Attention::Observed(_) => subject.inputs(),
        },
    );
    // A file that has changed explains what would else be a contradiction.
    subject.confirm_unchanged()?;
    let found = differ.map(Comparator::conclude);
    let judged = conclude(subject, (committed, part), inputs, trace, found)?;
    subject.confirm_unchanged()?;
    Ok(judged)
}

/// The digest that the result shall have, where that is all that is known of it.
fn expected_sha256<S: Subject + ?Sized>(
    subject: &S,
    terms: &Terms,
) -> Result<Option<String>, CheckError> {
    match &terms.expected {
        Expected::Tensor(_) => Ok(None),
        Expected::PayloadSha256(sha256) => Ok(Some(sha256.clone())),
        Expected::Nothing => {
            let field = subject.result().field();
            let reason =
                format!("`{field}` (or `{field}_digest`) is missing: there is nothing to check");
            Err(CheckError::request(field, reason))
        }
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
    (subject, called): (&S, &str),
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
    let sha256 = hex(&hash.finalize());
    Sampled::of((region, called), part.elements(), drawn, sha256)
}

/// The report on what was found, and the map if there is one.
///
/// # Errors
/// If what was found contradicts the digests.
fn conclude<S: Subject + ?Sized>(
    subject: &S,
    (commitment, part): (Option<Committed>, Option<Part>),
    inputs: ByRole<Input>,
    trace: Trace,
    found: Option<Conclusion>,
) -> Result<Judged, CheckError> {
    let terms = subject.terms()?;
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
    let (outcome, same) = match &found {
        Some(found) => {
            let comparison = found.comparison.clone();
            let same = comparison.mismatches == 0;
            let tolerance = subject.tolerance();
            let word = |any| if any { "any" } else { "exact" }.into();
            let outcome = Outcome::Elements {
                nan: word(tolerance.any_nan),
                zero: word(tolerance.any_zero),
                comparison: Box::new(comparison),
            };
            (outcome, same)
        }
        None => {
            let expected = expected_sha256(subject, &terms)?;
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
        request: terms.request,
        command: terms.command,
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
        causes: Vec::new(),
        ambiguity: None,
        engine: subject.engine_used(),
        places: Vec::new(),
        tried: Vec::new(),
        untried: Vec::new(),
    };
    Ok(Judged {
        report,
        found,
        part,
    })
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
