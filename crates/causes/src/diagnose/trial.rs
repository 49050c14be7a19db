//! The elements on which hypotheses are tested, and the work that this may take.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::candidates::cost;
use crate::diagnose::{Found, Hypothesis};
use crate::emu::{Element, Engines, Replay};
use crate::forms::grouped;
use crate::num::Format;
use crate::report::Tolerance;

/// Most multiply-adds of a search that is not bounded by a replay.
pub const WORK: u64 = 1 << 26;

/// Elements that refute most wrong hypotheses.
const FIRST: usize = 4;

/// Fewer differing elements than this are weak evidence where D is narrow.
pub const WEAK: usize = 16;

/// Why a hypothesis was not tested that costs more than the work left.
pub const SPENT: &str = "the work of a search is bounded";

/// What a computation costs before it begins, alone and under a schedule.
const SETUP: u64 = 128;
const SETUP_OF_SCHEDULE: u64 = 256;

/// Which hypotheses this D refutes, and which were not tested, and why. All work of one diagnosis shares it.
#[derive(Debug, Default)]
pub struct Ledger {
    refuted: RefCell<Vec<&'static str>>,
    open: RefCell<Vec<(&'static str, &'static str)>>,
}

impl Ledger {
    /// Notes a hypothesis that was computed and does not give this D.
    pub fn refute(&self, what: &'static str) {
        let mut refuted = self.refuted.borrow_mut();
        if !refuted.contains(&what) {
            refuted.push(what);
        }
    }

    /// Notes a hypothesis that was not tested.
    pub fn leave(&self, what: &'static str, why: &'static str) {
        let mut open = self.open.borrow_mut();
        if !open.contains(&(what, why)) {
            open.push((what, why));
        }
    }

    /// What was refuted wherever it was tested, and what was not tested, one text for each reason.
    pub fn outcome(&self) -> (Vec<&'static str>, Vec<String>) {
        let open = self.open.borrow();
        let mut refuted = self.refuted.borrow().clone();
        refuted.retain(|what| open.iter().all(|(left, _)| left != what));
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for (what, why) in open.iter() {
            match reasons.iter_mut().find(|(other, _)| other == why) {
                Some((_, all)) => all.push(what),
                None => reasons.push((why, vec![what])),
            }
        }
        let open = reasons.into_iter();
        let open = open.map(|(why, all)| format!("{} ({why})", all.join(", ")));
        (refuted, open.collect())
    }
}

/// The work that is left, and the ledger of its results.
#[derive(Debug)]
pub struct Work {
    left: Cell<u64>,
    pub ledger: Rc<Ledger>,
}

impl Work {
    pub fn new(most: u64) -> Work {
        Work::with_ledger(most, &Rc::default())
    }

    /// Work with a shared ledger.
    pub fn with_ledger(most: u64, ledger: &Rc<Ledger>) -> Work {
        Work {
            left: Cell::new(most),
            ledger: Rc::clone(ledger),
        }
    }

    pub fn left(&self) -> u64 {
        self.left.get()
    }

    /// Adds work that was kept for what follows.
    pub fn add(&self, more: u64) {
        self.left.set(self.left.get() + more);
    }

    /// Spends this much, if it is left.
    pub fn spend(&self, cost: u64) -> bool {
        let left = self.left.get();
        let enough = cost <= left;
        if enough {
            self.left.set(left - cost);
        }
        enough
    }
}

/// What fits; or why nothing was tested, if that is worth reporting.
pub type Tested = Result<Vec<Found>, &'static str>;

/// What the first test that finds something finds.
pub fn first_of(tests: &[&dyn Fn() -> Vec<Found>]) -> Vec<Found> {
    let mut all = tests.iter().map(|test| test());
    all.find(|found| !found.is_empty()).unwrap_or_default()
}

/// An element of D, as the file has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    pub at: Element,
    pub given: u64,
}

/// The elements that a hypothesis has to give.
#[derive(Debug)]
pub struct Trial<'w> {
    /// Those that differ, then those that do not.
    elements: Vec<Element>,
    given: Vec<u64>,
    differing: usize,
    /// The request, by whose price hypotheses are tested that name no other.
    requested: Replay<'w>,
    engines: &'static dyn Engines,
    format: Format,
    tolerance: Tolerance,
    /// As [`is_narrow`].
    narrow: bool,
    work: &'w Work,
    /// How many computations were compared with D, and how many would have taken too long.
    tested: Cell<usize>,
    skipped: Cell<usize>,
}

