//! What simulated faults change in an exact sum. A sound unit has no need of it: the sum is exact without wires.

use super::term::{Term, fraction_bits};
use super::trace::Datapath;
use super::wires::fma_bits;
use crate::num::{Class, ExactSum as Sum, Formats, Rounding, Unpacked};

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
    let exponents = terms.iter().filter(|(term, _)| term.magnitude != 0);
    let exponents = exponents.map(|(term, _)| leading(term.magnitude, term.lsb));
    let of_c = (!c.is_zero()).then(|| leading(c.significand.into(), c_lsb));
    let largest = exponents.chain(of_c).max();
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
    datapath: &mut impl Datapath,
) -> Vec<(Term, u128)> {
    let products = a.iter().zip(b).enumerate();
    let term = |(k, (a, b)): (usize, (&Unpacked, &Unpacked))| {
        let right = Term::product(a, b, fraction_bits(formats));
        let magnitude = datapath.multiplied(k, right.magnitude);
        (Term { magnitude, ..right }, right.magnitude)
    };
    products.map(term).collect()
}

fn change(sum: &mut Sum, by: i128, grid: i32) {
    sum.add_finite(by < 0, by.unsigned_abs(), grid);
}
