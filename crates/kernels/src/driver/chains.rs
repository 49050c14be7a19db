//! Sums of several chains: a task adds the accumulators of a chain to others in f32 while it has both in a
//! cache, and starts them again from zero.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{BLOCK_COLUMNS, Slab, is_small};
use crate::context::{Context, Flags};
use crate::special;
use crate::tile::{MicroKernel, SpecialRule};
use crate::vector::WIDEST;
use tcverify_emu::engine::Promotion;
use tcverify_num::Format;
use tcverify_tensor::{Problem, parallel};

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
    pub fn end<K: MicroKernel>(
        &self,
        kernel: &K,
        at: [usize; 2],
        state: &mut [K::State],
        main: &mut [u32],
    ) {
        let mut sums = [0; WIDEST];
        let sums = &mut sums[..main.len()];
        for (sum, state) in sums.iter_mut().zip(&*state) {
            match f32_code(kernel, *state) {
                Some(code) => *sum = code,
                None => return self.unknown.store(true, Ordering::Relaxed),
            }
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

/// Sums of chains of a product of one matrix with an FP32 accumulator, in C order; none if an accumulator
/// has no code, there are too few to be worth it, or an operand of more chains than one is not a number.
pub fn promoted<K: MicroKernel>(
    context: Context,
    kernel: &K,
    promotion: Promotion,
) -> Option<Vec<u32>> {
    let Problem { m, n, scales, .. } = *context.work.problem;
    let known = context.work.formats.accumulator == Format::Fp32 && scales.is_none();
    let SpecialRule::Zeros { nan } = kernel.specials() else {
        return None;
    };
    if is_small(context.work.problem) || !known || !kernel.knows_zeros() {
        return None;
    }
    let slab = Slab {
        context,
        kernel,
        batch: 0,
        rows: 0..m,
        tasks: 4 * rayon::current_num_threads(),
    };
    let flags = Flags::new(m, n);
    let unknown = AtomicBool::new(false);
    let mut sums = vec![0; m * n];
    for left in (0..n).step_by(BLOCK_COLUMNS) {
        let columns = left..n.min(left + BLOCK_COLUMNS);
        slab.promoted(columns, promotion, (&flags, &unknown), &mut sums);
    }
    if unknown.load(Ordering::Relaxed) {
        return None;
    }
    let special = flags.rows.iter().chain(&flags.columns);
    let any = special.into_iter().any(|flag| flag.load(Ordering::Relaxed));
    match promotion.ends {
        _ if !any => Some(sums),
        [_] if promotion.from_first => {
            let mut codes: Vec<u64> = sums.into_iter().map(u64::from).collect();
            special::resolve(&context, 0, 0..m, &flags, nan, &mut codes);
            Some(codes.into_iter().map(|code| code as u32).collect())
        }
        _ => None,
    }
}

/// Main accumulators in the layout of a kernel's, and what is added to them.
pub(super) struct Main<'m, 'p> {
    pub sums: &'m mut [u32],
    pub chains: Chains<'p>,
}

impl<K: MicroKernel> Slab<'_, K> {
    fn promoted(
        &self,
        columns: Range<usize>,
        promotion: Promotion,
        (flags, unknown): (&Flags, &AtomicBool),
        sums: &mut [u32],
    ) {
        let n = self.context.work.problem.n;
        let alone = promotion.ends.len() == 1 && promotion.from_first;
        let wide = self.wide();
        let strips = columns.len().div_ceil(wide);
        // Chains that start from zero and end with a panel need no accumulators between panels.
        let from_c = |chain: usize| chain == 0 && self.context.work.problem.c.is_some();
        let whole =
            |chain: usize, length: usize| !alone && !from_c(chain) && length <= self.kernel.depth();
        let firsts = [0].into_iter().chain(promotion.ends.iter().copied());
        let lengths = firsts.zip(promotion.ends).map(|(first, last)| last - first);
        let mut state = if lengths.enumerate().all(|(chain, k)| whole(chain, k)) {
            Vec::new()
        } else {
            self.initial_state(columns.clone(), flags)
        };
        let accumulators = strips * self.padded_rows() * wide;
        let mut main = vec![0u32; if alone { 0 } else { accumulators }];
        let mut b: Vec<K::B> = (0..strips).map(|_| self.kernel.room()).collect();
        let mut first = 0;
        for (chain, &last) in promotion.ends.iter().enumerate() {
            for start in (first..last).step_by(self.kernel.depth()) {
                let k = start..last.min(start + self.kernel.depth());
                let chains = Chains {
                    promotion,
                    chain,
                    whole: whole(chain, last - first),
                    unknown,
                };
                let main = (k.end == last && !alone).then_some(Main {
                    sums: &mut main,
                    chains,
                });
                self.multiply(k, columns.clone(), &mut b, &mut state, main, flags);
            }
            first = last;
        }
        let strip = self.padded_rows() * wide;
        parallel::chunks_mut(sums, n, &|row, out| {
            let pieces = out[columns.clone()].chunks_mut(wide).enumerate();
            for (i, out) in pieces {
                let at = i * strip + row * wide;
                if alone {
                    for (out, &state) in out.iter_mut().zip(&state[at..]) {
                        match f32_code(self.kernel, state) {
                            Some(code) => *out = code,
                            None => unknown.store(true, Ordering::Relaxed),
                        }
                    }
                } else {
                    out.copy_from_slice(&main[at..][..out.len()])
                }
            }
        });
    }
}

/// An accumulator's code of FP32.
#[inline(always)]
fn f32_code<K: MicroKernel>(kernel: &K, state: K::State) -> Option<u32> {
    K::as_f32(state).or_else(|| kernel.finish(state).map(|code| code as u32))
}
