//! Exact binary numbers of any size: an odd integer times a power of two, with a sign.
//!
//! What an explanation prints passes through nothing else; floating point would round unnoticed.

use std::cmp::Ordering;
use std::fmt;

use crate::num::{Format, Target, Unpacked};

/// `(-1)^negative * magnitude * 2^exponent`. Zero has no limbs, no sign and the exponent 0;
/// otherwise the magnitude is odd. Equal numbers are equal values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Dyadic {
    negative: bool,
    /// Least significant first; the last is not zero.
    limbs: Vec<u64>,
    exponent: i32,
}

impl Dyadic {
    pub fn zero() -> Dyadic {
        Dyadic::default()
    }

    /// `(-1)^negative * magnitude * 2^lsb`.
    pub fn new(negative: bool, magnitude: u128, lsb: i32) -> Dyadic {
        Dyadic::from_limbs(
            negative,
            vec![magnitude as u64, (magnitude >> 64) as u64],
            lsb,
        )
    }

    pub fn from_int(value: i128, lsb: i32) -> Dyadic {
        Dyadic::new(value < 0, value.unsigned_abs(), lsb)
    }

    /// A finite number of this format.
    pub fn of(format: Format, number: Unpacked) -> Dyadic {
        let lsb = number.exponent - format.fraction_bits() as i32;
        Dyadic::new(number.negative, number.significand.into(), lsb)
    }

    fn from_limbs(negative: bool, mut limbs: Vec<u64>, mut exponent: i32) -> Dyadic {
        trim(&mut limbs);
        let Some(low) = limbs.iter().position(|&limb| limb != 0) else {
            return Dyadic::zero();
        };
        let down = 64 * low as u32 + limbs[low].trailing_zeros();
        limbs = shifted_down(&limbs, down);
        exponent += down as i32;
        Dyadic {
            negative,
            limbs,
            exponent,
        }
    }

    pub fn is_zero(&self) -> bool {
        self.limbs.is_empty()
    }

    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// The exponent of the leading bit: `2^e <= |x| < 2^(e + 1)`. None of zero.
    pub fn leading(&self) -> Option<i32> {
        let top = self.limbs.last()?;
        let bits = 64 * self.limbs.len() as i32 - top.leading_zeros() as i32;
        Some(self.exponent + bits - 1)
    }

    pub fn negated(&self) -> Dyadic {
        Dyadic {
            negative: !self.negative && !self.is_zero(),
            ..self.clone()
        }
    }

    pub fn abs(&self) -> Dyadic {
        Dyadic {
            negative: false,
            ..self.clone()
        }
    }

    pub fn plus(&self, other: &Dyadic) -> Dyadic {
        if self.is_zero() {
            return other.clone();
        }
        if other.is_zero() {
            return self.clone();
        }
        let exponent = self.exponent.min(other.exponent);
        let x = shifted_up(&self.limbs, (self.exponent - exponent) as u32);
        let y = shifted_up(&other.limbs, (other.exponent - exponent) as u32);
        if self.negative == other.negative {
            return Dyadic::from_limbs(self.negative, sum(&x, &y), exponent);
        }
        match compare(&x, &y) {
            Ordering::Less => Dyadic::from_limbs(other.negative, difference(&y, &x), exponent),
            _ => Dyadic::from_limbs(self.negative, difference(&x, &y), exponent),
        }
    }

    pub fn minus(&self, other: &Dyadic) -> Dyadic {
        self.plus(&other.negated())
    }

    /// The larger magnitude.
    pub fn exceeds(&self, other: &Dyadic) -> bool {
        let rest = self.abs().minus(&other.abs());
        !rest.is_zero() && !rest.negative
    }

    /// Rounded once. Zero becomes +0.
    pub fn round(&self, target: Target) -> u64 {
        // As many leading bits as leave room for guards; the rest is one sticky bit.
        const KEPT: u32 = 100;
        let bits = self
            .leading()
            .map_or(0, |leading| (leading - self.exponent + 1) as u32);
        let down = bits.saturating_sub(KEPT);
        let top = shifted_down(&self.limbs, down);
        let limb = |i: usize| u128::from(top.get(i).copied().unwrap_or(0));
        let magnitude = limb(1) << 64 | limb(0);
        // The magnitude is odd: something is lost wherever it is cut.
        target.round(
            self.negative,
            magnitude,
            self.exponent + down as i32,
            down > 0,
        )
    }

    /// In plain decimal, if that is exact and short.
    fn decimal(&self) -> Option<String> {
        const DIGITS: usize = 15;
        const FRACTION: i32 = 12;
        if self.limbs.len() > 1 {
            return None;
        }
        let magnitude = self.limbs.first().copied().unwrap_or(0);
        let text = if self.exponent >= 0 {
            let fits = self.exponent < 64 && magnitude.leading_zeros() as i32 >= self.exponent;
            fits.then(|| (magnitude << self.exponent).to_string())?
        } else if -self.exponent <= FRACTION {
            let places = -self.exponent as u32;
            let whole = magnitude >> places;
            let fraction = u128::from(magnitude & ((1 << places) - 1));
            let digits = (fraction * 10u128.pow(places)) >> places;
            format!("{whole}.{digits:0>width$}", width = places as usize)
        } else {
            return None;
        };
        (text.len() <= DIGITS).then_some(text)
    }
}

