//! The elements that guesses are tested on, and how much that may cost.

use super::Case;
use crate::emu::Element;
use crate::report::Seen;

/// Multiply-adds that all guesses together may take.
pub const WORK: u64 = 1 << 26;

/// Elements by which most wrong guesses fail.
const FIRST: usize = 4;

pub struct Trial {
    /// Those that differ, then those that do not.
    elements: Vec<Element>,
    given: Vec<u64>,
    differing: usize,
    k: usize,
    left: u64,
}

impl Trial {
    /// None if D says too little: a single element fits too many guesses.
    pub fn of(case: &Case) -> Option<Trial> {
        let problem = &case.replay.problem;
        let (m, n) = (problem.m, problem.n);
        let spread = case.spread;
        let element = |seen: &Seen| Element {
            batch: seen.position / n / m,
            row: seen.position / n % m,
            column: seen.position % n,
        };
        let all = || spread.different.iter().chain(&spread.equal);
        (spread.different.len() > 1).then(|| Trial {
            elements: all().map(element).collect(),
            given: all().map(|seen| seen.given).collect(),
            differing: spread.different.len(),
            k: problem.k,
            left: WORK,
        })
    }

    /// Whether a guess gives every one of them, bit for bit. Without enough work left it is not
    /// tried, and so does not.
    pub fn fits(&mut self, compute: &dyn Fn(&[Element]) -> Vec<u64>) -> bool {
        let lots = [1, FIRST, self.differing, self.elements.len()];
        let mut done = 0;
        for end in lots {
            let end = end.clamp(done, self.elements.len());
            let cost = ((end - done) as u64).saturating_mul(self.k as u64);
            if cost > self.left {
                return false;
            }
            self.left -= cost;
            if compute(&self.elements[done..end]) != self.given[done..end] {
                return false;
            }
            done = end;
        }
        true
    }

    /// What a guess that fits may say.
    pub fn words(&self) -> String {
        let (all, differing) = (self.elements.len(), self.differing);
        match all - differing {
            0 => format!("it gives all {all} tested elements, bit for bit"),
            others => format!(
                "it gives all {all} tested elements, bit for bit ({differing} that differ and {others} \
                 that do not)"
            ),
        }
    }
}
