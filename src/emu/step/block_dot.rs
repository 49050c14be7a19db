//! Block-scaled FP4 on Blackwell: short runs of products are added without loss, scaled, and only
//! then aligned.
//!
//! `group` is a multiple of `part`, which divides the rule's `scale.block`. `fraction_bits` is 0 to 64; `alignment` and
//! `precision` are as in `fused`.
//!
//! ```text
//! 1. terms      every `part` consecutive products:  x = (Σ a·b) · X · Y, exactly, X and Y their scales;
//!               exponent eX + eY, whatever the sum is, zero too;
//!               x = 0 with the exponent zero_exponent if all products are zero, or a scale is
//!               addend: as in fused
//! 2. to 6.      as in fused
//! ```
//!
//! A NaN scale, or a NaN c, gives `nan`; an infinite c stays.

use serde::{Deserialize, Serialize};

use super::checks::{
    Code, check_accumulator, check_group, check_narrow_operands, check_part, check_precision,
    check_zero_exponent,
};
use super::kind::{Products, ScaleUse, StepKind};
use super::special::{special, without_minus_zero};
use super::term::{Term, fraction_bits, signed};
use super::trace::{Source, TraceObserver};
use crate::num::{Format, Formats, Rounding, Target, Unpacked};

/// Constants of a block-scaled dot-add. This file begins with its rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BlockDot {
    /// Products per step.
    pub group: usize,
    /// Products added before they are scaled.
    pub part: usize,
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
    /// The code of a NaN result.
    pub nan: Code,
}

impl StepKind for BlockDot {
    fn span(&self) -> usize {
        self.group
    }

    fn add(&self, products: Products, c: u64, observer: &mut impl TraceObserver) -> u64 {
        let Products {
            formats,
            a,
            b,
            scales,
        } = products;
        debug_assert!(a.len() == b.len() && a.len() <= self.group);
        let accumulator = formats.accumulator;
        let format = formats
            .scale
            .expect("checked when the model was read")
            .format;
        let scales = scales.expect("a problem has the scales of its model");
        let scales = scales.map(|codes| {
            let parts = codes.chunks(self.part);
            let first = parts.map(|part| format.unpack(part[0].into()));
            first.collect::<Vec<_>>()
        });
        let c = accumulator.unpack(c);
        let terms = (&scales[0][..], &scales[1][..], c);
        if let Some(code) = special(terms, |_, _| false, (accumulator, self.nan.0)) {
            return code;
        }

        let scale_fraction = 2 * format.fraction_bits() as i32;
        let parts = a.chunks(self.part).zip(b.chunks(self.part));
        let scales = scales[0].iter().zip(&scales[1]);
        let terms = parts.zip(scales).map(|((a, b), (x, y))| {
            let (sum, lsb, all_zero) = dot(formats, a, b);
            let scale = x.significand * y.significand;
            let exponent = x.exponent + y.exponent;
            Term {
                negative: sum < 0,
                magnitude: sum.unsigned_abs() * u128::from(scale),
                lsb: lsb + exponent - scale_fraction,
                exponent: if all_zero || scale == 0 {
                    self.zero_exponent
                } else {
                    exponent
                },
            }
        });
        let mut terms: Vec<_> = terms.collect();
        terms.push(Term::addend(accumulator, c).or_zero(self.zero_exponent));

        let mut largest = terms.iter().map(|t| t.exponent).max().expect("C is there");
        if terms.len() - 1 < self.group / self.part {
            // A group that is not full is filled up with zero products.
            largest = largest.max(self.zero_exponent);
        }
        let grid = largest - self.fraction_bits as i32;
        let aligned = terms.iter().map(|term| term.align(grid, self.alignment));
        let sum = aligned.sum();
        observer.aligned(largest, grid);
        for (i, term) in terms.iter().enumerate() {
            let first = i * self.part;
            let source = if first < a.len() {
                Source::Products {
                    first,
                    count: self.part.min(a.len() - first),
                }
            } else {
                Source::Addend
            };
            observer.term(|| term.trace(source, grid, self.alignment));
        }
        if terms.len() - 1 < self.group / self.part {
            observer.term(|| Term::missing(self.zero_exponent, grid));
        }
        observer.sum(sum, grid, false);
        self.close(accumulator, sum, grid)
    }

    fn summary(&self) -> String {
        format!(
            "fused dot-add of {} products: exact sums of {}, scaled, aligned {} to {} fraction bits, \
             result {} to {} bits",
            self.group,
            self.part,
            self.alignment,
            self.fraction_bits,
            self.rounding,
            self.precision
        )
    }

    fn check(&self, formats: Formats) -> Result<(), String> {
        let accumulator = formats.accumulator;
        let scale = formats.scale.ok_or("this step needs scales")?;
        check_group(self.group)?;
        check_part("part", self.part, self.group, scale)?;
        check_narrow_operands(formats)?;
        if self.fraction_bits > 64 {
            let bits = self.fraction_bits;
            return Err(format!("fraction_bits is {bits}; it must be at most 64"));
        }
        check_zero_exponent(self.zero_exponent)?;
        check_precision(self.precision, accumulator)?;
        check_accumulator(accumulator, self.nan)
    }

    fn scaling(&self) -> ScaleUse {
        ScaleUse::Given
    }

    /// Sums below what is kept beside zeros.
    fn notices_zeros(&self, formats: Formats) -> bool {
        let coarse = self.zero_exponent > formats.accumulator.min_exponent();
        coarse || self.fraction_bits + 1 < self.precision
    }
}

impl BlockDot {
    /// Rounds the sum `sum * 2^grid`.
    pub fn close(&self, accumulator: Format, sum: i128, grid: i32) -> u64 {
        let target = Target {
            precision: self.precision,
            ..Target::full(accumulator, self.rounding)
        };
        let result = target.round(sum < 0, sum.unsigned_abs(), grid, false);
        without_minus_zero(accumulator, result)
    }
}

/// The exact sum of some products in units of `2^lsb`, and whether every one of them is zero.
fn dot(formats: Formats, a: &[Unpacked], b: &[Unpacked]) -> (i128, i32, bool) {
    let lowest = formats.a.min_exponent() + formats.b.min_exponent();
    let lsb = lowest - fraction_bits(formats);
    let mut sum = 0;
    let mut all_zero = true;
    for (a, b) in a.iter().zip(b) {
        let magnitude = u128::from(a.significand) * u128::from(b.significand);
        all_zero &= magnitude == 0;
        let product = magnitude << (a.exponent + b.exponent - lowest);
        sum += signed(a.negative != b.negative, product);
    }
    (sum, lsb, all_zero)
}
