//! Fused dot-adds.

use serde_json::Value;

use super::{Clues, MODES, Searched, roundings};
use crate::emu::step::{Fused, Step};
use crate::num::Rounding;

/// Of whose sum the rounding sees `guard` bits beyond the result's, if not all.
pub fn guarded(adder: Fused, guard: Option<u32>) -> Step {
    Step::from(Fused {
        sum_bits: guard.map(|guard| adder.precision + guard),
        ..adder
    })
}

impl Searched for Fused {
    fn hypotheses(clues: &Clues) -> Vec<Fused> {
        let mut all = Vec::new();
        for &group in clues.groups {
            for &fraction_bits in clues.depths {
                for &precision in clues.precisions {
                    for depth in [fraction_bits as i32, 25] {
                        for rounding in [Rounding::TowardZero, Rounding::NearestEven] {
                            all.push(Fused {
                                group,
                                fraction_bits,
                                alignment: Rounding::TowardZero,
                                zero_exponent: clues.zero_exponent - depth,
                                precision,
                                rounding,
                                sum_bits: None,
                                nan: clues.nan,
                                minus_zero: clues.minus_zero,
                            });
                        }
                    }
                }
            }
        }
        all
    }

    fn values(&self, constant: &str, _: usize) -> Option<Vec<Value>> {
        (constant == "rounding").then(roundings)
    }

    fn together(&self, full: u32) -> Vec<Fused> {
        let depths = self.fraction_bits.saturating_sub(1)..=self.fraction_bits + 1;
        let mut all = Vec::new();
        for fraction_bits in depths {
            for alignment in MODES {
                for rounding in MODES {
                    all.extend((1..=full).map(|precision| Fused {
                        fraction_bits,
                        alignment,
                        rounding,
                        precision,
                        ..self.clone()
                    }));
                }
            }
        }
        all
    }
}
