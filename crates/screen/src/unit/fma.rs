//! Chains of fused multiply-adds, which trace no terms: an operation's parts are those of [`FmaTerms`].

use super::exact_sum::spoil;
use super::{Datapath, Parts, Unit, fma_bits};
use crate::emu::step::{FmaChain, OrderedFma, PairwiseFlush, Products, StepKind};
use crate::num::{
    Class, ExactSum, FmaTerm, FmaTerms, Format, Formats, LEADING, Target, Unpacked, fma_special,
};

/// What a chain's unit has.
fn unit(span: usize, accumulator: Format) -> Unit {
    let bits = fma_bits(accumulator);
    Unit {
        aligned_bits: bits + 1,
        sum_bits: bits + 2,
        ..Unit::plain(span)
    }
}

/// The wires of one operation. Its grid lies [`fma_bits`] below the leading bit of the larger term.
struct Wires<'a, D> {
    datapath: &'a D,
    /// Which product of the step its multiplier computes, and which aligner it has; none where it has no such part,
    /// as where it multiplies with one.
    product: Option<usize>,
    aligner: Option<usize>,
    adds: bool,
    /// Bits below the grid.
    below: u32,
}

impl<D: Datapath> Wires<'_, D> {
    /// All of a unit that computes product `k` and adds it.
    fn whole(datapath: &D, accumulator: Format, k: usize) -> Wires<'_, D> {
        Wires {
            datapath,
            product: Some(k),
            aligner: Some(k),
            adds: true,
            below: LEADING - fma_bits(accumulator),
        }
    }

    /// Those of its multiplier alone.
    fn multiplier(datapath: &D, accumulator: Format, k: usize) -> Wires<'_, D> {
        Wires {
            aligner: None,
            adds: false,
            ..Wires::whole(datapath, accumulator, k)
        }
    }

    /// Those behind its adder alone.
    fn adder(datapath: &D, accumulator: Format) -> Wires<'_, D> {
        Wires {
            product: None,
            aligner: None,
            ..Wires::whole(datapath, accumulator, 0)
        }
    }

    /// [`fma`](crate::num::fma) through these wires.
    fn fma(
        &self,
        (factors, a, b): ([Format; 2], Unpacked, Unpacked),
        (addend, c): (Format, Unpacked),
        target: Target,
        nan: u64,
    ) -> u64 {
        if let Some(code) = fma_special(&a, &b, &c, target.format, nan) {
            return code;
        }
        let mut product = FmaTerm::product(factors, a, b);
        if let Some(k) = self.product {
            product.magnitude = self.datapath.multiplied(k, product.magnitude);
        }
        let addend = FmaTerm::addend(addend, c);
        let Some(mut terms) = FmaTerms::new(product, addend) else {
            return FmaTerm::zero(product, addend, target.format);
        };
        if let Some(k) = self.aligner {
            let kept = (terms.smaller >> self.below) as i128;
            let given = self.datapath.shifted(k, kept);
            terms.smaller = terms
                .smaller
                .wrapping_add_signed((given - kept) << self.below);
        }
        let mut sum = terms.sum();
        if self.adds {
            // The unit has a magnitude and a sign.
            let kept = (sum.unsigned_abs() >> self.below) as i128;
            let change = (self.datapath.added(kept) - kept) << self.below;
            sum += if sum < 0 { -change } else { change };
        }
        terms.round(sum, target)
    }
}

impl Parts for FmaChain {
    fn unit(&self, formats: Formats) -> Unit {
        unit(1, formats.accumulator)
    }

    fn add_through(&self, products: Products, c: u64, datapath: &impl Datapath) -> u64 {
        let Products { formats, a, b, .. } = products;
        let format = formats.accumulator;
        let target = Target::full(format, self.rounding);
        a.iter().zip(b).enumerate().fold(c, |c, (k, (a, b))| {
            let product = ([formats.a, formats.b], *a, *b);
            let c = (format, format.unpack(c));
            Wires::whole(datapath, format, k).fma(product, c, target, self.nan.0)
        })
    }
}

impl Parts for OrderedFma {
    fn unit(&self, formats: Formats) -> Unit {
        unit(self.span(), formats.accumulator)
    }

    fn add_through(&self, products: Products, c: u64, datapath: &impl Datapath) -> u64 {
        let Products { formats, a, b, .. } = products;
        let format = formats.accumulator;
        let chain = |chain: &[usize], c| {
            OrderedFma::present(chain, formats, a.len()).fold(c, |c, k| {
                let of = |x: &[Unpacked], format: Format| {
                    (format, x.get(k).copied().unwrap_or(format.unpack(0)))
                };
                let wires = Wires::whole(datapath, format, k);
                let fma = |product, c, target, nan| wires.fma(product, c, target, nan);
                self.operation([of(a, formats.a), of(b, formats.b)], (format, c), fma)
            })
        };
        let exactly = |chain: &[usize]| {
            let there = chain.iter().copied().filter(|&k| k < a.len());
            let (a, b): (Vec<_>, Vec<_>) = there.map(|k| (a[k], b[k])).unzip();
            let mut sum = ExactSum::new(formats.a, formats.b, format);
            for (a, b) in a.iter().zip(&b) {
                sum.add_product([formats.a, formats.b], *a, *b);
            }
            if a.iter().chain(&b).all(|x| x.class == Class::Finite) {
                let products = Products {
                    a: &a,
                    b: &b,
                    ..products
                };
                let zero = FmaTerm::addend(format, format.unpack(0));
                spoil(&mut sum, products, zero, datapath);
            }
            self.close(format, &sum)
        };
        let sum = |x, y| {
            let factors = [(format, format.unpack(x)), (format, Unpacked::one(format))];
            let wires = Wires::adder(datapath, format);
            let fma = |product, c, target, nan| wires.fma(product, c, target, nan);
            self.operation(factors, (format, y), fma)
        };
        match self.chains.as_slice() {
            [only] if !self.starts_from_zero() => chain(only, c),
            several => {
                let sums = several.iter().map(|one| {
                    if self.exact {
                        exactly(one)
                    } else {
                        chain(one, format.zero(false))
                    }
                });
                sums.reduce(sum).map_or(c, |total| sum(c, total))
            }
        }
    }
}

impl Parts for PairwiseFlush {
    fn unit(&self, formats: Formats) -> Unit {
        Unit {
            sum_bits: fma_bits(formats.accumulator) + 2,
            ..Unit::plain(self.span)
        }
    }

    fn add_through(&self, products: Products, c: u64, datapath: &impl Datapath) -> u64 {
        let Products { formats, a, b, .. } = products;
        let format = formats.accumulator;
        let all = a.iter().zip(b).enumerate().map(|(k, (a, b))| {
            let wires = Wires::multiplier(datapath, format, k);
            let fma = |product, c, target, nan| wires.fma(product, c, target, nan);
            self.product(formats, a, b, &fma)
        });
        let all: Vec<u64> = all.collect();
        let wires = Wires::adder(datapath, format);
        let fma = |product, c, target, nan| wires.fma(product, c, target, nan);
        let sum = |c, x| self.sum(format, c, x, &fma);
        let groups = all.chunks(self.group);
        let groups = groups.map(|group| self.paired(format, group, &mut ()));
        let total = groups.fold(self.flushed_addend(format, c), sum);
        if all.len().next_multiple_of(self.group) == self.span {
            total
        } else {
            sum(total, format.zero(false))
        }
    }
}
