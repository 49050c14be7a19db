//! What is judged, a product or an operation between products, and the one way from what was prepared to a verdict.

use std::borrow::Cow;

use sha2::Digest;

use super::error::CheckError;
use super::part::{Part, all_of};
use super::progress::Progress;
use super::request::Scope;
use crate::commit::{Hash, Rows, StreamingLeaves, Tree};
use crate::deadline::interruptible;
use crate::emu::{Band, Element};
use crate::io::hex;
use crate::num::Format;
use crate::report::{
    Cause, Conclusion, Differ, MismatchMap, Outcome, Place, Policy, ReproducedTree, Sampled,
    Verdict,
};

/// Something prepared whose result can be computed and compared with a captured one.
pub(super) trait Subject: Sync {
    type Report;
    /// What its report says of the arrays.
    type Inputs: Send;
    /// What its report says of a commitment.
    type Committed;

    /// The digest that the result shall have, where that is all that is known of it.
    ///
    /// # Errors
    /// If there is nothing to compare with.
    fn expected_sha256(&self) -> Result<Option<&str>, CheckError>;
    /// How bits are compared.
    fn policy(&self) -> Policy;
    /// What compares the captured result, if it is there.
    fn differ(&self, map: bool) -> Option<Differ<'_>>;
    /// Which part of the result is compared.
    ///
    /// # Errors
    /// If it is said in words that contradict each other.
    fn scope(&self) -> Result<Scope, CheckError>;
    /// How the result is cut where it is named by the root of a tree.
    ///
    /// # Errors
    /// If it cannot be cut so.
    fn tree(&self) -> Result<Option<Rows>, CheckError> {
        Ok(None)
    }
    /// The leaves of the captured result, cut so.
    fn given_leaves(&self, _: &Rows) -> Vec<Hash> {
        Vec::new()
    }
    /// The commitment that the request names, which all of this must be as.
    ///
    /// # Errors
    /// If it cannot be read, or something is not as committed.
    fn confirm_commitment(&self) -> Result<Option<Self::Committed>, CheckError>;
    /// The SHA-256 of a commitment's file.
    fn commitment_sha256(committed: &Self::Committed) -> &str;
    /// Makes sure that no file has changed since it was opened.
    ///
    /// # Errors
    /// The first that has.
    fn confirm_unchanged(&self) -> Result<(), CheckError>;

    fn format(&self) -> Format;
    fn shape(&self) -> Vec<usize>;
    /// How much it is to compute, in whatever `compute` tells of.
    fn work(&self, part: Option<&Part>) -> u64;
    /// Computes the result, from the first row to the last.
    fn compute(&self, progress: &dyn Progress, sink: &mut (dyn FnMut(Band) + Send));
    /// Computes a part of it, and hands over its elements in their order.
    fn compute_part(
        &self,
        part: &Part,
        progress: &dyn Progress,
        sink: &mut (dyn FnMut(&[Element], &[u64]) + Send),
    );

    /// Hashes the arrays.
    fn inputs(&self) -> Self::Inputs;
    /// The payload digest of the captured result among them.
    fn given_sha256(inputs: &Self::Inputs) -> Option<&str>;
    /// What would give a result that differs, and what was tried.
    fn diagnosed(&self, found: &Conclusion, part: Option<&Part>) -> Diagnosed;
    /// The report on what was found.
    fn report_on(&self, found: Found<Self>) -> Self::Report;
}

/// All that a report has to say beside what was asked and the rule.
pub(super) struct Found<'a, S: Subject + ?Sized> {
    pub verdict: Verdict,
    pub commitment: Option<S::Committed>,
    pub inputs: S::Inputs,
    /// What was compared, if not all of it was.
    pub part: Option<&'a Part>,
    /// One of these three names what was reproduced.
    pub payload_sha256: Option<String>,
    pub tree: Option<ReproducedTree>,
    pub sample: Option<Sampled>,
    pub outcome: Outcome,
    pub diagnosed: Diagnosed,
}

/// What would give a result that differs; where nothing is known to, what was tried and refuted, and what was not
/// tried.
#[derive(Debug, Default)]
pub struct Diagnosed {
    pub causes: Vec<Cause>,
    pub places: Vec<Place>,
    pub tried: Vec<Cow<'static, str>>,
    pub untried: Vec<Cow<'static, str>>,
}

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

/// A report, and what else was asked for.
#[derive(Debug)]
pub struct Judged<R> {
    pub report: R,
    /// Mismatches counted by place.
    pub map: Option<MismatchMap>,
}

