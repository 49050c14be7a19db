//! Testing candidates: in lockstep on a few elements, on more of them, then on all of D.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use rayon::prelude::*;

use super::common::SharedWork;
use super::sample::Sample;
use crate::candidates::Candidate;
use crate::check::Progress;
use crate::emu::schedule::Values;
use crate::emu::{Element, Engine, Problem, Replay};
use crate::report::{Comparator, Tolerance};
use crate::tensor::Tensor;

/// The problem and D as a candidate's formats read them.
pub struct Given<'a> {
    pub problem: Problem<'a>,
    pub d: &'a Tensor,
    /// What a schedule works with beside them.
    pub values: Values,
}

impl Given<'_> {
    pub fn replay<'r>(&'r self, candidate: &'r Candidate, engine: Engine<'r>) -> Replay<'r> {
        candidate.replay(self.problem, &self.values, engine)
    }
}

/// Multiply-adds that vector kernels do in the time of one of the exact engine, about.
pub const KERNELS: u64 = 16;

/// What is left of the work that may be done, in multiply-adds of the exact engine.
pub struct Budget {
    left: u64,
}

/// How many of those that do not fit are tested on the whole sample.
const RIVALS: usize = 16;

/// Who is replayed in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    Fitting,
    /// Tampered elements are counted so.
    Near,
}

/// How far a candidate came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It gives every element of D.
    Fits,
    /// It gives every element that it was tested on; no more were requested, or the budget was spent.
    FitsSample,
    /// It gives the sample, but not these many elements of D.
    DiffersInFull { mismatches: u64 },
    /// It does not give the sample.
    Differs,
}

/// A candidate and its outcome.
#[derive(Clone, Copy, Debug)]
pub struct Tested {
    /// Where in [`Found::candidates`].
    pub candidate: usize,
    pub outcome: Outcome,
    /// Elements tested, those of the full replay not counted, and how many of them it gives.
    pub tested: usize,
    pub agreed: usize,
}

/// How candidates are tested.
#[derive(Clone, Copy)]
pub struct Search<'s, 'a> {
    /// Reads the files in the formats of a candidate.
    pub given: &'s (dyn Fn(&Candidate) -> Given<'a> + Sync),
    pub sample: &'s Sample,
    /// Elements that every candidate is tested on.
    pub first: usize,
    pub engine: Engine<'static>,
    pub progress: &'s dyn Progress,
    /// The most multiply-adds that a candidate takes for an element.
    pub products: usize,
    /// What candidates have in common on the first elements, if they do.
    pub common: Option<&'s SharedWork<'s>>,
}

/// Candidates, and what became of them.
#[derive(Debug, Default)]
pub struct Found {
    pub candidates: Vec<Candidate>,
    /// As far as there was work for them.
    pub tested: Vec<Tested>,
    /// Positions in the sample that some candidate does not give.
    pub telling: BTreeSet<usize>,
}

impl Budget {
    pub fn new(multiply_adds: u64) -> Budget {
        Budget {
            left: multiply_adds,
        }
    }

    pub fn spend(&mut self, cost: u64, progress: &dyn Progress) -> bool {
        let enough = cost <= self.left;
        if enough {
            self.left -= cost;
            progress.step(cost);
        }
        enough
    }

    /// How many things of one cost there is work for.
    fn affords(&self, cost: u64) -> usize {
        usize::try_from(self.left / cost.max(1)).unwrap_or(usize::MAX)
    }

    /// Whether so many elements may be computed.
    pub fn spend_elements(&mut self, count: usize, k: usize, progress: &dyn Progress) -> bool {
        self.spend((count as u64).saturating_mul(k as u64), progress)
    }
}

impl Outcome {
    /// Whether it gives everything that was examined.
    pub fn fits(self) -> bool {
        matches!(self, Outcome::Fits | Outcome::FitsSample)
    }
}

impl Tested {
    /// Whether it gives nearly all: a few tampered elements, perhaps, and worth counting. Not of
    /// schedules: they are too many, and a wrong one often gives most of D.
    fn is_near(&self, candidate: &Candidate) -> bool {
        10 * self.agreed >= 9 * self.tested && candidate.schedule.is_none()
    }
}

impl Search<'_, '_> {
    /// The sample: an ever larger lot of elements for those that gave the last.
    pub fn sampled(&self, candidates: Vec<Candidate>, budget: &mut Budget) -> Found {
        let all = self.sample.elements.len();
        let first = self.first.min(all);
        if candidates.is_empty() {
            return Found::default();
        }
        let each = self.products;
        let count = candidates.len().min(budget.affords((first * each) as u64));
        let mut tested: Vec<Tested> = (0..count)
            .map(|candidate| Tested {
                candidate,
                outcome: Outcome::FitsSample,
                tested: 0,
                agreed: 0,
            })
            .collect();
        let mut telling = BTreeSet::new();
        let (mut done, mut end) = (0, first);
        while done < end {
            let mut going: Vec<&mut Tested> = tested
                .iter_mut()
                .filter(|test| {
                    let alive =
                        test.agreed == test.tested || test.is_near(&candidates[test.candidate]);
                    // Who was left behind once does not go on later.
                    let together = test.tested == done;
                    alive && together && budget.spend_elements(end - done, each, self.progress)
                })
                .collect();
            let differing: Vec<Vec<usize>> = going
                .par_iter_mut()
                .map(|test| {
                    let differing = self.differing(&candidates[test.candidate], done..end);
                    test.agreed += end - done - differing.len();
                    test.tested = end;
                    differing
                })
                .collect();
            telling.extend(differing.into_iter().flatten());
            (done, end) = (end, (2 * end).min(all));
        }
        for test in &mut tested {
            if test.agreed < test.tested {
                test.outcome = Outcome::Differs;
            }
        }
        let mut found = Found {
            candidates,
            tested,
            telling,
        };
        found.sort(first);
        found
    }

