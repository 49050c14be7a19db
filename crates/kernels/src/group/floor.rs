//! CDNA 3: products truncated to their own largest exponent, added to C with rounding toward minus
//! infinity.
//!
//! The products are those of [`super::kernel`], aligned without C. What follows has up to 40 bits and
//! is computed in FP64, where all of it is exact: sums floored to the grid of the larger exponent,
//! the total floored to 31 bits below its leading one, then rounded to nearest by the conversion.

use super::align::{self, ADDING, MULTIPLYING};
use super::kernel;
use super::pack::{Exponents, ROWS};
use super::plan::{DotAdd, GroupPlan};
use super::tile::{Fused, Tile, assert_lengths};
use crate::vector::{ACROSS, Aligned, Vector, WIDEST};
use tcverify_num::{Format, Formats, Rounding};

/// A floored dot-add in the terms of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FloorPlan {
    /// The products: each of `sums` sums is a group.
    products: GroupPlan,
    sums: usize,
    /// How far below the largest exponent that of C may lie.
    window: Option<u32>,
}

/// The constants of a step.
pub struct FloorStep {
    pub group: usize,
    pub sums: usize,
    pub fraction_bits: u32,
    pub sum_fraction_bits: u32,
    pub addend_window: Option<u32>,
    pub zero_exponent: i32,
    pub result_fraction_bits: u32,
    pub rounding: Rounding,
    pub nan: u64,
}

/// Fraction bits of products and of C, of the products' sum beside C, and of the total.
const BITS: [u32; 3] = [24, 32, 31];

/// The lowest exponent field of products, relative to the shifts: the last bit of a total then is a
/// normal number.
const FLOOR: i32 = BITS[1] as i32 + 1;

impl FloorPlan {
    /// The plan, or none if only the exact engine can compute it.
    pub fn new(formats: Formats, step: FloorStep) -> Option<FloorPlan> {
        let bits = [
            step.fraction_bits,
            step.sum_fraction_bits,
            step.result_fraction_bits,
        ];
        let possible = bits == BITS
            && step.rounding == Rounding::NearestEven
            && formats.accumulator == Format::Fp32
            && formats.scale.is_none()
            && matches!(step.sums, 1 | 2)
            && step.group.is_multiple_of(step.sums)
            // Zeros have an exponent below every other.
            && step.zero_exponent <= Format::Fp32.min_exponent()
            // A C further away is floored to 0 or -1.
            && step.addend_window.is_none_or(|window| window >= BITS[0]);
        if !possible {
            return None;
        }
        let products = DotAdd {
            group: step.group / step.sums,
            fraction_bits: step.fraction_bits,
            alignment: Rounding::TowardZero,
            zero_exponent: step.zero_exponent,
            precision: 24,
            rounding: Rounding::TowardZero,
            nan: step.nan,
        };
        // Dealt to the sums in turn: one sum after the other.
        let order = (0..step.sums)
            .flat_map(|sum| (sum..step.group).step_by(step.sums))
            .collect();
        let products = GroupPlan::new(products, formats, Some(order))?;
        (!products.checked).then_some(FloorPlan {
            products: GroupPlan {
                floor: FLOOR,
                ..products
            },
            sums: step.sums,
            window: step.addend_window,
        })
    }
}

impl Fused for FloorPlan {
    fn products(&self) -> &GroupPlan {
        &self.products
    }

    fn suits(&self, a: Exponents, b: Exponents, k: usize) -> bool {
        a.within(b, BITS[1] as i32, k)
    }

    #[inline(always)]
    unsafe fn run<V: Vector>(&self, tile: &mut Tile) -> bool {
        // SAFETY: the same promise.
        unsafe { self.chain::<V, ADDING>(tile) || self.chain::<V, MULTIPLYING>(tile) }
    }
}

