//! AMD CDNA 3: products truncated to their own largest exponent, then added to `c` with rounding
//! toward minus infinity.
//!
//! For all operands except FP32 and FP64. `sums` is 1 to `group`, `fraction_bits` 0 to `sum_fraction_bits`, that at most 96,
//! `addend_window` 0 to 4096, and `result_fraction_bits` at least f.
//!
//! ```text
//! 1. products   as in fused; one of at least 2^(1 + the accumulator's largest exponent) is ±Inf
//! 2. sums       product k belongs to sum k mod sums. For each sum with a nonzero product:
//!                 e = the largest exponent of its nonzero products
//!                 S = q · Σ round(x / q, rz), with q = 2^(e - fraction_bits)
//! 3. products'  P = the largest e;  S' = q · Σ round(S / q, rd), with q = 2^(P - fraction_bits)
//!    sum        if all products are zero: S' = 0, and P is below every exponent
//! 4. addend     ec = the exponent of c, or zero_exponent if c is zero;  E = max(P, ec)
//!                 S″ = q · round(S' / q, rd),  with q = 2^(E - sum_fraction_bits)
//!                 C″ = q · round(c / q, rd),   with q = 2^(E - fraction_bits);
//!                      0 if ec < E - addend_window
//! 5. total      T = S″ + C″, exactly
//!                 e = max(floor(log2 |T|), 1 - bias of the accumulator)
//!                 d = result(q · round(T / q, rd), accumulator, f + 1, rounding),
//!                     with q = 2^(e - result_fraction_bits)
//! 6. zero       a T of exactly zero gives +0; a negative one that rounds to zero gives -0
//! ```
//!
//! Special values are as in `fused`, with the infinite products of line 1. With one sum, line 3 changes nothing.
//!
//! *Example* (`group` 8, bits 24, 32 and 31). 1 · 1 with c = -2^-60: c is floored to -2^-24, and the result is `3f7fffff`.

use serde::{Deserialize, Serialize};

use super::checks::{Code, check_accumulator, check_group, check_rounding, check_zero_exponent};
use super::kind::{Products, StepKind};
use super::special::special;
use super::term::{Term, floor_to, fraction_bits, leading, signed};
use super::trace::{Source, TraceObserver};
use crate::num::{Format, Formats, Rounding, Target, Unpacked};

/// Constants of a floored dot-add. This file begins with its rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FusedFloor {
    /// Products per step.
    pub group: usize,
    /// Sums to which the products of a step are dealt in turn.
    pub sums: usize,
    /// Fraction bits kept of products and of `c`.
    pub fraction_bits: u32,
    /// Fraction bits kept of the products' sum beside `c`.
    pub sum_fraction_bits: u32,
    /// How far below the largest exponent that of `c` may lie; no limit if none is given.
    pub addend_window: Option<u32>,
    /// The exponent of a `c` that is zero.
    pub zero_exponent: i32,
    /// Fraction bits kept of the total.
    pub result_fraction_bits: u32,
    /// How the total is rounded.
    pub rounding: Rounding,
    /// The code of a NaN result.
    pub nan: Code,
}

/// `value * 2^(exponent - fraction_bits)` with the fraction bits that its step keeps.
#[derive(Clone, Copy)]
struct Sum {
    value: i128,
    exponent: i32,
}

impl StepKind for FusedFloor {
    fn span(&self) -> usize {
        self.group
    }

    fn add(&self, products: Products, c: u64, observer: &mut impl TraceObserver) -> u64 {
        let Products { formats, a, b, .. } = products;
        debug_assert!(a.len() == b.len() && a.len() <= self.group);
        let format = formats.accumulator;
        let c = format.unpack(c);
        let infinite = |a: &Unpacked, b: &Unpacked| overflows(formats, a, b);
        if let Some(code) = special((a, b, c), infinite, (format, self.nan.0)) {
            return code;
        }

        let addend = Term::addend(format, c).or_zero(self.zero_exponent);
        let c_exponent = addend.exponent;
        let products = self.products(formats, a, b, observer);
        let exponent = products.map_or(c_exponent, |sum| sum.exponent.max(c_exponent));

        // In units of 2^grid.
        let grid = exponent - self.sum_fraction_bits as i32;
        observer.stage("the products' sum and C", Vec::new);
        observer.aligned(exponent, grid);
        let products = products.map_or(0, |sum| {
            let lsb = sum.exponent - self.fraction_bits as i32;
            let kept = floor_to(sum.value, lsb, grid);
            let all = Term::sum(sum.value, lsb, sum.exponent);
            observer.term(|| all.kept(Source::AllProducts, kept, grid));
            kept
        });
        let reached = self
            .addend_window
            .is_none_or(|window| c_exponent >= exponent - window as i32);
        let c = if reached && !c.is_zero() {
            let coarse = exponent - self.fraction_bits as i32;
            let value = signed(addend.negative, addend.magnitude);
            floor_to(value, addend.lsb, coarse) << (coarse - grid)
        } else {
            0
        };
        observer.term(|| addend.kept(Source::Addend, c, grid));
        let total = products + c;
        observer.sum(total, grid, false);
        self.close(format, total, grid)
    }

