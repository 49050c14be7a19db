//! Floored dot-adds.

use super::{Clues, Searched};
use crate::emu::step::FusedFloor;
use crate::num::Rounding;

impl Searched for FusedFloor {
    fn hypotheses(clues: &Clues) -> Vec<FusedFloor> {
        let acc = clues.formats.accumulator;
        let mut all = Vec::new();
        for &group in clues.groups {
            for sums in [1, 2, 4] {
                for &fraction_bits in clues.depths {
                    for addend_window in [None, Some(fraction_bits + 1), Some(fraction_bits + 2)] {
                        all.push(FusedFloor {
                            group,
                            sums,
                            fraction_bits,
                            sum_fraction_bits: fraction_bits + 8,
                            addend_window,
                            zero_exponent: acc.min_exponent(),
                            result_fraction_bits: acc.fraction_bits() + 8,
                            rounding: Rounding::NearestEven,
                            nan: clues.nan,
                        });
                    }
                }
            }
        }
        all
    }
}
