//! AMD CDNA 1: `c` and a group of products, added without any loss and rounded once.

use serde::{Deserialize, Serialize};

use super::checks::{Code, check_accumulator, check_group, check_nan, check_rounding};
use super::kind::{Products, StepKind};
use super::trace::Datapath;
use super::wires::fma_bits;
use crate::emu::fast::{Plan, SumPlan};
use crate::emu::formats::Formats;
use crate::num::{Class, ExactSum as Sum, Rounding, Target, Unpacked, shift_right};

/// Constants of an exact sum. The step:
///
/// 1. `c` and the products are added exactly.
/// 2. The sum is rounded once to the accumulator's format, with gradual underflow, and to infinity
///    on overflow.
/// 3. A sum of exactly zero is +0; a negative sum that is rounded to zero is -0.
/// 4. NaN terms, infinity times zero, or infinities of both signs give the code `nan`; otherwise an
///    infinite term gives that infinity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExactSum {
    /// Products per step.
    pub group: usize,
    /// How the sum is rounded.
    pub rounding: Rounding,
    /// The code of a NaN result.
    pub nan: Code,
}

impl StepKind for ExactSum {
    fn span(&self) -> usize {
        self.group
    }

    fn add(&self, products: Products, c: u64, datapath: &mut impl Datapath) -> u64 {
        let Products { formats, a, b, .. } = products;
        debug_assert!(a.len() == b.len() && a.len() <= self.group);
        let mut sum = Sum::new(formats.a, formats.b, formats.accumulator);
        let c = formats.accumulator.unpack(c);
        sum.add(formats.accumulator, c);
        let finite = |x: &Unpacked| x.class == Class::Finite;
        if !a.iter().chain(b).chain([&c]).all(finite) {
            for (a, b) in a.iter().zip(b) {
                sum.add_product([formats.a, formats.b], *a, *b);
            }
            return sum.round(Target::full(formats.accumulator, self.rounding), self.nan.0);
        }
        let terms = terms(formats, a, b, datapath);
        let c_lsb = c.exponent - formats.accumulator.fraction_bits() as i32;
        let leading = |magnitude: u128, lsb: i32| lsb + 127 - magnitude.leading_zeros() as i32;
        let exponents = terms.iter().filter(|term| term.magnitude != 0);
        let exponents = exponents.map(|term| leading(term.magnitude, term.lsb));
        let of_c = (!c.is_zero()).then(|| leading(c.significand.into(), c_lsb));
        let largest = exponents.chain(of_c).max();
        // The unit keeps every bit; its wires are named from the largest term down. What they change is added to
        // what is exact without them.
        let grid = largest.map_or(sum.lsb(), |e| {
            (e - fma_bits(formats.accumulator) as i32).max(sum.lsb())
        });
        for (k, term) in terms.iter().enumerate() {
            sum.add_finite(term.negative, term.magnitude, term.lsb);
            let kept = term.kept(grid);
            change(&mut sum, datapath.shifted(Some(k), kept) - kept, grid);
        }
        if largest.is_some() {
            let total = sum.floor(grid);
            change(&mut sum, datapath.added(total) - total, grid);
        }
        sum.round(Target::full(formats.accumulator, self.rounding), self.nan.0)
    }

    fn summary(&self) -> String {
        format!(
            "exact sum of {} products and C, rounded once {}",
            self.group, self.rounding
        )
    }

    fn check(&self, formats: Formats) -> Result<(), String> {
        let accumulator = formats.accumulator;
        check_group(self.group)?;
        check_rounding("rounding", self.rounding)?;
        check_accumulator(accumulator)?;
        check_nan(self.nan, accumulator)
    }

    fn plan(&self, formats: Formats) -> Option<Plan> {
        SumPlan::new(formats, Some(self.group), self.rounding, self.nan.0).map(Plan::Sum)
    }
}

/// A product as it comes from its multiplier: `(-1)^negative * magnitude * 2^lsb`.
struct Term {
    negative: bool,
    magnitude: u128,
    lsb: i32,
}

impl Term {
    /// What there is of it on a grid.
    fn kept(&self, grid: i32) -> i128 {
        let magnitude = match self.lsb >= grid {
            _ if self.magnitude == 0 => 0,
            true => self.magnitude << (self.lsb - grid),
            false => shift_right(
                self.magnitude,
                (grid - self.lsb) as u32,
                Rounding::TowardZero,
                false,
            ),
        };
        match self.negative {
            true => -(magnitude as i128),
            false => magnitude as i128,
        }
    }
}

fn terms(
    formats: Formats,
    a: &[Unpacked],
    b: &[Unpacked],
    datapath: &mut impl Datapath,
) -> Vec<Term> {
    let fraction = (formats.a.fraction_bits() + formats.b.fraction_bits()) as i32;
    let products = a.iter().zip(b).enumerate();
    let term = |(k, (a, b)): (usize, (&Unpacked, &Unpacked))| {
        let magnitude = u128::from(a.significand) * u128::from(b.significand);
        Term {
            negative: a.negative != b.negative,
            magnitude: datapath.multiplied(k, magnitude),
            lsb: a.exponent + b.exponent - fraction,
        }
    };
    products.map(term).collect()
}

fn change(sum: &mut Sum, by: i128, grid: i32) {
    sum.add_finite(by < 0, by.unsigned_abs(), grid);
}
