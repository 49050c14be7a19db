//! Infinities and NaNs among the terms decide the result before any arithmetic.

use crate::num::{Format, Unpacked};

/// The result that special values among the terms force: `nan` for any NaN term, infinity times zero, or infinities of
/// both signs; otherwise the infinity among the terms, if any. Products for which `infinite` holds count as infinities.
pub fn special(
    (a, b, c): (&[Unpacked], &[Unpacked], Unpacked),
    infinite: impl Fn(&Unpacked, &Unpacked) -> bool,
    (accumulator, nan): (Format, u64),
) -> Option<u64> {
    let mut positive = c.is_infinite() && !c.negative;
    let mut negative = c.is_infinite() && c.negative;
    let mut any_nan = c.is_nan();
    for (a, b) in a.iter().zip(b) {
        any_nan |= a.is_nan() || b.is_nan();
        let factor = a.is_infinite() || b.is_infinite();
        any_nan |= factor && (a.is_zero() || b.is_zero());
        if factor || infinite(a, b) {
            if a.negative == b.negative {
                positive = true;
            } else {
                negative = true;
            }
        }
    }
    let infinity = || accumulator.infinity(negative);
    match (any_nan || (positive && negative), positive || negative) {
        (true, _) => Some(nan),
        (false, true) => Some(infinity().expect("checked when the model was read")),
        (false, false) => None,
    }
}

/// A result that is never -0.
pub fn without_minus_zero(format: Format, code: u64) -> u64 {
    if code == format.zero(true) {
        format.zero(false)
    } else {
        code
    }
}
