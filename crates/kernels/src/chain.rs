//! Chains of IEEE fused multiply-adds, k ascending, in FP32 or FP64.
//!
//! Operands of narrower formats are exact in these, and the machine's operation is the model's,
//! subnormal numbers, infinities and signs of zeros included. At the end every NaN becomes the model's.

use std::marker::PhantomData;

use super::dense::{DenseTile, Plain, ROWS};
use super::real::Real;
use super::tile::SpecialRule;
use super::vector::Vector;
use tcverify_num::{Format, Formats, Rounding};

/// A chain in the terms of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainPlan {
    pub a: Format,
    pub b: Format,
    /// FP32 or FP64.
    pub accumulator: Format,
    pub nan: u64,
    /// Whether NaNs go on with their payloads, so that the exact engine computes them.
    pub payloads: bool,
}

impl ChainPlan {
    /// The plan, or none if only the exact engine can compute it.
    pub fn new(formats: Formats, rounding: Rounding, nan: u64) -> Option<ChainPlan> {
        let Formats {
            a, b, accumulator, ..
        } = formats;
        let widens = |format: Format| match accumulator {
            Format::Fp32 => format.bytes() <= 4,
            Format::Fp64 => true,
            _ => false,
        };
        (rounding == Rounding::NearestEven && widens(a) && widens(b)).then_some(ChainPlan {
            a,
            b,
            accumulator,
            nan,
            payloads: false,
        })
    }
}

/// The k of a panel.
const DEPTH: usize = 256;

/// A chain in numbers of the machine.
pub struct Chain<T> {
    plan: ChainPlan,
    real: PhantomData<T>,
}

impl<T> Chain<T> {
    pub fn new(plan: ChainPlan) -> Chain<T> {
        let real = PhantomData;
        Chain { plan, real }
    }
}

impl<T: Real> Plain for Chain<T> {
    type Real = T;
    type State = T;

    fn formats(&self) -> [Format; 2] {
        [self.plan.a, self.plan.b]
    }

    fn depth(&self) -> usize {
        DEPTH
    }

    fn specials(&self) -> SpecialRule {
        SpecialRule::Native
    }

    fn commutes(&self) -> bool {
        !self.plan.payloads
    }

    fn start(&self, code: u64) -> T {
        T::from_code(code)
    }

    fn finish(&self, state: T) -> Option<u64> {
        (!self.plan.payloads || !state.is_nan()).then(|| state.to_code(self.plan.nan))
    }

    // Panels are not filled up: a zero product more would turn -0 into +0.

    #[inline(always)]
    unsafe fn run<V: Vector>(&self, tile: DenseTile<T, T>) {
        let state = tile.state.as_mut_ptr();
        // As many accumulators as there are registers for.
        let across = if V::REGISTERS >= 32 {
            T::ACROSS
        } else {
            T::ACROSS / 2
        };
        for left in (0..T::ACROSS).step_by(across) {
            let (a, b, depth) = (tile.a.as_ptr(), tile.b.as_ptr(), tile.depth);
            // SAFETY: features are the caller's promise; `across` registers from `left` on lie within
            // each row of a tile.
            unsafe {
                let at = left * V::LANES;
                match across {
                    1 => accumulate::<V, T, 1>(depth, a, b.add(at), state.add(at)),
                    2 => accumulate::<V, T, 2>(depth, a, b.add(at), state.add(at)),
                    _ => accumulate::<V, T, 4>(depth, a, b.add(at), state.add(at)),
                }
            }
        }
    }
}

/// Some registers across all rows.
#[inline(always)]
unsafe fn accumulate<V: Vector, T: Real, const N: usize>(
    depth: usize,
    mut a: *const T,
    mut b: *const T,
    state: *mut T,
) {
    let columns = T::ACROSS * V::LANES;
    // SAFETY: the caller's promise.
    unsafe {
        let mut sum = [[T::splat::<V>(T::default()); N]; ROWS];
        for (row, sum) in sum.iter_mut().enumerate() {
            for (v, sum) in sum.iter_mut().enumerate() {
                *sum = T::load::<V>(state.add(row * columns + v * V::LANES));
            }
        }
        for _ in 0..depth {
            let mut y = [T::splat::<V>(T::default()); N];
            for (v, y) in y.iter_mut().enumerate() {
                *y = T::load::<V>(b.add(v * V::LANES));
            }
            for (row, sum) in sum.iter_mut().enumerate() {
                let x = T::splat::<V>(*a.add(row));
                for (sum, &y) in sum.iter_mut().zip(&y) {
                    *sum = T::fma::<V>(x, y, *sum);
                }
            }
            a = a.add(ROWS);
            b = b.add(columns);
        }
        for (row, sum) in sum.into_iter().enumerate() {
            for (v, sum) in sum.into_iter().enumerate() {
                T::store::<V>(state.add(row * columns + v * V::LANES), sum);
            }
        }
    }
}
