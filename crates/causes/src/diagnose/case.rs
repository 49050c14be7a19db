//! A comparison that found differences, and what is found in it.

use std::collections::HashSet;

use crate::candidates::cost;
use crate::diagnose::groups::{Size, inside};
use crate::diagnose::trial::{Stored, Trial, Work, is_narrow};
use crate::diagnose::{Ask, Found};
use crate::emu::{self, Arithmetic, Catalogue, Engines, Replay};
use crate::forms::capital;
use crate::num::Format;
use crate::random::mix;
use crate::report::{
    CauseArea, Comparator, Comparison, Conclusion, MismatchSample, Rect, SampledElement, Tolerance,
};
use crate::tensor::Tensor;

/// Matching elements that computations are also tested on, where mismatches are few.
const CONTROLS: usize = 1024;

/// Mismatches of a group that hypotheses are tested on.
pub(super) const SAMPLE: usize = 64;

/// A comparison that found differences.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The replay that D differs from.
    pub replay: Replay<'a>,
    pub given: &'a Tensor,
    pub tolerance: Tolerance,
    pub comparison: &'a Comparison,
    pub sample: &'a MismatchSample,
    /// Name of the architecture: its own rules are named first.
    pub architecture: &'a str,
    /// The chosen instruction's arithmetic for other formats of A and B, if it has any.
    pub rule: &'a (dyn Fn([Format; 2]) -> Option<Arithmetic> + Sync),
    pub catalogue: &'a Catalogue,
    /// Who computes fast: it decides what a hypothesis costs.
    pub engines: &'static dyn Engines,
    /// Multiply-adds of the exact engine that the search may take, or as long; two and a quarter times that at the most,
    /// where two things are found.
    pub work: u64,
    /// Whether these mismatches are what another cause leaves: that is not searched once more.
    pub is_rest: bool,
}

/// A cause that gives exactly the bits of D.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Name of the hypothesis.
    pub kind: String,
    /// For people, with a full stop.
    pub sentence: String,
    /// As [`crate::diagnose::Found::at`].
    pub at: Vec<usize>,
    /// The request with which all of D would match.
    pub ask: Ask,
    /// The mismatches it explains.
    pub mismatches: u64,
    /// Where they are, if it does not explain all.
    pub place: Option<CauseArea>,
}

impl Finding {
    pub(super) fn of(found: Found, mismatches: u64, place: Option<CauseArea>) -> Finding {
        Finding {
            kind: found.hypothesis.name(),
            sentence: format!("{}.", capital(&found.text)),
            at: found.at,
            ask: found.ask,
            mismatches,
            place,
        }
    }
}

impl<'a> Case<'a> {
    pub(super) fn size(&self) -> Size {
        let problem = &self.replay.problem;
        Size {
            m: problem.m,
            n: problem.n,
            batches: problem.batches(),
        }
    }

    /// The element at a row, counted over all matrices, and a column.
    pub(super) fn stored(&self, [row, column]: [usize; 2]) -> Stored {
        let m = self.replay.problem.m;
        let at = emu::Element {
            batch: row / m,
            row: row % m,
            column,
        };
        let plane = self.given.planes().plane(at.batch);
        let given = plane.code(at.row, column);
        Stored { at, given }
    }

    /// The element at a position of D, row by row over all matrices.
    pub(super) fn element(&self, position: usize) -> emu::Element {
        let Size { m, n, .. } = self.size();
        emu::Element {
            batch: position / (m * n),
            row: position / n % m,
            column: position % n,
        }
    }

    /// How a D of all elements differs from a replay.
    pub(super) fn differences(&self, replay: &Replay, given: &Tensor) -> Conclusion {
        let mut differ = Comparator::new(given, self.tolerance, 0);
        let done = replay.run(&crate::deadline::unheard, |band| {
            differ.compare(&band);
            Ok::<(), std::convert::Infallible>(())
        });
        let Ok(()) = done;
        differ.conclude()
    }

    /// An element of a sample.
    pub(super) fn seen(&self, seen: &SampledElement) -> Stored {
        let n = self.replay.problem.n;
        self.stored([seen.position / n, seen.position % n])
    }

    /// As [`is_narrow`] of its replay.
    pub(super) fn is_narrow(&self) -> bool {
        is_narrow(&self.replay)
    }

    /// Whether all of D was compared.
    pub(super) fn is_whole(&self) -> bool {
        self.comparison.elements == self.given.len() as u64
    }

    /// What elements of the requested product cost.
    pub(super) fn price<'s>(&self, at: impl IntoIterator<Item = &'s Stored>) -> u64 {
        let at: Vec<emu::Element> = at.into_iter().map(|stored| stored.at).collect();
        cost::of_elements(&at, &self.replay.problem, self.is_fast())
    }

    /// What a product of so many multiply-adds costs.
    pub(super) fn price_of_product(&self, multiply_adds: u64) -> u64 {
        cost::of_product(multiply_adds, self.is_fast())
    }

    fn is_fast(&self) -> bool {
        self.engines.computes(self.replay.arithmetic)
    }

    pub(super) fn trial<'w>(
        &self,
        different: &[Stored],
        equal: &[Stored],
        work: &'w Work,
    ) -> Trial<'w>
    where
        'a: 'w,
    {
        Trial::new(
            (&self.replay, self.engines),
            (different, equal),
            self.tolerance,
            work,
        )
    }

    /// Elements that match, to test hypotheses on.
    pub(super) fn controls(&self) -> Vec<Stored> {
        let n = self.replay.problem.n;
        let sample = self.sample;
        let mut known: HashSet<usize> = sample.equal.iter().map(|seen| seen.position).collect();
        let mut controls: Vec<Stored> = sample.equal.iter().map(|s| self.seen(s)).collect();
        let few = self.comparison.mismatches <= SAMPLE as u64;
        let Some(rects) = sample.rects.as_ref().filter(|_| few && self.is_whole()) else {
            return controls;
        };
        let all = self.given.len() as u64;
        for i in 0..CONTROLS as u64 {
            // All of a small D, some of a large one.
            let small = all <= CONTROLS as u64;
            let position = if small { i } else { mix(!i) % all } as usize;
            let (row, column) = (position / n, position % n);
            let differs = |s: &Rect| inside([row, column], s.rows, s.columns);
            let new = known.insert(position);
            if new && (position as u64) < all && !rects.iter().any(differs) {
                controls.push(self.stored([row, column]));
            }
        }
        controls
    }
}
