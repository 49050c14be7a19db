//! The inner loops: a strip of rows of A times a strip of columns of B over a panel of k.

use std::ops::Range;

use super::pack::Lines;
use super::plan::{ACROSS, BlockPlan, PART, ROWS, TERM_BITS, WORDS};
use crate::platform::Vectorized;
use crate::tile::StepFallback;
use crate::vector::{Vector, WIDEST};

pub struct RunTile<'a> {
    pub plan: &'a BlockPlan,
    /// Rows that are computed; what else there is only fills the tile up.
    pub rows: usize,
    /// Smallest and largest exponent of a term.
    pub window: [i32; 2],
    pub depth: usize,
    pub parts: usize,
    pub a_words: &'a [i32],
    pub a_factors: &'a [f64],
    pub a_exponents: &'a [i32],
    pub a_nonzero: &'a [i32],
    pub corrections: &'a [i32],
    pub b: &'a Lines,
    pub state: &'a mut [f32],
    pub fallback: &'a dyn StepFallback,
}

impl Vectorized for RunTile<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(mut self) {
        const { assert!(ACROSS * V::LANES <= WIDEST, "buffers hold the widest strip") };
        let columns = ACROSS * V::LANES;
        let parts = self.parts;
        assert!(self.a_words.len() == parts * ROWS * WORDS && self.a_factors.len() == parts * ROWS);
        assert!(self.a_exponents.len() == parts * ROWS && self.a_nonzero.len() == parts * ROWS);
        assert!(self.corrections.len() == parts * ROWS && self.state.len() == ROWS * columns);
        assert!(self.b.words.len() == parts * columns * WORDS);
        assert!(
            self.b.factors.len() == parts * columns && self.b.exponents.len() == parts * columns
        );
        assert!(self.b.nonzero.len() == parts * columns);
        let group = self.plan.group / PART;
        for first in (0..parts).step_by(group) {
            for row in 0..self.rows {
                for left in (0..columns).step_by(V::LANES) {
                    // SAFETY: features are the caller's promise; parts of a group, and a register from
                    // `left` on, lie within the lengths just asserted.
                    unsafe { self.group::<V>(first..first + group, row, left) }
                }
            }
        }
    }
}

