//! Few rows: B is read once, so that what counts is how it is read. Every task takes some strips through all of
//! k, a shallow panel at a time.

use std::ops::Range;

use super::Slab;
use crate::context::Flags;
use crate::tile::{MicroKernel, Operand, Packed};
use tcverify_tensor::{Block, parallel};

/// How many panels of A are packed at a time, for all tasks.
const PANELS: usize = 64;

impl<K: MicroKernel> Slab<'_, K> {
    /// Whether there is only one strip of rows.
    pub(super) fn is_skinny(&self) -> bool {
        self.rows.len() <= self.kernel.tile().0
    }

    /// Adds the products of all k to the accumulators of a block of columns.
    pub(super) fn multiply_skinny(
        &self,
        columns: Range<usize>,
        state: &mut [K::State],
        flags: &Flags,
    ) {
        let [of_a, of_b] = Operand::both(self.context.work.problem, self.batch);
        let wide = self.wide();
        let strips = columns.len().div_ceil(wide);
        let run = strips.div_ceil(self.tasks);
        // Shallow panels would read short pieces of columns that lie together in memory, and of narrow rows.
        let depth = if of_b.codes.has_rows_together() && columns.len() >= wide {
            self.kernel.shallow()
        } else {
            self.kernel.depth()
        };
        let all = self.context.work.problem.k;
        let strip = self.padded_rows() * wide;
        for first in (0..all).step_by(depth * PANELS) {
            let starts = (first..all.min(first + depth * PANELS)).step_by(depth);
            let panels: Vec<_> = starts
                .map(|start| {
                    let k = start..all.min(start + depth);
                    let panel = self.kernel.panel(k.clone());
                    let a = self.kernel.pack_a(&panel, of_a, self.rows.clone());
                    Flags::set(&flags.rows, a.special());
                    (k, panel, a)
                })
                .collect();
            parallel::chunks_mut(state, run * strip, &|task, state| {
                let mut b = self.kernel.room();
                for (k, panel, a) in &panels {
                    let mut done = 0;
                    for (i, state) in state.chunks_mut(strip).enumerate() {
                        let left = columns.start + (task * run + i) * wide;
                        let mine = left..columns.end.min(left + wide);
                        let block = Block {
                            batch: self.batch,
                            rows: self.rows.clone(),
                            columns: mine.clone(),
                        };
                        self.kernel.pack_b(panel, of_b, mine.clone(), &mut b);
                        Flags::set(&flags.columns[mine], b.special());
                        self.strip(panel, k, a, &b, &block, state);
                        done += block.rows.len() * block.columns.len();
                    }
                    (self.context.work.progress)((done * k.len()) as u64);
                }
            });
        }
    }
}
