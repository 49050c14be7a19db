//! Exact sums of a few products. The unit keeps every bit; its wires are named from the largest term down.

use super::{Datapath, Parts, Unit, align, fma_bits};
use crate::emu::step::{ExactSum, Products};
use crate::num::{Class, ExactSum as Sum, FmaTerm, Formats, Rounding};

impl Parts for ExactSum {
    fn unit(&self, formats: Formats) -> Unit {
        let bits = fma_bits(formats.accumulator);
        Unit {
            aligned_bits: bits + 1,
            // A sum of so many terms is that much larger.
            sum_bits: bits + self.group.ilog2() + 2,
            ..Unit::plain(self.group)
        }
    }

    /// Adds to the exact sum what the datapath makes of its parts. Infinities and NaN pass none of them.
    fn add_through(&self, products: Products, c: u64, datapath: &impl Datapath) -> u64 {
        let Products { formats, a, b, .. } = products;
        let format = formats.accumulator;
        let c = format.unpack(c);
        let mut sum = Sum::new(formats.a, formats.b, format);
        sum.add(format, c);
        for (a, b) in a.iter().zip(b) {
            sum.add_product([formats.a, formats.b], *a, *b);
        }
        let mut all = a.iter().chain(b).chain([&c]);
        if all.all(|x| x.class == Class::Finite) {
            spoil(&mut sum, products, FmaTerm::addend(format, c), datapath);
        }
        self.close(format, &sum)
    }
}

pub(super) fn spoil(sum: &mut Sum, products: Products, c: FmaTerm, datapath: &impl Datapath) {
    let Products { formats, a, b, .. } = products;
    let terms = a.iter().zip(b).enumerate().map(|(k, (a, b))| {
        let right = FmaTerm::product([formats.a, formats.b], *a, *b);
        let magnitude = datapath.multiplied(k, right.magnitude);
        (FmaTerm { magnitude, ..right }, right.magnitude)
    });
    let terms: Vec<(FmaTerm, u128)> = terms.collect();
    let all = terms.iter().map(|(term, _)| term).chain([&c]);
    let nonzero = all.filter(|term| term.magnitude != 0);
    let largest = nonzero.map(|term| term.lsb + term.magnitude.ilog2() as i32);
    let largest = largest.max();
    let below = fma_bits(formats.accumulator) as i32;
    let grid = largest.map_or(sum.lsb(), |largest| (largest - below).max(sum.lsb()));
    for (k, (term, right)) in terms.into_iter().enumerate() {
        let FmaTerm {
            negative,
            magnitude,
            lsb,
        } = term;
        sum.add_finite(!negative, right, lsb);
        sum.add_finite(negative, magnitude, lsb);
        let kept = align(negative, magnitude, lsb, grid, Rounding::TowardZero);
        change(sum, datapath.shifted(k, kept) - kept, grid);
    }
    if largest.is_some() {
        let total = sum.floor(grid);
        change(sum, datapath.added(total) - total, grid);
    }
}

fn change(sum: &mut Sum, by: i128, grid: i32) {
    sum.add_finite(by < 0, by.unsigned_abs(), grid);
}
