//! A sum without rounding: a fixed-point number wide enough for every term of a dot product
//! (Kulisch's long accumulator), rounded once when it is read.

use super::{Class, Format, SpecialTerms, Target, Unpacked};

/// Products of two formats and numbers of a third, added exactly. Infinities and NaNs count too.
#[derive(Clone, Debug)]
pub struct ExactSum {
    /// Two's complement, least significant first, in units of `2^lsb`.
    limbs: Vec<u64>,
    lsb: i32,
    specials: SpecialTerms,
}

/// Room above the largest term: no sum of fewer than 2^62 terms leaves it.
const HEADROOM: i32 = 64;

/// The weights of the lowest and the highest bit that a finite number of a format can have.
fn bits(format: Format) -> (i32, i32) {
    let lowest = format.min_exponent() - format.fraction_bits() as i32;
    (lowest, format.max_exponent())
}

impl ExactSum {
    /// Zero, with room for products of `a` and `b` and for numbers of `addend`.
    pub fn new(a: Format, b: Format, addend: Format) -> ExactSum {
        ExactSum::scaled(a, b, addend, 0)
    }

    /// Zero, with room for products times 2^-`down`, too.
    pub fn scaled(a: Format, b: Format, addend: Format, down: u32) -> ExactSum {
        let ((a_low, a_high), (b_low, b_high)) = (bits(a), bits(b));
        let (low, high) = bits(addend);
        let lsb = low.min(a_low + b_low - down as i32);
        let msb = high.max(a_high + b_high + 1);
        let bits = (msb - lsb + 1 + HEADROOM) as usize;
        ExactSum {
            limbs: vec![0; bits.div_ceil(64)],
            lsb,
            specials: SpecialTerms::default(),
        }
    }

    /// Adds a number of the format `format`.
    pub fn add(&mut self, format: Format, number: Unpacked) {
        let Unpacked {
            class,
            negative,
            significand,
            ..
        } = number;
        match class {
            Class::Finite => self.add_finite(negative, significand.into(), number.lsb(format)),
            special => self.specials.add(special, negative),
        }
    }

    /// Adds the product of a number of the format `formats[0]` and one of `formats[1]`.
    pub fn add_product(&mut self, formats: [Format; 2], a: Unpacked, b: Unpacked) {
        let negative = a.negative != b.negative;
        match a.product_class(&b) {
            Class::Finite => {
                let magnitude = u128::from(a.significand) * u128::from(b.significand);
                self.add_finite(negative, magnitude, a.lsb(formats[0]) + b.lsb(formats[1]));
            }
            special => self.specials.add(special, negative),
        }
    }

    /// What kind of number the sum is: infinities and NaNs among the terms decide.
    pub fn class(&self) -> Class {
        self.specials.sum().0
    }

    /// Whether the finite terms add up to exactly zero.
    pub fn is_zero(&self) -> bool {
        self.limbs.iter().all(|&limb| limb == 0)
    }

    /// The weight of its lowest bit: what is added has none below.
    pub fn lsb(&self) -> i32 {
        self.lsb
    }

    /// The finite sum in units of `2^lsb`, rounded toward minus infinity; what 128 bits do not hold is cut off above.
    pub fn floor(&self, lsb: i32) -> i128 {
        let down = (lsb - self.lsb).max(0) as usize;
        let sign = match self.limbs.last() {
            Some(top) if top >> 63 == 1 => u64::MAX,
            _ => 0,
        };
        let limb = |i: usize| u128::from(self.limbs.get(i).copied().unwrap_or(sign));
        let (first, shift) = (down / 64, down % 64);
        let low = limb(first) | limb(first + 1) << 64;
        let number = match shift {
            0 => low,
            _ => low >> shift | limb(first + 2) << (128 - shift),
        };
        (number as i128) << (self.lsb - lsb).max(0)
    }

