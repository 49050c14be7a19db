//! Vortex's fused dot product: aligned and added as a tensor core's, but what is cut off sets a sticky
//! bit, and the sum is rounded to nearest.
//!
//! A term lost bits if its integer is not the number it was made of. The sum, taken four times, plus
//! the sticky bit is an integer of 31 bits whose conversion to an FP32 rounds as the unit does: the
//! bit lies below guard and round bit wherever the leading one is. Sums that would wrap in the unit's
//! accumulator are noticed, and the tile is the exact engine's.

use super::kernel;
use super::pack::{Exponents, ROWS};
use super::plan::{DotAdd, GroupPlan};
use super::tile::{Fused, Tile, assert_lengths};
use crate::tile::SpecialRule;
use crate::vector::{ACROSS, Aligned, Vector, WIDEST};
use tcverify_num::{Format, Formats, Rounding};

/// A sticky dot-add in the terms of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StickyPlan {
    products: GroupPlan,
    ending: Ending,
    /// Whether a zero masks an infinity or NaN beside it.
    masks: bool,
}

/// The constants of a step of one product a lane.
pub struct StickyStep {
    pub group: usize,
    pub fraction_bits: u32,
    pub zero_exponent: i32,
    pub width: u32,
    pub hidden_bit: bool,
    pub masks: bool,
    pub nan: u64,
}

impl StickyPlan {
    /// The plan, or none if only the exact engine can compute it.
    pub fn new(formats: Formats, step: StickyStep) -> Option<StickyPlan> {
        // Sums are taken four times in 32 bits, and one beyond the accumulator stays below its double.
        let largest = (4 * step.group as u64 + 2) << step.fraction_bits.min(32);
        if formats.scale.is_some() || step.width > 30 || largest >= 1 << step.width {
            return None;
        }
        let products = DotAdd {
            group: step.group,
            fraction_bits: step.fraction_bits,
            alignment: Rounding::TowardZero,
            zero_exponent: step.zero_exponent,
            precision: 24,
            rounding: Rounding::TowardZero,
            nan: step.nan,
        };
        let products = GroupPlan::new(products, formats, None)?;
        // So that 2^(E - F - 2) is a normal number.
        let floor = products.fraction_bits + 3;
        (!products.checked && formats.accumulator == Format::Fp32).then_some(StickyPlan {
            ending: Ending {
                fraction_bits: products.fraction_bits,
                width: step.width,
                hidden_bit: step.hidden_bit,
                floor,
            },
            products: GroupPlan { floor, ..products },
            masks: step.masks,
        })
    }
}

impl Fused for StickyPlan {
    fn products(&self) -> &GroupPlan {
        &self.products
    }

    fn specials(&self) -> SpecialRule {
        let nan = self.products.nan;
        if self.masks {
            SpecialRule::Exactly
        } else {
            SpecialRule::Zeros { nan }
        }
    }

    fn suits(&self, a: Exponents, b: Exponents, k: usize) -> bool {
        a.within(b, self.products.fraction_bits + 2, k)
    }

    #[inline(always)]
    unsafe fn run<V: Vector>(&self, tile: &mut Tile) -> bool {
        assert_lengths::<V>(tile);
        let columns = ACROSS * V::LANES;
        let mut state = Aligned([0f32; ROWS * WIDEST]);
        let state = state.0.as_mut_ptr();
        let mut exponents = Aligned([0u8; ROWS * WIDEST]);
        let exponents = exponents.0.as_mut_ptr();
        // SAFETY: features are the caller's promise; every pointer stays within the lengths just
        // asserted, and within buffers that hold the widest strip.
        unsafe {
            if !kernel::enter::<V, { kernel::FP32 }, false>(tile, state) {
                return false;
            }
            let mut bad = V::splat(0);
            for group in 0..tile.groups {
                let first = group * tile.plan.group;
                kernel::common_exponents::<V>(tile, first, exponents);
                for row in 0..tile.rows {
                    let at = row * columns;
                    step::<V>(
                        self,
                        tile,
                        [first, row],
                        exponents.add(at),
                        state.add(at),
                        &mut bad,
                    );
                }
            }
            let sound = !V::any_negative(bad);
            if sound {
                kernel::leave::<V, { kernel::FP32 }, false>(tile, state);
            }
            sound
        }
    }
}

