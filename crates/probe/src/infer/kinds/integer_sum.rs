//! Sums of integers.

use serde_json::Value;

use super::{Clues, Searched, numbers};
use crate::emu::step::{IntegerOverflow, IntegerSum};

impl Searched for IntegerSum {
    /// Every group that ends within K, the usual one first, and the one that wraps around.
    fn hypotheses(clues: &Clues) -> Vec<IntegerSum> {
        // As many as 256 bits hold. Where it decides nothing, it is as good as any.
        let widest = clues.formats.a.width().max(clues.formats.b.width());
        let usual = 256 / widest as usize;
        let others = (1..=clues.k / 2).filter(|group| *group != usual);
        let clamped = [usual].into_iter().chain(others);
        let clamped = clamped.map(|group| (group, IntegerOverflow::Saturate));
        let all = [(usual, IntegerOverflow::Wrap)].into_iter().chain(clamped);
        all.map(|(group, overflow)| IntegerSum { group, overflow })
            .collect()
    }

    fn values(&self, constant: &str, k: usize) -> Option<Vec<Value>> {
        (constant == "group").then(|| numbers(1..=k / 2))
    }
}