    /// The sample, and all of D for those that give it, unless the answer is to be quick.
    pub fn tested(&self, quick: bool, candidates: Vec<Candidate>, budget: &mut Budget) -> Found {
        let mut found = self.sampled(candidates, budget);
        if !quick {
            self.in_full(Which::Fitting, &mut found, budget);
        }
        found
    }

    /// The whole sample, for the nearest of those that do not give it: by how much they do not is what a
    /// fit is worth.
    pub fn rivals(&self, found: &mut Found, budget: &mut Budget) {
        let all = self.sample.elements.len();
        let nearest = found.tested.iter_mut();
        let nearest = nearest.filter(|test| test.outcome == Outcome::Differs);
        for test in nearest.take(RIVALS) {
            let candidate = &found.candidates[test.candidate];
            let rest = test.tested..all;
            if !budget.spend_elements(rest.len(), self.products, self.progress) {
                break;
            }
            let differing = self.differing(candidate, rest.clone());
            test.agreed += rest.len() - differing.len();
            test.tested = all;
            found.telling.extend(differing);
        }
        found.sort(self.first);
    }

    /// All of D, for those that gave the sample, or for those that nearly did, while there is work left
    /// for it.
    pub fn in_full(&self, which: Which, found: &mut Found, budget: &mut Budget) {
        for test in &mut found.tested {
            let candidate = &found.candidates[test.candidate];
            let wanted = match which {
                Which::Fitting => test.outcome == Outcome::FitsSample,
                Which::Near => test.outcome == Outcome::Differs && test.is_near(candidate),
            };
            if !wanted {
                continue;
            }
            let given = (self.given)(candidate);
            let replay = given.replay(candidate, self.engine);
            let kernels = self.engine.computes(&candidate.arithmetic);
            let cost = replay.work() / if kernels { KERNELS } else { 1 };
            if !budget.spend(cost, self.progress) {
                continue;
            }
            let mut differ = Comparator::new(given.d, Tolerance::default(), 0);
            // The budget has counted it already.
            let done = replay.run(&|_| self.progress.step(0), |band| {
                differ.compare(&band);
                Ok::<(), std::convert::Infallible>(())
            });
            let Ok(()) = done;
            test.outcome = match differ.finish().mismatches {
                0 => Outcome::Fits,
                mismatches => Outcome::DiffersInFull { mismatches },
            };
        }
        found.sort(self.first);
    }

    /// The elements of a part of the sample that a candidate does not give.
    fn differing(&self, candidate: &Candidate, part: std::ops::Range<usize>) -> Vec<usize> {
        let given = (self.given)(candidate);
        let elements = &self.sample.elements[part.clone()];
        let replay = given.replay(candidate, self.engine);
        let computed = match self.common {
            // Operands are shared as they are read otherwise.
            Some(common) if !candidate.nearest && common.knows(&replay, &part) => {
                common.elements(&replay, part.clone())
            }
            _ => replay.elements(elements),
        };
        self.progress.step(0);
        let planes = given.d.planes();
        let stored = |at: &Element| planes.plane(at.batch).code(at.row, at.column);
        let pairs = part.zip(elements.iter().zip(computed));
        let differs = pairs.filter(|(_, (at, code))| stored(at) != *code);
        differs.map(|(position, _)| position).collect()
    }
}

impl Found {
    pub fn fits(&self) -> impl Iterator<Item = &Tested> {
        self.tested.iter().filter(|test| test.outcome.fits())
    }

    /// Puts other candidates behind these, with what was found of them.
    pub fn append(&mut self, mut others: Found) {
        for test in &mut others.tested {
            test.candidate += self.candidates.len();
        }
        self.candidates.append(&mut others.candidates);
        self.tested.append(&mut others.tested);
        self.telling.append(&mut others.telling);
    }

    /// Those that fit first, of them the commonest kernel and the best known rule; then the nearest.
    pub fn sort(&mut self, first: usize) {
        self.tested.sort_by_key(|test| {
            let candidate = &self.candidates[test.candidate];
            let known = candidate.names.iter().map(|name| Reverse(name.evidence));
            let known = known.min();
            let (class, fits) = match test.outcome {
                Outcome::Fits | Outcome::FitsSample => (0, Some((candidate.rank(), known))),
                Outcome::DiffersInFull { mismatches } => (1 + mismatches, None),
                Outcome::Differs => (u64::MAX, None),
            };
            let agreed = Reverse(test.agreed.min(first));
            (class, fits, agreed, test.candidate)
        });
    }
}
