//! The steps, one term after the other, on exact fractions.

use tcverify::emu::Arithmetic;
use tcverify::emu::step::{Fused, Step};
use tcverify::num::{Format, Rounding};

use super::{Fraction, dots, nearest_code, quotient, value};

/// What a product competes with in the maximum.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Exponents {
    /// The sum of its operands' exponents, as the hardware does.
    Summed,
    /// Its own exponent, as if it were normalised first: wrong.
    Normalised,
}

/// A slow model of an arithmetic.
pub struct Reference<'a> {
    pub arithmetic: &'a Arithmetic,
    pub exponents: Exponents,
}

impl<'a> Reference<'a> {
    pub fn of(arithmetic: &'a Arithmetic) -> Reference<'a> {
        Reference {
            arithmetic,
            exponents: Exponents::Summed,
        }
    }

    /// Whether this is a model of the step's kind; the others have tests of their own.
    pub fn knows(step: &Step) -> bool {
        matches!(
            step,
            Step::Fused(_) | Step::FusedHalves(_) | Step::FmaChain(_) | Step::RoundedDot(_)
        )
    }

    /// `c` plus the products of whole rows: as many steps as it takes.
    pub fn dot(&self, a: &[u64], b: &[u64], c: u64) -> u64 {
        let span = match &self.arithmetic.step {
            Step::Fused(fused) => fused.group,
            Step::FusedHalves(halves) => halves.span,
            Step::FmaChain(_) => 1,
            Step::RoundedDot(dot) => dot.group,
            _ => unreachable!("see `knows`"),
        };
        let steps = a.chunks(span).zip(b.chunks(span));
        let code = steps.fold(c, |c, (a, b)| self.step(a, b, c));
        // Zeros fill up the instruction, and a sum of -0 and +0 is +0.
        let whole = self.arithmetic.instruction_k.unwrap_or(span);
        let minus_zero = self.arithmetic.accumulator.sign_mask();
        if code == minus_zero && a.len().next_multiple_of(span) % whole != 0 {
            0
        } else {
            code
        }
    }

    fn step(&self, a: &[u64], b: &[u64], c: u64) -> u64 {
        if let Step::RoundedDot(dot) = &self.arithmetic.step {
            return dots::step(self.arithmetic, dot, a, b, c);
        }
        let Arithmetic {
            a: a_format,
            b: b_format,
            accumulator,
            ..
        } = *self.arithmetic;
        let pairs: Vec<(f64, f64)> = a
            .iter()
            .zip(b)
            .map(|(&a, &b)| (value(a_format, a), value(b_format, b)))
            .collect();
        match &self.arithmetic.step {
            Step::Fused(fused) => self.fused(fused, &pairs, c),
            Step::FusedHalves(halves) => {
                let (first, second): (Vec<_>, Vec<_>) = pairs
                    .iter()
                    .enumerate()
                    .partition(|(k, _)| halves.first.contains(&(k % halves.period)));
                let pairs = |half: Vec<(usize, &(f64, f64))>| -> Vec<(f64, f64)> {
                    half.into_iter().map(|(_, pair)| *pair).collect()
                };
                let r1 = self.fused(&halves.half, &pairs(first), 0);
                let r2 = self.fused(&halves.half, &pairs(second), r1);
                let sum = (value(accumulator, r2), 1.0);
                multiply_add(accumulator, halves.closing, halves.half.nan.0, sum, c)
            }
            Step::FmaChain(chain) => pairs.iter().fold(c, |c, &pair| {
                multiply_add(accumulator, chain.rounding, chain.nan.0, pair, c)
            }),
            _ => unreachable!("see `knows`"),
        }
    }

    fn fused(&self, fused: &Fused, pairs: &[(f64, f64)], c: u64) -> u64 {
        let accumulator = self.arithmetic.accumulator;
        let c = value(accumulator, c);
        if let Some(result) = special(accumulator, fused.nan.0, pairs, c) {
            return result;
        }

        // Value and exponent of every term; the group is filled up with zeros.
        let mut terms: Vec<(Fraction, i32)> =
            pairs.iter().map(|&pair| self.product(pair)).collect();
        let absent = fused.group - terms.len();
        terms.extend(vec![(Fraction::zero(), 0); absent]);
        terms.push((Fraction::of(c), exponent(accumulator, c)));
        for (value, exponent) in &mut terms {
            if value.is_zero() {
                *exponent = fused.zero_exponent;
            }
        }

        let largest = terms.iter().map(|(_, exponent)| *exponent).max();
        let unit = largest.expect("c is a term") - fused.fraction_bits as i32;
        let sum = terms
            .iter()
            .map(|(value, _)| quotient(value, unit, fused.alignment))
            .sum();
        let sum = Fraction::new(sum, unit);
        let negative = sum.is_negative();
        let sum = match fused.sum_bits {
            Some(bits) if !sum.is_zero() => {
                let unit = sum.log2() - bits as i32 + 1;
                Fraction::new(quotient(&sum, unit, Rounding::TowardZero), unit)
            }
            _ => sum,
        };
        let code = nearest_code(accumulator, fused.precision, fused.rounding, negative, &sum);
        if code == accumulator.sign_mask() {
            0
        } else {
            code
        }
    }

    fn product(&self, (a, b): (f64, f64)) -> (Fraction, i32) {
        let value = &Fraction::of(a) * &Fraction::of(b);
        let Arithmetic {
            a: a_format,
            b: b_format,
            ..
        } = *self.arithmetic;
        let exponent = match self.exponents {
            Exponents::Summed => exponent(a_format, a) + exponent(b_format, b),
            Exponents::Normalised if value.is_zero() => 0,
            Exponents::Normalised => value.log2(),
        };
        (value, exponent)
    }
}

/// The exponent of a number, which for a subnormal is that of the smallest normal number.
fn exponent(format: Format, number: f64) -> i32 {
    if number == 0.0 {
        return 0; // the caller knows better
    }
    let smallest_normal = match format {
        Format::Fp16 | Format::E5m2 => -14,
        Format::Bf16 | Format::Tf32 | Format::Xf32 | Format::Fp32 => -126,
        Format::E4m3 => -6,
        Format::E4m3fnuz => -7,
        Format::E5m2fnuz => -15,
        Format::E3m2 => -2,
        Format::E2m3 | Format::E2m1 => 0,
        Format::Fp64 => -1022,
        _ => panic!("{format} is no operand of a float model"),
    };
    Fraction::of(number).log2().max(smallest_normal)
}

/// The result where specials decide it. What IEEE floats make of the terms, every finite one taken
/// as 0 and every finite factor as 0 or 1, is what the unit makes of them.
pub(super) fn special(format: Format, nan: u64, pairs: &[(f64, f64)], c: f64) -> Option<u64> {
    let factor = |x: f64| {
        if x.is_finite() && x != 0.0 {
            1f64.copysign(x)
        } else {
            x
        }
    };
    let products = pairs.iter().map(|&(a, b)| factor(a) * factor(b));
    let decisive = |x: &f64| !x.is_finite();
    let terms: Vec<f64> = products.chain([c]).filter(decisive).collect();
    if terms.is_empty() {
        return None;
    }
    let sum: f64 = terms.iter().sum();
    Some(if sum.is_nan() {
        nan
    } else {
        let infinity = format.infinity(sum < 0.0);
        infinity.expect("results have a format with infinities")
    })
}

/// IEEE 754: `a * b + c` with one rounding.
fn multiply_add(format: Format, rounding: Rounding, nan: u64, (a, b): (f64, f64), c: u64) -> u64 {
    let c = value(format, c);
    if let Some(result) = special(format, nan, &[(a, b)], c) {
        return result;
    }
    let product = &Fraction::of(a) * &Fraction::of(b);
    let sum = &product + &Fraction::of(c);
    let negative = if sum.is_zero() {
        // -0 only as the sum of two -0.
        let minus = |x: f64| x.is_sign_negative();
        product.is_zero() && c == 0.0 && minus(a) != minus(b) && minus(c)
    } else {
        sum.is_negative()
    };
    let precision = format.fraction_bits() + 1;
    nearest_code(format, precision, rounding, negative, &sum)
}
