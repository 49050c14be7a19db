//! Fused dot-adds in machine integers, for the millions that a search needs. The exact engine is the specification,
//! and answers where operands are special or numbers too wide.

use crate::Prepared;
use crate::emu::step::{Formats, Fused, FusedHalves, Step};
use crate::num::{Class, Format, Rounding, Unpacked};

/// A finite product, `value * 2^(exponent - fraction bits)`.
#[derive(Clone, Copy, Debug)]
struct Product {
    value: i64,
    exponent: i32,
    /// Weight of its lowest bit that is set.
    low: i32,
}

/// A case whose numbers are all finite, with its products.
#[derive(Clone, Debug)]
pub struct Quick {
    /// Up to the last that is not zero.
    products: Vec<Product>,
    c: u64,
    /// K, zeros included.
    k: usize,
    fraction_bits: i32,
    accumulator: Format,
}

/// A range of exponents of zeros that give the same answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZeroExponents {
    pub from: i32,
    pub to: i32,
}

impl ZeroExponents {
    /// Below every exponent that shows, and above every one that zeros have.
    pub const LOWEST: i32 = -4000;
    pub const HIGHEST: i32 = 20;

    pub const ANY: ZeroExponents = ZeroExponents {
        from: i32::MIN,
        to: i32::MAX,
    };

    pub fn only(exponent: i32) -> ZeroExponents {
        ZeroExponents {
            from: exponent,
            to: exponent,
        }
    }

    pub fn contains(self, exponent: i32) -> bool {
        (self.from..=self.to).contains(&exponent)
    }
}

impl Quick {
    /// None if a number is special, an integer, or a product too wide.
    pub fn new(formats: Formats, case: &Prepared) -> Option<Quick> {
        let accumulator = formats.accumulator;
        let fraction_bits = (formats.a.fraction_bits() + formats.b.fraction_bits()) as i32;
        if accumulator.is_integer()
            || fraction_bits > 60
            || accumulator.unpack(case.c).class != Class::Finite
        {
            return None;
        }
        let [a, b] = match &case.scales {
            None => [&case.a, &case.b],
            Some(scales) => {
                // The adder has no significands of scales, nor NaN, which affects zeros as well.
                let mut codes = scales.codes.iter().flatten();
                if formats.scale?.format != Format::Ue8m0 || codes.any(|&code| code == 0xff) {
                    return None;
                }
                scales.moved.each_ref()
            }
        };
        let product = |(x, y): (&Unpacked, &Unpacked)| {
            let finite = x.class == Class::Finite && y.class == Class::Finite;
            finite.then(|| product(*x, *y, fraction_bits))
        };
        let mut products: Vec<Product> = a.iter().zip(b).map(product).collect::<Option<_>>()?;
        let last = products.iter().rposition(|product| product.value != 0);
        products.truncate(last.map_or(0, |last| last + 1));
        Some(Quick {
            products,
            c: case.c,
            k: case.k,
            fraction_bits,
            accumulator,
        })
    }

    /// The code that a step returns, if the adder has its kind.
    pub fn answer(&self, step: &Step) -> Option<u64> {
        Some(self.run::<false>(step)?.0)
    }

    /// The code that a step returns, and other exponents of zeros with which it returns it.
    pub fn answer_and_zeros(&self, step: &Step) -> Option<(u64, ZeroExponents)> {
        self.run::<true>(step)
    }

    fn run<const ZEROS: bool>(&self, step: &Step) -> Option<(u64, ZeroExponents)> {
        let mut all = ZeroExponents::ANY;
        let code = match step {
            Step::Fused(fused) if self.fits(fused) => {
                let adder = Adder::new(self, fused);
                self.chain(fused.group, |given, c| {
                    adder.add::<ZEROS>(given, c, &mut all)
                })
            }
            Step::FusedHalves(halves) if self.fits(&halves.half) => {
                self.halves::<ZEROS>(halves, &mut all)
            }
            _ => return None,
        };
        Some((code, all))
    }

    /// Whether a sum has room: terms lie below `2^(fraction_bits + 2)`.
    fn fits(&self, fused: &Fused) -> bool {
        fused.fraction_bits + 2 + (fused.group + 1).ilog2() + 1 < 63
    }

    fn chain(&self, span: usize, mut add: impl FnMut(&[Product], u64) -> u64) -> u64 {
        let active = self.products.len();
        let (mut c, mut start) = (self.c, 0);
        while start < self.k {
            let given = start.min(active)..active.min(start + span);
            let next = add(&self.products[given], c);
            // A step of zeros that changes nothing never will.
            if start >= active && next == c {
                break;
            }
            c = next;
            start += span;
        }
        c
    }

    fn halves<const ZEROS: bool>(&self, halves: &FusedHalves, all: &mut ZeroExponents) -> u64 {
        let adder = Adder::new(self, &halves.half);
        let belongs: Vec<bool> = (0..halves.period)
            .map(|k| halves.first.contains(&k))
            .collect();
        let mut half = Vec::with_capacity(halves.half.group);
        self.chain(halves.span, |given, c| {
            let mut sum = self.accumulator.zero(false);
            for first in [true, false] {
                half.clear();
                let mine = given.iter().enumerate();
                let mine = mine.filter(|(k, _)| belongs[k % halves.period] == first);
                half.extend(mine.map(|(_, product)| *product));
                sum = adder.add::<ZEROS>(&half, sum, all);
            }
            halves.close(self.accumulator, sum, c)
        })
    }
}

