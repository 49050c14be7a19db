//! An f32 by its bits, as people and documents write it.

use std::fmt;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An f32 by its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct F32(pub u32);

const WRITE_AN_F32: &str = "write a decimal number, inf, nan, or an f32 as 0x and 8 digits";

impl F32 {
    /// Whether it is +0 or -0.
    pub fn is_zero(self) -> bool {
        self.0 << 1 == 0
    }
}

impl FromStr for F32 {
    type Err = String;

    fn from_str(text: &str) -> Result<F32, String> {
        if let Some(digits) = text.strip_prefix("0x") {
            let code = (digits.len() == 8).then(|| u32::from_str_radix(digits, 16).ok());
            return code.flatten().map(F32).ok_or(WRITE_AN_F32.into());
        }
        let value: f32 = text.parse().map_err(|_| WRITE_AN_F32)?;
        // A number that no f32 holds shall not become an infinity unnoticed.
        let lower = text.trim_start_matches(['+', '-']).to_ascii_lowercase();
        if value.is_infinite() && !lower.starts_with("inf") {
            return Err(format!(
                "{text} is too large for an f32; for infinity write inf"
            ));
        }
        // Nor shall it become a zero, which has a meaning of its own: with beta = 0 C is not read.
        let mantissa = lower.split('e').next().unwrap_or_default();
        if value == 0.0 && mantissa.contains(|digit| matches!(digit, '1'..='9')) {
            return Err(format!("{text} is not zero, but too small for an f32"));
        }
        Ok(F32(value.to_bits()))
    }
}

impl fmt::Display for F32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = f32::from_bits(self.0);
        if value.is_finite() {
            write!(f, "{value}")
        } else {
            write!(f, "0x{:08x}", self.0)
        }
    }
}

impl Serialize for F32 {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let value = f32::from_bits(self.0);
        if value.is_finite() {
            to.serialize_f64(value.into())
        } else {
            to.collect_str(self)
        }
    }
}

impl<'de> Deserialize<'de> for F32 {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<F32, D::Error> {
        written(from)
    }
}

/// What was written as a number that an f32 holds, or as a text.
pub(crate) fn written<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err = String> + From<F32>,
{
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(f64),
        Text(String),
    }
    let wanted = "expected a number that is exact in f32, or text such as \"0.1\"";
    match Written::deserialize(from).map_err(|_| D::Error::custom(wanted))? {
        Written::Text(text) => text.parse().map_err(D::Error::custom),
        Written::Number(value) if f64::from(value as f32) == value => {
            Ok(F32((value as f32).to_bits()).into())
        }
        Written::Number(_) => Err(D::Error::custom(wanted)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_numbers_or_codes() {
        for (text, code) in [
            ("1", 0x3f80_0000),
            ("-0.5", 0xbf00_0000),
            ("0x80000000", 0x8000_0000),
            ("0.1", 0x3dcc_cccd),
            ("-inf", 0xff80_0000),
            ("0x7fc00001", 0x7fc0_0001),
            ("nan", 0x7fc0_0000),
        ] {
            let read: F32 = text.parse().unwrap();
            assert_eq!(read.0, code);
            assert_eq!(read.to_string().parse(), Ok(read));
            let json = serde_json::to_string(&read).unwrap();
            assert_eq!(serde_json::from_str::<F32>(&json).unwrap(), read);
        }
        for zero in ["0", "-0", "0e9", "0.000"] {
            assert_eq!(zero.parse::<F32>().unwrap().0 << 1, 0, "{zero:?}");
        }
        for wrong in ["", "x", "0x1", "1e99", "-4e38", "1e-60", "-0.1e-50"] {
            assert!(wrong.parse::<F32>().is_err(), "{wrong:?}");
        }
        assert!(serde_json::from_str::<F32>("0.1").is_err());
        assert!(serde_json::from_str::<F32>("0.5").is_ok());
    }
}
