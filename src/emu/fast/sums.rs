//! Exact sums of products, rounded once to FP32: of a few products and C (CDNA 1), or of all of K.
//!
//! A product of two operands is exact in an FP64. Two sums are kept, one rounded down after every
//! product and one rounded up, so that the exact sum lies between them. If both become the same FP32,
//! that is the exact sum's; rounding is monotone. It nearly always is: they are equal while nothing is
//! lost, and otherwise as near as FP64 is finer than FP32. Where it is not, the exact engine adds.

use std::ops::Range;

use super::dense::{Dense, DenseTile, Plain, ROWS};
use super::real::Real;
use super::tile::SpecialRule;
use super::vector::Vector;
use crate::emu::formats::Formats;
use crate::num::{Format, Rounding};

/// An exact sum in the terms of the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SumPlan {
    pub a: Format,
    pub b: Format,
    /// Products after which C is rounded; none where it only is after all of K.
    pub group: Option<usize>,
    pub nan: u64,
}

impl SumPlan {
    /// The plan, or none if only the exact engine can compute it.
    pub fn new(
        formats: Formats,
        group: Option<usize>,
        rounding: Rounding,
        nan: u64,
    ) -> Option<SumPlan> {
        let Formats {
            a, b, accumulator, ..
        } = formats;
        // 48 bits of a product are exact in an FP64, and no exponent is out of its reach.
        let narrow = |format: Format| format.bytes() <= 4;
        (accumulator == Format::Fp32 && rounding == Rounding::NearestEven && narrow(a) && narrow(b))
            .then_some(SumPlan { a, b, group, nan })
    }
}

/// The k of a panel, at least.
const DEPTH: usize = 128;

/// Sums kept side by side, a register of columns for each row.
type Sums<V> = [[<V as Vector>::D; 2]; ROWS];

/// Adds the products of some k to both sums. `b` points to a register's first column.
#[inline(always)]
unsafe fn add<V: Vector>(
    k: Range<usize>,
    a: *const f64,
    b: *const f64,
    columns: usize,
    sums: &mut Sums<V>,
) {
    // SAFETY: the caller's promise: `[k][ROWS]` and `[k][columns]`.
    unsafe {
        for k in k {
            let y = V::load_d(b.add(k * columns));
            for (row, sums) in sums.iter_mut().enumerate() {
                V::add_between(sums, V::splat_d(*a.add(k * ROWS + row)), y);
            }
        }
    }
}

/// Of sums of a few products.
pub struct Sum {
    pub plan: SumPlan,
    pub group: usize,
}

impl Plain for Sum {
    type Real = f64;
    type State = f32;

    fn formats(&self) -> [Format; 2] {
        [self.plan.a, self.plan.b]
    }

    fn depth(&self) -> usize {
        DEPTH.next_multiple_of(self.group)
    }

    fn specials(&self) -> SpecialRule {
        let nan = self.plan.nan;
        SpecialRule::Zeros { nan }
    }

    fn start(&self, code: u64) -> f32 {
        f32::from_bits(code as u32)
    }

    fn finish(&self, state: f32) -> Option<u64> {
        Some(state.to_code(self.plan.nan))
    }

    fn prepare(&self, _: Format, packed: &mut Dense<f64>, lines: usize, size: usize, count: usize) {
        packed.zero_specials(lines, size, count);
    }

