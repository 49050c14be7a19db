//! A group as one chain of FMAs that round down: one instruction for a register of products, and none of it for exponents.
//!
//! Let g = 2^(E - F) be the grid. The last bit of M = 1.5 * 2^23 * g is g, and so is that of every float less than 2^22 * g away.
//! An FMA that rounds down adds floor(p / g) units of g to a sum there, p being the product. The model wants p / g
//! truncated instead:
//!
//! * B is packed as b * (1 + eta). Every p moves away from zero, by less than g and less than p's own last bit
//!   (`GroupPlan::nudge`), so that none reaches another multiple of g. Then floor is what truncation gives, less one where p is
//!   negative: on the grid, too.
//! * A zero of A or B is packed as a tiny number of its sign. Its products are 0, or -1 where they are negative.
//! * A population count of sign bits says how many products are negative. So many units are added first.
//! * C is added to M before, rounded toward zero.
//!
//! The sum less M is exact: a multiple of g with fewer than 24 bits. [`super::kernel`] has what follows, and how the exponents
//! are found. Here these are signed bytes, whose sums do not wrap.
//!
//! The stand-in of a zero has an exponent, too. It lies below those of all other products, and C must not lie below it: such
//! a tile is left to floats. Later accumulators are sums of units of g, which lie above it.

use super::kernel::{
    Accumulators, HALF_SHORT, SHORT, addend_exponent, enter, is_half, leave, normal,
};
use super::pack::{Nudged, ROWS, splat};
use super::plan::Output;
use super::tile::{Tile, assert_lengths};
use crate::vector::{ACROSS, Aligned, FmaDown, Vector, WIDEST};

/// Rows whose chains run side by side: one chain alone waits for its own FMAs.
const BESIDE: usize = 4;

/// The fraction bits of a float.
const PLACES: i32 = 23;

/// Runs a tile. False if a precondition failed; then the state is as it was.
///
/// # Safety
/// The machine must have the features that `V` needs.
#[inline(always)]
pub unsafe fn run<V: FmaDown>(tile: &mut Tile) -> bool {
    let plan = tile.plan;
    assert_lengths::<V>(tile);
    let Some((a, b)) = tile.nudged else {
        return false;
    };
    let (positions, columns) = (tile.groups * plan.group, ACROSS * V::LANES);
    assert!(a.values.len() == positions * ROWS && a.exponents.len() == positions * ROWS);
    assert!(b.values.len() == positions * columns && b.exponents.len() == positions * columns);
    assert!(a.signs.len() == tile.groups * ROWS && b.signs.len() == tile.groups * columns);
    assert!(plan.nudge.is_some());
    // SAFETY: features are the caller's promise; every pointer below stays within the lengths just
    // asserted.
    unsafe {
        match (plan.output, plan.halves.is_some()) {
            (Output::Fp32Short(_), false) => chain::<V, SHORT, false>(tile, a, b),
            (Output::Fp32Short(_), true) => chain::<V, SHORT, true>(tile, a, b),
            (Output::Fp16Short, false) => chain::<V, HALF_SHORT, false>(tile, a, b),
            (Output::Fp16Short, true) => chain::<V, HALF_SHORT, true>(tile, a, b),
            (Output::Fp32 | Output::Fp32Masked(_) | Output::Fp16, _) => false,
        }
    }
}

