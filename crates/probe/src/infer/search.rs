//! Changes of constants, one at a time or some together, as long as fewer answers contradict.

use std::cmp::Reverse;

use super::evidence::Evidence;
use super::kinds;
use crate::Suite;
use crate::emu::step::Step;

impl Evidence<'_> {
    /// Steps that miss few answers, found from the most promising starts of every kind: the best one, then the other
    /// ends of searches.
    pub fn best(&self, kinds: &[Vec<Step>]) -> Vec<Step> {
        /// Cases that rank starts, and those of a first and of a second descent.
        const GLANCE: usize = 80;
        const SAMPLE: usize = 240;
        const MORE: usize = 700;
        /// Starts of a kind and of all kinds that are worth a descent, and a second one.
        const OF_A_KIND: usize = 3;
        const FIRST: usize = 10;
        const SECOND: usize = 2;
        let mut ranked: Vec<(usize, usize, &Step)> = Vec::new();
        for (kind, starts) in kinds.iter().enumerate() {
            let mut mine: Vec<(usize, usize, &Step)> = Vec::new();
            for step in starts.iter().filter(|step| self.possible(step)) {
                let worst = mine
                    .get(OF_A_KIND - 1)
                    .map_or(GLANCE, |(misses, ..)| *misses);
                let misses = self.count(step, worst, GLANCE);
                if misses < worst || mine.len() < OF_A_KIND {
                    mine.push((misses, kind, step));
                    mine.sort_by_key(|(misses, ..)| *misses);
                    mine.truncate(OF_A_KIND);
                }
            }
            ranked.extend(mine);
        }
        ranked.sort_by_key(|(misses, kind, _)| (*misses, *kind));
        let n = self.cases.len();
        // A known machine with a few wrong answers needs no search.
        let near = ranked
            .iter()
            .map(|(.., step)| (self.count(step, n / 50, n), *step));
        if let Some((misses, step)) = near.min_by_key(|(misses, _)| *misses)
            && misses <= n / 50
        {
            let mut all = vec![self.descend(step.clone(), n).1];
            all.extend(ranked.iter().map(|(.., step)| (*step).clone()));
            return all;
        }
        // The best of each kind, then the others.
        let mut seen = Vec::new();
        ranked.sort_by_cached_key(|(misses, kind, _)| {
            let again = seen.contains(kind);
            seen.push(*kind);
            (again, *misses, *kind)
        });
        let mut found: Vec<(usize, Step)> = Vec::new();
        for (.., start) in ranked.into_iter().take(FIRST) {
            let mut best = Best::of(self, start.clone(), SAMPLE);
            best.descend();
            best.combine();
            best.descend();
            let step = best.step;
            let misses = self.count(&step, n, n);
            found.push((misses, step));
            if misses == 0 {
                break;
            }
        }
        found.sort_by_key(|(misses, _)| *misses);
        let ends: Vec<Step> = found.iter().map(|(_, step)| step.clone()).collect();
        // If nothing is near, a longer search would not change the verdict.
        let nearest = found.first().map_or(0, |(misses, _)| *misses);
        found.truncate(if nearest > n / 3 { 1 } else { SECOND });
        if nearest > n / 3 {
            return ends;
        }
        let again = found.into_iter().map(|(_, step)| {
            let (_, step) = self.descend(step, MORE);
            let misses = self.count(&step, n, n);
            if misses <= n / 50 {
                self.descend(step, n)
            } else {
                (misses, step)
            }
        });
        let best = again.min_by_key(|(misses, _)| *misses);
        let mut all = vec![best.expect("every kind has starts").1];
        all.extend(ends);
        all
    }

    /// A few simple cases that together refute all of these steps: each case, and how many it refutes that those
    /// before do not.
    pub fn witnesses(&self, suite: &Suite, steps: &[Step]) -> Vec<(usize, usize)> {
        let size = |case: usize| {
            let case = &suite.cases[case];
            let used = case.a.iter().zip(&case.b).filter(|(a, b)| **a | **b != 0);
            used.count() + usize::from(case.c != 0)
        };
        let missed: Vec<Vec<bool>> = steps
            .iter()
            .map(|step| {
                let cases = 0..self.cases.len();
                cases.map(|case| !self.gives(step, case)).collect()
            })
            .collect();
        let mut left: Vec<&Vec<bool>> = missed.iter().filter(|all| all.contains(&true)).collect();
        let mut witnesses = Vec::new();
        while !left.is_empty() {
            let refutes = |case: usize| left.iter().filter(|missed| missed[case]).count();
            let best = (0..self.cases.len())
                .max_by_key(|&case| (refutes(case), Reverse(size(case)), Reverse(case)))
                .expect("there are cases");
            witnesses.push((best, refutes(best)));
            left.retain(|missed| !missed[best]);
        }
        witnesses
    }

    /// Changes one constant at a time as long as fewer of the first `cases` answers are missed.
    fn descend(&self, step: Step, cases: usize) -> (usize, Step) {
        let mut best = Best::of(self, step, cases);
        best.descend();
        (best.misses, best.step)
    }
}