    #[inline(always)]
    unsafe fn run<V: Vector>(&self, tile: DenseTile<f64, f32>) {
        let DenseTile {
            a,
            b,
            state,
            depth,
            columns,
            fallback,
        } = tile;
        let group = self.group;
        for left in (0..columns).step_by(V::LANES) {
            for first in (0..depth).step_by(group) {
                let k = first..depth.min(first + group);
                // SAFETY: features are the caller's promise; a register from `left` on lies within
                // each row of a tile.
                unsafe {
                    let mut sums = [[V::splat_d(0.0); 2]; ROWS];
                    for (row, sums) in sums.iter_mut().enumerate() {
                        let c = V::load_f(state.as_ptr().add(row * columns + left));
                        *sums = [V::widen(c); 2];
                    }
                    add::<V>(
                        k.clone(),
                        a.as_ptr(),
                        b.as_ptr().add(left),
                        columns,
                        &mut sums,
                    );
                    for (row, sums) in sums.into_iter().enumerate() {
                        // -0 of a sum that was rounded down is +0.
                        let [low, high] = sums;
                        let low = V::narrow(V::add_d(low, V::splat_d(0.0)));
                        let high = V::narrow(V::add_d(high, V::splat_d(0.0)));
                        let same = V::equal(V::bits(low), V::bits(high));
                        let state = &mut state[row * columns + left..][..V::LANES];
                        if V::any_negative(V::xor(same, V::splat(-1))) {
                            let mut bounds = [[0f32; 16]; 2];
                            V::store_f(bounds[0].as_mut_ptr(), low);
                            V::store_f(bounds[1].as_mut_ptr(), high);
                            apart(&bounds, state, |lane, code| {
                                fallback.step(row, left + lane, k.clone(), code)
                            });
                        } else {
                            V::store_f(state.as_mut_ptr(), low);
                        }
                    }
                }
            }
        }
    }
}

/// Lanes whose bounds differ are the exact engine's.
#[cold]
fn apart(bounds: &[[f32; 16]; 2], state: &mut [f32], step: impl Fn(usize, u64) -> u64) {
    for (lane, state) in state.iter_mut().enumerate() {
        let (low, high) = (bounds[0][lane], bounds[1][lane]);
        *state = match low.to_bits() == high.to_bits() {
            true => low,
            false => f32::from_bits(step(lane, state.to_bits().into()) as u32),
        };
    }
}

/// Of sums over all of K.
pub struct Dot {
    pub plan: SumPlan,
}

/// Between panels: what the exact sum lies between.
#[derive(Clone, Copy, Default)]
pub struct Bounds([f64; 2]);

impl Plain for Dot {
    type Real = f64;
    type State = Bounds;

    fn formats(&self) -> [Format; 2] {
        [self.plan.a, self.plan.b]
    }

    fn depth(&self) -> usize {
        2 * DEPTH
    }

    fn specials(&self) -> SpecialRule {
        let nan = self.plan.nan;
        SpecialRule::Zeros { nan }
    }

    fn start(&self, code: u64) -> Bounds {
        Bounds([f32::from_bits(code as u32).into(); 2])
    }

    fn finish(&self, Bounds(bounds): Bounds) -> Option<u64> {
        // -0, which a sum may be that was rounded down, is +0.
        let [low, high] = bounds.map(|x| ((x + 0.0) as f32).to_bits());
        (low == high).then_some(low.into())
    }

    fn prepare(&self, _: Format, packed: &mut Dense<f64>, lines: usize, size: usize, count: usize) {
        packed.zero_specials(lines, size, count);
    }

    #[inline(always)]
    unsafe fn run<V: Vector>(&self, tile: DenseTile<f64, Bounds>) {
        let DenseTile {
            a,
            b,
            state,
            depth,
            columns,
            ..
        } = tile;
        for left in (0..columns).step_by(V::LANES) {
            // SAFETY: features are the caller's promise; a register from `left` on lies within each row
            // of a tile.
            unsafe {
                let mut sums = [[V::splat_d(0.0); 2]; ROWS];
                for (row, sums) in sums.iter_mut().enumerate() {
                    let state = &state[row * columns + left..][..V::LANES];
                    for (side, sum) in sums.iter_mut().enumerate() {
                        let mut lanes = [0f64; 16];
                        for (lane, state) in lanes.iter_mut().zip(state) {
                            *lane = state.0[side];
                        }
                        *sum = V::load_d(lanes.as_ptr());
                    }
                }
                add::<V>(
                    0..depth,
                    a.as_ptr(),
                    b.as_ptr().add(left),
                    columns,
                    &mut sums,
                );
                for (row, sums) in sums.into_iter().enumerate() {
                    let state = &mut state[row * columns + left..][..V::LANES];
                    for (side, sum) in sums.into_iter().enumerate() {
                        let mut lanes = [0f64; 16];
                        V::store_d(lanes.as_mut_ptr(), sum);
                        for (lane, state) in lanes.iter().zip(&mut *state) {
                            state.0[side] = *lane;
                        }
                    }
                }
            }
        }
    }
}
