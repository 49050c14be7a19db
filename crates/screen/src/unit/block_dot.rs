//! Block-scaled dot-adds.

use super::{Datapath, Parts, Unit, multiplied, traced};
use crate::emu::step::{BlockDot, Products, Source};
use crate::num::{Formats, Unpacked};

impl Parts for BlockDot {
    fn unit(&self, formats: Formats) -> Unit {
        let Formats {
            a, b, accumulator, ..
        } = formats;
        // Bits of a sum of a part's products above the exponent of its scales, by which it is aligned.
        let fraction = formats
            .scale
            .map_or(0, |scale| scale.format.fraction_bits());
        let products = (a.max_exponent() + b.max_exponent()).max(0) as u32 + 2;
        let above = products + self.part.next_power_of_two().ilog2() + 2 * u32::from(fraction > 0);
        Unit {
            aligners: self.group / self.part,
            lowest_result_bit: accumulator.fraction_bits() + 1 - self.precision,
            ..Unit::plain(self.group).aligned(self.fraction_bits + above)
        }
    }

    fn add_through(&self, products: Products, c: u64, datapath: &impl Datapath) -> u64 {
        let pairs = products.a.iter().zip(products.b).enumerate();
        let pairs = pairs.map(|(k, (a, b))| multiplied(*a, *b, k, datapath));
        let (a, b): (Vec<Unpacked>, Vec<Unpacked>) = pairs.unzip();
        let given = Products {
            a: &a,
            b: &b,
            ..products
        };
        let (stage, _) = match traced(self, given, c) {
            Ok(stages) => stages,
            Err(code) => return code,
        };
        let kept = stage.terms.iter().map(|term| match term.source {
            Source::Products { first, .. } => datapath.shifted(first / self.part, term.kept),
            _ => term.kept,
        });
        let sum = datapath.added(kept.sum());
        self.close(products.formats.accumulator, sum, stage.grid)
    }
}
