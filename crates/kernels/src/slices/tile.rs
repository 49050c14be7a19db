//! The arithmetic of a tile; the header of [`super`] explains it.

use super::plan::{AT_ONCE, Blocks, FRACTION, GROUP, GROUPS, MOST, ROWS, SlicePlan};
use crate::platform::Vectorized;
use crate::vector::{ACROSS, Vector, WIDEST};
use tcverify_num::Format;

/// Planes of A and of B.
pub const OF_A: usize = 3;
pub const OF_B: usize = 4;

/// A tile: `[plane][k][ROWS]`, `[plane][k][columns]` and, of accumulators, sums of a block alone and sums in memory,
/// `[ROWS][columns]`.
pub struct RunTile<'a> {
    pub plan: &'a SlicePlan,
    /// The first k, of all.
    pub start: usize,
    pub depth: usize,
    pub a: &'a [i32],
    pub b: &'a [u16],
    pub state: &'a mut [[i32; ROWS * WIDEST]; 3],
}

impl Vectorized for RunTile<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let columns = ACROSS * V::LANES;
        assert!(self.a.len() == OF_A * self.depth * ROWS);
        assert!(self.b.len() == OF_B * self.depth * columns);
        assert!(columns <= WIDEST);
        let tile = self.plan.tile;
        assert!(tile <= MOST && self.depth.is_multiple_of(tile));
        let constants = Constants::new(self.plan);
        for left in (0..columns).step_by(2 * V::LANES) {
            for first in (0..self.depth).step_by(tile) {
                let k = self.start + first;
                let blocks = self.plan.blocks.filter(|blocks| k >= blocks.k);
                // Where sums of blocks are added in memory, the sum of a block from zero is computed as well.
                let chains = 1 + usize::from(blocks.is_some_and(|blocks| blocks.added));
                for row in 0..ROWS {
                    let lanes = row * columns + left..row * columns + left + 2 * V::LANES;
                    if let Some(blocks) = blocks.filter(|blocks| k.is_multiple_of(blocks.k)) {
                        for i in lanes.clone() {
                            blocks.between(k == blocks.k, i, self.state);
                        }
                    }
                    for state in &mut self.state[..chains] {
                        // SAFETY: features are the caller's promise; `tile` k from `first` on, and two registers of lanes from
                        // `left` on, lie within the lengths just asserted.
                        unsafe {
                            let at = state.as_mut_ptr().add(lanes.start);
                            let other = at.add(V::LANES);
                            let mut c = [V::load(at), V::load(other)];
                            let work = Work {
                                constants: &constants,
                                depth: self.depth,
                                a: self.a.as_ptr().add(first * ROWS + row),
                                b: self.b.as_ptr().add(first * columns + left),
                            };
                            work.tile::<V>(&self.plan.phases, tile, &mut c);
                            V::store(at, c[0]);
                            V::store(other, c[1]);
                        }
                    }
                }
            }
        }
    }
}

impl Blocks {
    /// What becomes of one element; `first`: after the first block.
    fn between(&self, first: bool, i: usize, state: &mut [[i32; ROWS * WIDEST]; 3]) {
        let [main, alone, stored] = state;
        stored[i] = if first || !self.added {
            main[i]
        } else {
            added_in_memory(stored[i], alone[i])
        };
        main[i] = stored[i] & (-1 << self.lost_bits);
        alone[i] = 0;
    }
}

/// IEEE's sum, to nearest even; subnormal numbers are zeros of their sign, and there is one NaN.
fn added_in_memory(x: i32, y: i32) -> i32 {
    let flushed = |x: f32| {
        if x.is_subnormal() {
            0f32.copysign(x)
        } else {
            x
        }
    };
    let [x, y] = [x, y].map(|code| flushed(f32::from_bits(code as u32)));
    let sum = flushed(x + y);
    if sum.is_nan() {
        0x7fc0_0000
    } else {
        sum.to_bits() as i32
    }
}

/// What the plan says, in the units of lanes.
struct Constants {
    /// See [`SlicePlan::offset`].
    offset: i32,
    /// What the largest packed exponent of a group is at least.
    zero: i32,
    narrow: bool,
    /// What is added to a sum of minus one unit.
    fault: i32,
    /// Significant bits of a result.
    precision: i32,
    /// The largest field of a number, and what is too large becomes.
    top: i32,
    overflowed: i32,
}

