//! A factor that f32 products take as an f32, and FP64 products as it was written.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::F32;
use crate::f32code::written;

/// A number as an f32, and as the f64 that was written, where that is another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor {
    pub f32: F32,
    /// Its code.
    wide: Option<u64>,
}

impl From<F32> for Factor {
    fn from(f32: F32) -> Factor {
        Factor { f32, wide: None }
    }
}

impl Factor {
    /// The f32 of this code, as its shortest decimal number.
    pub fn shortest(code: u32) -> Factor {
        let text = f32::from_bits(code).to_string();
        text.parse().unwrap_or(Factor::from(F32(code)))
    }

    /// The number as FP64 products take it.
    pub fn as_f64(self) -> f64 {
        let exact = f64::from(f32::from_bits(self.f32.0));
        self.wide.map_or(exact, f64::from_bits)
    }
}

impl FromStr for Factor {
    type Err = String;

    fn from_str(text: &str) -> Result<Factor, String> {
        let f32: F32 = text.parse()?;
        let exact = Factor::from(f32).as_f64();
        let written: f64 = text.parse().unwrap_or(exact);
        let wide = written.is_finite() && written != exact;
        Ok(Factor {
            f32,
            wide: wide.then(|| written.to_bits()),
        })
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.wide {
            Some(wide) => write!(f, "{}", f64::from_bits(wide)),
            None if Factor::shortest(self.f32.0) == *self => write!(f, "{}", self.f32),
            None => write!(f, "0x{:08x}", self.f32.0),
        }
    }
}

impl Serialize for Factor {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.wide {
            Some(_) => to.collect_str(self),
            None => self.f32.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Factor {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Factor, D::Error> {
        written(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_is_what_was_written() {
        let read = |text: &str| text.parse::<Factor>().expect("a number");
        assert_eq!(read("0.1").f32, F32(0x3dcc_cccd));
        assert_eq!(read("0.1").as_f64(), 0.1);
        assert_eq!(read("0x3dcccccd").as_f64(), f64::from(0.1f32));
        assert_eq!(Factor::shortest(0x3dcc_cccd), read("0.1"));
        for text in [
            "0.1",
            "0x3dcccccd",
            "0.1000000000000001",
            "-2",
            "inf",
            "nan",
            "1e-20",
        ] {
            let factor = read(text);
            assert_eq!(read(&factor.to_string()), factor, "{text}");
            let json = serde_json::to_string(&factor).expect("plain data");
            assert_eq!(
                serde_json::from_str::<Factor>(&json).expect("a factor"),
                factor
            );
        }
        for wrong in ["", "x", "1e99", "1e-60"] {
            assert!(wrong.parse::<Factor>().is_err(), "{wrong:?}");
        }
    }
}
