//! Block-scaled dot-adds with two windows.

use super::{Datapath, Parts, Unit, traced};
use crate::emu::step::{BlockWindow, Products};
use crate::num::Formats;

impl Parts for BlockWindow {
    fn unit(&self, _: Formats) -> Unit {
        Unit {
            aligners: self.group / self.part.min(self.product_part),
            ..Unit::plain(self.group).aligned(self.product_bits.max(self.addend_bits) + 12)
        }
    }

    /// By the step's own stages: its trace does not show what a part was before it came to count as zero.
    fn add_through(&self, products: Products, c: u64, datapath: &impl Datapath) -> u64 {
        if let Err(special) = traced(self, products, c) {
            return special;
        }
        let formats = products.formats;
        let format = formats.accumulator;
        let mut all = self.products(products);
        for (k, product) in all.iter_mut().enumerate() {
            product.magnitude = datapath.multiplied(k, product.magnitude);
        }
        let mut windows = self.windows(formats, &all, format.unpack(c));
        for (i, kept) in windows.kept.iter_mut().enumerate() {
            *kept = datapath.shifted(i, *kept);
        }
        let sum = datapath.added(self.sum(format, &mut windows));
        self.close(format, sum, windows.grid)
    }
}