impl Constants {
    fn new(plan: &SlicePlan) -> Constants {
        let format = plan.accumulator;
        let offset = plan.offset();
        let zero = plan
            .zero_exponent
            .map_or(0, |zero| zero + format.bias() - offset);
        let ones = (1 << format.exponent_bits()) - 1;
        let fraction = (1 << format.fraction_bits()) - 1;
        let (top, overflowed) = match format {
            // The largest field is a number's.
            Format::Fp16 => (ones, (ones << FRACTION) | fraction << plan.below()),
            _ => (ones - 1, ones << FRACTION),
        };
        Constants {
            offset,
            zero: zero << 16 | zero,
            narrow: plan.narrow_bits > 0,
            fault: plan.minus_one.map_or(0, |bits| 1 - (1 << bits)),
            precision: format.fraction_bits() as i32 + 1,
            top,
            overflowed,
        }
    }
}

/// One tile of K, one row, the columns of two registers of lanes.
struct Work<'a> {
    constants: &'a Constants,
    /// How many k the panel has.
    depth: usize,
    a: *const i32,
    b: *const u16,
}

// Indices, not iterators: the closures in those are not compiled for the vectors of the machine.
#[allow(clippy::needless_range_loop)]
impl Work<'_> {
    #[inline(always)]
    unsafe fn a<V: Vector>(&self, plane: usize, k: usize) -> V::I {
        // SAFETY: the caller's promise, here and below.
        unsafe { V::splat(*self.a.add((plane * self.depth + k) * ROWS)) }
    }

    #[inline(always)]
    unsafe fn b<V: Vector>(&self, plane: usize, k: usize) -> V::I {
        let columns = ACROSS * V::LANES;
        // SAFETY: the caller's promise, here and below.
        unsafe { V::load_halves(self.b.add((plane * self.depth + k) * columns).cast()) }
    }

    #[inline(always)]
    unsafe fn tile<V: Vector>(&self, phases: &[u32], tile: usize, c: &mut [V::I; 2]) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut largest = [V::splat(0); MOST / GROUP];
            // 2^12 divided by a power of two for each distance below the largest, with the sign of B.
            let mut factors = [V::splat(0); MOST];
            for first in (0..tile).step_by(GROUP) {
                let mut exponents = [V::splat(0); GROUP];
                let mut most = V::splat(self.constants.zero);
                for i in 0..GROUP {
                    let k = first + i;
                    exponents[i] = V::add_halves(self.a::<V>(0, k), self.b::<V>(0, k));
                    most = V::max_halves(most, exponents[i]);
                }
                for i in 0..GROUP {
                    let k = first + i;
                    let factor = V::halve_4096(V::sub_halves(most, exponents[i]));
                    factors[k] = V::negate_halves(factor, self.b::<V>(1, k));
                }
                largest[first / GROUP] = most;
            }
            for &phase in phases {
                let (of_a, of_b) = (1 + (phase >> 1) as usize, 2 + (phase & 1) as usize);
                let below = 7 * (phase >> 1) + 5 * (phase & 1);
                let offset = V::splat(self.constants.offset - below as i32);
                for first in (0..tile).step_by(AT_ONCE) {
                    let mut sums = [V::splat(0); GROUPS];
                    for i in 0..AT_ONCE {
                        let k = first + i;
                        let product = V::multiply_bytes(self.b::<V>(of_b, k), self.a::<V>(of_a, k));
                        let kept = V::multiply_fractions(product, factors[k]);
                        sums[i / GROUP] = V::add_halves(sums[i / GROUP], kept);
                    }
                    let mine = first / GROUP;
                    for half in 0..2 {
                        let of = [half_of::<V>(sums[0], half), half_of::<V>(sums[1], half)];
                        let exponents = [
                            V::add(half_of::<V>(largest[mine], half), offset),
                            V::add(half_of::<V>(largest[mine + 1], half), offset),
                        ];
                        c[half] = self.accumulate::<V>(of, exponents, c[half]);
                    }
                }
            }
        }
    }

    /// Two groups and the accumulator.
    #[inline(always)]
    unsafe fn accumulate<V: Vector>(
        &self,
        sums: [V::I; GROUPS],
        exponents: [V::I; GROUPS],
        c: V::I,
    ) -> V::I {
        let Constants {
            narrow,
            fault,
            precision,
            top,
            overflowed,
            ..
        } = *self.constants;
        // SAFETY: the caller's promise.
        unsafe {
            let zero = V::splat(0);
            let own = V::and(V::shift_right(c, V::splat(23)), V::splat(255));
            let mut largest = own;
            for group in 0..GROUPS {
                largest = V::max(largest, exponents[group]);
            }
            let hidden = V::and(V::greater(own, zero), V::splat(1 << 23));
            let fraction = V::and(c, V::splat((1 << 23) - 1));
            // A field of 0 means zero, whatever the fraction.
            let fraction = V::and(fraction, V::greater(own, zero));
            let magnitude = V::or(fraction, hidden);
            let mut kept = nearest::<V>(V::add(magnitude, magnitude), distance::<V>(largest, own));
            if narrow {
                kept = narrowed::<V>(kept);
            }
            let sign = V::shift_right(c, V::splat(31));
            let mut total = V::sub(V::xor(kept, sign), sign);
            for group in 0..GROUPS {
                // One too small for the accumulator is zero.
                let exponent = exponents[group];
                let sum = V::and(sums[group], V::greater(exponent, zero));
                let twice = V::shift_left(sum, V::splat(14));
                let mut kept = nearest::<V>(twice, distance::<V>(largest, exponent));
                if narrow {
                    kept = narrowed::<V>(kept);
                }
                total = V::add(total, kept);
            }
            if fault != 0 {
                let minus_one = V::equal(total, V::splat(-1));
                total = V::add(total, V::and(minus_one, V::splat(fault)));
            }

            let sign = V::and(total, V::splat(i32::MIN));
            let mask = V::shift_right(total, V::splat(31));
            let magnitude = V::sub(V::xor(total, mask), mask);
            let size = V::bits(V::round_toward_zero(magnitude));
            let size = V::sub(
                V::shift_right(size, V::splat(23)),
                V::splat(126 + precision),
            );
            let down = V::max(size, zero);
            let kept = nearest::<V>(V::add(magnitude, magnitude), down);
            let number = V::bits(V::to_float(kept));
            // Where the last of 24 bits counts as 1.
            let up = V::add(V::add(down, largest), V::splat(-150));
            let field = V::add(V::shift_right(number, V::splat(23)), up);
            let number = V::add(number, V::shift_left(up, V::splat(23)));
            let large = V::greater(field, V::splat(top));
            let number = V::or(V::clear(number, large), V::and(V::splat(overflowed), large));
            let there = V::and(V::greater(field, zero), V::greater(magnitude, zero));
            V::and(V::or(number, sign), there)
        }
    }
}