    fn summary(&self) -> String {
        let products = match self.sums {
            1 => format!("{} products", self.group),
            sums => format!("{} products in {sums} interleaved sums,", self.group),
        };
        format!(
            "{products} aligned {} to {} fraction bits, floored to {} beside C, total floored to \
             {}, result {}",
            Rounding::TowardZero,
            self.fraction_bits,
            self.sum_fraction_bits,
            self.result_fraction_bits,
            self.rounding
        )
    }

    /// A total must fit 127 bits: products and `c` below `group * 2^(sum_fraction_bits + 2)`.
    fn check(&self, formats: Formats) -> Result<(), String> {
        let accumulator = formats.accumulator;
        check_group(self.group)?;
        if !(1..=self.group).contains(&self.sums) {
            return Err(format!("sums is {}; it must be 1 to group", self.sums));
        }
        if self.fraction_bits > self.sum_fraction_bits || self.sum_fraction_bits > 96 {
            return Err(format!(
                "fraction_bits is {} and sum_fraction_bits {}; the first must be at most the \
                 second, and that at most 96",
                self.fraction_bits, self.sum_fraction_bits
            ));
        }
        let least = accumulator.fraction_bits();
        if !(least..=4096).contains(&self.result_fraction_bits) {
            return Err(format!(
                "result_fraction_bits is {}; it must be {least} to 4096",
                self.result_fraction_bits
            ));
        }
        if self.addend_window.is_some_and(|window| window > 4096) {
            return Err("addend_window must be at most 4096".into());
        }
        check_zero_exponent(self.zero_exponent)?;
        check_rounding("rounding", self.rounding)?;
        check_accumulator(accumulator, self.nan)
    }
}

impl FusedFloor {
    /// Steps 2 and 3; none if all products are zero.
    fn products(
        &self,
        formats: Formats,
        a: &[Unpacked],
        b: &[Unpacked],
        observer: &mut impl TraceObserver,
    ) -> Option<Sum> {
        let turns = (0..self.sums).filter_map(|turn| {
            let mine = a.iter().zip(b).skip(turn).step_by(self.sums);
            let positions = (0..a.len()).skip(turn).step_by(self.sums);
            observer.stage("products", || positions.collect());
            self.truncated_sum(formats, mine, observer)
        });
        let sums: Vec<_> = turns.collect();
        let exponent = sums.iter().map(|sum| sum.exponent).max()?;
        // Fraction bits are the same on both sides of the floor.
        let floored = sums
            .iter()
            .map(|sum| floor_to(sum.value, sum.exponent, exponent));
        Some(Sum {
            value: floored.sum(),
            exponent,
        })
    }

    fn truncated_sum<'a>(
        &self,
        formats: Formats,
        products: impl Iterator<Item = (&'a Unpacked, &'a Unpacked)> + Clone,
        observer: &mut impl TraceObserver,
    ) -> Option<Sum> {
        let nonzero = products
            .enumerate()
            .filter(|(_, (a, b))| !a.is_zero() && !b.is_zero());
        let exponents = nonzero.clone().map(|(_, (a, b))| a.exponent + b.exponent);
        let exponent = exponents.max()?;
        let grid = exponent - self.fraction_bits as i32;
        observer.aligned(exponent, grid);
        let bits = fraction_bits(formats);
        let value = nonzero.map(|(i, (a, b))| {
            let product = Term::product(a, b, bits);
            let kept = product.align(grid, Rounding::TowardZero);
            observer.term(|| product.kept(Source::Product(i), kept, grid));
            kept
        });
        let value = value.sum();
        observer.sum(value, grid, false);
        Some(Sum { value, exponent })
    }

    /// Step 5, of the total `total * 2^grid`.
    pub fn close(&self, format: Format, total: i128, grid: i32) -> u64 {
        let Some(leading) = leading(total.unsigned_abs(), grid) else {
            return format.zero(false);
        };
        let lsb = leading.max(format.min_exponent()) - self.result_fraction_bits as i32;
        let lsb = lsb.max(grid);
        let total = floor_to(total, grid, lsb);
        let target = Target::full(format, self.rounding);
        target.round(total < 0, total.unsigned_abs(), lsb, false)
    }
}

/// Whether a product of finite numbers reaches the power of two after the accumulator's largest. Beside a NaN it does not
/// matter.
fn overflows(formats: Formats, a: &Unpacked, b: &Unpacked) -> bool {
    let product = Term::product(a, b, fraction_bits(formats));
    leading(product.magnitude, product.lsb)
        .is_some_and(|leading| leading > formats.accumulator.max_exponent())
}