/// A step of one row, all columns.
#[inline(always)]
unsafe fn step<V: Vector>(
    plan: &StickyPlan,
    tile: &Tile,
    [first, row]: [usize; 2],
    exponents: *const u8,
    state: *mut f32,
    bad: &mut V::I,
) {
    let columns = ACROSS * V::LANES;
    let ending = &plan.ending;
    // SAFETY: the caller's promise.
    unsafe {
        for v in 0..ACROSS {
            let at = v * V::LANES;
            let c = V::load_f(state.add(at));
            let e = V::max(V::load_exponents(exponents.add(at)), least::<V>(ending, c));
            let scale = scale::<V>(ending, e);
            let mut sum = V::splat(0);
            let mut lost = V::splat(0);
            let mut a = tile.a.as_ptr().add(first * ROWS + row);
            let mut b = tile.b.as_ptr().add(first * columns + at);
            for _ in 0..tile.plan.group {
                let product = V::mul(V::splat_f(*a), V::load_f(b));
                term::<V>(V::mul(product, scale), &mut sum, &mut lost);
                a = a.add(ROWS);
                b = b.add(columns);
            }
            V::store_f(state.add(at), end::<V>(ending, c, e, sum, lost, bad));
        }
    }
}

/// How the sum of truncated terms and C becomes the accumulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    pub fraction_bits: i32,
    /// Bits of the unit's accumulator.
    pub width: u32,
    /// Whether a C of zero sets the sticky bit.
    pub hidden_bit: bool,
    /// The lowest common exponent, biased by 127.
    pub floor: i32,
}

/// Negative where an accumulator is subnormal, or beyond what the arithmetic takes.
#[inline(always)]
pub unsafe fn unfit<V: Vector>(ending: &Ending, c: V::I) -> V::I {
    // SAFETY: the caller's promise.
    unsafe {
        let magnitude = V::and(c, V::splat(i32::MAX));
        let small = V::greater(V::splat(ending.floor << 23), magnitude);
        let large = V::greater(magnitude, V::splat((253 << 23) - 1));
        V::clear(V::or(small, large), V::equal(magnitude, V::splat(0)))
    }
}

/// The exponent field with which C competes, at least the lowest.
#[inline(always)]
pub unsafe fn least<V: Vector>(ending: &Ending, c: V::F) -> V::I {
    // SAFETY: the caller's promise.
    unsafe {
        let field = V::and(V::bits(c), V::splat(0x7f80_0000));
        V::max(field, V::splat(ending.floor << 23))
    }
}

/// 2^(F - E)
#[inline(always)]
unsafe fn scale<V: Vector>(ending: &Ending, e: V::I) -> V::F {
    // SAFETY: the caller's promise.
    unsafe {
        let twice_bias_plus_f = V::splat((254 + ending.fraction_bits).wrapping_shl(23));
        V::from_bits(V::sub(twice_bias_plus_f, e))
    }
}

/// The accumulator after a step: C joins the sum of the other terms.
#[inline(always)]
pub unsafe fn end<V: Vector>(
    ending: &Ending,
    c: V::F,
    e: V::I,
    mut sum: V::I,
    mut lost: V::I,
    bad: &mut V::I,
) -> V::F {
    // SAFETY: the caller's promise.
    unsafe {
        let magnitude = V::and(V::bits(c), V::splat(i32::MAX));
        term::<V>(V::mul(c, scale::<V>(ending, e)), &mut sum, &mut lost);
        if ending.hidden_bit {
            lost = V::or(lost, V::and(V::equal(magnitude, V::splat(0)), V::splat(1)));
        }
        // Beyond the unit's accumulator: doubled until its sign would be the highest bit.
        let mut doubled = sum;
        let mut four = sum;
        for i in ending.width..32 {
            doubled = V::add(doubled, doubled);
            if i == ending.width + 1 {
                four = doubled;
            }
        }
        *bad = V::or(*bad, V::xor(doubled, sum));
        // The sticky bit, away from zero, where bits are cut off: a shorter sum is exact, and would keep
        // it. What only has another sign was a zero.
        let lost = V::and(lost, V::splat(i32::MAX));
        let size = V::max(sum, V::sub(V::splat(0), sum));
        let short = V::greater(V::splat(1 << 24), size);
        let none = V::or(V::equal(lost, V::splat(0)), short);
        let sign = V::or(V::shift_right(sum, V::splat(31)), V::splat(1));
        let rounded = V::to_float(V::add(four, V::clear(sign, none)));
        // 2^(E - F - 2)
        let back = V::from_bits(V::sub(e, V::splat((ending.fraction_bits + 2) << 23)));
        let mut new = V::bits(V::mul(rounded, back));
        if ending.hidden_bit {
            // A C of zero is a number far below the normal ones: alone it is flushed, with its sign.
            let alone = V::equal(e, V::splat(ending.floor << 23));
            let alone = V::and(alone, V::equal(magnitude, V::splat(0)));
            new = V::or(new, V::and(V::bits(c), alone));
        }
        V::from_bits(new)
    }
}

/// Adds a term in units of the grid, truncated, and notes whether it lost anything.
#[inline(always)]
pub unsafe fn term<V: Vector>(x: V::F, sum: &mut V::I, lost: &mut V::I) {
    // SAFETY: the caller's promise.
    unsafe {
        let kept = V::truncate(x);
        *sum = V::add(*sum, kept);
        let difference = V::xor(V::bits(V::to_float(kept)), V::bits(x));
        *lost = V::or(*lost, difference);
    }
}
