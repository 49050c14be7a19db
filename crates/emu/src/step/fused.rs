//! The fused dot-add of NVIDIA's tensor cores: `c` and a group of products, added at once.

use serde::{Deserialize, Serialize};

use super::checks::{Code, check_accumulator, check_group, check_nan};
use super::kind::{Products, ScaleUse, StepKind};
use super::special::{Special, special};
use super::trace::{Datapath, Source, TermTrace};
use crate::num::Formats;
use crate::num::{Format, Overflow, Rounding, Target, Unpacked, shift_right};

/// Constants of a fused dot-add. The step, with integer significands throughout:
///
/// 1. Operands are taken apart without normalising; a product has the product of the significands
///    and the sum of the exponents, and is not normalised either.
/// 2. `E` is the largest exponent of the products and of `c`; a zero term counts with
///    `zero_exponent`.
/// 3. Every term is rounded (`alignment`) to a multiple of `2^(E - fraction_bits)`.
/// 4. The terms are added exactly.
/// 5. The sum is rounded once (`rounding`) to `precision` significant bits of the accumulator's
///    format, with gradual underflow, and to infinity on overflow whatever the direction. With `sum_bits`, the
///    rounding sees so many significant bits of the sum's magnitude; no sticky bit stands for those below.
/// 6. A zero result is +0, except a negative sum that is rounded to zero, if `minus_zero` is set.
/// 7. NaN terms, infinity times zero, or infinities of both signs give the code `nan`; otherwise an
///    infinite term gives that infinity.
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

/// A finite term: `(-1)^negative * magnitude * 2^lsb`, competing with `exponent`.
#[derive(Clone, Copy)]
pub(super) struct Term {
    pub negative: bool,
    pub magnitude: u128,
    pub lsb: i32,
    pub exponent: i32,
}

impl Term {
    pub(super) fn trace(self, source: Source, grid: i32, alignment: Rounding) -> TermTrace {
        TermTrace {
            source,
            negative: self.negative,
            magnitude: self.magnitude,
            lsb: self.lsb,
            exponent: self.exponent,
            kept: align(self, grid, alignment),
            kept_lsb: grid,
        }
    }

    pub(super) fn missing(zero_exponent: i32, grid: i32) -> TermTrace {
        TermTrace {
            source: Source::Missing,
            negative: false,
            magnitude: 0,
            lsb: 0,
            exponent: zero_exponent,
            kept: 0,
            kept_lsb: grid,
        }
    }
}

impl StepKind for Fused {
    fn span(&self) -> usize {
        self.group
    }

    fn hypotheses(clues: &super::Clues) -> Vec<Fused> {
        let mut all = Vec::new();
        for &group in clues.groups {
            for &fraction_bits in clues.depths {
                for &precision in clues.precisions {
                    for depth in [fraction_bits as i32, 25] {
                        for rounding in [Rounding::TowardZero, Rounding::NearestEven] {
                            all.push(Fused {
                                group,
                                fraction_bits,
                                alignment: Rounding::TowardZero,
                                zero_exponent: clues.zero_exponent - depth,
                                precision,
                                rounding,
                                sum_bits: None,
                                nan: clues.nan,
                                minus_zero: clues.minus_zero,
                            });
                        }
                    }
                }
            }
        }
        all
    }

    fn values(&self, constant: &str, _: usize) -> Option<Vec<serde_json::Value>> {
        (constant == "rounding").then(super::clues::roundings)
    }

    fn unit(&self, formats: Formats) -> super::Unit {
        super::Unit {
            lowest_result_bit: formats.accumulator.fraction_bits() + 1 - self.precision,
            // Products reach twice the grid's largest number.
            ..super::Unit::of(self.group).aligned(self.fraction_bits + 2)
        }
    }

