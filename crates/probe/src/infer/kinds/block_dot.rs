//! Block-scaled dot-adds.

use serde_json::Value;

use super::{Clues, Searched, roundings};
use crate::emu::step::{BlockDot, Fused, Step};
use crate::num::{Rounding, Scale};

/// Runs of products that a scale and a group hold a whole number of.
pub fn parts(scale: Option<Scale>, group: usize) -> impl Iterator<Item = usize> {
    let block = scale.map_or(0, |scale| scale.block);
    let fits = move |part: &usize| group.is_multiple_of(*part) && block.is_multiple_of(*part);
    [16, 32, 8, 4, 2, 1].into_iter().filter(fits)
}

/// The step that adds so many products before they are scaled.
pub fn of(adder: Fused, part: usize) -> Step {
    Step::from(BlockDot {
        group: adder.group,
        part,
        fraction_bits: adder.fraction_bits,
        alignment: adder.alignment,
        zero_exponent: adder.zero_exponent,
        precision: adder.precision,
        rounding: adder.rounding,
        nan: adder.nan,
    })
}

impl Searched for BlockDot {
    /// Products added before they are scaled, as FP4 is.
    fn hypotheses(clues: &Clues) -> Vec<BlockDot> {
        let mut all = Vec::new();
        if clues.formats.scale.is_none() {
            return all;
        }
        for group in [64, 32, 128, 16] {
            for part in parts(clues.formats.scale, group) {
                for fraction_bits in [35, 25, 24, 34, 36, 37] {
                    for rounding in [Rounding::TowardZero, Rounding::NearestEven] {
                        all.push(BlockDot {
                            group,
                            part,
                            fraction_bits,
                            alignment: Rounding::TowardZero,
                            zero_exponent: clues.zero_exponent - 31,
                            precision: clues.formats.accumulator.fraction_bits() + 1,
                            rounding,
                            nan: clues.nan,
                        });
                    }
                }
            }
        }
        all
    }

    fn values(&self, constant: &str, _: usize) -> Option<Vec<Value>> {
        (constant == "rounding").then(roundings)
    }
}
