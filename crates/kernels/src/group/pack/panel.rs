//! A panel of k, what numbers span over it, and how far rows and columns are moved.

use crate::group::plan::GroupPlan;
use tcverify_num::Format;

/// Rows of A that the kernel takes at a time.
pub const ROWS: usize = 8;

/// Exponents are stored so that `a_field - b_gap` (saturating at 0) is the product's exponent,
/// relative to the two shifts and biased by 127.
pub(super) const TOP: i32 = 15;

/// What the exponents of some rows or columns span, over the k of a panel.
#[derive(Clone, Copy, Debug)]
pub struct Exponents {
    /// Smallest exponent of a nonzero element, and largest; in an empty range low > high.
    pub(super) low: i32,
    pub(super) high: i32,
    /// Smallest exponent relative to its own row's shift.
    pub(super) relative_low: i32,
}

/// The gap of a zero: no field exceeds it.
pub(super) const NOTHING: u8 = 255;

pub(super) const EMPTY: Exponents = Exponents {
    low: i32::MAX / 4,
    high: i32::MIN / 4,
    relative_low: i32::MAX / 4,
};

impl Exponents {
    pub(super) fn join(self, other: Exponents) -> Exponents {
        Exponents {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            relative_low: self.relative_low.min(other.relative_low),
        }
    }

    /// Whether every step over rows of range `self` and columns of range `other` stays where the
    /// kernel is exact, given accumulators that do (which the kernel checks):
    ///
    /// * relative exponents of products stay so high above the floor that a nonzero result, at
    ///   least `2^-F` of the common exponent, does too;
    /// * FP32 results neither underflow into subnormals nor reach infinity;
    /// * no row or column is so far above what its shift can be (with scales only) that its exponents have no gap.
    pub fn suits(self, other: Exponents, plan: &GroupPlan, k: usize) -> bool {
        // FP16 has absolute exponents of at most five bits.
        plan.accumulator == Format::Fp16 || self.within(other, plan.fraction_bits, k)
    }

    /// Whether every step stays there, for FP32 results that keep `f` bits below the common exponent.
    pub fn within(self, other: Exponents, f: i32, k: usize) -> bool {
        if self.low > self.high || other.low > other.high {
            return true; // only zero products
        }
        let growth = 2 + (k as i32).ilog2() as i32 + 1;
        127 + self.relative_low + other.relative_low >= 2 * f + 2
            && self.low + other.low - f >= -126
            && self.high + other.high + growth <= 125
            && self.high.max(other.high) <= FARTHEST + TOP
    }
}

/// Some consecutive k of a product, in the order in which the kernel takes them.
#[derive(Debug)]
pub struct Panel {
    pub start: usize,
    pub len: usize,
    /// For every position the k, counted from `start`; at or beyond `len` it is padding.
    pub(super) order: Vec<usize>,
}

impl Panel {
    pub fn new(plan: &GroupPlan, start: usize, len: usize) -> Panel {
        let span = plan.span();
        let padded = len.next_multiple_of(span);
        let order = match &plan.halves {
            None => (0..padded).collect(),
            Some(order) => (0..padded)
                .map(|position| position / span * span + order[position % span])
                .collect(),
        };
        Panel { start, len, order }
    }

    /// Positions, zero products included, that fill the last step.
    pub fn padded(&self) -> usize {
        self.order.len()
    }

    /// Positions and their k, the padding left out.
    pub(super) fn positions(&self) -> impl Iterator<Item = (usize, usize)> {
        let all = self.order.iter().copied().enumerate();
        all.filter(|&(_, k)| k < self.len)
    }

    /// Positions that only fill the last step.
    pub(super) fn padding(&self) -> impl Iterator<Item = usize> {
        let all = self.order.iter().copied().enumerate();
        all.filter_map(|(position, k)| (k >= self.len).then_some(position))
    }
}

/// The farthest that a row or column is moved: factors are normal numbers.
pub(super) const FARTHEST: i32 = 126;

/// The shift of a row or column whose largest exponent is `high`.
#[inline(always)]
pub(super) fn shift(plan: &GroupPlan, high: i32) -> i32 {
    if plan.absolute() || high == EMPTY.high {
        0
    } else {
        high.clamp(-FARTHEST, FARTHEST)
    }
}

/// 2^-shift.
#[inline(always)]
pub(super) fn factor(shift: i32) -> f32 {
    f32::from_bits(((127 - shift) as u32) << 23)
}

/// 2^(scale - shift). Exact as a factor, but where `Exponents::suits` refuses the whole panel.
#[inline(always)]
pub(super) fn factor_between(shift: i32, scale: i32) -> f32 {
    factor((shift - scale).clamp(-FARTHEST, FARTHEST))
}

pub(super) fn range((low, high): (i32, i32), shift: i32) -> Exponents {
    if low > high {
        return EMPTY;
    }
    Exponents {
        low,
        high,
        relative_low: low - shift,
    }
}
