//! The fused dot-add of NVIDIA's tensor cores: `c` and a group of products, added at once.
//!
//! `fraction_bits` is 0 to 96, `precision` 1 to f + 1, `sum_bits` `precision` to 127 and not with `rz`. `minus_zero` is false unless given.
//!
//! The step adds n ≤ `group` products and the addend c at once. `fa`, `fb`, `fc` are the fraction bits of A, B and the accumulator.
//!
//! ```text
//! 1. terms      product k:  x = ± sa·sb · 2^(ea + eb - fa - fb),  exponent ea + eb
//!               addend:     x = ± sc · 2^(ec - fc),               exponent ec
//!               A zero term has the exponent zero_exponent instead.
//! 2. exponent   E = the largest exponent of all terms;
//!               if n < group, missing products are zero terms: zero_exponent counts
//! 3. alignment  t = round(x / q, alignment) for every term, with q = 2^(E - fraction_bits)
//! 4. sum        S = q · Σ t, exactly. With sum_bits, S keeps that many bits from its leading one on:
//!               rounding to nearest then takes a value just above a tie for a tie
//! 5. result     result(S, accumulator, precision, rounding)
//! 6. zero       a zero result is +0; with minus_zero, a negative S that rounds to zero is -0
//! ```
//!
//! Nothing is normalised before line 5, though a product's significand may reach 4.
//!
//! Special values come first. The result is `nan` for a NaN operand or c, Inf · 0, or infinite terms of both signs. Else an infinite term is
//! the result.
//!
//! *Example* (Volta: `group` 4, `fraction_bits` 23, all `rz`). 1.5 · 1.5 and 1 · 2.25 are equal, with exponents 0 and 1. With the first, three
//! products of 2^-23 stay: 2.25 + 3·2^-23 is cut to `40100001`. With the second they are lost: `40100000`.
//!
//! With scales (`ue8m0` only), a scale 2^x adds x to the operand's exponent, and a NaN scale makes it NaN.

use serde::{Deserialize, Serialize};

use super::checks::{Code, check_accumulator, check_group, check_precision, check_zero_exponent};
use super::kind::{Products, ScaleUse, StepKind};
use super::special::{special, without_minus_zero};
use super::term::{Term, fraction_bits};
use super::trace::{Source, TraceObserver};
use crate::num::{Format, Formats, Rounding, Target};

/// Constants of a fused dot-add. This file begins with its rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Fused {
    /// Products per step.
    pub group: usize,
    /// Fraction bits kept below the largest exponent.
    pub fraction_bits: u32,
    /// How terms are rounded to the common grid.
    pub alignment: Rounding,
    /// The exponent with which zero terms take part in the maximum.
    pub zero_exponent: i32,
    /// Significant bits of the result.
    pub precision: u32,
    /// How the sum is rounded to them.
    pub rounding: Rounding,
    /// Significant bits of the sum that the rounding sees; all of them if none are given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum_bits: Option<u32>,
    /// The code of a NaN result.
    pub nan: Code,
    /// Whether a negative sum that is rounded to zero gives -0; one of exactly zero is +0 in any case.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub minus_zero: bool,
}

impl StepKind for Fused {
    fn span(&self) -> usize {
        self.group
    }

    fn add(&self, products: Products, c: u64, observer: &mut impl TraceObserver) -> u64 {
        self.add_lowered(products, (c, 0), observer)
    }

    fn summary(&self) -> String {
        format!(
            "fused dot-add of {} products: aligned {} to {} fraction bits, result {} to {} bits{}{}",
            self.group,
            self.alignment,
            self.fraction_bits,
            self.rounding,
            self.precision,
            match self.sum_bits {
                Some(bits) => format!(" from the leading {bits} of the sum, without a sticky bit"),
                None => String::new(),
            },
            if self.minus_zero {
                ", -0 if a negative sum rounds to zero"
            } else {
                ""
            }
        )
    }

