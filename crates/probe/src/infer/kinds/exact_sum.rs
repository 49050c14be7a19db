//! Exact sums of a few products.

use super::{Clues, Searched};
use crate::emu::step::ExactSum;
use crate::num::Rounding;

impl Searched for ExactSum {
    fn hypotheses(clues: &Clues) -> Vec<ExactSum> {
        let nan = clues.nan;
        let roundings = [Rounding::NearestEven, Rounding::TowardZero];
        let zeros = if clues.minus_zero {
            &[false][..]
        } else {
            &[false, true]
        };
        let of = |&group: &usize| {
            roundings.into_iter().flat_map(move |rounding| {
                zeros.iter().map(move |&plus_zero| ExactSum {
                    group,
                    rounding,
                    nan,
                    plus_zero,
                })
            })
        };
        clues.groups.iter().flat_map(of).collect()
    }
}
