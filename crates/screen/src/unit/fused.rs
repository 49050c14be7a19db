//! Fused dot-adds, alone and in halves.

use super::{Datapath, Parts, Unit, product, traced};
use crate::emu::step::{Fused, FusedHalves, Products, Source};
use crate::num::{Formats, Unpacked};

impl Parts for Fused {
    fn unit(&self, formats: Formats) -> Unit {
        Unit {
            lowest_result_bit: formats.accumulator.fraction_bits() + 1 - self.precision,
            // Products reach twice the grid's largest number.
            ..Unit::plain(self.group).aligned(self.fraction_bits + 2)
        }
    }

    fn add_through(&self, products: Products, c: u64, datapath: &impl Datapath) -> u64 {
        let (stage, _) = match traced(self, products, c) {
            Ok(stages) => stages,
            Err(code) => return code,
        };
        let kept = stage.terms.iter().map(|term| match term.source {
            Source::Product(k) => product(term, k, self.alignment, datapath),
            _ => term.kept,
        });
        let sum = datapath.added(kept.sum());
        self.close(products.formats.accumulator, sum, stage.grid)
    }
}

impl Parts for FusedHalves {
    fn unit(&self, _: Formats) -> Unit {
        Unit::plain(self.half.group).aligned(self.half.fraction_bits + 2)
    }

    /// One unit after the other: both halves pass the same parts.
    fn add_through(&self, products: Products, c: u64, datapath: &impl Datapath) -> u64 {
        let format = products.formats.accumulator;
        let take = |first: bool, operands: &[Unpacked]| -> Vec<Unpacked> {
            let all = operands.iter().enumerate();
            let mine = all.filter(|(k, _)| self.first.contains(&(k % self.period)) == first);
            mine.map(|(_, x)| *x).collect()
        };
        let half = |first: bool, c| {
            let (a, b) = (take(first, products.a), take(first, products.b));
            let products = Products {
                a: &a,
                b: &b,
                ..products
            };
            self.half.add_through(products, c, datapath)
        };
        let sum = half(false, half(true, format.zero(false)));
        self.close(format, sum, c)
    }
}
