//! Sums of several chains: a task adds the accumulators of a chain to others in f32 while it has both in a
//! cache, and starts them again from zero.

use std::sync::atomic::{AtomicBool, Ordering};

use super::tile::TileKernel;

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
    /// Neighbouring elements of a row, of which `column` is the first; all are f32 codes.
    fn merge(&self, chain: usize, at: [usize; 2], main: &mut [u32], sums: &[u32]);
}

/// Chains at work on the main accumulators.
#[derive(Clone, Copy)]
pub(super) struct Chains<'p> {
    pub promotion: Promotion<'p>,
    pub chain: usize,
    /// Whether the panel is all of the chain, which starts from zero: its accumulators need no memory
    /// between panels.
    pub whole: bool,
    /// Set if an accumulator has no code.
    pub unknown: &'p AtomicBool,
}

impl Chains<'_> {
    /// The end of a chain, for neighbouring elements of a row; `state` starts again.
    pub fn end<K: TileKernel>(
        &self,
        kernel: &K,
        at: [usize; 2],
        state: &mut [K::State],
        main: &mut [u32],
    ) {
        let mut sums = [0; super::vector::WIDEST];
        let sums = &mut sums[..main.len()];
        for (sum, state) in sums.iter_mut().zip(&*state) {
            *sum = match K::as_f32(*state) {
                Some(code) => code,
                None => match kernel.finish(*state) {
                    Some(code) => code as u32,
                    None => return self.unknown.store(true, Ordering::Relaxed),
                },
            };
        }
        match (self.chain, self.promotion.from_first) {
            (0, true) => main.copy_from_slice(sums),
            _ => self.promotion.merge.merge(self.chain, at, main, sums),
        }
        if !self.whole {
            state.fill(kernel.start(0));
        }
    }
}
