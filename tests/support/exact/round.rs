//! Rounding without fields or guard bits.

use num_bigint::{BigInt, Sign};
use tcverify::num::{Format, Rounding};

use super::{Fraction, value};

/// `x / 2^power` as an integer, by division with remainder toward minus infinity.
pub fn quotient(x: &Fraction, power: i32, rounding: Rounding) -> BigInt {
    let scaled = &x.numerator << (-power).max(0);
    let places = x.halvings as i32 + power.max(0);
    let floor: BigInt = &scaled >> places; // an arithmetic shift: rounds down
    let remainder = &scaled - (&floor << places);
    let twice: BigInt = &remainder << 1;
    let half = BigInt::from(1) << places;
    let exact = remainder.sign() == Sign::NoSign;
    let up = match rounding {
        Rounding::Down => false,
        Rounding::TowardZero => !exact && x.is_negative(),
        Rounding::NearestEven => twice > half || (twice == half && floor.bit(0)),
        Rounding::NearestAway => twice > half || (twice == half && !x.is_negative()),
    };
    floor + i32::from(up)
}

/// The code of the magnitude `|x|`, with the sign given: the largest code that is not above it, or
/// the next. Infinity's code stands for the power of two that would follow the largest number.
///
/// With `precision` below the format's own, only every so manyth code counts.
pub fn nearest_code(
    format: Format,
    precision: u32,
    rounding: Rounding,
    negative: bool,
    x: &Fraction,
) -> u64 {
    let x = x.abs();
    let step = 1u64 << (format.fraction_bits() + 1 - precision + format.ignored_bits());
    let infinity = format
        .infinity(false)
        .expect("results have a format with infinities");
    let magnitude = |index: u64| {
        let code = index * step;
        if code < infinity {
            Fraction::of(value(format, code))
        } else {
            Fraction::power_of_two(format.max_exponent() + 1)
        }
    };

    // magnitude(low) <= x < magnitude(high)
    let (mut low, mut high) = (0, infinity / step);
    if magnitude(high) <= x {
        low = high;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if magnitude(middle) <= x {
            low = middle;
        } else {
            high = middle;
        }
    }
    let (below, above) = (&x - &magnitude(low), &magnitude(high) - &x);
    // Significands of one bit are all odd; IEEE 754-2019 (4.3.1) then takes the larger number.
    let low_is_odd = if precision == 1 {
        low > 0
    } else {
        low % 2 == 1
    };
    let up = match rounding {
        Rounding::TowardZero => false,
        Rounding::Down => negative && !below.is_zero(),
        Rounding::NearestEven => below > above || (below == above && low_is_odd),
        Rounding::NearestAway => below >= above,
    };
    let code = if low < high && up { high } else { low } * step;
    code | if negative { format.sign_mask() } else { 0 }
}
