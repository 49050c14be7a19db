//! The parts of a unit that a fault can break, for each kind of step.

use crate::emu::step::{Step, fma_bits};
use crate::num::Formats;

/// The parts of a unit, and the bits of the numbers in them; 0 where a kind has no such part.
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    /// Beside each other, in a step.
    pub multipliers: usize,
    pub aligners: usize,
    /// Whether a fault can change what a multiplier returns.
    pub tells_products: bool,
    /// Bits of a term behind the aligner.
    pub aligned_bits: u32,
    pub sum_bits: u32,
    /// Bits of a rounded result below this one are always 0.
    pub lowest_result_bit: u32,
}

impl Unit {
    pub fn of(step: &Step, formats: Formats) -> Unit {
        let accumulator = formats.accumulator;
        let span = step.span();
        let parts = Unit {
            multipliers: span,
            aligners: span,
            tells_products: true,
            aligned_bits: 0,
            sum_bits: 0,
            lowest_result_bit: 0,
        };
        let lowest_result_bit = |precision: u32| accumulator.fraction_bits() + 1 - precision;
        let wires = fma_bits(accumulator);
        match step {
            Step::FmaChain(_) | Step::OrderedFma(_) => Unit {
                aligned_bits: wires + 1,
                sum_bits: wires + 2,
                ..parts
            },
            Step::ExactSum(step) => Unit {
                aligned_bits: wires + 1,
                // A sum of so many terms is that much larger.
                sum_bits: wires + step.group.ilog2() + 2,
                ..parts
            },
            Step::PairwiseFlush(_) => Unit {
                sum_bits: wires + 2,
                ..parts
            },
            // Products reach twice the grid's largest number.
            Step::Fused(step) => Unit {
                lowest_result_bit: lowest_result_bit(step.precision),
                ..parts.aligned(step.fraction_bits + 2)
            },
            Step::FusedHalves(step) => Unit {
                multipliers: step.half.group,
                aligners: step.half.group,
                ..parts.aligned(step.half.fraction_bits + 2)
            },
            Step::FusedFloor(step) => Unit {
                aligned_bits: step.fraction_bits + 2,
                sum_bits: step.sum_fraction_bits + 2,
                ..parts
            },
            Step::BlockDot(step) => {
                // Bits of a sum of a part's products above the exponent of its scales, by which it is aligned.
                let fraction = formats
                    .scale
                    .map_or(0, |scale| scale.format.fraction_bits());
                let most = formats.a.max_exponent() + formats.b.max_exponent();
                let products = most.max(0) as u32 + 2;
                let above =
                    products + step.part.next_power_of_two().ilog2() + 2 * u32::from(fraction > 0);
                Unit {
                    aligners: span / step.part,
                    lowest_result_bit: lowest_result_bit(step.precision),
                    ..parts.aligned(step.fraction_bits + above)
                }
            }
            Step::BlockWindow(step) => Unit {
                aligners: span / step.part.min(step.product_part),
                ..parts.aligned(step.product_bits.max(step.addend_bits) + 12)
            },
            Step::ComplementDot(step) => parts.aligned(step.leading_bits + 4),
            Step::FlooredPairs(step) => Unit {
                aligned_bits: step.product_bits + 3,
                sum_bits: step.leading_bits + 4,
                ..parts
            },
            Step::Sliced(step) => Unit {
                aligned_bits: step.a_slice + step.b_slice + 1,
                sum_bits: 30,
                ..parts
            },
            Step::IntegerSum(_) | Step::SlicedIntegers(_) => Unit {
                sum_bits: 32,
                ..parts
            },
            // What is not known here has operands, scales and a result alone.
            _ => Unit {
                tells_products: false,
                ..parts
            },
        }
    }

    /// Terms and their sum on one grid.
    fn aligned(self, bits: u32) -> Unit {
        Unit {
            aligned_bits: bits,
            sum_bits: bits,
            ..self
        }
    }
}
