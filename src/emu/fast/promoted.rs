//! Chains that are promoted: after every so many k a task adds its accumulators to others in f32, while
//! both are in a cache, and starts them again from zero.

use std::ops::Range;
use std::sync::atomic::Ordering;

use super::pack::{PackedB, Panel};
use super::{BLOCK_COLUMNS, DEPTH, Fast, Flags, SMALL, Slab};
use crate::emu::Progress;
use crate::num::Format;

/// When, and into what.
#[derive(Clone, Copy, Debug)]
pub struct Promotion {
    /// k of a chain; the last one may have fewer.
    pub every: usize,
    /// The main accumulator is the first chain's as it is, instead of +0 and that.
    pub from_first: bool,
    /// The f32 code of a NaN sum.
    pub nan: u32,
}

/// What becomes of the accumulators at the end of a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtEnd {
    Keep,
    /// They are the main ones, and start again.
    Move,
    /// They are added to the main ones, and start again.
    Add {
        nan: u32,
    },
}

impl AtEnd {
    /// On neighbouring accumulators, as bits of f32.
    pub fn apply(self, state: &mut [i32], main: &mut [i32]) {
        match self {
            AtEnd::Keep => {}
            AtEnd::Move => {
                main.copy_from_slice(state);
                state.fill(0);
            }
            AtEnd::Add { nan } => {
                for (main, state) in main.iter_mut().zip(&mut *state) {
                    let sum = f32::from_bits(*main as u32) + f32::from_bits(*state as u32);
                    *main = if sum.is_nan() { nan } else { sum.to_bits() } as i32;
                    *state = 0;
                }
            }
        }
    }
}

impl Fast<'_> {
    /// Sums of a product of one matrix with an FP32 accumulator, in C order; none if an operand is no
    /// number, or there are too few to be worth it.
    pub fn promoted(&self, promotion: Promotion, progress: Progress) -> Option<Vec<u32>> {
        let (m, n) = (self.problem.m, self.problem.n);
        let known = self.arithmetic.accumulator == Format::Fp32 && self.problem.scales.is_none();
        if m * n < SMALL || !known {
            return None;
        }
        let slab = Slab {
            fast: self,
            batch: 0,
            rows: 0..m,
            progress,
        };
        let flags = Flags::new(m, n);
        let mut sums = vec![0; m * n];
        for left in (0..n).step_by(BLOCK_COLUMNS) {
            let columns = left..n.min(left + BLOCK_COLUMNS);
            slab.promoted(columns, promotion, &flags, &mut sums);
        }
        let special = flags.rows.iter().chain(&flags.columns);
        let any = special.into_iter().any(|flag| flag.load(Ordering::Relaxed));
        (!any).then_some(sums)
    }
}

impl Slab<'_> {
    fn promoted(
        &self,
        columns: Range<usize>,
        promotion: Promotion,
        flags: &Flags,
        sums: &mut [u32],
    ) {
        let Fast {
            problem,
            plan,
            platform,
            ..
        } = self.fast;
        let mut state = self.initial_state(columns.clone(), flags);
        let mut main = vec![0i32; state.len()];
        let mut b = PackedB::new(columns.len(), platform.columns());
        let depth = DEPTH.next_multiple_of(plan.span());
        for first in (0..problem.k).step_by(promotion.every) {
            let last = problem.k.min(first + promotion.every);
            for start in (first..last).step_by(depth) {
                let panel = Panel::new(plan, start, depth.min(last - start));
                let at_end = match (start + panel.len == last, first) {
                    (false, _) => AtEnd::Keep,
                    (true, 0) if promotion.from_first => AtEnd::Move,
                    (true, _) => AtEnd::Add { nan: promotion.nan },
                };
                let promoted = Some((main.as_mut_slice(), at_end));
                self.multiply(&panel, columns.clone(), &mut b, &mut state, promoted, flags);
            }
        }
        let wide = platform.columns();
        let strip = self.padded_rows() * wide;
        for (row, out) in sums.chunks_mut(problem.n).enumerate() {
            let pieces = out[columns.clone()].chunks_mut(wide);
            for (out, main) in pieces.zip(main.chunks(strip)) {
                for (out, &main) in out.iter_mut().zip(&main[row * wide..]) {
                    *out = main as u32;
                }
            }
        }
    }
}
