//! `APFloat` results as tensor cores return them: any NaN is one code, overflow is infinity.

use rustc_apfloat::ieee::Quad;
use rustc_apfloat::{Float, Round};
use tcverify::num::{Format, Rounding};

pub fn direction(rounding: Rounding) -> Round {
    match rounding {
        Rounding::TowardZero => Round::TowardZero,
        Rounding::NearestEven => Round::NearestTiesToEven,
        Rounding::NearestAway => Round::NearestTiesToAway,
        Rounding::Down => Round::TowardNegative,
    }
}

/// The code of a result of this format. `wide` is the same result truncated to 113 bits: it says
/// whether a directed rounding stopped at the largest number, where a tensor core goes on to
/// infinity.
pub fn code<F: Float>(format: Format, nan: u64, result: F, wide: Quad) -> u64 {
    let one = Quad::from_u128(1).value;
    if result.is_nan() {
        nan
    } else if wide.abs() >= one.scalbn(format.max_exponent() + 1) {
        let infinity = format.infinity(wide.is_negative());
        infinity.expect("only formats with infinities are rounded to")
    } else {
        result.to_bits() as u64
    }
}
