//! What a product is computed from, and what is noted on the way.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::emu::exact::{self, Block};
use crate::emu::{Arithmetic, Problem, Progress};

/// A product to compute.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub problem: &'a Problem<'a>,
    pub arithmetic: &'a Arithmetic,
    /// Multiply-adds left to the exact engine.
    pub fallback: &'a AtomicU64,
    pub progress: Progress<'a>,
}

impl Context<'_> {
    pub fn count(&self, elements: usize, k: usize) {
        let work = elements as u64 * k as u64;
        self.fallback.fetch_add(work, Ordering::Relaxed);
    }

    /// One element by the exact engine.
    pub fn element(&self, batch: usize, row: usize, column: usize) -> u64 {
        let block = Block {
            batch,
            rows: row..row + 1,
            columns: column..column + 1,
        };
        let mut codes = exact::initial(self.problem, &block);
        let k = 0..self.problem.k;
        self.count(1, k.len());
        exact::accumulate(self.problem, self.arithmetic, &block, k, &mut codes, |x| x);
        codes[0]
    }
}

/// Rows and columns of one matrix that have an infinity or NaN.
pub struct Flags {
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