impl FloorPlan {
    /// Runs a tile, its products aligned by adding exponents, or by multiplying where these leave their range.
    #[inline(always)]
    unsafe fn chain<V: Vector, const ADDING: bool>(&self, tile: &mut Tile) -> bool {
        assert_lengths::<V>(tile);
        let columns = ACROSS * V::LANES;
        let mut state = Aligned([0f32; ROWS * WIDEST]);
        let state = state.0.as_mut_ptr();
        let mut exponents = Aligned([0u8; 2 * ROWS * WIDEST]);
        let exponents = exponents.0.as_mut_ptr();
        // SAFETY: features are the caller's promise; every pointer stays within the lengths just
        // asserted, and within buffers that hold the widest strip.
        unsafe {
            if !kernel::enter::<V, { kernel::FP32 }, false>(tile, state) {
                return false;
            }
            let group = tile.plan.group;
            let mut bad = V::splat(0);
            for step in 0..tile.groups / self.sums {
                for sum in 0..self.sums {
                    let first = (step * self.sums + sum) * group;
                    let out = exponents.add(sum * ROWS * columns);
                    kernel::common_exponents::<V>(tile, first, out);
                }
                for row in 0..tile.rows {
                    let first = step * self.sums * group;
                    let at = row * columns;
                    let parts = Parts::<V>::add::<ADDING>(
                        self,
                        tile,
                        [first, row],
                        exponents.add(at),
                        &mut bad,
                    );
                    for v in 0..ACROSS {
                        let c = state.add(at + v * V::LANES);
                        let (sum, exponent) = parts.of(v);
                        let new = finish::<V>(self, sum, exponent, V::load_f(c));
                        V::store_f(c, new);
                    }
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

/// The products of a step, added: integers of the grid that is 24 bits below an exponent field.
struct Parts<V: Vector> {
    sum: [V::I; ACROSS],
    exponent: [V::I; ACROSS],
}

impl<V: Vector> Parts<V> {
    #[inline(always)]
    unsafe fn add<const ADDING: bool>(
        plan: &FloorPlan,
        tile: &Tile,
        [first, row]: [usize; 2],
        exponents: *const u8,
        bad: &mut V::I,
    ) -> Parts<V> {
        let columns = ACROSS * V::LANES;
        // SAFETY: the caller's promise.
        unsafe {
            let base = align::base::<V, ADDING>(BITS[0] as i32);
            let mut all = [[V::splat(0); ACROSS]; 2];
            let mut fields = [[V::splat(0); ACROSS]; 2];
            for sum in 0..plan.sums {
                let mut scale = [V::splat_f(0.0); ACROSS];
                for v in 0..ACROSS {
                    let at = sum * ROWS * columns + v * V::LANES;
                    fields[sum][v] = V::load_exponents(exponents.add(at));
                    scale[v] = align::scale::<V, ADDING>(base, fields[sum][v], bad);
                }
                let first = first + sum * tile.plan.group;
                all[sum] = align::products::<V, ADDING>(tile, first, row, &scale);
            }
            if plan.sums == 1 {
                return Parts {
                    sum: all[0],
                    exponent: fields[0],
                };
            }
            // Both floored to the grid of the larger exponent.
            let mut parts = Parts {
                sum: all[0],
                exponent: fields[0],
            };
            for v in 0..ACROSS {
                let [x, y] = [fields[0][v], fields[1][v]];
                let larger = V::max(x, y);
                let down_x = V::min(
                    V::shift_right(V::sub(larger, x), V::splat(23)),
                    V::splat(31),
                );
                let down_y = V::min(
                    V::shift_right(V::sub(larger, y), V::splat(23)),
                    V::splat(31),
                );
                let x = V::shift_right(all[0][v], down_x);
                let y = V::shift_right(all[1][v], down_y);
                parts.sum[v] = V::add(x, y);
                parts.exponent[v] = larger;
            }
            parts
        }
    }

    #[inline(always)]
    fn of(&self, v: usize) -> (V::I, V::I) {
        (self.sum[v], self.exponent[v])
    }
}

/// The products' sum and C, rounded.
#[inline(always)]
unsafe fn finish<V: Vector>(plan: &FloorPlan, sum: V::I, field: V::I, c: V::F) -> V::F {
    // SAFETY: the caller's promise.
    unsafe {
        let places = V::splat(23);
        let of_c = V::shift_right(V::and(V::bits(c), V::splat(i32::MAX)), places);
        let of_sum = V::shift_right(field, places);
        let largest = V::max(of_c, of_sum);
        // In units of 2^(E - 32). What is 2^134 times smaller is floored to 0 or -1, as what is smaller still.
        let up = V::add(V::splat(8 + 127), V::sub(of_sum, largest));
        let up = power::<V>(V::max(up, V::splat(1)));
        let sum = V::floor_d(V::mul_d(V::int_to_d(sum), up));
        // C in units of 2^(E - 24).
        let mut c = c;
        if let Some(window) = plan.window {
            let lost = V::greater(V::sub(largest, V::splat(window as i32)), of_c);
            c = V::from_bits(V::clear(V::bits(c), lost));
        }
        let up = power::<V>(V::sub(V::splat(24 + 254), largest));
        let c = V::floor_d(V::mul_d(V::widen(c), up));
        let total = V::fma_d(c, V::splat_d(256.0), sum);
        let floored = V::floor_fraction_d(total, BITS[2]);
        let down = power::<V>(V::sub(largest, V::splat(32)));
        V::narrow(V::mul_d(floored, down))
    }
}

/// Powers of two of the fields of normal floats: those of E, which is not smaller than `FLOOR`, stay that.
#[inline(always)]
unsafe fn power<V: Vector>(field: V::I) -> V::D {
    // SAFETY: the caller's promise.
    unsafe { V::widen(V::from_bits(V::shift_left(field, V::splat(23)))) }
}
