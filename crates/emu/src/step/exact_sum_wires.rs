//! What simulated faults change in an exact sum. A sound unit has no need of it: the sum is exact without wires.

use super::trace::Datapath;
use super::wires::fma_bits;
use crate::num::Formats;
use crate::num::{Class, ExactSum as Sum, Rounding, Unpacked, shift_right};

/// Adds to an exact sum of products and C what the datapath makes of its parts. The unit keeps every bit; its wires are
/// named from the largest term down. Infinities and NaN pass none of them.
pub(super) fn spoil(
    sum: &mut Sum,
    (formats, a, b, c): (Formats, &[Unpacked], &[Unpacked], Unpacked),
    datapath: &mut impl Datapath,
) {
    let finite = |x: &Unpacked| x.class == Class::Finite;
    if !a.iter().chain(b).chain([&c]).all(finite) {
        return;
    }
    let terms = terms(formats, a, b, datapath);
    let c_lsb = c.exponent - formats.accumulator.fraction_bits() as i32;
    let leading = |magnitude: u128, lsb: i32| lsb + 127 - magnitude.leading_zeros() as i32;
    let exponents = terms.iter().filter(|term| term.magnitude != 0);
    let exponents = exponents.map(|term| leading(term.magnitude, term.lsb));
    let of_c = (!c.is_zero()).then(|| leading(c.significand.into(), c_lsb));
    let largest = exponents.chain(of_c).max();
    let grid = largest.map_or(sum.lsb(), |e| {
        (e - fma_bits(formats.accumulator) as i32).max(sum.lsb())
    });
    for (k, term) in terms.iter().enumerate() {
        sum.add_finite(!term.negative, term.right, term.lsb);
        sum.add_finite(term.negative, term.magnitude, term.lsb);
        let kept = term.kept(grid);
        change(sum, datapath.shifted(Some(k), kept) - kept, grid);
    }
    if largest.is_some() {
        let total = sum.floor(grid);
        change(sum, datapath.added(total) - total, grid);
    }
}

/// A product as it comes from its multiplier: `(-1)^negative * magnitude * 2^lsb`.
struct Term {
    negative: bool,
    /// What the multiplier should give.
    right: u128,
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
        let right = u128::from(a.significand) * u128::from(b.significand);
        Term {
            negative: a.negative != b.negative,
            right,
            magnitude: datapath.multiplied(k, right),
            lsb: a.exponent + b.exponent - fraction,
        }
    };
    products.map(term).collect()
}

fn change(sum: &mut Sum, by: i128, grid: i32) {
    sum.add_finite(by < 0, by.unsigned_abs(), grid);
}
