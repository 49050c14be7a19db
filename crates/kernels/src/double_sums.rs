//! Exact sums of products in FP64, rounded once.
//!
//! A multiplication and an addition of FP64 lose a part that is an FP64 itself: an FMA gives it of a
//! product (Dekker's two-product), five additions give it of a sum (Knuth's two-sum). So the exact sum
//! is what additions give, and all lost parts. These are added plainly, and beside them the magnitudes
//! of everything that this rounds: their sum times `2^-53` bounds its error. If both ends of the bound
//! give the same FP64, that is the exact sum's; rounding is monotone. It nearly always is. Where it is
//! not, or where a lost part is below all FP64, the exact engine adds.

use super::dense::{DenseTile, ExponentRange, Plain, ROWS};
use super::sums::SumPlan;
use super::tile::SpecialRule;
use super::vector::Vector;
use tcverify_num::Format;

/// Arithmetic of sums over all of K.
pub struct DoubleDot {
    pub plan: SumPlan,
}

/// The k of a panel.
const DEPTH: usize = 256;

/// What additions give, the sum of the parts that they lost, and the magnitudes of all that this sum
/// has rounded. NaN where a part was lost for good.
type State = [f64; 3];

/// No bit of a product lies below the smallest FP64 if the biased exponents of its factors add up to this at least.
const NOTHING_BELOW: i32 = 2 * 1023 - 1074 + 2 * 52;

impl Plain for DoubleDot {
    type Real = f64;
    type State = State;

    const MEASURES: bool = true;

    fn formats(&self) -> [Format; 2] {
        [self.plan.a, self.plan.b]
    }

    fn depth(&self) -> usize {
        DEPTH
    }

    fn specials(&self) -> SpecialRule {
        let nan = self.plan.nan;
        SpecialRule::Zeros { nan }
    }

    fn start(&self, code: u64) -> State {
        [f64::from_bits(code), 0.0, 0.0]
    }

    fn finish(&self, [sum, lost, rounded]: State) -> Option<u64> {
        // A quarter of it bounds the error of `lost`; the rest is for what is rounded here and in `rounded`.
        let bound = rounded * (2.0 * f64::EPSILON);
        let [low, high] = [lost - bound, lost + bound].map(|lost| sum + lost + 0.0);
        (low == high && low.is_finite()).then(|| low.to_bits())
    }

    #[inline(always)]
    unsafe fn run<V: Vector>(&self, tile: DenseTile<f64, State>) {
        let DenseTile {
            a,
            b,
            state,
            depth,
            columns,
            ranges,
            ..
        } = tile;
        let keeps =
            |[a, b]: [ExponentRange; 2]| a.low.min(b.low) > 0 && a.low + b.low >= NOTHING_BELOW;
        if !ranges.is_some_and(keeps) {
            state.fill([f64::NAN; 3]);
            return;
        }
        for left in (0..columns).step_by(V::LANES) {
            for row in 0..ROWS {
                let state = &mut state[row * columns + left..][..V::LANES];
                // SAFETY: features are the caller's promise; a register from `left` on lies within
                // each row of a tile, and a row within each k of a strip.
                unsafe {
                    add::<V>(
                        depth,
                        a.as_ptr().add(row),
                        b.as_ptr().add(left),
                        columns,
                        state,
                    )
                }
            }
        }
    }
}

/// Adds the products of one row, from `a` on, and of a register of columns, from `b` on.
#[inline(always)]
unsafe fn add<V: Vector>(
    depth: usize,
    a: *const f64,
    b: *const f64,
    columns: usize,
    state: &mut [State],
) {
    let mut lanes = [[0f64; 16]; 3];
    for (lane, state) in state.iter().enumerate() {
        for (part, lanes) in lanes.iter_mut().enumerate() {
            lanes[lane] = state[part];
        }
    }
    // SAFETY: the caller's promise: `[depth][ROWS]` and `[depth][columns]`; no register is longer than
    // sixteen lanes.
    unsafe {
        let [mut sum, mut lost, mut rounded] = lanes.map(|lanes| V::load_d(lanes.as_ptr()));
        for k in 0..depth {
            let (x, y) = (*a.add(k * ROWS), V::load_d(b.add(k * columns)));
            let product = V::mul_d(V::splat_d(x), y);
            let over = V::fma_d(V::splat_d(-x), y, product);
            let next = V::add_d(sum, product);
            let added = V::sub_d(next, sum);
            let lost_sum = V::sub_d(sum, V::sub_d(next, added));
            let lost_both = V::add_d(lost_sum, V::sub_d(product, added));
            let part = V::sub_d(lost_both, over);
            (sum, lost) = (next, V::add_d(lost, part));
            let [part, all] = [part, lost].map(|x| V::and_d(x, u64::MAX >> 1));
            rounded = V::add_d(rounded, V::add_d(part, all));
        }
        for (lanes, part) in lanes.iter_mut().zip([sum, lost, rounded]) {
            V::store_d(lanes.as_mut_ptr(), part);
        }
    }
    for (lane, state) in state.iter_mut().enumerate() {
        *state = [0, 1, 2].map(|part: usize| lanes[part][lane]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dot() -> DoubleDot {
        let (format, nan) = (Format::Fp64, 0x7ff8 << 48);
        let plan = SumPlan {
            a: format,
            b: format,
            accumulator: format,
            group: None,
            nan,
            fpmr: None,
        };
        DoubleDot { plan }
    }

    #[test]
    fn a_sum_within_its_error_of_a_tie_is_given_up() {
        let half = f64::EPSILON / 2.0;
        let finish = |lost, rounded| dot().finish([1.0, lost, rounded]).map(f64::from_bits);
        assert_eq!(finish(half, 0.0), Some(1.0));
        assert_eq!(finish(half, f64::MIN_POSITIVE * 2f64.powi(1000)), None);
        assert_eq!(finish(1.25 * half, half), Some(1.0 + f64::EPSILON));
        assert_eq!(dot().finish([f64::NAN; 3]), None);
        assert_eq!(dot().finish([f64::INFINITY, 0.0, 0.0]), None);
        assert_eq!(dot().finish([-0.0, 0.0, 0.0]), Some(0));
    }
}
