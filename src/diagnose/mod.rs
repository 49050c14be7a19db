//! What a D that differs may come from: hypotheses that are told only if they give the very bits of D on
//! every element they were tested on.
//!
//! First one computation for all of D (`computed`, `schedule`), replayed on a sample of elements that
//! differ and of elements that do not. If none fits, mismatches are put into groups (`group`), and each
//! group is asked for faults of its own (`local`). `explain` asks the same of one element (`single`).

mod addend;
mod alpha;
mod by_group;
mod components;
mod computed;
mod element;
mod estimate;
mod group;
mod hypothesis;
mod inputs;
mod lines;
mod local;
mod moved;
mod narrow;
mod nearby;
mod partial;
mod place;
mod schedule;
mod single;
mod stored;
mod trial;

use std::collections::HashSet;

pub use element::{Change, Element};
pub use hypothesis::{Ask, Found, Hypothesis};
pub use single::{Chain, MAX_SEARCHED_K, Search, Single, runs};
pub use trial::WORK;

use crate::emu::{self, Arithmetic, Catalogue, Replay};
use crate::num::Format;
use crate::random::mix;
use crate::report::{Comparison, Policy, Spread};
use crate::tensor::Tensor;
use by_group::by_group;
use group::Size;
use trial::{Stored, Trial, Work};

/// Matching elements that computations are tested on where few mismatches tell them apart.
const CONTROLS: usize = 1024;

/// Mismatches of a group that hypotheses are tested on.
const SAMPLE: usize = 64;

/// A comparison that found differences.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// What was computed.
    pub replay: Replay<'a>,
    pub given: &'a Tensor,
    pub policy: Policy,
    pub comparison: &'a Comparison,
    pub spread: &'a Spread,
    /// Name of the architecture: its own rules are named first.
    pub architecture: &'a str,
    /// The chosen instruction's arithmetic for other formats of A and B, if it has any.
    pub rule: &'a dyn Fn([Format; 2]) -> Option<Arithmetic>,
    pub catalogue: &'a Catalogue,
}

/// What was found, and what was not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagnosis {
    /// What explains most comes first.
    pub findings: Vec<Finding>,
    /// What was tried, for people; whether it fits or not.
    pub tried: Vec<&'static str>,
    /// Computations that the work allowed did not suffice for.
    pub skipped: usize,
}

/// Something that fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Name of the hypothesis; of the place, where nothing else is known.
    pub kind: String,
    /// For people, with a full stop.
    pub sentence: String,
    /// As [`Found::at`].
    pub at: Vec<usize>,
    /// How to ask to see all of D fit.
    pub ask: Ask,
    /// The mismatches it explains.
    pub mismatches: u64,
    /// Where they are, if it does not explain all.
    pub place: Option<Area>,
}

/// The place of a group of mismatches: first, and one past the last; rows count on from matrix to matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Area {
    pub shape: &'static str,
    pub rows: [usize; 2],
    pub columns: [usize; 2],
}