    /// A sum must fit 127 bits: `group + 1` terms below `2^(fraction_bits + 2)`.
    fn check(&self, formats: Formats) -> Result<(), String> {
        let accumulator = formats.accumulator;
        let Fused {
            group,
            fraction_bits,
            zero_exponent,
            precision,
            rounding,
            sum_bits,
            ..
        } = *self;
        check_group(group)?;
        if fraction_bits > 96 {
            return Err(format!(
                "fraction_bits is {fraction_bits}; it must be at most 96"
            ));
        }
        check_zero_exponent(zero_exponent)?;
        check_precision(precision, accumulator)?;
        if let Some(bits) = sum_bits {
            if !(precision..=127).contains(&bits) {
                return Err(format!(
                    "sum_bits is {bits}; it must be precision, which is {precision}, to 127"
                ));
            }
            // One spelling only, so that equal models have equal digests.
            if rounding == Rounding::TowardZero {
                return Err("sum_bits changes nothing where rounding is rz; leave it out".into());
            }
        }
        check_accumulator(accumulator, self.nan)
    }

    fn scaling(&self) -> ScaleUse {
        ScaleUse::MoveExponents
    }

    /// -0, and sums below what is kept beside zeros.
    fn notices_zeros(&self, formats: Formats) -> bool {
        let coarse = self.zero_exponent > formats.accumulator.min_exponent();
        self.minus_zero || coarse || self.fraction_bits + 1 < self.precision
    }
}

impl Fused {
    /// [`StepKind::add`] to an accumulator whose exponent is lowered before terms are aligned (PTX's scale-input-d).
    pub fn add_lowered(
        &self,
        products: Products,
        (c, lowered): (u64, u32),
        observer: &mut impl TraceObserver,
    ) -> u64 {
        let Products { formats, a, b, .. } = products;
        debug_assert!(a.len() == b.len() && a.len() <= self.group);
        let mut c = formats.accumulator.unpack(c);
        c.exponent -= lowered as i32;
        let accumulator = formats.accumulator;
        if let Some(code) = special((a, b, c), |_, _| false, (accumulator, self.nan.0)) {
            return code;
        }

        let c = Term::addend(accumulator, c).or_zero(self.zero_exponent);
        let bits = fraction_bits(formats);
        let product = |(a, b)| Term::product(a, b, bits).or_zero(self.zero_exponent);
        let terms = || a.iter().zip(b).map(product);

        let mut largest = terms().map(|t| t.exponent).fold(c.exponent, i32::max);
        if a.len() < self.group {
            // A group that is not full is filled up with zero products.
            largest = largest.max(self.zero_exponent);
        }

        let grid = largest - self.fraction_bits as i32;
        let align = |term: Term| term.align(grid, self.alignment);
        let sum = align(c) + terms().map(align).sum::<i128>();
        observer.aligned(largest, grid);
        for (i, term) in terms().enumerate() {
            observer.term(|| term.trace(Source::Product(i), grid, self.alignment));
        }
        observer.term(|| c.trace(Source::Addend, grid, self.alignment));
        if a.len() < self.group {
            observer.term(|| Term::missing(self.zero_exponent, grid));
        }
        observer.sum(sum, grid, false);
        self.close(accumulator, sum, grid)
    }

    /// Rounds the sum `sum * 2^grid`.
    pub fn close(&self, accumulator: Format, sum: i128, grid: i32) -> u64 {
        let target = Target {
            precision: self.precision,
            ..Target::full(accumulator, self.rounding)
        };
        let seen = self.seen(sum.unsigned_abs());
        let result = target.round(sum < 0, seen, grid, false);
        if self.minus_zero {
            result
        } else {
            without_minus_zero(accumulator, result)
        }
    }

    /// What the rounding sees of the magnitude of a sum.
    pub fn seen(&self, sum: u128) -> u128 {
        let Some(kept) = self.sum_bits else {
            return sum;
        };
        let lost = (u128::BITS - sum.leading_zeros()).saturating_sub(kept);
        sum >> lost << lost
    }
}