/// An element moved to another row (side 0) or column (side 1).
pub fn relocated(at: Element, side: usize, index: usize) -> Element {
    match side {
        0 => Element { row: index, ..at },
        _ => Element {
            column: index,
            ..at
        },
    }
}

/// Whether D has fewer bits than the accumulator, so that much fits by chance.
pub fn is_narrow(replay: &Replay) -> bool {
    replay.format().bytes() < replay.arithmetic.accumulator.bytes()
}

impl<'w> Trial<'w> {
    pub fn new(
        (replay, engines): (&Replay<'w>, &'static dyn Engines),
        (different, equal): (&[Stored], &[Stored]),
        tolerance: Tolerance,
        work: &'w Work,
    ) -> Trial<'w> {
        let all = || different.iter().chain(equal);
        Trial {
            elements: all().map(|stored| stored.at).collect(),
            given: all().map(|stored| stored.given).collect(),
            differing: different.len(),
            requested: *replay,
            engines,
            format: replay.format(),
            tolerance,
            narrow: is_narrow(replay),
            work,
            tested: Cell::new(0),
            skipped: Cell::new(0),
        }
    }

    /// The elements that differ.
    pub fn differing(&self) -> impl Iterator<Item = Stored> {
        self.elements().take(self.differing)
    }

    /// All tested elements, as stored.
    pub fn elements(&self) -> impl Iterator<Item = Stored> {
        let all = self.elements.iter().zip(&self.given);
        all.map(|(&at, &given)| Stored { at, given })
    }

    /// The trial on its elements, with other work.
    pub fn over<'o>(&self, work: &'o Work) -> Trial<'o>
    where
        'w: 'o,
    {
        Trial {
            elements: self.elements.clone(),
            given: self.given.clone(),
            tested: Cell::new(0),
            skipped: Cell::new(0),
            work,
            ..*self
        }
    }

    pub fn work(&self) -> &'w Work {
        self.work
    }

    /// Tests a hypothesis and notes the result in the ledger.
    pub fn test(&self, what: &'static str, test: impl FnOnce() -> Tested) -> Vec<Found> {
        let [tested, skipped] = [self.tested.get(), self.skipped.get()];
        let ledger = &self.work.ledger;
        let found = match test() {
            Ok(found) => found,
            Err(why) => {
                ledger.leave(what, why);
                return Vec::new();
            }
        };
        if self.skipped.get() > skipped {
            ledger.leave(what, SPENT);
        } else if found.is_empty() && self.tested.get() > tested {
            ledger.refute(what);
        }
        found
    }

    /// Spends work on a computation that is compared with D, if so much is left.
    pub fn affords(&self, cost: u64) -> bool {
        let enough = self.work.spend(cost);
        let counter = if enough { &self.tested } else { &self.skipped };
        counter.set(counter.get() + 1);
        enough
    }

    /// Whether a replay gives every one of them.
    pub fn fits_replay(&self, replay: &Replay) -> bool {
        self.fits_at(&|at| self.price_of(replay, at), &|at| replay.elements(at))
    }

    /// Whether a replay gives every one of them at another place.
    pub fn fits_elsewhere(&self, replay: &Replay, place: &dyn Fn(&Element) -> Element) -> bool {
        self.fits(&|at| replay.elements(&at.iter().map(place).collect::<Vec<_>>()))
    }

    /// What elements cost by a replay.
    pub fn price_of(&self, replay: &Replay, at: &[Element]) -> u64 {
        let k = replay.problem.k;
        let setup = match replay.kernel {
            None => SETUP,
            Some(_) => SETUP_OF_SCHEDULE + k as u64 / 8,
        };
        let fast = self.engines.computes(replay.arithmetic);
        setup.saturating_add(cost::of_elements(at, &replay.problem, fast))
    }

    /// What elements cost by the request's own replay.
    pub fn price(&self, at: &[Element]) -> u64 {
        self.price_of(&self.requested, at)
    }

    /// A list that may cost half of the work left; what is not listed is not tested.
    pub fn listing<T>(&self, list: impl FnOnce(&dyn Fn(u64) -> bool) -> T) -> T {
        let least = self.work.left() / 2;
        list(&|cost| {
            let enough = self.work.left() >= least.saturating_add(cost) && self.work.spend(cost);
            if !enough {
                self.skipped.set(self.skipped.get() + 1);
            }
            enough
        })
    }

    /// Whether a hypothesis gives every one of them, bit for bit. Without enough work left it is not
    /// tried, and so does not.
    pub fn fits(&self, compute: &dyn Fn(&[Element]) -> Vec<u64>) -> bool {
        self.fits_at(&|at| self.price(at), compute)
    }

    /// Whether a hypothesis with its own price fits.
    pub fn fits_at(
        &self,
        price: &dyn Fn(&[Element]) -> u64,
        compute: &dyn Fn(&[Element]) -> Vec<u64>,
    ) -> bool {
        let lots = [
            1,
            FIRST,
            self.differing,
            4 * self.differing,
            self.elements.len(),
        ];
        let mut done = 0;
        for end in lots {
            let end = end.clamp(done, self.elements.len());
            if done == end {
                continue;
            }
            if !self.affords(price(&self.elements[done..end])) {
                return false;
            }
            let computed = compute(&self.elements[done..end]);
            debug_assert_eq!(computed.len(), end - done);
            let mut pairs = computed.iter().zip(&self.given[done..end]);
            let same = |(&computed, &given): (&u64, &u64)| {
                self.tolerance.accepts(self.format, computed, given)
            };
            if !pairs.all(same) {
                return false;
            }
            done = end;
        }
        true
    }

    /// How many of the elements a hypothesis gives; none if it is clear early that a quarter of them are others.
    pub fn most(&self, compute: &dyn Fn(&[Element]) -> Vec<u64>) -> Option<usize> {
        const LOT: usize = 4;
        let all = self.elements.len();
        let mut wrong = 0;
        for first in (0..all).step_by(LOT) {
            let lot = first..(first + LOT).min(all);
            if !self.affords(self.price(&self.elements[lot.clone()])) {
                return None;
            }
            let computed = compute(&self.elements[lot.clone()]);
            let pairs = computed.iter().zip(&self.given[lot.clone()]);
            let other = |&(&computed, &given): &(&u64, &u64)| {
                !self.tolerance.accepts(self.format, computed, given)
            };
            wrong += pairs.filter(other).count();
            // Of the elements that differ, too, most have to be given.
            if 4 * wrong > lot.end + 2 * LOT {
                return None;
            }
        }
        Some(all - wrong)
    }

    /// Whether a hypothesis may fit by chance.
    pub fn is_weak(&self) -> bool {
        self.narrow && self.differing < WEAK
    }

    /// A hypothesis that fits: its text, and on how many elements it was tested.
    pub fn found(&self, hypothesis: Hypothesis, what: impl std::fmt::Display) -> Found {
        Found::new(hypothesis, format!("{what}: {}", self.describe()))
    }

    /// On how many elements a hypothesis that fits was tested.
    pub fn describe(&self) -> String {
        let (all, differing) = (self.elements.len(), self.differing);
        let tested = match all - differing {
            0 => format!(
                "it gives all {} tested elements, bit for bit",
                grouped(all as u64)
            ),
            others => format!(
                "it gives all {} tested elements, bit for bit ({} and {} that do not)",
                grouped(all as u64),
                match differing {
                    1 => "1 that differs".to_owned(),
                    n => format!("{n} that differ"),
                },
                grouped(others as u64)
            ),
        };
        if !self.is_weak() {
            return tested;
        }
        let telling = match differing {
            1 => "only a single element distinguishes".to_owned(),
            n => format!("{n} elements distinguish"),
        };
        format!(
            "{tested}; weak evidence, because D has fewer bits than the sum: {telling} it from the request"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_open_somewhere_is_not_refuted() {
        let ledger = Ledger::default();
        ledger.refute("one");
        ledger.refute("two");
        ledger.refute("two");
        ledger.leave("one", "no time");
        ledger.leave("three", "no time");
        let (refuted, open) = ledger.outcome();
        assert_eq!(refuted, ["two"]);
        assert_eq!(open, ["one, three (no time)"]);
    }
}
