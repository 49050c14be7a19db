//! Sums of integers, which trace nothing.

use super::{Datapath, Parts, Unit};
use crate::emu::step::{IntegerSum, Products, SlicedIntegers};
use crate::num::{Format, Formats};

/// 32 bits of a sum.
fn unit(span: usize) -> Unit {
    Unit {
        sum_bits: 32,
        ..Unit::plain(span)
    }
}

/// A product behind its multiplier.
fn multiplied(k: usize, product: i64, datapath: &impl Datapath) -> i64 {
    let magnitude = datapath.multiplied(k, product.unsigned_abs().into()) as i64;
    if product < 0 { -magnitude } else { magnitude }
}

impl Parts for IntegerSum {
    fn unit(&self, _: Formats) -> Unit {
        unit(self.group)
    }

    fn add_through(&self, products: Products, c: u64, datapath: &impl Datapath) -> u64 {
        let mut sum = Format::Int32.integer(c);
        for (k, (a, b)) in products.a.iter().zip(products.b).enumerate() {
            let magnitude = (a.significand * b.significand) as i64;
            let product = if a.negative == b.negative {
                magnitude
            } else {
                -magnitude
            };
            sum += multiplied(k, product, datapath);
        }
        self.close(datapath.added(sum.into()) as i64)
    }
}

impl Parts for SlicedIntegers {
    fn unit(&self, _: Formats) -> Unit {
        unit(self.tile)
    }

    fn add_through(
        &self,
        Products { a, b, .. }: Products,
        c: u64,
        datapath: &impl Datapath,
    ) -> u64 {
        let mut sum = Format::Int32.integer(c);
        for &phase in &self.phases {
            for first in (0..self.tile).step_by(self.group) {
                for k in first..a.len().min(first + self.group) {
                    sum += multiplied(k, self.product(a[k], b[k], phase), datapath);
                }
                sum = self.close(datapath.added(sum.into()) as i64);
            }
        }
        u64::from(sum as i32 as u32)
    }
}
