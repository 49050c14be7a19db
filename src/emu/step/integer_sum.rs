//! Integers: `c` and a group of products, added exactly; what 32 bits cannot hold wraps or saturates.
//!
//! `overflow` is `wrap` (modulo 2^32) or `saturate` (the nearest `int32`).
//!
//! `d = c + Σ a·b`, exactly, then `overflow`. Operands have up to eight bits, signed or not; C and D are `int32`.

use serde::{Deserialize, Serialize};

use super::checks::{check_group, check_integers};
use super::kind::{Products, StepKind};
use super::trace::TraceObserver;
use crate::num::{Format, Formats, Unpacked};

/// Constants of an integer sum. This file begins with its rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct IntegerSum {
    /// Products per step.
    pub group: usize,
    /// What becomes of a sum beyond 32 bits.
    pub overflow: IntegerOverflow,
}

/// What becomes of a sum that the accumulator cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum IntegerOverflow {
    /// It is taken modulo 2^32.
    Wrap,
    /// It becomes the nearest number there is.
    Saturate,
}

impl IntegerSum {
    /// After how many products a sum is clamped, if ever.
    pub fn clamped_after(&self) -> Option<usize> {
        match self.overflow {
            IntegerOverflow::Wrap => None,
            IntegerOverflow::Saturate => Some(self.group),
        }
    }
}

impl StepKind for IntegerSum {
    fn span(&self) -> usize {
        self.group
    }

    fn add(&self, products: Products, c: u64, _: &mut impl TraceObserver) -> u64 {
        let Products { a, b, .. } = products;
        debug_assert!(a.len() == b.len() && a.len() <= self.group);
        // At most 1024 products of 2^16, far inside 64 bits.
        let mut sum = Format::Int32.integer(c);
        for (a, b) in a.iter().zip(b) {
            sum += value(a) * value(b);
        }
        self.close(sum)
    }

    fn summary(&self) -> String {
        match self.overflow {
            IntegerOverflow::Wrap => "exact sum of integers modulo 2^32".into(),
            IntegerOverflow::Saturate => format!(
                "exact sum of {} products of integers and C, clamped to 32 bits",
                self.group
            ),
        }
    }

    fn check(&self, formats: Formats) -> Result<(), String> {
        check_group(self.group)?;
        check_integers(formats)
    }

    fn takes_integers(&self) -> bool {
        true
    }

    fn notices_zeros(&self, _: Formats) -> bool {
        false
    }
}

impl IntegerSum {
    /// Brings a sum into the accumulator's range.
    pub fn close(&self, sum: i64) -> u64 {
        let kept = match self.overflow {
            IntegerOverflow::Wrap => sum as i32,
            IntegerOverflow::Saturate => sum.clamp(i32::MIN.into(), i32::MAX.into()) as i32,
        };
        u64::from(kept as u32)
    }
}

fn value(x: &Unpacked) -> i64 {
    let magnitude = x.significand as i64;
    if x.negative { -magnitude } else { magnitude }
}
