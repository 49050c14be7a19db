//! Units that add their products a few at a time.

use super::{Datapath, Parts, Unit, multiplied, traced};
use crate::emu::step::{ComplementDot, FlooredPairs, Groups, Products, Source, floor_to};
use crate::num::{Formats, Unpacked};

/// Adds the products group by group; `add` takes the first product's place, the group and C's code.
fn chain(
    groups: &Groups,
    products: Products,
    c: u64,
    datapath: &impl Datapath,
    flush: bool,
    add: impl Fn(usize, Products, u64) -> u64,
) -> u64 {
    let Products { formats, a, b, .. } = products;
    let mut code = c;
    for (turn, group) in groups.order.iter().enumerate() {
        if turn > 0 {
            code = datapath.rounded(formats.accumulator, code);
        }
        let first = group * groups.size;
        let pairs = (first..first + groups.size).map(|k| {
            let of = |x: &[Unpacked], format: crate::num::Format| {
                let x = x.get(k).copied().unwrap_or(format.unpack(0));
                if flush { x.flushed(format) } else { x }
            };
            multiplied(of(a, formats.a), of(b, formats.b), k, datapath)
        });
        let (a, b): (Vec<Unpacked>, Vec<Unpacked>) = pairs.unzip();
        let group = Products {
            a: &a,
            b: &b,
            ..products
        };
        code = add(first, group, code);
    }
    code
}

/// One group alone.
fn one(groups: &Groups) -> Groups {
    Groups {
        size: groups.size,
        order: vec![0],
    }
}

impl Parts for ComplementDot {
    fn unit(&self, _: Formats) -> Unit {
        Unit::plain(self.groups.size * self.groups.order.len()).aligned(self.leading_bits + 4)
    }

    fn add_through(&self, products: Products, c: u64, datapath: &impl Datapath) -> u64 {
        let format = products.formats.accumulator;
        // Operands are flushed before they are multiplied.
        let alone = ComplementDot {
            groups: one(&self.groups),
            flush_operands: false,
            ..self.clone()
        };
        let add = |first: usize, group: Products, c: u64| {
            let (stage, _) = match traced(&alone, group, c) {
                Ok(stages) => stages,
                Err(code) => return code,
            };
            // The unit adds in the frame of C's sign.
            let negative = format.unpack(c).negative;
            let frame = |units: i128| if negative { -units } else { units };
            let kept = stage.terms.iter().enumerate().map(|(i, term)| {
                let kept = frame(term.kept);
                match term.source {
                    Source::Addend => kept,
                    _ => datapath.shifted(first + i, kept),
                }
            });
            let total = frame(datapath.added(kept.sum()));
            self.close(format, total, stage.grid)
        };
        chain(
            &self.groups,
            products,
            c,
            datapath,
            self.flush_operands,
            add,
        )
    }
}

impl Parts for FlooredPairs {
    fn unit(&self, _: Formats) -> Unit {
        Unit {
            aligned_bits: self.product_bits + 3,
            sum_bits: self.leading_bits + 4,
            ..Unit::plain(self.groups.size * self.groups.order.len())
        }
    }

    fn add_through(&self, products: Products, c: u64, datapath: &impl Datapath) -> u64 {
        let format = products.formats.accumulator;
        let alone = FlooredPairs {
            groups: one(&self.groups),
            ..self.clone()
        };
        let add = |first: usize, group: Products, c: u64| {
            let (last, pairs) = match traced(&alone, group, c) {
                Ok(stages) => stages,
                Err(code) => return code,
            };
            let pairs = pairs.iter().map(|pair| {
                let terms = pair.k.iter().zip(&pair.terms);
                let kept = terms.map(|(k, term)| datapath.shifted(first + k, term.kept));
                floor_to(kept.sum(), pair.grid, last.grid)
            });
            let addend = last.terms.last().map_or(0, |c| c.kept);
            let total = datapath.added(pairs.sum::<i128>() + addend);
            self.close(format, total, last.grid)
        };
        chain(&self.groups, products, c, datapath, false, add)
    }
}
