//! How the products of a group, and C, come onto its grid: times 2^(F - E), then truncated toward zero.
//!
//! * [`Adding`]: F - E is added to the exponent field of a product, which takes a pipe that multiplications
//!   leave free. It must not be negative.
//! * [`Multiplying`]: a second multiplication, for every F - E.
//! * [`Half2Products`]: the same in IEEE halves, two products a lane. For formats whose significands have a product of
//!   at most 11 bits, and F of at most 13, so that terms are integers of 16 bits.
//!
//! Halves have few exponents. Operands are moved so that products are below 2^15; what a half cannot hold of a product
//! lies below 2^-24, and so below the grid, as a scale is at most 2^15. A scale below 2^-14 is 0: products below 2^15
//! are nothing on such a grid. Where the grid asks for more than 2^15 the tile is computed with floats, unless
//! all products of the group are zero, whose scale does not matter.

use super::pack::ROWS;
use super::tile::Tile;
use crate::vector::{ACROSS, Half2, Vector};

/// A way onto the grid, with its constants.
pub trait Align<V: Vector> {
    /// What the products of a group and C are multiplied by.
    type Scale: Copy;

    unsafe fn new(tile: &Tile) -> Self;

    /// A scale that is not used.
    unsafe fn nothing(&self) -> Self::Scale;

    /// The scale of the exponent `e`, which is no less than that of the `products` alone, both as fields of floats. `bad`
    /// becomes negative where there is none.
    unsafe fn scale(&self, products: V::I, e: V::I, bad: &mut V::I) -> Self::Scale;

    unsafe fn addend(c: V::F, scale: Self::Scale) -> V::F;

    /// The truncated products of `plan.part` positions from `first` on, added up, for one row and all columns.
    unsafe fn products(
        tile: &Tile,
        first: usize,
        row: usize,
        scale: &[Self::Scale; ACROSS],
    ) -> [V::I; ACROSS];
}

/// Alignment in floats.
pub struct Floats<V: Vector, const ADDING: bool> {
    /// The field of the scale, were the exponent's field zero.
    base: V::I,
}

pub type Adding<V> = Floats<V, true>;
pub type Multiplying<V> = Floats<V, false>;

impl<V: Vector, const ADDING: bool> Align<V> for Floats<V, ADDING> {
    type Scale = V::F;

    #[inline(always)]
    unsafe fn new(tile: &Tile) -> Self {
        // Twice the bias goes beyond 2^31, and back below it when an exponent is taken off.
        let bias = if ADDING { 127 } else { 254 };
        let field = (bias + tile.plan.fraction_bits as u32).wrapping_shl(23);
        // SAFETY: the caller's promise: features.
        let base = unsafe { V::splat(field as i32) };
        Floats { base }
    }

    #[inline(always)]
    unsafe fn nothing(&self) -> V::F {
        // SAFETY: the caller's promise: features.
        unsafe { V::splat_f(0.0) }
    }

    #[inline(always)]
    unsafe fn scale(&self, _: V::I, e: V::I, bad: &mut V::I) -> V::F {
        // SAFETY: the caller's promise: features.
        unsafe {
            let field = V::sub(self.base, e);
            if ADDING {
                *bad = V::or(*bad, field);
            }
            V::from_bits(field)
        }
    }

    #[inline(always)]
    unsafe fn addend(c: V::F, scale: V::F) -> V::F {
        // SAFETY: the caller's promise: features.
        unsafe { times::<V, ADDING>(c, scale) }
    }

    #[inline(always)]
    unsafe fn products(
        tile: &Tile,
        first: usize,
        row: usize,
        scale: &[V::F; ACROSS],
    ) -> [V::I; ACROSS] {
        // SAFETY: the caller's promises.
        unsafe { products::<V, ADDING>(tile, first, row, scale) }
    }
}

/// The largest scale, 2^15, as a field of a half.
const LARGEST: i32 = 30 << 10;

