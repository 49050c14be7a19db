//! CDNA 2: rounded products added in pairs, then to C, subnormals flushed all the way.
//!
//! Products of operands with few bits are exact in an FP32, so that `p0 + p1` is one fused
//! multiply-add. Operands are flushed when they are packed and C when it is read; after that no sum is
//! a subnormal number but zero if the last bit of every product lies far enough above the smallest
//! exponent, which is checked for every tile. Infinities and NaNs are IEEE's; at the end every NaN becomes
//! the model's.

use super::dense::{DenseTile, ExponentRange, Flushed, Plain, ROWS, Strip};
use super::real::Real;
use super::tile::SpecialRule;
use super::vector::{ACROSS, Vector};
use tcverify_num::{Format, Formats, Rounding};

/// A pairwise sum in the terms of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairsPlan {
    pub a: Format,
    pub b: Format,
    /// Products added before C: 2 or 4.
    pub group: usize,
    /// Products between which -0 becomes +0 in C.
    pub span: usize,
    pub nan: u64,
}

impl PairsPlan {
    /// The plan, or none if only the exact engine can compute it.
    pub fn new(
        formats: Formats,
        group: usize,
        span: usize,
        rounding: Rounding,
        nan: u64,
    ) -> Option<PairsPlan> {
        let Formats { a, b, .. } = formats;
        let exact = a.fraction_bits() + b.fraction_bits() <= 22 && a.bytes() <= 4 && b.bytes() <= 4;
        (exact
            && formats.accumulator == Format::Fp32
            && matches!(group, 2 | 4)
            && rounding == Rounding::NearestEven)
            .then_some(PairsPlan {
                a,
                b,
                group,
                span,
                nan,
            })
    }

    /// Whether nothing but C and operands is ever flushed: a sum of products that is not zero is then
    /// at least 2^-100, and with it C loses so few bits that what is left of both is normal. Nor is a
    /// product infinite by its size, which would show beside another.
    fn never_flushes(&self, a: ExponentRange, b: ExponentRange) -> bool {
        let fraction_bits = (self.a.fraction_bits() + self.b.fraction_bits()) as i32;
        a.low + b.low - 254 - fraction_bits >= -100 && a.high + b.high - 254 <= 125
    }
}

/// The k of a panel, at least.
const DEPTH: usize = 256;

impl Plain for PairsPlan {
    type Real = f32;
    type State = f32;

    const MEASURES: bool = true;

    fn formats(&self) -> [Format; 2] {
        [self.a, self.b]
    }

    fn depth(&self) -> usize {
        DEPTH.next_multiple_of(self.span)
    }

    fn specials(&self) -> SpecialRule {
        SpecialRule::Native
    }

    /// Flushed, as the first instruction does it; which also makes +0 of -0, but a -0 that the exact
    /// engine arrives at may be the last word.
    fn start(&self, code: u64) -> f32 {
        let c = f32::from_code(code);
        if c.is_subnormal() { 0.0 } else { c }
    }

    fn finish(&self, state: f32) -> Option<u64> {
        Some(state.to_code(self.nan))
    }

    fn group(&self) -> usize {
        self.group
    }

    fn flushed(&self, format: Format) -> Option<Flushed> {
        Some(Flushed {
            below: format.min_exponent(),
            signed: false,
        })
    }

    fn suits(&self, a: Strip<f32>, b: Strip<f32>, _: &[f32]) -> bool {
        let ranges = a.range.zip(b.range);
        ranges.is_some_and(|(a, b)| self.never_flushes(a, b))
    }

    #[inline(always)]
    unsafe fn run<V: Vector>(&self, tile: DenseTile<f32, f32>) {
        let state = tile.state.as_mut_ptr();
        for left in (0..ACROSS).step_by(2) {
            let at = left * V::LANES;
            // SAFETY: features are the caller's promise; two registers from `left` on lie within each
            // row of a tile.
            unsafe {
                let (a, b, state) = (tile.a.as_ptr(), tile.b.as_ptr().add(at), state.add(at));
                match self.group {
                    2 => accumulate::<V, 2>(self.span, tile.depth, a, b, state),
                    _ => accumulate::<V, 4>(self.span, tile.depth, a, b, state),
                }
            }
        }
    }
}

/// Two registers across all rows.
#[inline(always)]
unsafe fn accumulate<V: Vector, const GROUP: usize>(
    span: usize,
    depth: usize,
    a: *const f32,
    b: *const f32,
    state: *mut f32,
) {
    let columns = ACROSS * V::LANES;
    // SAFETY: the caller's promise.
    unsafe {
        let mut sum = [[V::splat_f(0.0); 2]; ROWS];
        for (row, sum) in sum.iter_mut().enumerate() {
            for (v, sum) in sum.iter_mut().enumerate() {
                *sum = V::load_f(state.add(row * columns + v * V::LANES));
            }
        }
        for first in (0..depth).step_by(span) {
            // -0 becomes +0.
            for sum in sum.as_flattened_mut() {
                *sum = V::add_f(*sum, V::splat_f(0.0));
            }
            for k in (first..depth.min(first + span)).step_by(GROUP) {
                let a = a.add(k * ROWS);
                let b = b.add(k * columns);
                let mut y = [[V::splat_f(0.0); 2]; GROUP];
                for (k, y) in y.iter_mut().enumerate() {
                    for (v, y) in y.iter_mut().enumerate() {
                        *y = V::load_f(b.add(k * columns + v * V::LANES));
                    }
                }
                for (row, sum) in sum.iter_mut().enumerate() {
                    let mut x = [V::splat_f(0.0); GROUP];
                    for (k, x) in x.iter_mut().enumerate() {
                        *x = V::splat_f(*a.add(k * ROWS + row));
                    }
                    for (v, sum) in sum.iter_mut().enumerate() {
                        let mut products = V::fma(x[1], y[1][v], V::mul(x[0], y[0][v]));
                        if GROUP == 4 {
                            let others = V::mul(x[2], y[2][v]);
                            products = V::add_f(products, V::fma(x[3], y[3][v], others));
                        }
                        *sum = V::add_f(*sum, products);
                    }
                }
            }
        }
        for (row, sum) in sum.into_iter().enumerate() {
            for (v, sum) in sum.into_iter().enumerate() {
                V::store_f(state.add(row * columns + v * V::LANES), sum);
            }
        }
    }
}