/// The step that misses the fewest of some answers so far.
struct Best<'e, 'a> {
    evidence: &'e Evidence<'a>,
    step: Step,
    misses: usize,
    /// The cases that count. Those that it misses come first: most other steps miss them, too, and are refuted
    /// soonest there.
    cases: Vec<usize>,
    /// Constants of which every other value has lost to this step.
    settled: Vec<String>,
}

impl<'e, 'a> Best<'e, 'a> {
    fn of(evidence: &'e Evidence<'a>, step: Step, cases: usize) -> Best<'e, 'a> {
        let order = evidence.order.borrow();
        let cases = order[..cases.min(order.len())].to_vec();
        let mut best = Best {
            evidence,
            step,
            misses: 0,
            cases,
            settled: Vec::new(),
        };
        best.sort();
        best
    }

    fn sort(&mut self) {
        let misses = |case: &usize| !self.evidence.gives(&self.step, *case);
        let (first, rest): (Vec<_>, Vec<_>) = self.cases.iter().partition(|case| misses(case));
        self.misses = first.len();
        self.cases = [first, rest].concat();
    }

    /// Takes the place of the best if it misses fewer answers.
    fn challenge(&mut self, candidate: Step) {
        let mut misses = 0;
        for &case in &self.cases {
            misses += usize::from(!self.evidence.gives(&candidate, case));
            if misses >= self.misses {
                return;
            }
        }
        self.step = candidate;
        self.settled.clear();
        self.sort();
    }

    /// Tries combinations of a fused step's roundings and widths. They compensate one another, so changing one at a
    /// time can end where no single change helps.
    fn combine(&mut self) {
        let full = self.evidence.formats.accumulator.fraction_bits() + 1;
        for candidate in kinds::together(&self.step, full) {
            if self.misses > 0 && self.evidence.possible(&candidate) {
                self.challenge(candidate);
            }
        }
    }

    /// Changes one constant at a time as long as fewer answers are missed.
    fn descend(&mut self) {
        /// More are never needed where constants show on their own.
        const SWEEPS: usize = 4;
        for _ in 0..SWEEPS {
            let before = self.misses;
            for constant in self.step.constants() {
                if self.misses > 0 && !self.settled.contains(&constant.name) {
                    self.vary(constant.name);
                }
            }
            if self.misses == before {
                break;
            }
        }
    }

    /// Tries the other values of a constant.
    fn vary(&mut self, name: String) {
        const FEW: usize = 8;
        let before = self.misses;
        for value in self.evidence.values(&self.step, &name) {
            if self.misses == 0 {
                return;
            }
            // Exponents of zeros far below all terms differ in few answers.
            let far = |n: i64| n < -160 && (n < -800 || n % 40 != 0);
            if self.misses > FEW && value.as_i64().is_some_and(far) {
                continue;
            }
            let Some(candidate) = self.evidence.with(&self.step, &name, &value) else {
                continue;
            };
            if candidate != self.step {
                self.challenge(candidate);
            }
        }
        if self.misses == before {
            self.settled.push(name);
        }
    }
}
