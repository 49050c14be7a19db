//! The wires of fused multiply-adds and of exact sums as part of a step's datapath.

use super::term::{Term, fraction_bits, leading};
use super::trace::FaultInjector;
use crate::num::{Class, ExactSum, FmaWires, Format, Formats, LEADING, Rounding, Unpacked};

/// The wires of one fused multiply-add of a step. Its grid lies [`fma_bits`] below the leading bit of the larger term.
pub(super) struct Wires<'a, D> {
    datapath: &'a mut D,
    /// Which product of the step its multiplier computes, and which aligner it has; none where it has no such part,
    /// as where it multiplies with one.
    product: Option<usize>,
    aligner: Option<usize>,
    adds: bool,
    /// Bits below the grid.
    below: u32,
}

/// Bits below the larger term's leading one that a fused multiply-add of this format has wires for: a product of two
/// significands and room for the rounding.
pub fn fma_bits(accumulator: Format) -> u32 {
    2 * (accumulator.fraction_bits() + 1) + 2
}

impl<'a, D: FaultInjector> Wires<'a, D> {
    /// All of a unit that computes product `k` and adds it.
    pub fn whole(datapath: &'a mut D, accumulator: Format, k: usize) -> Wires<'a, D> {
        Wires {
            datapath,
            product: Some(k),
            aligner: Some(k),
            adds: true,
            below: LEADING - fma_bits(accumulator),
        }
    }

    /// Those of its multiplier alone.
    pub fn multiplier(datapath: &'a mut D, accumulator: Format, k: usize) -> Wires<'a, D> {
        Wires {
            aligner: None,
            adds: false,
            ..Wires::whole(datapath, accumulator, k)
        }
    }

    /// Those behind its adder alone.
    pub fn adder(datapath: &'a mut D, accumulator: Format) -> Wires<'a, D> {
        Wires {
            product: None,
            aligner: None,
            ..Wires::whole(datapath, accumulator, 0)
        }
    }
}

impl<D: FaultInjector> FmaWires for Wires<'_, D> {
    fn product(&mut self, magnitude: u128) -> u128 {
        match self.product {
            Some(k) => self.datapath.multiplied(k, magnitude),
            None => magnitude,
        }
    }

    fn aligned(&mut self, magnitude: u128) -> u128 {
        let Some(k) = self.aligner else {
            return magnitude;
        };
        let kept = (magnitude >> self.below) as i128;
        let spoiled = self.datapath.shifted(Some(k), kept);
        magnitude.wrapping_add_signed((spoiled - kept) << self.below)
    }

    fn sum(&mut self, sum: i128) -> i128 {
        if !self.adds {
            return sum;
        }
        // The unit has a magnitude and a sign.
        let kept = (sum.unsigned_abs() >> self.below) as i128;
        let change = (self.datapath.added(kept) - kept) << self.below;
        if sum < 0 { sum - change } else { sum + change }
    }
}

/// Adds to an exact sum of products and C what the datapath makes of its parts. The unit keeps every bit; its wires are
/// named from the largest term down. Infinities and NaN pass none of them. A sound unit has no need of it: the sum is exact
/// without wires.
pub(super) fn spoil(
    sum: &mut ExactSum,
    (formats, a, b, c): (Formats, &[Unpacked], &[Unpacked], Unpacked),
    datapath: &mut impl FaultInjector,
) {
    let finite = |x: &Unpacked| x.class == Class::Finite;
    if !a.iter().chain(b).chain([&c]).all(finite) {
        return;
    }
    let terms = terms(formats, a, b, datapath);
    let c_lsb = c.exponent - formats.accumulator.fraction_bits() as i32;
    let exponents = terms.iter();
    let exponents = exponents.filter_map(|(term, _)| leading(term.magnitude, term.lsb));
    let largest = exponents.chain(leading(c.significand.into(), c_lsb)).max();
    let grid = largest.map_or(sum.lsb(), |e| {
        (e - fma_bits(formats.accumulator) as i32).max(sum.lsb())
    });
    for (k, (term, right)) in terms.into_iter().enumerate() {
        sum.add_finite(!term.negative, right, term.lsb);
        sum.add_finite(term.negative, term.magnitude, term.lsb);
        let kept = term.align(grid, Rounding::TowardZero);
        change(sum, datapath.shifted(Some(k), kept) - kept, grid);
    }
    if largest.is_some() {
        let total = sum.floor(grid);
        change(sum, datapath.added(total) - total, grid);
    }
}

/// Products as they come from their multipliers, and the magnitudes that those should give.
fn terms(
    formats: Formats,
    a: &[Unpacked],
    b: &[Unpacked],
    datapath: &mut impl FaultInjector,
) -> Vec<(Term, u128)> {
    let products = a.iter().zip(b).enumerate();
    let term = |(k, (a, b)): (usize, (&Unpacked, &Unpacked))| {
        let right = Term::product(a, b, fraction_bits(formats));
        let magnitude = datapath.multiplied(k, right.magnitude);
        (Term { magnitude, ..right }, right.magnitude)
    };
    products.map(term).collect()
}

fn change(sum: &mut ExactSum, by: i128, grid: i32) {
    sum.add_finite(by < 0, by.unsigned_abs(), grid);
}
