//! A fused multiply-add's wires as part of a step's datapath.

use super::trace::Datapath;
use crate::num::{FmaWires, Format, LEADING};

/// The wires of one fused multiply-add of a step. Its grid lies [`fma_bits`] below the leading bit of the larger term.
pub(super) struct Wires<'a, D> {
    datapath: &'a mut D,
    /// Which product of the step its multiplier computes, and which aligner it has; none where it has no such part,
    /// as where it multiplies with one.
    product: Option<usize>,
    aligner: Option<usize>,
    adds: bool,
    /// Bits below the grid.
    below: u32,
}

/// Bits below the larger term's leading one that a fused multiply-add of this format has wires for: a product of two
/// significands and room for the rounding.
pub fn fma_bits(accumulator: Format) -> u32 {
    2 * (accumulator.fraction_bits() + 1) + 2
}

impl<'a, D: Datapath> Wires<'a, D> {
    /// All of a unit that computes product `k` and adds it.
    pub fn whole(datapath: &'a mut D, accumulator: Format, k: usize) -> Wires<'a, D> {
        Wires {
            datapath,
            product: Some(k),
            aligner: Some(k),
            adds: true,
            below: LEADING - fma_bits(accumulator),
        }
    }

    /// Those of its multiplier alone.
    pub fn multiplier(datapath: &'a mut D, accumulator: Format, k: usize) -> Wires<'a, D> {
        Wires {
            aligner: None,
            adds: false,
            ..Wires::whole(datapath, accumulator, k)
        }
    }

    /// Those behind its adder alone.
    pub fn adder(datapath: &'a mut D, accumulator: Format) -> Wires<'a, D> {
        Wires {
            product: None,
            aligner: None,
            ..Wires::whole(datapath, accumulator, 0)
        }
    }
}

impl<D: Datapath> FmaWires for Wires<'_, D> {
    fn product(&mut self, magnitude: u128) -> u128 {
        match self.product {
            Some(k) => self.datapath.multiplied(k, magnitude),
            None => magnitude,
        }
    }

    fn aligned(&mut self, magnitude: u128) -> u128 {
        let Some(k) = self.aligner else {
            return magnitude;
        };
        let kept = (magnitude >> self.below) as i128;
        let spoiled = self.datapath.shifted(Some(k), kept);
        magnitude.wrapping_add_signed((spoiled - kept) << self.below)
    }

    fn sum(&mut self, sum: i128) -> i128 {
        if !self.adds {
            return sum;
        }
        // The unit has a magnitude and a sign.
        let kept = (sum.unsigned_abs() >> self.below) as i128;
        let change = (self.datapath.added(kept) - kept) << self.below;
        if sum < 0 { sum - change } else { sum + change }
    }
}
