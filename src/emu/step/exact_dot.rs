//! The correctly rounded dot product: `C` and all products of a row and a column, rounded once.

use serde::{Deserialize, Serialize};

use super::checks::{Code, check_accumulator, check_rounding};
use super::kind::{Carried, Products, StepKind};
use super::trace::TraceObserver;
use crate::num::{ExactSum, Formats, Rounding, Target};

/// Constants of an exact dot product. It is one step over the whole of K; what is carried from
/// product to product is the sum without any rounding, not a code.
///
/// A sum of exactly zero is +0; a negative sum that is rounded to zero is -0. NaN terms, infinity
/// times zero, or infinities of both signs give the code `nan`; otherwise an infinite term gives
/// that infinity.
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
