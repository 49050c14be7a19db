//! AMD CDNA 1: `c` and a group of products, added without any loss and rounded once.
//!
//! `d = result(c + Σ products, accumulator, f + 1, rounding)`. The sum is exact. A zero sum is +0, even of -0 alone. A negative sum that rounds
//! to zero is -0, or +0 with `plus_zero`. Special values are as in `fused`.

use serde::{Deserialize, Serialize};

use super::checks::{Code, check_accumulator, check_group, check_rounding};
use super::kind::{Products, StepKind};
use super::special::without_minus_zero;
use super::trace::TraceObserver;
use crate::num::{ExactSum as Sum, Format, Formats, Rounding, Target};

/// Constants of an exact sum. This file begins with its rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExactSum {
    /// Products per step.
    pub group: usize,
    /// How the sum is rounded.
    pub rounding: Rounding,
    /// The code of a NaN result.
    pub nan: Code,
    /// Whether no result is -0.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plus_zero: bool,
}

impl StepKind for ExactSum {
    fn span(&self) -> usize {
        self.group
    }

    fn add(&self, products: Products, c: u64, _: &mut impl TraceObserver) -> u64 {
        let Products { formats, a, b, .. } = products;
        debug_assert!(a.len() == b.len() && a.len() <= self.group);
        let mut sum = Sum::new(formats.a, formats.b, formats.accumulator);
        sum.add(formats.accumulator, formats.accumulator.unpack(c));
        for (a, b) in a.iter().zip(b) {
            sum.add_product([formats.a, formats.b], *a, *b);
        }
        self.close(formats.accumulator, &sum)
    }

    fn summary(&self) -> String {
        format!(
            "exact sum of {} products and C, rounded once {}{}",
            self.group,
            self.rounding,
            if self.plus_zero { ", never to -0" } else { "" }
        )
    }

    fn check(&self, formats: Formats) -> Result<(), String> {
        check_group(self.group)?;
        check_rounding("rounding", self.rounding)?;
        check_accumulator(formats.accumulator, self.nan)
    }
}

impl ExactSum {
    /// Rounds the sum.
    pub fn close(&self, accumulator: Format, sum: &Sum) -> u64 {
        let target = Target::full(accumulator, self.rounding);
        let result = sum.round(target, self.nan.0);
        if self.plus_zero {
            without_minus_zero(accumulator, result)
        } else {
            result
        }
    }
}
