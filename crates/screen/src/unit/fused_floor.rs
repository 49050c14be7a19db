//! Floored dot-adds.

use super::{Datapath, Parts, Unit, product, traced};
use crate::emu::step::{FusedFloor, Products, Source, floor_to};
use crate::num::{Formats, Rounding};

impl Parts for FusedFloor {
    fn unit(&self, _: Formats) -> Unit {
        Unit {
            aligned_bits: self.fraction_bits + 2,
            sum_bits: self.sum_fraction_bits + 2,
            ..Unit::plain(self.group)
        }
    }

    fn add_through(&self, products: Products, c: u64, datapath: &impl Datapath) -> u64 {
        let (last, before) = match traced(self, products, c) {
            Ok(stages) => stages,
            Err(code) => return code,
        };
        let sums = before.iter().filter(|stage| stage.adds).map(|stage| {
            let kept = stage.terms.iter().map(|term| match term.source {
                Source::Product(i) => product(term, stage.k[i], Rounding::TowardZero, datapath),
                _ => term.kept,
            });
            (kept.sum(), stage.grid)
        });
        let sums: Vec<(i128, i32)> = sums.collect();
        let most = sums.iter().map(|(_, grid)| *grid).max().unwrap_or(0);
        let floored = sums.iter().map(|&(sum, grid)| floor_to(sum, grid, most));
        let floored = floor_to(floored.sum(), most, last.grid);
        let total = last.terms.iter().map(|term| match term.source {
            Source::AllProducts => floored,
            _ => term.kept,
        });
        let total = datapath.added(total.sum());
        self.close(products.formats.accumulator, total, last.grid)
    }
}
