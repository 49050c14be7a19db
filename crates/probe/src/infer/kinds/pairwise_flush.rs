//! Rounded products in pairs.

use super::{Clues, Searched};
use crate::emu::step::PairwiseFlush;
use crate::num::Rounding;

impl Searched for PairwiseFlush {
    fn hypotheses(clues: &Clues) -> Vec<PairwiseFlush> {
        let mut all = Vec::new();
        for group in [2, 4, 8, 16] {
            for span in [1, 2, 4, 8].map(|n| n * group) {
                for rounding in [Rounding::NearestEven, Rounding::TowardZero] {
                    all.push(PairwiseFlush {
                        span,
                        group,
                        rounding,
                        nan: clues.nan,
                    });
                }
            }
        }
        all
    }
}
