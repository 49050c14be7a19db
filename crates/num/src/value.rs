//! Exact values that may be infinite or no number.

use std::fmt;

use serde::Serialize;

use super::{Class, Dyadic, Format, Target, Unpacked};

/// An exact value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Finite(Dyadic),
    Infinite { negative: bool },
    Nan,
}

impl Value {
    /// What a code means.
    pub fn of(format: Format, code: u64) -> Value {
        let number = format.unpack(code);
        match number.class {
            Class::Finite => Value::Finite(Dyadic::of(format, number)),
            Class::Infinite => Value::Infinite {
                negative: number.negative,
            },
            Class::Nan => Value::Nan,
        }
    }

    /// The exact product of numbers that have so many fraction bits together.
    pub fn product(a: Unpacked, b: Unpacked, fraction_bits: u32) -> Value {
        let negative = a.negative != b.negative;
        match a.product_class(&b) {
            Class::Nan => Value::Nan,
            Class::Infinite => Value::Infinite { negative },
            Class::Finite => {
                let magnitude = u128::from(a.significand) * u128::from(b.significand);
                let lsb = a.exponent + b.exponent - fraction_bits as i32;
                Value::Finite(Dyadic::new(negative, magnitude, lsb))
            }
        }
    }

    pub fn finite(&self) -> Option<&Dyadic> {
        match self {
            Value::Finite(number) => Some(number),
            _ => None,
        }
    }

    pub fn is_zero(&self) -> bool {
        self.finite().is_some_and(Dyadic::is_zero)
    }

    pub fn plus(&self, other: &Value) -> Value {
        match (self, other) {
            (Value::Finite(x), Value::Finite(y)) => Value::Finite(x.plus(y)),
            (Value::Nan, _) | (_, Value::Nan) => Value::Nan,
            (Value::Infinite { negative: x }, Value::Infinite { negative: y }) if x != y => {
                Value::Nan
            }
            (Value::Infinite { negative }, _) | (_, Value::Infinite { negative }) => {
                Value::Infinite {
                    negative: *negative,
                }
            }
        }
    }

    /// The difference of two finite values.
    pub fn minus(&self, other: &Value) -> Option<Dyadic> {
        Some(self.finite()?.minus(other.finite()?))
    }

    /// Rounded once to a float format; clamped nowhere, so an integer format gives none beyond its
    /// range.
    pub fn round(&self, target: Target) -> Option<u64> {
        let format = target.format;
        match self {
            Value::Finite(number) if format.is_integer() => {
                let text = number.to_string();
                format.integer_code(text.parse().ok()?)
            }
            Value::Finite(number) => Some(number.round(target)),
            Value::Infinite { .. } if format.is_integer() => None,
            Value::Infinite { negative } => Some(format.beyond(*negative)),
            Value::Nan => Some(quiet_nan(format)),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Finite(number) => number.fmt(f),
            Value::Infinite { negative: true } => f.pad("-Inf"),
            Value::Infinite { negative: false } => f.pad("+Inf"),
            Value::Nan => f.pad("NaN"),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The positive quiet NaN without payload, or what a format without infinities has beyond its numbers.
pub fn quiet_nan(format: Format) -> u64 {
    match format.infinity(false) {
        Some(infinity) => infinity | 1 << (format.fraction_bits() - 1) << format.ignored_bits(),
        None => format.beyond(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_nans() {
        for (format, code) in [
            (Format::Fp16, 0x7e00),
            (Format::Bf16, 0x7fc0),
            (Format::Tf32, 0x7fc0_0000),
            (Format::Fp32, 0x7fc0_0000),
            (Format::Fp64, 0x7ff8_0000_0000_0000),
            (Format::E5m2, 0x7e),
            (Format::E4m3, 0x7f),
            (Format::E5m2fnuz, 0x80),
        ] {
            assert_eq!(quiet_nan(format), code, "{format}");
            assert_eq!(Value::of(format, code), Value::Nan, "{format}");
        }
    }

    /// Every code of some small formats becomes a value and the same code again.
    #[test]
    fn values_round_to_the_code_they_are_of() {
        for format in [Format::Fp16, Format::E5m2, Format::Int8, Format::Uint4] {
            let target = Target::full(format, crate::Rounding::NearestEven);
            for code in 0..=format.max_code() {
                let value = Value::of(format, code);
                let unpacked = format.unpack(code);
                // A zero has lost its sign, a NaN its payload.
                let expected = match unpacked.is_nan() {
                    true => quiet_nan(format),
                    false if unpacked.is_zero() => 0,
                    false => code,
                };
                assert_eq!(value.round(target), Some(expected), "{format} {code:x}");
                assert_eq!(value.finite().is_some(), unpacked.class == Class::Finite);
            }
        }
    }
}
