//! The correctly rounded dot product: `C` and all products of a row and a column, rounded once.
//!
//! A reference. It alone carries no code from step to step.
//! C and all products of K are one exact sum, and `d = result(sum, accumulator, f + 1, rounding)`. Zeros and special values are as in
//! `exact_sum`.

use serde::{Deserialize, Serialize};

use super::checks::{Code, check_accumulator, check_rounding};
use super::kind::{Carried, Products, StepKind};
use super::trace::TraceObserver;
use crate::num::{ExactSum, Formats, Rounding, Target};

/// Constants of an exact dot product. This file begins with its rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExactDot {
    /// How the sum is rounded.
    pub rounding: Rounding,
    /// The code of a NaN result.
    pub nan: Code,
}

impl StepKind for ExactDot {
    /// Any number would do: only all products together are a step.
    fn span(&self) -> usize {
        1
    }

    fn rounds(&self) -> bool {
        false
    }

    /// `c`, as the sum to add products to.
    fn start(&self, formats: Formats, c: u64) -> Carried {
        let mut sum = ExactSum::new(formats.a, formats.b, formats.accumulator);
        sum.add(formats.accumulator, formats.accumulator.unpack(c));
        Carried::Exact(sum)
    }

    fn run(&self, products: Products, carried: &mut Carried, _: &mut impl TraceObserver) {
        let Carried::Exact(sum) = carried else {
            unreachable!("carried by another kind of step")
        };
        let Products { formats, a, b, .. } = products;
        for (a, b) in a.iter().zip(b) {
            sum.add_product([formats.a, formats.b], *a, *b);
        }
    }

    fn finish(&self, formats: Formats, carried: &Carried) -> u64 {
        let Carried::Exact(sum) = carried else {
            unreachable!("carried by another kind of step")
        };
        sum.round(Target::full(formats.accumulator, self.rounding), self.nan.0)
    }

    fn add(&self, products: Products, c: u64, observer: &mut impl TraceObserver) -> u64 {
        let mut carried = self.start(products.formats, c);
        self.run(products, &mut carried, observer);
        self.finish(products.formats, &carried)
    }

    fn summary(&self) -> String {
        format!(
            "exact sum of C and all K products, rounded once {}",
            self.rounding
        )
    }

    fn check(&self, formats: Formats) -> Result<(), String> {
        check_rounding("rounding", self.rounding)?;
        check_accumulator(formats.accumulator, self.nan)
    }

    /// Nothing is rounded before the end.
    fn notices_zeros(&self, _: Formats) -> bool {
        false
    }
}
