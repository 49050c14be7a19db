//! A block of rows times a strip of columns, tile by tile; what a kernel gives up is the exact engine's.

use std::ops::Range;

use super::Slab;
use crate::context::{Context, Specials};
use crate::tile::{MicroKernel, SpecialRule, StepFallback};
use tcverify_tensor::Block;

impl<K: MicroKernel> Slab<'_, K> {
    /// A block of rows times one strip of columns.
    pub(super) fn strip(
        &self,
        panel: &K::Panel,
        k: &Range<usize>,
        a: &K::A,
        b: &K::B,
        block: &Block,
        state: &mut [K::State],
    ) {
        let (tall, wide) = self.kernel.tile();
        for (strip, state) in state.chunks_mut(tall * wide).enumerate() {
            let first = block.rows.start + strip * tall;
            let tile = TileFallback {
                context: &self.context,
                block: Block {
                    rows: first..block.rows.end.min(first + tall),
                    ..block.clone()
                },
                start: k.start,
            };
            if !self.kernel.run(panel, a, strip, b, state, &tile) {
                self.panel_exactly(k.clone(), &tile.block, state);
            }
        }
    }

    /// A tile whose preconditions failed, by the exact engine; where the kernel takes specials for zeros,
    /// they are zeros here as well.
    fn panel_exactly(&self, k: Range<usize>, block: &Block, state: &mut [K::State]) {
        let count = block.columns.len();
        let rows = state.chunks_mut(self.wide()).take(block.rows.len());
        let mut rows: Vec<_> = rows.map(|row| &mut row[..count]).collect();
        let states = rows.iter().flat_map(|row| row.iter());
        let mut codes: Vec<u64> = states.map(|&state| self.kernel.between(state)).collect();
        let specials = match self.kernel.specials() {
            SpecialRule::Native => Specials::Themselves,
            SpecialRule::Zeros { .. } | SpecialRule::Exactly => Specials::Zeros,
        };
        self.context.accumulate(block, k, specials, &mut codes);
        for (row, codes) in rows.iter_mut().zip(codes.chunks(count)) {
            for (state, &code) in row.iter_mut().zip(codes) {
                *state = self.kernel.start(code);
            }
        }
    }
}

/// The exact engine for steps of one tile.
struct TileFallback<'a> {
    context: &'a Context<'a>,
    block: Block,
    /// The first k of the panel.
    start: usize,
}

impl StepFallback for TileFallback<'_> {
    #[cold]
    fn step(&self, row: usize, column: usize, k: Range<usize>, code: u64) -> u64 {
        let (row, column) = (
            self.block.rows.start + row,
            self.block.columns.start + column,
        );
        let end = (self.start + k.end).min(self.context.work.problem.k);
        if row >= self.block.rows.end || column >= self.block.columns.end {
            return code; // what only fills the tile up
        }
        let block = Block {
            batch: self.block.batch,
            rows: row..row + 1,
            columns: column..column + 1,
        };
        let mut codes = [code];
        let k = self.start + k.start..end;
        self.context
            .accumulate(&block, k, Specials::Zeros, &mut codes);
        codes[0]
    }
}