impl RunTile<'_> {
    /// A step, for a register of a row.
    #[inline(always)]
    unsafe fn group<V: Vector>(&mut self, parts: Range<usize>, row: usize, left: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            let at = row * ACROSS * V::LANES + left;
            let c = V::load_f(self.state.as_ptr().add(at));
            let [low, high] = self.window;
            let fraction_bits = self.plan.fraction_bits;
            // C's last bit lies at or above the grid of the largest term, and the last bit of the
            // smallest term above C's grid.
            let least = (high - fraction_bits + 23 + 127).max(1) << 23;
            let most = ((low + fraction_bits - TERM_BITS + 1 + 127).min(254) << 23) - 1;
            let together = high - low <= fraction_bits - TERM_BITS;
            let magnitude = V::and(V::bits(c), V::splat(i32::MAX));
            let outside = V::or(
                V::greater(V::splat(least), magnitude),
                V::greater(magnitude, V::splat(most)),
            );
            let outside = V::clear(outside, V::equal(magnitude, V::splat(0)));
            if !together || V::any_negative(outside) {
                return self.aligned::<V>(parts, row, left);
            }
            let mut sum = V::widen(c);
            for part in parts {
                let dot = V::int_to_d(self.dot::<V>(part, row, left));
                sum = V::fma_d(dot, self.factor::<V>(part, row, left), sum);
            }
            V::store_f(self.state.as_mut_ptr().add(at), toward_zero::<V>(sum));
        }
    }

    /// The exact sum of a part's products, in quarters.
    #[inline(always)]
    unsafe fn dot<V: Vector>(&self, part: usize, row: usize, left: usize) -> V::I {
        let columns = ACROSS * V::LANES;
        let at = part * ROWS + row;
        // SAFETY: the caller's promise.
        unsafe {
            let words = self.a_words.as_ptr().add(at * WORDS);
            let b = self.b.words.as_ptr().add(part * WORDS * columns + left);
            // Eight products of at most 24 times 12 are far below 2^15.
            let mut halves = V::multiply_bytes(V::load(b), V::splat(*words));
            for word in 1..WORDS {
                let b = V::load(b.add(word * columns));
                let more = V::multiply_bytes(b, V::splat(*words.add(word)));
                halves = V::add_halves(halves, more);
            }
            let sum = V::multiply_pairs(halves, V::splat(0x0001_0001));
            V::add(sum, V::splat(*self.corrections.get_unchecked(at)))
        }
    }

    /// The product of the scales, over four for the quarters.
    #[inline(always)]
    unsafe fn factor<V: Vector>(&self, part: usize, row: usize, left: usize) -> V::D {
        let columns = ACROSS * V::LANES;
        // SAFETY: the caller's promise.
        unsafe {
            let x = *self.a_factors.get_unchecked(part * ROWS + row) * 0.25;
            let y = V::load_d(self.b.factors.as_ptr().add(part * columns + left));
            V::mul_d(V::splat_d(x), y)
        }
    }

    /// A step with terms and C truncated to the grid of the largest exponent.
    #[cold]
    #[inline(always)]
    unsafe fn aligned<V: Vector>(&mut self, parts: Range<usize>, row: usize, left: usize) {
        let columns = ACROSS * V::LANES;
        let at = row * columns + left;
        // SAFETY: the caller's promise.
        unsafe {
            let c = V::load_f(self.state.as_ptr().add(at));
            let bits = V::bits(c);
            let magnitude = V::and(bits, V::splat(i32::MAX));
            let zero = V::equal(magnitude, V::splat(0));
            // C's exponent; of a zero, and of all that is below, the one of zeros.
            let exponent = V::sub(V::shift_right(magnitude, V::splat(23)), V::splat(127));
            let least = V::splat(self.plan.zero_exponent);
            let mut largest = V::max(V::clear(exponent, zero), least);
            largest = V::or(V::clear(largest, zero), V::and(least, zero));
            for part in parts.clone() {
                let place = part * columns + left;
                let x = V::splat(*self.a_nonzero.get_unchecked(part * ROWS + row));
                let y = V::load(self.b.nonzero.as_ptr().add(place));
                let none = V::equal(V::and(x, y), V::splat(0));
                let x = V::splat(*self.a_exponents.get_unchecked(part * ROWS + row));
                let sum = V::add(x, V::load(self.b.exponents.as_ptr().add(place)));
                let sum = V::or(V::clear(sum, none), V::and(least, none));
                largest = V::max(largest, sum);
            }
            let fraction_bits = V::splat(self.plan.fraction_bits);
            let up = V::power_of_two(V::sub(fraction_bits, largest));
            let down = V::power_of_two(V::sub(largest, fraction_bits));
            let mut total = V::truncate_d(V::mul_d(V::widen(c), up));
            for part in parts.clone() {
                let dot = V::int_to_d(self.dot::<V>(part, row, left));
                let term = V::mul_d(dot, self.factor::<V>(part, row, left));
                total = V::add_d(total, V::truncate_d(V::mul_d(term, up)));
            }
            let mut new = [0f32; 16];
            V::store_f(new.as_mut_ptr(), toward_zero::<V>(V::mul_d(total, down)));
            // What was or becomes subnormal, or infinite, is the exact engine's.
            let k = parts.start * PART..self.depth.min(parts.end * PART);
            for (lane, new) in new.into_iter().enumerate().take(V::LANES) {
                let state = &mut self.state[at + lane];
                let ordinary = |x: f32| x == 0.0 || (1e-30..1e35).contains(&x.abs());
                *state = if ordinary(*state) && ordinary(new) {
                    new
                } else {
                    let code = state.to_bits().into();
                    f32::from_bits(self.fallback.step(row, left + lane, k.clone(), code) as u32)
                };
            }
        }
    }
}

/// A double in an FP32's normal range, to its 24 bits. No -0.
#[inline(always)]
unsafe fn toward_zero<V: Vector>(x: V::D) -> V::F {
    // SAFETY: the caller's promise.
    unsafe { V::narrow(V::add_d(V::and_d(x, !0 << 29), V::splat_d(0.0))) }
}
