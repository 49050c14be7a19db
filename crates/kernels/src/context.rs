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
    pub problem: &'a Problem<'a>,
    pub formats: Formats,
    pub exact: &'a dyn ExactEngine,
    /// Multiply-adds left to the exact engine.
    pub fallback: &'a AtomicU64,
    pub progress: Progress<'a>,
}

impl<'a> Context<'a> {
    pub fn new(work: Work<'a>, fallback: &'a AtomicU64) -> Context<'a> {
        let Work {
            problem,
            formats,
            exact,
            progress,
        } = work;
        Context {
            problem,
            formats,
            exact,
            fallback,
            progress,
        }
    }

    pub fn count(&self, elements: usize, k: usize) {
        let work = elements as u64 * k as u64;
        self.fallback.fetch_add(work, Ordering::Relaxed);
    }

    /// Runs the exact engine over `k` on the accumulators of a block.
    pub fn accumulate(
        &self,
        block: &Block,
        k: Range<usize>,
        specials: Specials,
        codes: &mut [u64],
    ) {
        self.count(codes.len(), k.len());
        self.exact
            .accumulate(self.problem, block, k, specials, codes);
    }

    /// One element by the exact engine.
    pub fn element(&self, batch: usize, row: usize, column: usize) -> u64 {
        let block = Block {
            batch,
            rows: row..row + 1,
            columns: column..column + 1,
        };
        let c = self.problem.c;
        let mut codes = [c.map_or(0, |c| c.plane(batch).code(row, column))];
        let k = 0..self.problem.k;
        self.accumulate(&block, k, Specials::Themselves, &mut codes);
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
