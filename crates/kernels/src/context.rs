//! What a product is computed from, and what is noted on the way.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tcverify_num::Formats;
use tcverify_tensor::{Block, Problem};

/// Called now and then with the number of multiply-adds finished since the last call.
pub type Progress<'a> = &'a (dyn Fn(u64) + Sync);

/// The engine that computes what a kernel cannot prove exact.
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

/// A product that is being computed.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub work: Work<'a>,
    /// Multiply-adds left to the exact engine.
    pub fallback: &'a AtomicU64,
}

impl Context<'_> {
    /// Runs the exact engine over `k` on the accumulators of a block.
    pub fn accumulate(
        &self,
        block: &Block,
        k: Range<usize>,
        specials: Specials,
        codes: &mut [u64],
    ) {
        let count = codes.len() as u64 * k.len() as u64;
        self.fallback.fetch_add(count, Ordering::Relaxed);
        let Work { problem, exact, .. } = self.work;
        exact.accumulate(problem, block, k, specials, codes);
    }

    /// One element by the exact engine.
    pub fn element(&self, batch: usize, row: usize, column: usize) -> u64 {
        let block = Block {
            batch,
            rows: row..row + 1,
            columns: column..column + 1,
        };
        let Problem { c, k, .. } = *self.work.problem;
        let mut codes = [c.map_or(0, |c| c.plane(batch).code(row, column))];
        self.accumulate(&block, 0..k, Specials::Themselves, &mut codes);
        codes[0]
    }
}

/// Rows and columns of one matrix that have an infinity or NaN.
pub(crate) struct Flags {
    pub rows: Vec<AtomicBool>,
    pub columns: Vec<AtomicBool>,
}

impl Flags {
    pub fn new(rows: usize, columns: usize) -> Flags {
        let none = |n| (0..n).map(|_| AtomicBool::new(false)).collect();
        Flags {
            rows: none(rows),
            columns: none(columns),
        }
    }

    pub fn set(flags: &[AtomicBool], special: &[bool]) {
        for (flag, &special) in flags.iter().zip(special) {
            if special {
                flag.store(true, Ordering::Relaxed);
            }
        }
    }
}
