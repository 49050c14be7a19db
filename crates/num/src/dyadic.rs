//! Exact binary numbers of any size: an odd integer times a power of two.
//!
//! What an explanation prints passes through nothing else; floating point would round unnoticed.

use std::fmt;

use num_bigint::{BigInt, BigUint, Sign};

use super::{Format, Target, Unpacked};

/// `significand * 2^exponent`. Zero has the exponent 0; of any other number the significand is odd, so
/// that equal numbers are equal values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Dyadic {
    significand: BigInt,
    exponent: i32,
}

impl Dyadic {
    pub fn zero() -> Dyadic {
        Dyadic::default()
    }

    /// `(-1)^negative * magnitude * 2^lsb`.
    pub fn new(negative: bool, magnitude: u128, lsb: i32) -> Dyadic {
        let sign = if negative { Sign::Minus } else { Sign::Plus };
        Dyadic::normal(BigInt::from_biguint(sign, magnitude.into()), lsb)
    }

    pub fn from_int(value: i128, lsb: i32) -> Dyadic {
        Dyadic::normal(value.into(), lsb)
    }

    /// A finite number of this format.
    pub fn of(format: Format, number: Unpacked) -> Dyadic {
        Dyadic::new(
            number.negative,
            number.significand.into(),
            number.lsb(format),
        )
    }

    fn normal(significand: BigInt, exponent: i32) -> Dyadic {
        match significand.trailing_zeros() {
            None => Dyadic::zero(),
            Some(zeros) => Dyadic {
                significand: significand >> zeros,
                exponent: exponent + zeros as i32,
            },
        }
    }

    pub fn is_zero(&self) -> bool {
        self.significand.sign() == Sign::NoSign
    }

    pub fn is_negative(&self) -> bool {
        self.significand.sign() == Sign::Minus
    }

    fn magnitude(&self) -> &BigUint {
        self.significand.magnitude()
    }

    /// The exponent of the leading bit: `2^e <= |x| < 2^(e + 1)`. None of zero.
    pub fn leading(&self) -> Option<i32> {
        let bits = self.significand.bits() as i32;
        (bits > 0).then(|| self.exponent + bits - 1)
    }

    /// The exponent of the last bit that is set. None of zero.
    pub fn lowest(&self) -> Option<i32> {
        (!self.is_zero()).then_some(self.exponent)
    }

    /// The bit of weight `2^weight` of the magnitude.
    pub fn bit(&self, weight: i32) -> bool {
        let place = u64::try_from(weight - self.exponent);
        place.is_ok_and(|place| self.magnitude().bit(place))
    }

    pub fn negated(&self) -> Dyadic {
        Dyadic {
            significand: -&self.significand,
            exponent: self.exponent,
        }
    }

    pub fn abs(&self) -> Dyadic {
        if self.is_negative() {
            self.negated()
        } else {
            self.clone()
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
        let units = |x: &Dyadic| &x.significand << (x.exponent - exponent);
        Dyadic::normal(units(self) + units(other), exponent)
    }

    pub fn minus(&self, other: &Dyadic) -> Dyadic {
        self.plus(&other.negated())
    }

    /// Whether its magnitude is the larger one.
    pub fn exceeds(&self, other: &Dyadic) -> bool {
        let rest = self.abs().minus(&other.abs());
        rest.significand.sign() == Sign::Plus
    }

    /// Rounded once. Zero becomes +0.
    pub fn round(&self, target: Target) -> u64 {
        // As many leading bits as leave room for guards; the rest is one sticky bit.
        const KEPT: u64 = 100;
        let down = self.significand.bits().saturating_sub(KEPT);
        let top = u128::try_from(self.magnitude() >> down).expect("bits that fit");
        // The significand is odd: something is lost wherever it is cut.
        let lsb = self.exponent + down as i32;
        target.round(self.is_negative(), top, lsb, down > 0)
    }

    /// In plain decimal, if that is exact and short; without the sign.
    fn decimal(&self) -> Option<String> {
        const DIGITS: usize = 15;
        const FRACTION: i32 = 12;
        let magnitude = u64::try_from(self.magnitude()).ok()?;
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
        let sign = if self.is_negative() { "-" } else { "" };
        let text = match self.decimal() {
            Some(decimal) => format!("{sign}{decimal}"),
            None => {
                let power = format!("2^{}", self.exponent);
                match u64::try_from(self.magnitude()) {
                    Ok(1) => format!("{sign}{power}"),
                    Ok(small @ ..=99_999) => format!("{sign}{small}*{power}"),
                    _ => format!("{sign}0x{:x}*{power}", self.magnitude()),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rounding;

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
            // Its digits are few, those of its low 64 bits fewer.
            (false, 1 << 40 | 1, 30, "0x10000000001*2^30"),
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
        assert_eq!((one.leading(), Dyadic::zero().leading()), (Some(0), None));
        assert_eq!(
            (tiny.lowest(), Dyadic::zero().lowest()),
            (Some(-2000), None)
        );
        let six = Dyadic::new(true, 6, -1);
        let bits = [-2, -1, 0, 1, 2].map(|weight| six.bit(weight));
        assert_eq!(bits, [false, false, true, true, false]);
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
