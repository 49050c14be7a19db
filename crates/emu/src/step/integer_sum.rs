//! Integers: `c` and a group of products, added exactly; what 32 bits cannot hold wraps or saturates.

use serde::{Deserialize, Serialize};

use super::checks::{check_group, check_integers};
use super::kind::{Products, StepKind};
use super::trace::FaultInjector;
use crate::num::{Format, Formats, Unpacked};

/// Constants of an integer sum. The step adds `c` and the products exactly and brings the sum into
/// the accumulator's range as `overflow` says. Modulo 2^32 the size of a group decides nothing;
/// clamping happens once a group.
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

    /// Every group that ends within K, the usual one first, and the one that wraps around.
    fn hypotheses(clues: &super::Clues) -> Vec<IntegerSum> {
        // As many as 256 bits hold. Where it decides nothing, it is as good as any.
        let widest = clues.formats.a.width().max(clues.formats.b.width());
        let usual = 256 / widest as usize;
        let others = (1..=clues.k / 2).filter(|group| *group != usual);
        let clamped = [usual].into_iter().chain(others);
        let clamped = clamped.map(|group| (group, IntegerOverflow::Saturate));
        let all = [(usual, IntegerOverflow::Wrap)].into_iter().chain(clamped);
        all.map(|(group, overflow)| IntegerSum { group, overflow })
            .collect()
    }

    fn values(&self, constant: &str, k: usize) -> Option<Vec<serde_json::Value>> {
        (constant == "group").then(|| super::clues::numbers(1..=k / 2))
    }

    fn unit(&self, _: Formats) -> super::Unit {
        super::Unit {
            sum_bits: 32,
            ..super::Unit::of(self.span())
        }
    }

    fn add(&self, products: Products, c: u64, observer: &mut impl FaultInjector) -> u64 {
        let Products { a, b, .. } = products;
        debug_assert!(a.len() == b.len() && a.len() <= self.group);
        // At most 1024 products of 2^16, far inside 64 bits.
        let mut sum = Format::Int32.integer(c);
        for (k, (a, b)) in a.iter().zip(b).enumerate() {
            sum += multiplied(k, value(a) * value(b), observer);
        }
        let sum = observer.added(sum.into()) as i64;
        let kept = match self.overflow {
            IntegerOverflow::Wrap => sum as i32,
            IntegerOverflow::Saturate => sum.clamp(i32::MIN.into(), i32::MAX.into()) as i32,
        };
        u64::from(kept as u32)
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

/// A product, whose magnitude passes its multiplier.
pub(super) fn multiplied(k: usize, product: i64, observer: &mut impl FaultInjector) -> i64 {
    let magnitude = observer.multiplied(k, product.unsigned_abs().into()) as i64;
    if product < 0 { -magnitude } else { magnitude }
}

fn value(x: &Unpacked) -> i64 {
    let magnitude = x.significand as i64;
    if x.negative { -magnitude } else { magnitude }
}