#[inline(always)]
unsafe fn chain<V: FmaDown, const OUTPUT: u8, const HALVES: bool>(
    tile: &mut Tile,
    a: &Nudged<u32>,
    b: &Nudged<u8>,
) -> bool {
    // SAFETY: features and lengths are those that `run` has asserted or was promised.
    unsafe {
        let plan = tile.plan;
        let columns = ACROSS * V::LANES;
        let mut state = Accumulators::new();
        if !enter::<V, OUTPUT, HALVES>(tile, state.all())
            || !HALVES && !is_half(OUTPUT) && !decide::<V>(tile, state.all())
        {
            return false;
        }
        let mut exponents = Aligned([0u8; ROWS * WIDEST]);
        let exponents = exponents.0.as_mut_ptr();
        let mask = V::splat(match plan.output {
            Output::Fp32Short(mask) => mask,
            _ => -1,
        });
        // From E's field to that of M, and its highest fraction bit.
        let up = V::splat(((PLACES - plan.fraction_bits) << PLACES) + (1 << (PLACES - 1)));

        for group in 0..tile.groups {
            let first = group * plan.group;
            common_exponents::<V>(tile, (a, b), first, exponents);
            for row in (0..tile.rows).step_by(BESIDE) {
                let at = |i: usize, v: usize| (row + i) * columns + v * V::LANES;
                let mut base = [[V::splat_f(0.0); ACROSS]; BESIDE];
                let mut sum = base;
                let signs_a = a.signs.as_ptr().add(group * ROWS + row);
                let signs_b = b.signs.as_ptr().add(group * columns);
                for i in 0..BESIDE {
                    let sign = V::splat(*signs_a.add(i) as i32);
                    for v in 0..ACROSS {
                        let c = state.addend::<V, HALVES>(group, at(i, v));
                        let products = V::load_exponents(exponents.add(at(i, v)));
                        let e = V::max(products, addend_exponent::<V, OUTPUT>(c));
                        base[i][v] = V::from_bits(V::add(e, up));
                        let signs = V::load(signs_b.add(v * V::LANES).cast());
                        let negative = V::count_ones(V::xor(sign, signs));
                        let start = V::bits(V::add_cut_small(base[i][v], c));
                        sum[i][v] = V::from_bits(V::add(start, negative));
                    }
                }
                let mut x = a.values.as_ptr().add(first * ROWS + row);
                let mut y = b.values.as_ptr().add(first * columns);
                for _ in 0..plan.group {
                    let mut of_b = [V::splat_f(0.0); ACROSS];
                    for (v, of_b) in of_b.iter_mut().enumerate() {
                        *of_b = V::load_f(y.add(v * V::LANES));
                    }
                    for (i, sum) in sum.iter_mut().enumerate() {
                        let of_a = V::splat_f(*x.add(i));
                        for (sum, &of_b) in sum.iter_mut().zip(&of_b) {
                            *sum = V::fma_down(of_a, of_b, *sum);
                        }
                    }
                    x = x.add(ROWS);
                    y = y.add(columns);
                }
                for i in 0..BESIDE {
                    for v in 0..ACROSS {
                        let total = V::sub_f(sum[i][v], base[i][v]);
                        let new = if is_half(OUTPUT) {
                            V::through_half(total)
                        } else {
                            V::from_bits(V::and(V::bits(total), mask))
                        };
                        state.set::<V, OUTPUT, HALVES>(group, at(i, v), new);
                    }
                }
            }
        }
        let sound = !HALVES || is_half(OUTPUT) || normal::<V>(tile, state.all());
        if sound {
            leave::<V, OUTPUT, HALVES>(tile, state.all());
        }
        sound
    }
}

/// Whether every C that is not zero has at least the exponent of a group of zeros. All later accumulators do: their last
/// bits are above it.
#[inline(always)]
unsafe fn decide<V: Vector>(tile: &Tile, state: *const f32) -> bool {
    // SAFETY: features and lengths are those that `run` has asserted or was promised.
    unsafe {
        let (floor, bias) = tile.plan.signed_floor();
        let least = V::splat((floor + bias) << PLACES);
        let mut bad = V::splat(0);
        for at in (0..tile.rows * ACROSS * V::LANES).step_by(V::LANES) {
            let magnitude = V::and(V::bits(V::load_f(state.add(at))), V::splat(i32::MAX));
            let zero = V::equal(magnitude, V::splat(0));
            bad = V::or(bad, V::clear(V::greater(least, magnitude), zero));
        }
        !V::any_negative(bad)
    }
}

/// The largest exponent of each column's products in a group, for every row, as biased bytes.
#[inline(always)]
unsafe fn common_exponents<V: FmaDown>(
    tile: &Tile,
    (a, b): (&Nudged<u32>, &Nudged<u8>),
    first: usize,
    out: *mut u8,
) {
    // SAFETY: features and lengths are those that `run` has asserted or was promised.
    unsafe {
        let columns = ACROSS * V::LANES;
        let (floor, bias) = tile.plan.signed_floor();
        let mut largest = [V::splat_b(splat(floor)); ROWS];
        let mut x = a.exponents.as_ptr().add(first * ROWS);
        let mut y = b.exponents.as_ptr().add(first * columns);
        for _ in 0..tile.plan.group {
            let of_b = V::load_b(y);
            for (row, largest) in largest.iter_mut().enumerate() {
                let product = V::add_b(V::splat_b(*x.add(row)), of_b);
                *largest = V::max_signed_b(*largest, product);
            }
            x = x.add(ROWS);
            y = y.add(columns);
        }
        for (row, largest) in largest.into_iter().enumerate() {
            V::store_b(
                out.add(row * columns),
                V::add_b(largest, V::splat_b(splat(bias))),
            );
        }
    }
}
