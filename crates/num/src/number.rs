//! A code of a format, as explanations show it. Its decimal is for people: never parsed back, never used to decide anything.

use serde::Serialize;
use serde::ser::SerializeStruct;

use super::{Class, Format, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    pub format: Format,
    pub code: u64,
}

impl Number {
    pub fn new(format: Format, code: u64) -> Number {
        Number { format, code }
    }

    /// `3f800000`, as wide as the format.
    pub fn hex(&self) -> String {
        format!("{:0width$x}", self.code, width = 2 * self.format.bytes())
    }

    /// The shortest decimal that identifies it.
    pub fn decimal(&self) -> String {
        decimal(self.format, self.code)
    }

    pub fn value(&self) -> Value {
        Value::of(self.format, self.code)
    }
}

impl Serialize for Number {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Number", 4)?;
        fields.serialize_field("format", &self.format)?;
        fields.serialize_field("code", &self.hex())?;
        fields.serialize_field("value", &self.decimal())?;
        fields.serialize_field("exact", &self.value())?;
        fields.end()
    }
}

/// The number a code encodes, in the shortest decimal that identifies it (as an `f32` for formats
/// up to 32 bits, as an `f64` for FP64).
pub fn decimal(format: Format, code: u64) -> String {
    if format.is_integer() {
        return format.integer(code).to_string();
    }
    let number = format.unpack(code);
    match number.class {
        Class::Nan => return "NaN".into(),
        Class::Infinite => return if number.negative { "-Inf" } else { "+Inf" }.into(),
        Class::Finite => {}
    }
    // Exact: at most 53 bits, and 2^exponent is built from factors that do not round.
    let exponent = number.lsb(format);
    let mut value = number.significand as f64;
    let (half, rest) = (exponent / 2, exponent - exponent / 2);
    value *= 2f64.powi(half);
    value *= 2f64.powi(rest);
    if number.negative {
        value = -value;
    }
    let plain = value == 0.0 || (1e-4..1e9).contains(&value.abs());
    match (format, plain) {
        (Format::Fp64, true) => format!("{value}"),
        (Format::Fp64, false) => format!("{value:e}"),
        (_, true) => format!("{}", value as f32),
        (_, false) => format!("{:e}", value as f32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_well_at_both_ends() {
        assert_eq!(decimal(Format::Fp32, 0x3f80_0001), "1.0000001");
        assert_eq!(decimal(Format::Fp32, 1), "1e-45");
        assert_eq!(decimal(Format::Fp32, 0x8000_0000), "-0");
        assert_eq!(decimal(Format::Fp64, 1), "5e-324");
        assert_eq!(
            decimal(Format::Fp64, 0x7fef_ffff_ffff_ffff),
            "1.7976931348623157e308"
        );
        assert_eq!(decimal(Format::E2m1, 0x0f), "-6");
        assert_eq!(decimal(Format::E4m3, 0x7e), "448");
        assert_eq!(decimal(Format::E4m3, 0x7f), "NaN");
        assert_eq!(decimal(Format::Int32, 0x8000_0000), "-2147483648");
        assert_eq!(decimal(Format::Uint4, 15), "15");
    }
}
