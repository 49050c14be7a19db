//! Which rules the kernel can take, with their constants.

use tcverify_num::{Format, Formats};

/// Products of a group, and groups that meet the accumulator at once.
pub const GROUP: usize = 8;
pub const GROUPS: usize = 2;
pub const AT_ONCE: usize = GROUP * GROUPS;

/// The most products that all phases go over before others.
pub const MOST: usize = 32;

/// Rows of a strip of A.
pub const ROWS: usize = 4;

/// What is added to each exponent field but zero's: two nonzero ones are more than one and a zero.
pub const NONZERO: u32 = 512;

/// Places of an FP32.
pub const FRACTION: u32 = 23;

/// A rule in the terms of the kernel; its groups, slices and roundings are Tenstorrent's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlicePlan {
    pub a: Format,
    pub b: Format,
    pub accumulator: Format,
    /// Products that every phase goes over before the next one.
    pub tile: usize,
    pub phases: Vec<u32>,
    /// The exponent that a product with zero counts as.
    pub zero_exponent: Option<i32>,
    pub narrow_bits: u32,
    /// The power of two, in units, of a sum of minus one unit.
    pub minus_one: Option<u32>,
    /// What happens between blocks of k.
    pub blocks: Option<Blocks>,
}

/// How an accumulator goes through memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// k of a block.
    pub k: usize,
    /// Low bits that are lost on the way back.
    pub lost_bits: u32,
    /// Whether sums of blocks are added in memory, as FP32 numbers; the last block starts from theirs.
    pub added: bool,
}

impl SlicePlan {
    /// The plan, or none if only the exact engine can compute it.
    pub fn new(formats: Formats, plan: SlicePlan) -> Option<SlicePlan> {
        let offset = plan.offset();
        let zero_fits = plan.zero_exponent.is_none_or(|zero| {
            let field = zero + plan.accumulator.bias() - offset;
            (0..=2 * (NONZERO as i32 + 1)).contains(&field)
        });
        let fits = [AT_ONCE, MOST].contains(&plan.tile)
            && zero_fits
            && formats.addend == plan.accumulator
            && plan.minus_one.is_none_or(|bits| bits < 29)
            && [0, 13].contains(&plan.narrow_bits)
            && plan.blocks.is_none_or(|blocks| {
                let known = !blocks.added || plan.accumulator == Format::Fp32;
                known && blocks.k.is_multiple_of(plan.tile)
            });
        fits.then_some(plan)
    }

    /// From the sum of packed fields to the accumulator's.
    pub fn offset(&self) -> i32 {
        self.accumulator.bias() - self.a.bias() - self.b.bias() - 2 * NONZERO as i32
    }

    /// Bits by which an FP32's fraction is longer.
    pub fn below(&self) -> u32 {
        FRACTION - self.accumulator.fraction_bits()
    }
}
