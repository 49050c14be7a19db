//! Products of slices of integers.

use serde_json::Value;

use super::sliced::{likely_loops, loop_values};
use super::{Clues, Searched, numbers};
use crate::emu::step::SlicedIntegers;

impl Searched for SlicedIntegers {
    fn hypotheses(_: &Clues) -> Vec<SlicedIntegers> {
        let all = likely_loops().map(|(tile, phases)| SlicedIntegers {
            group: 16,
            tile,
            phases,
            a_split: 4,
            b_split: 5,
        });
        all.collect()
    }

    fn values(&self, constant: &str, _: usize) -> Option<Vec<Value>> {
        match constant {
            "a_split" | "b_split" => Some(numbers(0..=8)),
            other => loop_values(other),
        }
    }
}