    /// Adds `(-1)^negative * magnitude * 2^lsb`; its bits lie within those of the formats.
    pub fn add_finite(&mut self, negative: bool, magnitude: u128, lsb: i32) {
        if magnitude == 0 {
            return; // a zero's exponent may lie anywhere
        }
        let offset = (lsb - self.lsb) as u32;
        let (limb, shift) = ((offset / 64) as usize, offset % 64);
        // The term in limbs, from `limb` on: three hold 128 bits shifted by less than 64.
        let low = magnitude << shift;
        let high = if shift == 0 {
            0
        } else {
            magnitude >> (128 - shift)
        };
        let term = [low as u64, (low >> 64) as u64, high as u64];
        let mut carry = false;
        for (i, limb) in self.limbs[limb..].iter_mut().enumerate() {
            if i >= term.len() && !carry {
                break;
            }
            let term = term.get(i).copied().unwrap_or(0);
            let (sum, first) = if negative {
                limb.overflowing_sub(term)
            } else {
                limb.overflowing_add(term)
            };
            let (sum, second) = if negative {
                sum.overflowing_sub(carry.into())
            } else {
                sum.overflowing_add(carry.into())
            };
            *limb = sum;
            carry = first || second;
        }
    }

    /// The sum, rounded once. `nan` is the code of a NaN: of a NaN term, of infinity times zero and
    /// of infinities of both signs. A sum of exactly zero is +0; a negative one that is rounded to
    /// zero is -0.
    pub fn round(&self, target: Target, nan: u64) -> u64 {
        match self.specials.sum() {
            (Class::Nan, _) => return nan,
            (Class::Infinite, negative) => return target.format.beyond(negative),
            (Class::Finite, _) => {}
        }
        let negative = self.limbs.last().is_some_and(|top| top >> 63 == 1);
        let magnitude = if negative {
            negated(&self.limbs)
        } else {
            self.limbs.clone()
        };
        let Some(top) = magnitude.iter().rposition(|&limb| limb != 0) else {
            return target.format.zero(false);
        };
        // The two highest limbs that count, less one bit for the sticky one that stands for all
        // below. At least 64 bits are more than any format keeps.
        if top == 0 {
            return target.round(negative, magnitude[0].into(), self.lsb, false);
        }
        let next = top - 1;
        let (high, low) = (magnitude[top], magnitude[next]);
        let leading = u128::from(high) << 63 | u128::from(low >> 1);
        let lost = low & 1 == 1 || magnitude[..next].iter().any(|&limb| limb != 0);
        target.round(negative, leading, self.lsb + 64 * next as i32 + 1, lost)
    }
}

fn negated(limbs: &[u64]) -> Vec<u64> {
    let mut carry = true;
    let negate = |&limb: &u64| {
        let (sum, overflow) = (!limb).overflowing_add(carry.into());
        carry = overflow;
        sum
    };
    limbs.iter().map(negate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    /// Against integers that hold the whole sum.
    #[test]
    fn floors_are_those_of_integers() {
        let mut random = SplitMix64(5);
        for round in 0..2000 {
            let mut sum = ExactSum::new(Format::Fp16, Format::Fp16, Format::Fp32);
            // The lowest bit is 2^-149; up to a hundred bits above it, a carry across limbs included.
            let lowest = sum.lsb();
            let mut whole = 0i128;
            for _ in 0..1 + round % 3 {
                let magnitude = u128::from(random.word() >> (random.word() % 64));
                let shift = (random.word() % 60) as i32;
                let negative = random.word() & 1 == 1;
                sum.add_finite(negative, magnitude, lowest + shift);
                let term = (magnitude << shift) as i128;
                whole += if negative { -term } else { term };
            }
            for down in [0, 1, 17, 63, 64, 65, 100, 126] {
                assert_eq!(sum.floor(lowest + down), whole >> down, "{whole} {down}");
            }
            // Up to the last limb, and beyond.
            for down in [320, 330, 383, 400] {
                assert_eq!(sum.floor(lowest + down), whole >> 127, "{whole} {down}");
            }
            let up = whole
                .unsigned_abs()
                .leading_zeros()
                .saturating_sub(1)
                .min(5) as i32;
            assert_eq!(sum.floor(lowest - up), whole << up, "{whole} {up}");
        }
    }

    #[test]
    fn floors_reach_every_limb() {
        for negative in [false, true] {
            let mut sum = ExactSum::new(Format::Fp32, Format::Fp32, Format::Fp32);
            let lowest = sum.lsb();
            let sign = if negative { -1 } else { 1 };
            sum.add_finite(negative, 0x9e37_79b9_7f4a_7c15, lowest + 300);
            for shift in [290, 256, 250, 300, 303] {
                let there = 0x9e37_79b9_7f4a_7c15 * sign;
                let floor = if shift <= 300 {
                    there << (300 - shift)
                } else {
                    there >> (shift - 300)
                };
                assert_eq!(sum.floor(lowest + shift), floor, "{shift}");
            }
        }
    }
}