/// How far below the largest exponent; from 31 on nothing is left.
#[inline(always)]
unsafe fn distance<V: Vector>(largest: V::I, exponent: V::I) -> V::I {
    // SAFETY: the caller's promise, here and below.
    unsafe { V::min(V::sub(largest, exponent), V::splat(31)) }
}

/// Half of `twice`, shifted down and rounded, up from a half on.
#[inline(always)]
unsafe fn nearest<V: Vector>(twice: V::I, down: V::I) -> V::I {
    // SAFETY: as above.
    unsafe {
        let one = V::splat(1);
        V::shift_right(V::add(V::shift_right(twice, down), one), one)
    }
}

/// Rounded again, to 13 bits fewer.
#[inline(always)]
unsafe fn narrowed<V: Vector>(x: V::I) -> V::I {
    // SAFETY: as above.
    unsafe { V::shift_left(nearest::<V>(x, V::splat(12)), V::splat(13)) }
}

/// The first half of each lane, or the second, signed.
#[inline(always)]
unsafe fn half_of<V: Vector>(x: V::I, half: usize) -> V::I {
    // SAFETY: the caller's promise.
    unsafe {
        let sixteen = V::splat(16);
        match half {
            0 => V::shift_right(V::shift_left(x, sixteen), sixteen),
            _ => V::shift_right(x, sixteen),
        }
    }
}
