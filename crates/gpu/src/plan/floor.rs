//! Floored dot-adds: CDNA 3.

use tcverify_num::{Format, Formats, Rounding};

use super::{CHUNK, QUAD, narrow, up};

/// Products are cut to their own largest exponent and added, in one or two sums; the sum, C and the total are floored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloorUnit {
    /// Products of a step.
    pub group: usize,
    /// Sums to which they are dealt in turn.
    pub sums: usize,
    /// Fraction bits of products and of C.
    pub fraction_bits: u32,
    /// Fraction bits of the products' sum beside C.
    pub sum_fraction_bits: u32,
    /// How far below the largest exponent that of C may lie.
    pub addend_window: Option<u32>,
    /// The exponent of a C that is zero.
    pub zero_exponent: i32,
    /// Fraction bits of the total.
    pub result_fraction_bits: u32,
    pub rounding: Rounding,
}

impl FloorUnit {
    /// The k of a step, those of one sum after those of the other.
    pub(super) fn order(&self) -> Vec<usize> {
        let sums = self.sums.max(1);
        let of_sum = |sum: usize| (sum..self.group).step_by(sums);
        (0..sums).flat_map(of_sum).collect()
    }

    pub(super) fn suits(&self, formats: Formats) -> bool {
        let FloorUnit {
            group,
            sums,
            fraction_bits,
            sum_fraction_bits,
            result_fraction_bits,
            ..
        } = *self;
        narrow(formats.a)
            && narrow(formats.b)
            && matches!(formats.accumulator, Format::Fp32 | Format::Fp16)
            && formats.addend == formats.accumulator
            && formats.scale.is_none()
            && matches!(sums, 1 | 2)
            && group.is_multiple_of(sums * QUAD)
            && CHUNK.is_multiple_of(group)
            && (1..=28).contains(&fraction_bits)
            // What the sum has beyond C's grid is kept in a word of its own.
            && (fraction_bits..=fraction_bits + 24).contains(&sum_fraction_bits)
            // A total of 32 ones that is floored away from zero rounds as it is.
            && self.rounding == Rounding::NearestEven
            && (formats.accumulator.fraction_bits()..=31).contains(&result_fraction_bits)
            && (-1024..=0).contains(&self.zero_exponent)
            && ((group as u64) << (fraction_bits + 2)) + (1 << (fraction_bits + 1)) < 1 << 31
    }

    /// Bits by which the product of two significands lies above the grid of its own exponent.
    pub(crate) fn up(&self, formats: Formats) -> i32 {
        up(formats, self.fraction_bits)
    }
}
