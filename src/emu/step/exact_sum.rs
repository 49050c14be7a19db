//! AMD CDNA 1: `c` and a group of products, added without any loss and rounded once.

use serde::{Deserialize, Serialize};

use super::{Code, Formats, check_accumulator, check_group, check_nan, check_rounding};
use crate::num::{ExactSum as Sum, Format, Rounding, Target, Unpacked};

/// Constants of an exact sum. The step:
///
/// 1. `c` and the products are added exactly.
/// 2. The sum is rounded once to the accumulator's format, with gradual underflow, and to infinity
///    on overflow.
/// 3. A sum of exactly zero is +0; a negative sum that is rounded to zero is -0.
/// 4. NaN terms, infinity times zero, or infinities of both signs give the code `nan`; otherwise an
///    infinite term gives that infinity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExactSum {
    /// Products per step.
    pub group: usize,
    /// How the sum is rounded.
    pub rounding: Rounding,
    /// The code of a NaN result.
    pub nan: Code,
}

impl ExactSum {
    /// Adds at most `group` products to `c`.
    pub fn run(&self, formats: Formats, a: &[Unpacked], b: &[Unpacked], c: u64) -> u64 {
        debug_assert!(a.len() == b.len() && a.len() <= self.group);
        let mut sum = Sum::new(formats.a, formats.b, formats.accumulator);
        sum.add(formats.accumulator, formats.accumulator.unpack(c));
        for (a, b) in a.iter().zip(b) {
            sum.add_product([formats.a, formats.b], *a, *b);
        }
        sum.round(Target::full(formats.accumulator, self.rounding), self.nan.0)
    }

    pub(super) fn summary(&self) -> String {
        format!(
            "exact sum of {} products and C, rounded once {}",
            self.group, self.rounding
        )
    }

    pub(super) fn check(&self, accumulator: Format) -> Result<(), String> {
        check_group(self.group)?;
        check_rounding("rounding", self.rounding)?;
        check_accumulator(accumulator)?;
        check_nan(self.nan, accumulator)
    }
}
