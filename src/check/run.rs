//! From what was prepared to a report.

use sha2::Digest;

use super::error::CheckError;
use super::prepare::Prepared;
use super::progress::{Progress, interruptible};
use super::request::{Claim, Naming};
use crate::commit::{Hash, Rows, StreamingLeaves, Tree};
use crate::emu::Band;
use crate::emu::layout::LayoutKind;
use crate::io::hex;
use crate::num::Rounding;
use crate::report::{
    Conclusion, Conversion, Differ, Inputs, MismatchMap, Model, Outcome, Report, Reproduced,
    ReproducedTree, Sampled, Tool, Verdict,
};
use crate::role::Role;

/// What a replay leaves behind.
#[derive(Debug)]
pub enum Trace {
    /// The digest of all of D.
    Payload(String),
    /// The leaves of D's tree, and how it was cut.
    Leaves {
        rows: Rows,
        reproduced: Vec<Hash>,
        /// Of the D that was read.
        given: Vec<Hash>,
    },
    /// What became of a part.
    Part(Box<Sampled>),
}

/// A report, and what else was asked for.
#[derive(Debug)]
pub struct Judged {
    pub report: Report,
    /// Mismatches counted by place.
    pub map: Option<MismatchMap>,
}

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
    pub fn judge(&self, map: bool, progress: &dyn Progress) -> Result<Judged, CheckError> {
        let judged = interruptible(|| self.judge_all(map, progress));
        judged.unwrap_or(Err(CheckError::Interrupted))
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
        let Ok(()) = done.ok_or(CheckError::Interrupted)?;
        Ok(())
    }

    fn judge_all(&self, map: bool, progress: &dyn Progress) -> Result<Judged, CheckError> {
        self.validate_claim()?;
        let committed = self.confirm_commitment()?;
        let replay = self.replay();
        let mut differ = self.differ(map);
        let part = self.check.scope.part(&replay.problem, committed.as_ref())?;
        let tree = match self.check.naming {
            Naming::Tree { block_rows } => Some(self.blocks(block_rows)?),
            Naming::Payload => None,
        };
        let work = part.as_ref().map(|part| part.work(&replay.problem));
        progress.begin(work.unwrap_or_else(|| replay.work()));
        let (trace, inputs) = rayon::join(
            || match (&part, &mut differ) {
                (Some(part), Some(differ)) => {
                    Trace::Part(Box::new(part.compare(&replay, differ, progress)))
                }
                _ => self.replay_all(tree, &mut differ, progress),
            },
            || self.inputs(),
        );
        // A file that has changed explains what would else be a contradiction.
        self.confirm_unchanged()?;
        let Judged { report, map } = self.report(inputs, trace, differ.map(Differ::conclude))?;
        let discrimination = self.told(report.verdict, part.as_ref());
        self.confirm_unchanged()?;
        Ok(Judged {
            report: Report {
                commitment: committed,
                discrimination,
                ..report
            },
            map,
        })
    }

    /// A check has a D, or a digest of one.
    fn validate_claim(&self) -> Result<(), CheckError> {
        match self.check.claim {
            Claim::Nothing => Err(CheckError::request(
                "d",
                "`d` (or `d_digest`) is missing: there is nothing to check",
            )),
            _ => Ok(()),
        }
    }

    fn replay_all(
        &self,
        tree: Option<Rows>,
        differ: &mut Option<Differ>,
        progress: &dyn Progress,
    ) -> Trace {
        let mut hash = sha2::Sha256::new();
        let mut leaves = tree.as_ref().map(StreamingLeaves::new);
        let done = self.replay().run(&|work| progress.step(work), |band| {
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
            Ok::<(), std::convert::Infallible>(())
        });
        let Ok(()) = done;
        match (tree, leaves) {
            (Some(rows), Some(leaves)) => Trace::Leaves {
                given: self.leaves_of_d(&rows),
                reproduced: leaves.finish(),
                rows,
            },
            _ => Trace::Payload(hex(&hash.finalize())),
        }
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

    /// The report on what was found, and the map if there is one.
    ///
    /// # Errors
    /// If what was found contradicts the digests.
    pub fn report(
        &self,
        inputs: Inputs,
        trace: Trace,
        found: Option<Conclusion>,
    ) -> Result<Judged, CheckError> {
        let replay = self.replay();
        self.confirm_agreement(&inputs, &trace, found.as_ref())?;
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
        let (mut causes, mut tried) = (Vec::new(), Vec::new());
        let mut map = None;
        let (outcome, same) = match (found, &self.check.claim) {
            (Some(found), _) => {
                if self.check.causes {
                    (causes, tried) = self.causes(&found);
                }
                map = found.map;
                let comparison = found.comparison;
                let same = comparison.mismatches == 0;
                let word = |any| if any { "any" } else { "exact" }.into();
                let outcome = Outcome::Elements {
                    nan: word(self.check.policy.any_nan),
                    zero: word(self.check.policy.any_zero),
                    comparison: Box::new(comparison),
                };
                (outcome, same)
            }
            (None, Claim::PayloadSha256(expected)) => {
                let outcome = Outcome::Digest {
                    expected_payload_sha256: expected.clone(),
                };
                (outcome, Some(expected) == digest.as_ref())
            }
            (None, _) => unreachable!("a D that was read is compared"),
        };
        let report = Report {
            schema: crate::report::SCHEMA.into(),
            tool: Tool::default(),
            verdict: match (same, &sample) {
                (true, None) => Verdict::Identical,
                (true, Some(_)) => Verdict::IdenticalInPart,
                (false, _) => Verdict::Different,
            },
            request: serde_json::to_value(self.asked()).ok(),
            command: self.ask_again(),
            model: Model::of(&self.choice(), self.model.file()),
            chosen: None,
            schedule: self.scheduled(),
            product: self.product(),
            commitment: None,
            inputs,
            reproduced: Reproduced {
                format: replay.format(),
                shape: replay.shape(),
                payload_sha256: digest,
                tree,
                sample,
                conversion: replay.convert_to.map(|to| Conversion {
                    from: replay.arithmetic.accumulator,
                    to,
                    rounding: Rounding::NearestEven,
                }),
            },
            outcome,
            tried: match causes.is_empty() {
                true => tried.into_iter().map(Into::into).collect(),
                false => Vec::new(),
            },
            causes,
            discrimination: None,
        };
        Ok(Judged { report, map })
    }

    /// Makes sure that a comparison of all of D says of its bits what digests say, which were made apart.
    fn confirm_agreement(
        &self,
        inputs: &Inputs,
        trace: &Trace,
        found: Option<&Conclusion>,
    ) -> Result<(), CheckError> {
        let (Some(found), Some(d)) = (found, inputs.get(&Role::D)) else {
            return Ok(());
        };
        let alike = match trace {
            Trace::Payload(reproduced) => *reproduced == d.payload_sha256,
            Trace::Leaves {
                reproduced, given, ..
            } => reproduced == given,
            Trace::Part(_) => return Ok(()),
        };
        let found = &found.comparison;
        let all: u64 = self.replay().shape().iter().map(|&n| n as u64).product();
        let same = found.mismatches == 0 && found.accepted == 0;
        let reason = match (same, alike) {
            _ if found.elements != all => "not all of D was compared",
            (true, false) => {
                "the comparison found no bit that differs, but D's digest is not the replay's"
            }
            (false, true) => {
                "the comparison found bits that differ, but D's digest is the replay's"
            }
            (true, true) | (false, false) => return Ok(()),
        };
        Err(CheckError::Contradiction { reason })
    }
}
