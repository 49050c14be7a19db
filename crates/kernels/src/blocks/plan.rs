//! Which models the kernel can compute, and its constants for one.

use tcverify_num::{Format, Formats, Rounding, Scale};

/// Products that are added before they are scaled.
pub const PART: usize = 16;

/// Four products are one word of bytes.
pub const WORDS: usize = PART / 4;

pub const ROWS: usize = 4;
pub const DEPTH: usize = 512;

/// Columns of a strip, in registers.
pub const ACROSS: usize = 2;

/// Bits of a term below its exponent: quarters, and three fraction bits of each scale.
pub const TERM_BITS: i32 = 8;

/// The smallest exponent of a term for which no result is a subnormal number but zero.
pub const LOWEST: i32 = -80;
/// And the largest for which none is infinite.
pub const HIGHEST: i32 = 100;

/// A block-scaled dot-add in the terms of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockPlan {
    pub scale: Scale,
    /// Products of a step.
    pub group: usize,
    pub fraction_bits: i32,
    pub zero_exponent: i32,
    pub nan: u64,
}

/// The constants of a step that the kernel takes only one value of.
pub struct BlockStep {
    pub group: usize,
    pub part: usize,
    pub fraction_bits: u32,
    pub alignment: Rounding,
    pub zero_exponent: i32,
    pub precision: u32,
    pub rounding: Rounding,
    pub nan: u64,
}

impl BlockPlan {
    /// The plan, or none if only the exact engine can compute it.
    pub fn new(formats: Formats, step: BlockStep) -> Option<BlockPlan> {
        let Formats {
            a,
            b,
            accumulator,
            scale,
            ..
        } = formats;
        let scale = scale?;
        let toward_zero = Rounding::TowardZero;
        let fraction_bits = step.fraction_bits as i32;
        ([a, b, accumulator] == [Format::E2m1, Format::E2m1, Format::Fp32]
            && step.part == PART
            && scale.block.is_multiple_of(PART)
            && step.group <= 128
            && (step.alignment, step.rounding, step.precision) == (toward_zero, toward_zero, 24)
            // Terms and C keep their bits in a window of some width, and sums fit an FP64.
            && (24..=36).contains(&fraction_bits)
            // Below every term that the window lets in.
            && step.zero_exponent - fraction_bits <= LOWEST - TERM_BITS
            && step.zero_exponent <= LOWEST
            && step.zero_exponent >= -160)
            .then_some(BlockPlan {
                scale,
                group: step.group,
                fraction_bits,
                zero_exponent: step.zero_exponent,
                nan: step.nan,
            })
    }
}