pub struct Half2Products<V: Vector> {
    floats: Multiplying<V>,
    /// The field of a half's scale, were the exponent's field zero.
    base: V::I,
    /// What exponents of products are at most if all of them are zero, as a field of a float.
    zeros: V::I,
}

impl<V: Half2> Align<V> for Half2Products<V> {
    /// The scale of C, and that of products: a half twice a lane.
    type Scale = (V::F, V::I);

    #[inline(always)]
    unsafe fn new(tile: &Tile) -> Self {
        let plan = tile.plan;
        // If others are counted to the floor as well, none is taken for a zero.
        let zeros = if plan.tells_zeros() {
            plan.floor
        } else {
            plan.floor - 1
        };
        let lift = tile.half2.as_ref().map_or(0, |half2| half2.lift);
        let base = 15 + plan.fraction_bits + 127 - lift;
        // SAFETY: the caller's promise: features.
        unsafe {
            Half2Products {
                floats: Multiplying::new(tile),
                base: V::splat(base << 10),
                zeros: V::splat(zeros << 23),
            }
        }
    }

    #[inline(always)]
    unsafe fn nothing(&self) -> (V::F, V::I) {
        // SAFETY: the caller's promise: features.
        unsafe { (V::splat_f(0.0), V::splat(0)) }
    }

    #[inline(always)]
    unsafe fn scale(&self, products: V::I, e: V::I, bad: &mut V::I) -> (V::F, V::I) {
        // SAFETY: the caller's promise: features.
        unsafe {
            let field = V::sub(self.base, V::shift_right(e, V::splat(13)));
            let largest = V::splat(LARGEST);
            // Negative where it is too large, and where a product may be another than zero.
            let too_large = V::sub(largest, field);
            let nonzero = V::sub(self.zeros, products);
            *bad = V::or(*bad, V::and(too_large, nonzero));
            let field = V::max(V::min(field, largest), V::splat(0));
            let twice = V::or(field, V::shift_left(field, V::splat(16)));
            (self.floats.scale(products, e, bad), twice)
        }
    }

    #[inline(always)]
    unsafe fn addend(c: V::F, scale: (V::F, V::I)) -> V::F {
        // SAFETY: the caller's promise: features.
        unsafe { Multiplying::<V>::addend(c, scale.0) }
    }

    #[inline(always)]
    unsafe fn products(
        tile: &Tile,
        first: usize,
        row: usize,
        scale: &[(V::F, V::I); ACROSS],
    ) -> [V::I; ACROSS] {
        let mut sum;
        // SAFETY: features and lengths are those that `run_half2` has asserted or was promised.
        unsafe {
            sum = [V::splat(0); ACROSS];
            let Some(half2) = &tile.half2 else {
                return sum;
            };
            let columns = ACROSS * V::LANES;
            let mut a = half2.a.as_ptr().add(first / 2 * ROWS + row);
            let mut b = half2.b.as_ptr().add(first / 2 * columns).cast::<i32>();
            for _ in 0..tile.plan.part / 2 {
                let two = V::splat(*a as i32);
                for v in 0..ACROSS {
                    let product = V::mul_half2(two, V::load(b.add(v * V::LANES)));
                    let term = V::truncate_half2(V::mul_half2(product, scale[v].1));
                    sum[v] = V::add_both_halves(sum[v], term);
                }
                a = a.add(ROWS);
                b = b.add(columns);
            }
        }
        sum
    }
}

/// The truncated products of `plan.part` positions from `first` on, added up, for one row and all
/// columns.
#[inline(always)]
pub(super) unsafe fn products<V: Vector, const ADDING: bool>(
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
unsafe fn times<V: Vector, const ADDING: bool>(x: V::F, scale: V::F) -> V::F {
    // SAFETY: features and lengths are those that `run` has asserted or was promised.
    unsafe {
        if ADDING {
            V::from_bits(V::add(V::bits(x), V::bits(scale)))
        } else {
            V::mul(x, scale)
        }
    }
}