impl Case<'_> {
    fn size(&self) -> Size {
        let problem = &self.replay.problem;
        Size {
            m: problem.m,
            n: problem.n,
            batches: problem.batches(),
        }
    }

    /// The element at a row, counted on, and a column.
    fn stored(&self, [row, column]: [usize; 2]) -> Stored {
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

    /// Whether D has fewer bits than what is rounded to it.
    fn is_narrow(&self) -> bool {
        let accumulator = self.replay.arithmetic.accumulator;
        self.replay
            .convert_to
            .is_some_and(|to| to.bytes() < accumulator.bytes())
    }

    /// Whether all of D was compared.
    fn is_whole(&self) -> bool {
        self.comparison.elements == self.given.len() as u64
    }

    fn trial<'w>(&self, different: &[Stored], equal: &[Stored], work: &'w Work) -> Trial<'w> {
        let format = (self.replay.format(), self.policy);
        let k = (self.replay.problem.k, self.is_narrow());
        Trial::new((different, equal), format, k, work)
    }

    /// Elements that do not differ.
    fn controls(&self) -> Vec<Stored> {
        let n = self.replay.problem.n;
        let spread = self.spread;
        let mut known: HashSet<usize> = spread.equal.iter().map(|seen| seen.position).collect();
        let equal = spread.equal.iter();
        let equal = equal.map(|seen| self.stored([seen.position / n, seen.position % n]));
        let mut controls: Vec<Stored> = equal.collect();
        let few = self.comparison.mismatches <= SAMPLE as u64;
        let Some(stacks) = spread.stacks.as_ref().filter(|_| few && self.is_whole()) else {
            return controls;
        };
        let all = self.given.len() as u64;
        for i in 0..CONTROLS as u64 {
            // All of a small D, some of a large one.
            let position = if all <= CONTROLS as u64 {
                i
            } else {
                mix(!i) % all
            } as usize;
            let (row, column) = (position / n, position % n);
            let inside = |at: usize, [from, to]: [usize; 2]| from <= at && at < to;
            let differs =
                |s: &crate::report::Stack| inside(row, s.rows) && inside(column, s.columns);
            let new = known.insert(position);
            if new && (position as u64) < all && !stacks.iter().any(differs) {
                controls.push(self.stored([row, column]));
            }
        }
        controls
    }
}

/// Everything that fits; nothing if nothing does. The same for the same files.
pub fn diagnose(case: &Case) -> Diagnosis {
    let mismatches = case.comparison.mismatches;
    if mismatches == 0 {
        return Diagnosis::default();
    }
    let all = |found: Found| Finding {
        kind: found.hypothesis.name(),
        sentence: format!("{}.", capital(&found.text)),
        at: found.at,
        ask: found.ask,
        mismatches,
        place: None,
    };
    let seen = stored::specials(case).or_else(|| stored::all_alike(case));
    let alike = |found: &Found| found.hypothesis == Hypothesis::Constant;
    if let Some(found) = seen.as_ref().filter(|found| !alike(found)) {
        return Diagnosis {
            findings: vec![all(found.clone())],
            ..Diagnosis::default()
        };
    }
    let [computing, scheduling] = [WORK, WORK].map(Work::new);
    let controls = case.controls();
    let n = case.replay.problem.n;
    let differing = case.spread.different.iter();
    let different = differing.map(|seen| case.stored([seen.position / n, seen.position % n]));
    let different: Vec<Stored> = different.collect();
    let trials = [&computing, &scheduling].map(|work| case.trial(&different, &controls, work));
    if let Some(found) = seen {
        // Ones times ones are a test of whether all of K was summed.
        let lost = schedule::lost_tail(case, &trials[1]);
        let findings = lost.into_iter().chain([found]).map(all).collect();
        return Diagnosis {
            findings,
            ..Diagnosis::default()
        };
    }
    let mut findings: Vec<Finding> = whole(case, &trials).into_iter().map(all).collect();
    let mut tried = vec![computed::TRIED, schedule::TRIED, stored::TRIED];
    if findings.is_empty() {
        findings = by_group(case, &controls, [&computing, &scheduling], &mut tried);
    }
    Diagnosis {
        findings,
        tried,
        skipped: trials.iter().map(Trial::skipped).sum(),
    }
}

/// One computation for all elements of a trial: its own work, and that of schedules.
fn whole(case: &Case, [computing, scheduling]: &[Trial; 2]) -> Vec<Found> {
    // A lone mismatch of few bits is likelier another order of adding up than anything else.
    if computing.is_weak() {
        let mut found = schedule::schedules(case, scheduling);
        found.extend(computed::computations(case, computing));
        return found;
    }
    // Of wide results, one element fits too many computations by chance, and none differs alone.
    if computing.differing().nth(1).is_none() {
        return Vec::new();
    }
    let mut found = computed::computations(case, computing);
    if found.is_empty() {
        found = schedule::schedules(case, scheduling);
    }
    if found.is_empty() {
        found.extend(partial::lost_tail(case, computing));
    }
    for side in [0, 1] {
        if found.is_empty() {
            found.extend(moved::moved(case, computing, side));
        }
    }
    if found.is_empty() {
        found = narrow::narrow(case, computing, scheduling);
    }
    found
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
