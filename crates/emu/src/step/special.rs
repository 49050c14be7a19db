//! Infinities and NaNs among the terms decide the result before any arithmetic.

use crate::num::Unpacked;

/// What special values among the terms force the result to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    Nan,
    Infinity { negative: bool },
}

/// NaN for any NaN term, infinity times zero, or infinities of both signs; otherwise the infinity
/// among the terms, if any. Products that `infinite` says it of count as infinities.
pub fn special(
    a: &[Unpacked],
    b: &[Unpacked],
    c: Unpacked,
    infinite: impl Fn(&Unpacked, &Unpacked) -> bool,
) -> Option<Special> {
    let mut positive = c.is_infinite() && !c.negative;
    let mut negative = c.is_infinite() && c.negative;
    let mut nan = c.is_nan();
    for (a, b) in a.iter().zip(b) {
        nan |= a.is_nan() || b.is_nan();
        let factor = a.is_infinite() || b.is_infinite();
        nan |= factor && (a.is_zero() || b.is_zero());
        if factor || infinite(a, b) {
            if a.negative == b.negative {
                positive = true;
            } else {
                negative = true;
            }
        }
    }
    match (nan || (positive && negative), positive || negative) {
        (true, _) => Some(Special::Nan),
        (false, true) => Some(Special::Infinity { negative }),
        (false, false) => None,
    }
}