fn product(a: Unpacked, b: Unpacked, fraction_bits: i32) -> Product {
    let magnitude = (a.significand * b.significand) as i64;
    let exponent = a.exponent + b.exponent;
    Product {
        value: if a.negative == b.negative {
            magnitude
        } else {
            -magnitude
        },
        exponent,
        low: exponent - fraction_bits + magnitude.trailing_zeros() as i32,
    }
}

/// A fused step with constants of its formats.
struct Adder<'s> {
    step: &'s Fused,
    /// Fraction bits of products and of the accumulator, whose exponents are biased.
    product_bits: i32,
    fraction_bits: i32,
    bias: i32,
    smallest: i32,
    largest: i32,
    negative_zero: u64,
}

impl<'s> Adder<'s> {
    fn new(case: &Quick, step: &'s Fused) -> Adder<'s> {
        let format = case.accumulator;
        Adder {
            step,
            product_bits: case.fraction_bits,
            fraction_bits: format.fraction_bits() as i32,
            bias: format.bias(),
            smallest: format.min_exponent(),
            largest: format.max_exponent(),
            negative_zero: format.zero(true),
        }
    }

    /// [`Fused`] for products and a C that is not a NaN. With `ZEROS`, `all` keeps only exponents of zeros that give
    /// the same result.
    fn add<const ZEROS: bool>(&self, products: &[Product], c: u64, all: &mut ZeroExponents) -> u64 {
        let negative = c & self.negative_zero != 0;
        let magnitude = c & (self.negative_zero - 1);
        let field = (magnitude >> self.fraction_bits) as i32;
        let fraction = magnitude as i64 & ((1 << self.fraction_bits) - 1);
        let (c_value, c_exponent) = match field {
            0 => (fraction, self.smallest),
            _ => (fraction | 1 << self.fraction_bits, field - self.bias),
        };
        if c_exponent > self.largest {
            return c;
        }
        let mut largest = i32::MIN;
        let mut zeros = products.len() < self.step.group || c_value == 0;
        for product in products {
            match product.value {
                0 => zeros = true,
                _ => largest = largest.max(product.exponent),
            }
        }
        if c_value != 0 {
            largest = largest.max(c_exponent);
        }
        let terms = largest;
        if zeros {
            largest = largest.max(self.step.zero_exponent);
        }
        let grid = largest - self.step.fraction_bits as i32;
        let alignment = self.step.alignment;
        let mut sum = if negative {
            shifted(-c_value, c_exponent - self.fraction_bits - grid, alignment)
        } else {
            shifted(c_value, c_exponent - self.fraction_bits - grid, alignment)
        };
        let mut vanished = sum == 0;
        for product in products {
            let shift = product.exponent - self.product_bits - grid;
            let kept = shifted(product.value, shift, alignment);
            vanished &= kept == 0;
            sum += kept;
        }
        if ZEROS && zeros && terms > i32::MIN {
            let of_products = products.iter().filter(|product| product.value != 0);
            let mut low = of_products.map(|product| product.low).min();
            if c_value != 0 {
                let of_c = c_exponent - self.fraction_bits + c_value.trailing_zeros() as i32;
                low = Some(low.map_or(of_c, |low| low.min(of_c)));
            }
            // Up to here zeros take no part, or no term loses a bit beside them.
            let none = low.map_or(terms, |low| terms.max(low + self.step.fraction_bits as i32));
            let at = self.step.zero_exponent;
            if at <= none {
                all.to = all.to.min(none);
            } else {
                all.from = all.from.max(at);
                all.to = if vanished { all.to } else { all.to.min(at) };
            }
        }
        self.round(sum, grid)
    }

    /// The code of `sum * 2^grid`.
    fn round(&self, sum: i64, grid: i32) -> u64 {
        if sum == 0 {
            return 0;
        }
        let precision = self.step.precision as i32;
        let sign = if sum < 0 { self.negative_zero } else { 0 };
        let sum = match self.step.sum_bits {
            Some(_) => self.step.seen(sum.unsigned_abs().into()) as i64 * sum.signum(),
            None => sum,
        };
        let leading = (grid + sum.unsigned_abs().ilog2() as i32).max(self.smallest);
        let kept = shifted(sum, grid - (leading - (precision - 1)), self.step.rounding);
        if kept == 0 {
            return if self.step.minus_zero { sign } else { 0 };
        }
        let significand = kept.unsigned_abs() << (self.fraction_bits + 1 - precision);
        // A carry, which leaves zeros alone, counts in the field; a subnormal has no hidden bit there.
        let field = (leading + self.bias - 1) as u64;
        let magnitude = (field << self.fraction_bits) + significand;
        let infinity = ((self.largest + self.bias + 1) as u64) << self.fraction_bits;
        sign | magnitude.min(infinity)
    }
}

/// `value * 2^shift`, rounded to an integer.
fn shifted(value: i64, shift: i32, rounding: Rounding) -> i64 {
    if value == 0 {
        return 0;
    }
    if shift >= 0 {
        return value << shift;
    }
    let magnitude = value.unsigned_abs();
    let down = shift.unsigned_abs();
    let (quotient, remainder, half) = match down {
        1..=63 => (
            magnitude >> down,
            magnitude & ((1 << down) - 1),
            1 << (down - 1),
        ),
        _ => (0, magnitude, u64::MAX),
    };
    let up = match rounding {
        Rounding::TowardZero => false,
        Rounding::Down => value < 0 && remainder != 0,
        Rounding::NearestAway => remainder >= half,
        Rounding::NearestEven => remainder > half || (remainder == half && quotient & 1 == 1),
    };
    let rounded = (quotient + u64::from(up)) as i64;
    if value < 0 { -rounded } else { rounded }
}

#[cfg(test)]
mod tests;
