//! A product as a fast engine gets it: numbers, and the exact engine for what it cannot prove.

use std::ops::Range;

use crate::num::Formats;
use crate::tensor::{Block, Problem};

/// Called now and then with the number of multiply-adds finished since the last call.
pub type Progress<'a> = &'a (dyn Fn(u64) + Sync);

/// The engine that computes what a fast one cannot prove exact.
pub trait ExactEngine: Sync {
    /// Runs the model's steps over `k` on the accumulators of a block, which are codes, row by row. `k` starts
    /// where a step does.
    fn accumulate(
        &self,
        problem: &Problem,
        block: &Block,
        k: Range<usize>,
        specials: Specials,
        accumulators: &mut [u64],
    );
}

/// What infinities and NaNs among the operands count as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Specials {
    Themselves,
    Zeros,
}

/// A product to compute.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    pub problem: &'a Problem<'a>,
    pub formats: Formats,
    pub exact: &'a dyn ExactEngine,
    pub progress: Progress<'a>,
}

/// What becomes of the accumulators of chains that follow one another.
#[derive(Clone, Copy)]
pub struct Promotion<'p> {
    /// Where chains end: k, ascending; the last one is the product's.
    pub ends: &'p [usize],
    /// The main accumulators are the first chain's as they are, instead of +0 and those.
    pub from_first: bool,
    pub merge: &'p dyn Merging,
}

/// Adds accumulators to main ones.
pub trait Merging: Sync {
    /// Adds `sums` to `main`: neighbouring elements of a row from `at` (row, column) on, all f32 codes.
    fn merge(&self, chain: usize, at: [usize; 2], main: &mut [u32], sums: &[u32]);

    /// Whether that is `main + sum` everywhere, to nearest even.
    fn is_sum(&self) -> bool;
}
