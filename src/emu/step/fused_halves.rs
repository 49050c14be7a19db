//! FP8 through `mma.sync` where no FP8 hardware is behind it: two fused dot-adds over interleaved
//! halves of the products, then one separate add of C.
//!
//! `span` is a multiple of `period`, and `first` has positions below it. `half` has the constants of a `fused` step.
//!
//! ```text
//! r1 = fused(products with k mod period in first, addend +0)
//! r2 = fused(the other products,                  addend r1)
//! d  = result(r2 + c, accumulator, f + 1, closing)
//! ```
//!
//! Both `fused` steps use `half`, whose group must hold either half. Addend and result have the accumulator's format. The last line is one IEEE
//! addition, whose NaN is `half.nan`. A zero sum is +0.

use serde::{Deserialize, Serialize};

use super::checks::check_rounding;
use super::fused::Fused;
use super::kind::{Products, StepKind};
use super::trace::TraceObserver;
use crate::num::{Format, Formats, Rounding, Target, Unpacked, fma};

/// Constants of the two-halves step. This file begins with its rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FusedHalves {
    /// Products per step.
    pub span: usize,
    /// Length of the pattern that deals the products to the halves.
    pub period: usize,
    /// Positions in the pattern that belong to the first half.
    pub first: Vec<usize>,
    /// The arithmetic of each half.
    pub half: Fused,
    /// How the closing add rounds.
    pub closing: Rounding,
}

impl StepKind for FusedHalves {
    fn span(&self) -> usize {
        self.span
    }

    fn add(&self, products: Products, c: u64, observer: &mut impl TraceObserver) -> u64 {
        let Products { formats, a, b, .. } = products;
        let belongs = |k: usize, first: bool| self.first.contains(&(k % self.period)) == first;
        let positions = |first: bool| -> Vec<usize> {
            let all = 0..a.len();
            all.filter(|&k| belongs(k, first)).collect()
        };
        let take = |first: bool, operands: &[Unpacked]| -> Vec<Unpacked> {
            let all = operands.iter().enumerate();
            let mine = all.filter(|(k, _)| belongs(*k, first));
            mine.map(|(_, x)| *x).collect()
        };
        let zero = formats.accumulator.zero(false);
        let mut half = |name, first: bool, c| {
            observer.stage(name, || positions(first));
            let (a, b) = (take(first, a), take(first, b));
            let result = self.half.add(
                Products {
                    formats,
                    a: &a,
                    b: &b,
                    scales: None,
                },
                c,
                observer,
            );
            observer.result(formats.accumulator, result);
            result
        };
        let r1 = half("first half, from zero", true, zero);
        let r2 = half("second half, from the first", false, r1);
        observer.stage("C added", Vec::new);
        let result = self.close(formats.accumulator, r2, c);
        observer.result(formats.accumulator, result);
        result
    }

    fn summary(&self) -> String {
        format!(
            "{} products in two halves (k mod {} in {:?} first), C added last with {}; each half is a {}",
            self.span,
            self.period,
            self.first,
            self.closing,
            self.half.summary()
        )
    }

    fn check(&self, formats: Formats) -> Result<(), String> {
        if self.period == 0 || self.first.iter().any(|&k| k >= self.period) {
            return Err("first names positions beyond period".into());
        }
        check_rounding("closing", self.closing)?;
        if !(1..=1024).contains(&self.span) || !self.span.is_multiple_of(self.period) {
            return Err("span must be a multiple of period, at most 1024".into());
        }
        let half = self.span / self.period * self.first.len();
        if half > self.half.group || self.span - half > self.half.group {
            return Err(format!(
                "halves of {half} and {} products exceed half.group ({})",
                self.span - half,
                self.half.group
            ));
        }
        if self.half.minus_zero {
            return Err("half.minus_zero has no effect, because C is added last; omit it".into());
        }
        self.half.check(formats)
    }

    /// C is added last, to the +0 that zeros give: no step leaves -0, and any other number stays.
    fn notices_zeros(&self, _: Formats) -> bool {
        false
    }
}

impl FusedHalves {
    /// `r2 + c` is `r2 * 1 + c` in the accumulator's format.
    pub fn close(&self, format: Format, r2: u64, c: u64) -> u64 {
        fma(
            ([format; 2], format.unpack(r2), Unpacked::one(format)),
            (format, format.unpack(c)),
            Target::full(format, self.closing),
            self.half.nan.0,
        )
    }

    /// The k of the first half of a step, then those of the second; none if a half is not full, or C is not added to nearest
    /// even.
    pub fn order(&self) -> Option<Vec<usize>> {
        let half = |first: bool| {
            let belongs = move |k: &usize| self.first.contains(&(k % self.period)) == first;
            (0..self.span).filter(belongs)
        };
        let group = self.half.group;
        let full = half(true).count() == group && half(false).count() == group;
        let nearest = self.closing == Rounding::NearestEven;
        (full && nearest).then(|| half(true).chain(half(false)).collect())
    }
}
