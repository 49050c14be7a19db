//! A range that may be open.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Rows or columns, counted from 0, the end excluded; without an end, all from the start on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub start: usize,
    pub end: Option<usize>,
}

impl Span {
    /// All rows or columns.
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
                "{what} {self}: select at least one of {what} 0 to {}",
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
                .map_err(|_| format!("{text:?} is not a number: expected 128..256, 128.. or 7"))
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

#[cfg(test)]
mod tests {
    use super::*;

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
