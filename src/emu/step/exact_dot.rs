//! The correctly rounded dot product: `C` and all products of a row and a column, rounded once.

use serde::{Deserialize, Serialize};

use super::{Code, Formats, check_accumulator, check_nan, check_rounding};
use crate::num::{ExactSum, Format, Rounding, Target, Unpacked};

/// Constants of an exact dot product. It is one step over the whole of K; what is carried from
/// product to product is the sum without any rounding, not a code.
///
/// A sum of exactly zero is +0; a negative sum that is rounded to zero is -0. NaN terms, infinity
/// times zero, or infinities of both signs give the code `nan`; otherwise an infinite term gives
/// that infinity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExactDot {
    /// How the sum is rounded.
    pub rounding: Rounding,
    /// The code of a NaN result.
    pub nan: Code,
}

impl ExactDot {
    /// `c`, as the sum to add products to.
    pub fn start(&self, formats: Formats, c: u64) -> ExactSum {
        let mut sum = ExactSum::new(formats.a, formats.b, formats.accumulator);
        sum.add(formats.accumulator, formats.accumulator.unpack(c));
        sum
    }

    /// Adds any number of products.
    pub fn run(&self, formats: Formats, a: &[Unpacked], b: &[Unpacked], sum: &mut ExactSum) {
        for (a, b) in a.iter().zip(b) {
            sum.add_product([formats.a, formats.b], *a, *b);
        }
    }

    pub fn finish(&self, formats: Formats, sum: &ExactSum) -> u64 {
        sum.round(Target::full(formats.accumulator, self.rounding), self.nan.0)
    }

    pub(super) fn summary(&self) -> String {
        format!(
            "exact sum of all products of K and C, rounded once {}",
            self.rounding
        )
    }

    pub(super) fn check(&self, accumulator: Format) -> Result<(), String> {
        check_rounding("rounding", self.rounding)?;
        check_accumulator(accumulator)?;
        check_nan(self.nan, accumulator)
    }
}
