//! A product by a vector kernel: packing, cache blocking, tiles over all cores. Bit-identical to the
//! exact engine, to which every tile goes whose preconditions fail.
//!
//! * [`transposed`]: few columns of D are computed as rows; [`skinny`]: few rows.
//! * [`ends`]: C becomes accumulators, and these become D; [`panel`]: the tasks of some k between;
//!   [`strip`]: tiles, and what kernels give up.
//! * [`chains`]: accumulators that are added to others on the way.

mod chains;
mod ends;
mod panel;
mod skinny;
mod strip;
mod transposed;

use std::ops::Range;

pub use chains::promoted;

use super::context::{Context, Flags};
use super::special;
use super::tile::{MicroKernel, SpecialRule};
use tcverify_tensor::{Problem, parallel};

/// Rows of A that a task takes, and columns of B that are packed at a time.
const TASK_ROWS: usize = 64;
const BLOCK_COLUMNS: usize = 8192;

/// Below these, elements and multiply-adds, a matrix of D is not worth packing for; so many elements never are.
const FEW: usize = 2;
const SMALL: usize = 16;
const SMALL_WORK: usize = 1 << 12;

/// Whether the exact engine is done before a kernel has begun.
pub fn is_small(problem: &Problem) -> bool {
    let elements = problem.m * problem.n;
    elements <= FEW || elements < SMALL && elements * problem.k < SMALL_WORK
}

/// One matrix of the batch, some of its rows.
struct Slab<'a, K> {
    context: Context<'a>,
    kernel: &'a K,
    batch: usize,
    rows: Range<usize>,
    /// How many tasks keep all cores at work, together with those of other matrices.
    tasks: usize,
}

/// Codes of the rows of D from `first_row` on (matrices of a batch one after another) that `out` has room for.
pub fn fill<K: MicroKernel>(context: Context, kernel: &K, first_row: usize, out: &mut [u64]) {
    let Problem { m, n, .. } = *context.work.problem;
    let matrices = (out.len() / n).div_ceil(m);
    let tasks = (4 * rayon::current_num_threads()).div_ceil(matrices);
    let pieces = context.work.problem.by_matrix(first_row, out);
    parallel::each_of(pieces, &|(batch, rows, out)| {
        let slab = Slab {
            context,
            kernel,
            batch,
            rows,
            tasks,
        };
        if slab.is_cheaper_transposed() {
            slab.fill_transposed(out);
        } else {
            slab.fill(out);
        }
    });
}

impl<K: MicroKernel> Slab<'_, K> {
    fn fill(&self, out: &mut [u64]) {
        let Problem { n, k, .. } = *self.context.work.problem;
        let flags = Flags::new(self.rows.len(), n);
        for left in (0..n).step_by(BLOCK_COLUMNS) {
            let columns = left..n.min(left + BLOCK_COLUMNS);
            let mut state = self.initial_state(columns.clone(), &flags);
            if self.is_skinny() {
                self.multiply_skinny(columns.clone(), &mut state, &flags);
            } else {
                let strips = columns.len().div_ceil(self.wide());
                let mut b: Vec<K::B> = (0..strips).map(|_| self.kernel.room()).collect();
                for start in (0..k).step_by(self.kernel.depth()) {
                    let k = start..k.min(start + self.kernel.depth());
                    self.multiply(k, columns.clone(), &mut b, &mut state, None, &flags);
                }
            }
            self.store(columns, &state, out);
        }
        match self.kernel.specials() {
            SpecialRule::Native => {}
            SpecialRule::Zeros { nan } => {
                special::resolve(
                    &self.context,
                    self.batch,
                    self.rows.clone(),
                    &flags,
                    nan,
                    out,
                );
            }
            SpecialRule::Exactly => self.exactly(&flags, out),
        }
    }

    /// Columns of a strip.
    fn wide(&self) -> usize {
        self.kernel.tile().1
    }

    /// Rows of a strip's state, those that fill the last strip of A included.
    fn padded_rows(&self) -> usize {
        self.rows.len().next_multiple_of(self.kernel.tile().0)
    }
}
