//! Products of slices of significands.

use super::{Datapath, Parts, Unit, signed, traced};
use crate::emu::step::{Products, Sliced};
use crate::num::{Formats, Unpacked};

impl Parts for Sliced {
    fn unit(&self, _: Formats) -> Unit {
        Unit {
            aligned_bits: self.a_slice + self.b_slice + 1,
            sum_bits: 30,
            ..Unit::plain(self.tile)
        }
    }

    fn add_through(&self, products: Products, c: u64, datapath: &impl Datapath) -> u64 {
        let mut code = c;
        for (turn, (alone, first)) in self.instructions().enumerate() {
            if turn > 0 {
                code = datapath.rounded(products.formats.accumulator, code);
            }
            let here = |x: &'_ [Unpacked]| {
                let end = x.len().min(first + alone.tile);
                first.min(end)..end
            };
            let here = Products {
                a: &products.a[here(products.a)],
                b: &products.b[here(products.b)],
                ..products
            };
            code = instruction(&alone, first, here, code, datapath);
        }
        code
    }
}

/// One instruction, whose first product is number `first` of the step.
fn instruction(
    alone: &Sliced,
    first: usize,
    products: Products,
    c: u64,
    datapath: &impl Datapath,
) -> u64 {
    let format = products.formats.accumulator;
    let (last, groups) = match traced(alone, products, c) {
        Ok(stages) => stages,
        Err(code) => return code,
    };
    let groups = groups.iter().enumerate().map(|(group, stage)| {
        let kept = stage.terms.iter().enumerate().map(|(i, term)| {
            let k = first + group * alone.group + i;
            let magnitude = datapath.multiplied(k, term.magnitude);
            // Of a group without a product that counts nothing is kept.
            let kept = if stage.exponent < format.min_exponent() {
                0
            } else {
                let below = stage.exponent - term.exponent;
                alone.kept_product(signed(term.negative, magnitude), below)
            };
            datapath.shifted(k, kept)
        });
        alone.kept_sum(kept.sum(), last.exponent - stage.exponent)
    });
    let total: i128 = groups.sum();
    let addend = last.terms.last().expect("C is there");
    let total = datapath.added(total + addend.kept);
    alone.close(format, total, addend.kept_lsb)
}
