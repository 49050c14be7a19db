//! A product that is being computed, and what is noted on the way.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub(crate) use tcverify_emu::engine::{Specials, Work};
use tcverify_tensor::{Block, Problem};

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
