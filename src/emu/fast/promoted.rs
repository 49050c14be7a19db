//! Chains that are promoted: after every so many k a task adds its accumulators to others in f32, while
//! both are in a cache, and starts them again from zero.

use std::sync::atomic::{AtomicBool, Ordering};

use super::tile::TileKernel;

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
    /// On neighbouring accumulators; `unknown` is set if one has no code.
    pub fn apply<K: TileKernel>(
        self,
        kernel: &K,
        state: &mut [K::State],
        main: &mut [u32],
        unknown: &AtomicBool,
    ) {
        if self == AtEnd::Keep {
            return;
        }
        let zero = kernel.start(0);
        for (main, state) in main.iter_mut().zip(state) {
            let Some(code) = kernel.finish(*state) else {
                return unknown.store(true, Ordering::Relaxed);
            };
            let code = code as u32;
            *main = match self {
                AtEnd::Keep | AtEnd::Move => code,
                AtEnd::Add { nan } => {
                    let sum = f32::from_bits(*main) + f32::from_bits(code);
                    if sum.is_nan() { nan } else { sum.to_bits() }
                }
            };
            *state = zero;
        }
    }
}