/// Computes the result, compares, and reports; `map` counts mismatches by place, too.
///
/// # Errors
/// Why there is no verdict.
pub(super) fn judge<S: Subject>(
    subject: &S,
    map: bool,
    progress: &dyn Progress,
) -> Result<Judged<S::Report>, CheckError> {
    let judged = interruptible(|| judge_all(subject, map, progress));
    judged.unwrap_or_else(|ended| Err(CheckError::ended(ended)))
}

fn judge_all<S: Subject>(
    subject: &S,
    map: bool,
    progress: &dyn Progress,
) -> Result<Judged<S::Report>, CheckError> {
    subject.expected_sha256()?;
    let committed = subject.confirm_commitment()?;
    let drawn_by = committed.as_ref().map(S::commitment_sha256);
    let part = subject
        .scope()?
        .part_of(&all_of(&subject.shape()), drawn_by)?;
    let tree = subject.tree()?;
    let mut differ = subject.differ(map);
    progress.begin(subject.work(part.as_ref()));
    let (trace, inputs) = rayon::join(
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
    let found = differ.map(Differ::conclude);
    let judged = conclude(subject, (committed, part.as_ref()), inputs, trace, found)?;
    subject.confirm_unchanged()?;
    Ok(judged)
}

fn compare_all<S: Subject>(
    subject: &S,
    tree: Option<Rows>,
    differ: &mut Option<Differ>,
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
        rayon::join(compare, digest);
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

fn compare_part<S: Subject>(
    subject: &S,
    part: &Part,
    differ: &mut Differ,
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
    Sampled::of(region, part.elements(), drawn, hex(&hash.finalize()))
}

/// The report on what was found, and the map if there is one.
///
/// # Errors
/// If what was found contradicts the digests.
pub(super) fn conclude<S: Subject>(
    subject: &S,
    (commitment, part): (Option<S::Committed>, Option<&Part>),
    inputs: S::Inputs,
    trace: Trace,
    found: Option<Conclusion>,
) -> Result<Judged<S::Report>, CheckError> {
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
            diagnosed = subject.diagnosed(&found, part);
            if !diagnosed.causes.is_empty() {
                diagnosed.tried.clear();
                diagnosed.untried.clear();
            }
            map = found.map;
            let comparison = found.comparison;
            let same = comparison.mismatches == 0;
            let policy = subject.policy();
            let word = |any| if any { "any" } else { "exact" }.into();
            let outcome = Outcome::Elements {
                nan: word(policy.any_nan),
                zero: word(policy.any_zero),
                comparison: Box::new(comparison),
            };
            (outcome, same)
        }
        None => {
            let expected = subject.expected_sha256()?;
            let expected = expected.expect("a result that was read is compared");
            let outcome = Outcome::Digest {
                expected_payload_sha256: expected.to_owned(),
            };
            (outcome, digest.as_deref() == Some(expected))
        }
    };
    let report = subject.report_on(Found {
        verdict: match (same, &sample) {
            (true, None) => Verdict::Identical,
            (true, Some(_)) => Verdict::IdenticalInPart,
            (false, _) => Verdict::Different,
        },
        commitment,
        inputs,
        part,
        payload_sha256: digest,
        tree,
        sample,
        outcome,
        diagnosed,
    });
    Ok(Judged { report, map })
}

/// Makes sure that a comparison of all of the result says of its bits what digests say, which were made apart.
fn confirm_agreement<S: Subject>(
    subject: &S,
    inputs: &S::Inputs,
    trace: &Trace,
    found: Option<&Conclusion>,
) -> Result<(), CheckError> {
    let (Some(found), Some(given_sha256)) = (found, S::given_sha256(inputs)) else {
        return Ok(());
    };
    let alike = match trace {
        Trace::Payload(reproduced) => reproduced == given_sha256,
        Trace::Leaves {
            reproduced, given, ..
        } => reproduced == given,
        Trace::Part(_) => return Ok(()),
    };
    let found = &found.comparison;
    let all: u64 = subject.shape().iter().map(|&n| n as u64).product();
    let same = found.mismatches == 0 && found.accepted == 0;
    let reason = match (same, alike) {
        _ if found.elements != all => "not all of D was compared",
        (true, false) => {
            "the comparison found no bit that differs, but D's digest is not the replay's"
        }
        (false, true) => "the comparison found bits that differ, but D's digest is the replay's",
        (true, true) | (false, false) => return Ok(()),
    };
    Err(CheckError::Contradiction { reason })
}
