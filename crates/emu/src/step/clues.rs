//! What a search for a kind of step and a simulated fault need to know: clues from a machine's answers, and the parts of a
//! unit.

use serde_json::{Value, json};

use super::{Code, fma_bits};
use crate::num::{Format, Formats};

/// What a machine's answers show of its unit, as each kind of step reads them.
#[derive(Debug)]
pub struct Clues<'a> {
    pub formats: Formats,
    /// Products of the longest case.
    pub k: usize,
    /// Products that met a large pair.
    pub groups: &'a [usize],
    /// The deepest term that survived, and one less for roundings that round it up.
    pub depths: &'a [u32],
    /// The format's, and those of narrower results that are known.
    pub precisions: &'a [u32],
    pub zero_exponent: i32,
    /// Whether any answer is -0.
    pub minus_zero: bool,
    /// Whether infinity times zero is not a number.
    pub infinities: bool,
    /// The code of NaN among the answers, or the commonest.
    pub nan: Code,
    /// Where a NaN C comes back quiet with its payload: what a NaN operand gives, and infinity times zero.
    pub nans: Option<[Code; 2]>,
}

/// The parts of a unit, and the bits of the numbers in them; 0 where a step does not trace such a part.
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    /// Beside each other, in a step.
    pub multipliers: usize,
    pub aligners: usize,
    /// Whether the step passes products through [`FaultInjector::multiplied`](super::FaultInjector::multiplied).
    pub tells_products: bool,
    /// Bits of a term behind the aligner.
    pub aligned_bits: u32,
    pub sum_bits: u32,
    /// Bits of a rounded result below this one are always 0.
    pub lowest_result_bit: u32,
}

impl Unit {
    /// A multiplier and an aligner for each product of a step; nothing else is known.
    pub fn of(span: usize) -> Unit {
        Unit {
            multipliers: span,
            aligners: span,
            tells_products: true,
            aligned_bits: 0,
            sum_bits: 0,
            lowest_result_bit: 0,
        }
    }

    /// What fused multiply-adds have.
    pub(super) fn fma(self, accumulator: Format) -> Unit {
        let bits = fma_bits(accumulator);
        Unit {
            aligned_bits: bits + 1,
            sum_bits: bits + 2,
            ..self
        }
    }

    /// Terms and their sum on one grid.
    pub(super) fn aligned(self, bits: u32) -> Unit {
        Unit {
            aligned_bits: bits,
            sum_bits: bits,
            ..self
        }
    }
}

/// The values of a rounding that may be any.
pub(super) fn roundings() -> Vec<Value> {
    ["rz", "rne", "rna", "rd"].map(|word| json!(word)).into()
}

/// The values of a number.
pub(super) fn numbers(all: impl IntoIterator<Item = usize>) -> Vec<Value> {
    all.into_iter().map(|n| json!(n)).collect()
}
