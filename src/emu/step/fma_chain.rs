//! One IEEE fused multiply-add after the other.
//!
//! Span 1: `d = fma(a, b, c)`, an IEEE 754 fused multiply-add rounded once to the accumulator's format, k ascending. Subnormal numbers are
//! kept, signs of zero are IEEE's, and overflow gives Inf in either mode.

use serde::{Deserialize, Serialize};

use super::checks::{Code, check_accumulator, check_rounding};
use super::kind::{Products, StepKind};
use super::trace::TraceObserver;
use crate::num::{Formats, Rounding, Target, fma};

/// Constants of a chain of fused multiply-adds. This file begins with its rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FmaChain {
    /// How every sum is rounded.
    pub rounding: Rounding,
    /// The code of a NaN result.
    pub nan: Code,
}

impl StepKind for FmaChain {
    fn span(&self) -> usize {
        1
    }

    fn add(&self, products: Products, c: u64, _: &mut impl TraceObserver) -> u64 {
        let Products { formats, a, b, .. } = products;
        let target = Target::full(formats.accumulator, self.rounding);
        a.iter().zip(b).fold(c, |c, (a, b)| {
            let product = ([formats.a, formats.b], *a, *b);
            let c = (formats.accumulator, formats.accumulator.unpack(c));
            fma(product, c, target, self.nan.0)
        })
    }

    fn summary(&self) -> String {
        format!("chain of IEEE fused multiply-adds, {}", self.rounding)
    }

    fn check(&self, formats: Formats) -> Result<(), String> {
        check_rounding("rounding", self.rounding)?;
        check_accumulator(formats.accumulator, self.nan)
    }
}
