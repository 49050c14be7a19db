//! Exact numbers apart from the library's: integers in units of 2^-6000, read from what is printed.

use num_bigint::BigInt;
use tcverify::explain::{Dyadic, Value};
use tcverify::num::{Class, Format, Unpacked};

const UNIT: i64 = -6000;

/// `value * 2^lsb`.
pub fn scaled(value: BigInt, lsb: i64) -> BigInt {
    assert!(lsb >= UNIT, "{lsb}");
    value << (lsb - UNIT)
}

pub fn power(exponent: i32) -> BigInt {
    scaled(1.into(), exponent.into())
}

/// What a printed number means: `-1.5`, `2^-24`, `-3*2^-25` or `0x1800001*2^-23`.
pub fn read(text: &str) -> BigInt {
    let (sign, bare) = match text.strip_prefix('-') {
        Some(bare) => (-1, bare),
        None => (1, text),
    };
    let (factor, exponent) = match bare.split_once("2^") {
        Some((factor, exponent)) => (factor.trim_end_matches('*'), exponent.parse().unwrap()),
        None => (bare, 0),
    };
    let magnitude = if factor.is_empty() {
        scaled(1.into(), exponent)
    } else if let Some(hex) = factor.strip_prefix("0x") {
        scaled(BigInt::parse_bytes(hex.as_bytes(), 16).unwrap(), exponent)
    } else if let Some((whole, fraction)) = factor.split_once('.') {
        let digits: BigInt = format!("{whole}{fraction}").parse().unwrap();
        let tenths = BigInt::from(10).pow(fraction.len() as u32);
        let exact = scaled(digits, exponent);
        assert_eq!(&exact % &tenths, 0.into(), "{text} is no binary number");
        exact / tenths
    } else {
        scaled(factor.parse().unwrap(), exponent)
    };
    magnitude * sign
}

pub fn dyadic(number: &Dyadic) -> BigInt {
    read(&number.to_string())
}

pub fn finite(value: &Value) -> BigInt {
    dyadic(value.finite().expect("a finite value"))
}

fn number(format: Format, x: Unpacked) -> Option<BigInt> {
    let lsb = x.exponent - format.fraction_bits() as i32;
    let sign = if x.negative { -1 } else { 1 };
    (x.class == Class::Finite).then(|| scaled(BigInt::from(x.significand) * sign, lsb.into()))
}

/// What a code means, unless it is infinite or NaN.
pub fn code(format: Format, code: u64) -> Option<BigInt> {
    number(format, format.unpack(code))
}

/// The product of numbers.
pub fn product(factors: &[(Format, u64)]) -> Option<BigInt> {
    let unpacked: Vec<_> = factors
        .iter()
        .map(|&(f, code)| (f, f.unpack(code)))
        .collect();
    if unpacked.iter().any(|(_, x)| x.class != Class::Finite) {
        return None;
    }
    let negative = unpacked.iter().filter(|(_, x)| x.negative).count() % 2 == 1;
    let lsb = |&(f, x): &(Format, Unpacked)| i64::from(x.exponent) - i64::from(f.fraction_bits());
    let magnitude: BigInt = unpacked
        .iter()
        .map(|(_, x)| BigInt::from(x.significand))
        .product();
    let sign = if negative { -1 } else { 1 };
    if magnitude == 0.into() {
        return Some(magnitude);
    }
    Some(scaled(magnitude * sign, unpacked.iter().map(lsb).sum()))
}
