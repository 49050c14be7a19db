//! Small values of a request: an f32 by its bits, a range that may be open.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An f32 by its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct F32(pub u32);

const WRITE_AN_F32: &str = "write a decimal number, inf, or an f32 as 0x and 8 digits";

impl FromStr for F32 {
    type Err = String;

    fn from_str(text: &str) -> Result<F32, String> {
        if let Some(digits) = text.strip_prefix("0x") {
            let code = (digits.len() == 8).then(|| u32::from_str_radix(digits, 16).ok());
            return code.flatten().map(F32).ok_or(WRITE_AN_F32.into());
        }
        let value: f32 = text.parse().map_err(|_| WRITE_AN_F32)?;
        if value.is_nan() {
            return Err("which of the NaNs is meant? Write it as 0x and 8 digits".into());
        }
        // A number that no f32 holds shall not become an infinity unnoticed.
        let asked = text.trim_start_matches(['+', '-']).to_ascii_lowercase();
        if value.is_infinite() && !asked.starts_with("inf") {
            return Err(format!(
                "{text} is beyond every f32; for infinity write inf"
            ));
        }
        Ok(F32(value.to_bits()))
    }
}

impl fmt::Display for F32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = f32::from_bits(self.0);
        match value.is_finite() {
            true => write!(f, "{value}"),
            false => write!(f, "0x{:08x}", self.0),
        }
    }
}

impl Serialize for F32 {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let value = f32::from_bits(self.0);
        match value.is_finite() {
            true => to.serialize_f64(value.into()),
            false => to.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for F32 {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<F32, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(f64),
            Text(String),
        }
        let wanted = "a number that an f32 has, or text such as \"0.1\", is expected";
        match Written::deserialize(from).map_err(|_| D::Error::custom(wanted))? {
            Written::Text(text) => text.parse().map_err(D::Error::custom),
            Written::Number(value) if f64::from(value as f32) == value => {
                Ok(F32((value as f32).to_bits()))
            }
            Written::Number(_) => Err(D::Error::custom(wanted)),
        }
    }
}

/// Rows or columns, counted from 0, the end excluded; without an end, all from the start on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub start: usize,
    pub end: Option<usize>,
}

impl Span {
    /// Everything.
    pub const ALL: Span = Span {
        start: 0,
        end: None,
    };

    /// The range it is of `count` rows or columns.
    ///
    /// # Errors
    /// If it is empty or reaches further.
    pub fn of(self, what: &str, count: usize) -> Result<Range<usize>, String> {
        let range = self.start..self.end.unwrap_or(count);
        if range.start >= range.end || range.end > count {
            return Err(format!(
                "{what} {self}: D has {what} 0 to {}, and at least one is needed",
                count - 1
            ));
        }
        Ok(range)
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Span, String> {
        let number = |text: &str| -> Result<usize, String> {
            text.parse()
                .map_err(|_| format!("{text:?} is no number: expected 128..256, 128.. or 7"))
        };
        match text.split_once("..") {
            Some((start, end)) => Ok(Span {
                start: if start.is_empty() { 0 } else { number(start)? },
                end: (!end.is_empty()).then(|| number(end)).transpose()?,
            }),
            None => {
                let one = number(text)?;
                Ok(Span {
                    start: one,
                    end: Some(one.saturating_add(1)),
                })
            }
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..", self.start)?;
        self.end.map_or(Ok(()), |end| write!(f, "{end}"))
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Span, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// k between two promotions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromoteChoice {
    Never,
    Every(usize),
}

impl FromStr for PromoteChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<PromoteChoice, String> {
        match text {
            "never" => Ok(PromoteChoice::Never),
            _ => {
                let every = text.parse().map(PromoteChoice::Every);
                every.map_err(|_| format!("{text:?}: write a number of k, or never"))
            }
        }
    }
}

impl fmt::Display for PromoteChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PromoteChoice::Never => f.write_str("never"),
            PromoteChoice::Every(k) => write!(f, "{k}"),
        }
    }
}

impl Serialize for PromoteChoice {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            PromoteChoice::Never => to.serialize_str("never"),
            PromoteChoice::Every(k) => to.serialize_u64(*k as u64),
        }
    }
}

impl<'de> Deserialize<'de> for PromoteChoice {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<PromoteChoice, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(usize),
            Text(String),
        }
        let wanted = "a whole number or \"never\" is expected";
        match Written::deserialize(from).map_err(|_| D::Error::custom(wanted))? {
            Written::Number(k) => Ok(PromoteChoice::Every(k)),
            Written::Text(text) => text.parse().map_err(D::Error::custom),
        }
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
        ] {
            let read: F32 = text.parse().unwrap();
            assert_eq!(read.0, code);
            assert_eq!(read.to_string().parse(), Ok(read));
            let json = serde_json::to_string(&read).unwrap();
            assert_eq!(serde_json::from_str::<F32>(&json).unwrap(), read);
        }
        for wrong in ["", "x", "0x1", "nan", "1e99", "-4e38"] {
            assert!(wrong.parse::<F32>().is_err(), "{wrong:?}");
        }
        assert!(serde_json::from_str::<F32>("0.1").is_err());
        assert!(serde_json::from_str::<F32>("0.5").is_ok());
    }

    #[test]
    fn spans_are_ranges_or_numbers() {
        for (text, range) in [("2..5", 2..5), ("3..", 3..9), ("..4", 0..4), ("8", 8..9)] {
            let span: Span = text.parse().unwrap();
            assert_eq!(span.of("rows", 9), Ok(range));
            assert_eq!(span.to_string().parse(), Ok(span));
        }
        for wrong in ["", "x", "1..y", "-1"] {
            assert!(wrong.parse::<Span>().is_err(), "{wrong:?}");
        }
        for outside in ["9", "3..3", "0..10"] {
            assert!(outside.parse::<Span>().unwrap().of("rows", 9).is_err());
        }
    }
}
