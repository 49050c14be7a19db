//! Floating-point estimates: they choose which hypotheses are tested, and never decide a bit.

use crate::num::{Class, Format, Unpacked};

/// The value of a code.
pub fn value(format: Format, code: u64) -> f64 {
    unpacked(format, format.unpack(code))
}

/// The value of a number of this format.
pub fn unpacked(format: Format, number: Unpacked) -> f64 {
    let magnitude = match number.class {
        Class::Nan => return f64::NAN,
        Class::Infinite => f64::INFINITY,
        // In two steps, so that no power leaves the range before the product does.
        Class::Finite => {
            let exponent = number.exponent - format.fraction_bits() as i32;
            let half = exponent / 2;
            number.significand as f64 * f64::from(half).exp2() * f64::from(exponent - half).exp2()
        }
    };
    if number.negative {
        -magnitude
    } else {
        magnitude
    }
}

/// How far another order of additions or another unit can move a sum: a share of the sum of magnitudes.
pub fn noise(operand: Format, accumulator: Format) -> f64 {
    match (accumulator, operand) {
        (Format::Int32, _) => 0.0,
        (Format::Fp64, _) => 1e-13,
        (Format::Fp16, _) => 4e-3,
        // Some units keep 13 fraction bits of FP8 products.
        (_, operand) if operand.bytes() == 1 => 1e-3,
        _ => 1e-5,
    }
}