/// Decimal where that is exact and short; otherwise an odd integer, in hexadecimal if it is large,
/// times a power of two. Never rounded.
impl fmt::Display for Dyadic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.negative { "-" } else { "" };
        let text = match self.decimal() {
            Some(decimal) => format!("{sign}{decimal}"),
            None => {
                let power = format!("2^{}", self.exponent);
                match self.limbs.as_slice() {
                    [1] => format!("{sign}{power}"),
                    [small @ ..=99_999] => format!("{sign}{small}*{power}"),
                    limbs => {
                        let mut hex = String::new();
                        for (i, limb) in limbs.iter().rev().enumerate() {
                            let digits = match i {
                                0 => format!("{limb:x}"),
                                _ => format!("{limb:016x}"),
                            };
                            hex.push_str(&digits);
                        }
                        format!("{sign}0x{hex}*{power}")
                    }
                }
            }
        };
        f.pad(&text)
    }
}

impl serde::Serialize for Dyadic {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn trim(limbs: &mut Vec<u64>) {
    while limbs.last() == Some(&0) {
        limbs.pop();
    }
}

fn shifted_up(limbs: &[u64], by: u32) -> Vec<u64> {
    let (whole, bits) = ((by / 64) as usize, by % 64);
    let mut out = vec![0; whole];
    let mut carry = 0;
    for &limb in limbs {
        let wide = u128::from(limb) << bits;
        out.push(wide as u64 | carry);
        carry = (wide >> 64) as u64;
    }
    out.push(carry);
    trim(&mut out);
    out
}

fn shifted_down(limbs: &[u64], by: u32) -> Vec<u64> {
    let (whole, bits) = ((by / 64) as usize, by % 64);
    let kept = limbs.get(whole..).unwrap_or(&[]);
    let piece = |(i, &limb): (usize, &u64)| {
        let above = kept.get(i + 1).copied().unwrap_or(0);
        let wide = u128::from(above) << 64 | u128::from(limb);
        (wide >> bits) as u64
    };
    let mut out: Vec<_> = kept.iter().enumerate().map(piece).collect();
    trim(&mut out);
    out
}

fn sum(x: &[u64], y: &[u64]) -> Vec<u64> {
    let mut carry = 0;
    let mut out: Vec<u64> = (0..x.len().max(y.len()))
        .map(|i| {
            let limb = |z: &[u64]| u128::from(z.get(i).copied().unwrap_or(0));
            let wide = limb(x) + limb(y) + carry;
            carry = wide >> 64;
            wide as u64
        })
        .collect();
    out.push(carry as u64);
    out
}

/// `x - y` for `x >= y`.
fn difference(x: &[u64], y: &[u64]) -> Vec<u64> {
    let mut borrow = false;
    let limbs = x.iter().enumerate().map(|(i, &limb)| {
        let other = y.get(i).copied().unwrap_or(0);
        let (rest, first) = limb.overflowing_sub(other);
        let (rest, second) = rest.overflowing_sub(borrow.into());
        borrow = first || second;
        rest
    });
    limbs.collect()
}

fn compare(x: &[u64], y: &[u64]) -> Ordering {
    let lengths = x.len().cmp(&y.len());
    lengths.then_with(|| x.iter().rev().cmp(y.iter().rev()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::Rounding;

    #[test]
    fn text_is_exact() {
        for (negative, magnitude, lsb, text) in [
            (false, 0u128, 7, "0"),
            (true, 3, -1, "-1.5"),
            (false, 1, -12, "0.000244140625"),
            (false, 1, -13, "2^-13"),
            (true, 96, -30, "-3*2^-25"),
            (false, 1, 40, "1099511627776"),
            (false, 1, 60, "2^60"),
            (false, 0x1800001, -23, "0x1800001*2^-23"),
            (
                false,
                1 << 127 | 1,
                0,
                "0x80000000000000000000000000000001*2^0",
            ),
        ] {
            assert_eq!(Dyadic::new(negative, magnitude, lsb).to_string(), text);
        }
    }

    #[test]
    fn sums_keep_every_bit() {
        let one = Dyadic::new(false, 1, 0);
        let tiny = Dyadic::new(true, 1, -2000);
        let sum = one.plus(&tiny);
        assert_eq!(sum.leading(), Some(-1));
        assert_eq!(sum.minus(&one), tiny);
        assert_eq!(sum.minus(&tiny), one);
        assert!(sum.plus(&sum.negated()).is_zero());
        assert!(one.exceeds(&sum) && !sum.exceeds(&one) && !one.exceeds(&one.negated()));
    }

    #[test]
    fn rounding_looks_at_the_last_bit() {
        let half = Dyadic::new(false, (1 << 24) + 1, -24);
        let nearest = Target::full(Format::Fp32, Rounding::NearestEven);
        assert_eq!(half.round(nearest), 0x3f80_0000);
        let more = half.plus(&Dyadic::new(false, 1, -1000));
        assert_eq!(more.round(nearest), 0x3f80_0001);
        let less = half.plus(&Dyadic::new(true, 1, -1000));
        assert_eq!(less.round(nearest), 0x3f80_0000);
        assert_eq!(Dyadic::zero().round(nearest), 0);
    }
}
