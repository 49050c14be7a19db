//! One IEEE fused multiply-add after the other.

use serde::{Deserialize, Serialize};

use super::{Code, Formats, check_accumulator, check_nan, check_rounding};
use crate::num::{Format, Rounding, Target, Unpacked, fma};

/// Constants of a chain of fused multiply-adds, k ascending: each product is exact, whatever the
/// formats of its factors, and each sum rounded once to the accumulator's format.
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
            fma(([formats.a, formats.b], *a, *b), c, target, self.nan.0)
        })
    }

    pub(super) fn summary(&self) -> String {
        format!("chain of IEEE fused multiply-adds, {}", self.rounding)
    }

    pub(super) fn check(&self, accumulator: Format) -> Result<(), String> {
        check_rounding("rounding", self.rounding)?;
        check_accumulator(accumulator)?;
        check_nan(self.nan, accumulator)
    }
}
