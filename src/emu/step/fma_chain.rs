//! One IEEE fused multiply-add after the other.

use serde::{Deserialize, Serialize};

use super::{Code, Formats, check_nan};
use crate::num::{Format, Rounding, Target, Unpacked, fma};

/// Constants of a chain of fused multiply-adds, k ascending.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FmaChain {
    pub rounding: Rounding,
    /// The code of a NaN result.
    pub nan: Code,
}

impl FmaChain {
    pub fn run(&self, formats: Formats, a: &[Unpacked], b: &[Unpacked], c: u64) -> u64 {
        let target = Target::full(formats.accumulator, self.rounding);
        a.iter().zip(b).fold(c, |c, (a, b)| {
            let c = (formats.accumulator, formats.accumulator.unpack(c));
            fma((formats.a, *a, *b), c, target, self.nan.0)
        })
    }

    pub(super) fn summary(&self) -> String {
        format!("chain of IEEE fused multiply-adds, {}", self.rounding)
    }

    pub(super) fn check(&self, a: Format, b: Format, accumulator: Format) -> Result<(), String> {
        if a != b {
            return Err(format!(
                "a chain of FMAs multiplies one format, not {a} and {b}"
            ));
        }
        if !matches!(self.rounding, Rounding::NearestEven | Rounding::TowardZero) {
            return Err("rounding of an FMA chain must be rne or rz".into());
        }
        if accumulator.infinity(false).is_none() {
            return Err(format!(
                "{accumulator} cannot accumulate: it has no infinity"
            ));
        }
        check_nan(self.nan, accumulator)
    }
}
