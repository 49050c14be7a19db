//! How the products of a group, and C, come onto its grid: times 2^(F - E), then truncated toward zero. F - E is added to the
//! exponent field of a product ([`ADDING`]), which takes a pipe that multiplications leave free, or a second
//! multiplication has its power of two ([`MULTIPLYING`]). The first needs an F - E that is not negative.

use super::pack::ROWS;
use super::tile::Tile;
use crate::vector::{ACROSS, Vector};

pub const ADDING: bool = true;
pub const MULTIPLYING: bool = false;

/// What [`scale`] takes an exponent's field from.
#[inline(always)]
pub unsafe fn base<V: Vector, const ADDING: bool>(fraction_bits: i32) -> V::I {
    // Twice the bias goes beyond 2^31, and back below it when an exponent is taken off.
    let bias = if ADDING { 127 } else { 254 };
    let field = (bias + fraction_bits as u32).wrapping_shl(23);
    // SAFETY: the caller's promise: features.
    unsafe { V::splat(field as i32) }
}

/// The scale 2^(F - E) of an exponent's field, for [`times`]. `bad` becomes negative where there is none.
#[inline(always)]
pub unsafe fn scale<V: Vector, const ADDING: bool>(base: V::I, e: V::I, bad: &mut V::I) -> V::F {
    // SAFETY: the caller's promise: features.
    unsafe {
        let field = V::sub(base, e);
        if ADDING {
            *bad = V::or(*bad, field);
        }
        V::from_bits(field)
    }
}

/// The truncated products of `plan.part` positions from `first` on, added up, for one row and all
/// columns.
#[inline(always)]
pub unsafe fn products<V: Vector, const ADDING: bool>(
    tile: &Tile,
    first: usize,
    row: usize,
    scale: &[V::F; ACROSS],
) -> [V::I; ACROSS] {
    // SAFETY: features and lengths are those that `run` has asserted or was promised.
    unsafe {
        let columns = ACROSS * V::LANES;
        let mut sum = [V::splat(0); ACROSS];
        let mut a = tile.a.as_ptr().add(first * ROWS + row);
        let mut b = tile.b.as_ptr().add(first * columns);
        let mut left = tile.plan.part;
        while left >= 4 {
            for i in 0..4 {
                position::<V, ADDING>(a.add(i * ROWS), b.add(i * columns), scale, &mut sum);
            }
            a = a.add(4 * ROWS);
            b = b.add(4 * columns);
            left -= 4;
        }
        for i in 0..left {
            position::<V, ADDING>(a.add(i * ROWS), b.add(i * columns), scale, &mut sum);
        }
        sum
    }
}

/// One k: one element of A times a row of the strip of B. A function and no closure: closures do
/// not inherit the target features that let intrinsics be inlined.
#[inline(always)]
unsafe fn position<V: Vector, const ADDING: bool>(
    a: *const f32,
    b: *const f32,
    scale: &[V::F; ACROSS],
    sum: &mut [V::I; ACROSS],
) {
    // SAFETY: features and lengths are those that `run` has asserted or was promised.
    unsafe {
        let a = V::splat_f(*a);
        for v in 0..ACROSS {
            let product = V::mul(a, V::load_f(b.add(v * V::LANES)));
            let term = V::truncate(times::<V, ADDING>(product, scale[v]));
            sum[v] = V::add(sum[v], term);
        }
    }
}

/// Times a power of two: of which `scale` is the exponent, shifted to its field, or the number.
///
/// Adding to the field of a normal number is exact while the field stays below 255: that of a product
/// is at most E + 1, and F - E is not negative. A zero becomes a power of two below 1 (F - E is at most
/// 126, see `GroupPlan::floor`), which is cut off.
#[inline(always)]
pub unsafe fn times<V: Vector, const ADDING: bool>(x: V::F, scale: V::F) -> V::F {
    // SAFETY: features and lengths are those that `run` has asserted or was promised.
    unsafe {
        if ADDING {
            V::from_bits(V::add(V::bits(x), V::bits(scale)))
        } else {
            V::mul(x, scale)
        }
    }
}