    fn add(&self, products: Products, c: u64, observer: &mut impl Datapath) -> u64 {
        let Products { formats, a, b, .. } = products;
        debug_assert!(a.len() == b.len() && a.len() <= self.group);
        let c = formats.accumulator.unpack(c);
        match special(a, b, c, |_, _| false) {
            Some(Special::Nan) => return self.nan.0,
            Some(Special::Infinity { negative }) => {
                let infinity = formats.accumulator.infinity(negative);
                return infinity.expect("checked when the model was read");
            }
            None => {}
        }

        let c = self.addend(formats, c);
        let product_lsb = -((formats.a.fraction_bits() + formats.b.fraction_bits()) as i32);
        let terms = || {
            a.iter()
                .zip(b)
                .map(|(a, b)| self.product(a, b, product_lsb))
        };

        let mut largest = terms().map(|t| t.exponent).fold(c.exponent, i32::max);
        if a.len() < self.group {
            // A group that is not full is filled up with zero products.
            largest = largest.max(self.zero_exponent);
        }

        let grid = largest - self.fraction_bits as i32;
        let align = |term| align(term, grid, self.alignment);
        let mut sum = observer.shifted(None, align(c));
        for (i, term) in terms().enumerate() {
            let magnitude = observer.multiplied(i, term.magnitude);
            let kept = align(Term { magnitude, ..term });
            sum += observer.shifted(Some(i), kept);
        }
        let sum = observer.added(sum);
        observer.aligned(largest, grid);
        for (i, term) in terms().enumerate() {
            observer.term(|| term.trace(Source::Product(i), grid, self.alignment));
        }
        observer.term(|| c.trace(Source::Addend, grid, self.alignment));
        if a.len() < self.group {
            observer.term(|| Term::missing(self.zero_exponent, grid));
        }
        observer.sum(sum, grid, false);
        let target = self.target(formats.accumulator);
        let seen = self.seen(sum.unsigned_abs());
        let result = target.round(sum < 0, seen, grid, false);
        if result == formats.accumulator.zero(true) && !self.minus_zero {
            formats.accumulator.zero(false)
        } else {
            result
        }
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
            match self.minus_zero {
                true => ", -0 if a negative sum rounds to zero",
                false => "",
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
        if !(-4096..=4096).contains(&zero_exponent) {
            return Err(format!(
                "zero_exponent is {zero_exponent}; it must lie within 4096 of 0"
            ));
        }
        let most = accumulator.fraction_bits() + 1;
        if !(1..=most).contains(&precision) {
            return Err(format!(
                "precision is {precision}; {accumulator} has 1 to {most} bits"
            ));
        }
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
        check_accumulator(accumulator)?;
        check_nan(self.nan, accumulator)
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
    fn product(&self, a: &Unpacked, b: &Unpacked, product_lsb: i32) -> Term {
        let magnitude = u128::from(a.significand) * u128::from(b.significand);
        let exponent = a.exponent + b.exponent;
        Term {
            negative: a.negative != b.negative,
            magnitude,
            lsb: exponent + product_lsb,
            exponent: if magnitude == 0 {
                self.zero_exponent
            } else {
                exponent
            },
        }
    }

    fn addend(&self, formats: Formats, c: Unpacked) -> Term {
        Term {
            negative: c.negative,
            magnitude: c.significand.into(),
            lsb: c.exponent - formats.accumulator.fraction_bits() as i32,
            exponent: if c.is_zero() {
                self.zero_exponent
            } else {
                c.exponent
            },
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

    fn target(&self, accumulator: Format) -> Target {
        Target {
            format: accumulator,
            precision: self.precision,
            rounding: self.rounding,
            overflow: Overflow::ToInfinity,
        }
    }
}

/// The term in units of `2^grid`.
pub(super) fn align(term: Term, grid: i32, alignment: Rounding) -> i128 {
    let magnitude = if term.magnitude == 0 {
        0
    } else if term.lsb >= grid {
        term.magnitude << (term.lsb - grid)
    } else {
        let shift = (grid - term.lsb) as u32;
        shift_right(term.magnitude, shift, alignment, term.negative)
    };
    if term.negative {
        -(magnitude as i128)
    } else {
        magnitude as i128
    }
}
