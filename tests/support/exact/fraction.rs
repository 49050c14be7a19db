//! Exact fractions whose denominator is a power of two.

use std::cmp::Ordering;
use std::ops::{Add, Mul, Neg, Sub};

use num_bigint::{BigInt, Sign};

/// `numerator / 2^halvings`.
#[derive(Clone, Debug)]
pub struct Fraction {
    pub numerator: BigInt,
    pub halvings: u32,
}

impl Fraction {
    pub fn zero() -> Fraction {
        Fraction::new(BigInt::ZERO, 0)
    }

    /// `integer * 2^power`.
    pub fn new(integer: BigInt, power: i32) -> Fraction {
        if power >= 0 {
            Fraction {
                numerator: integer << power,
                halvings: 0,
            }
        } else {
            Fraction {
                numerator: integer,
                halvings: power.unsigned_abs(),
            }
        }
    }

    pub fn power_of_two(power: i32) -> Fraction {
        Fraction::new(1.into(), power)
    }

    /// The exact value of a finite float.
    pub fn of(float: f64) -> Fraction {
        assert!(float.is_finite());
        let bits = float.to_bits();
        let (field, fraction) = (bits >> 52 & 0x7ff, bits & ((1 << 52) - 1));
        let (integer, power) = match field {
            0 => (fraction, -1074),
            _ => (fraction | 1 << 52, field as i32 - 1075),
        };
        // Short numerators: most numbers here have few bits.
        let zeros = integer.trailing_zeros().min(63);
        let magnitude = Fraction::new((integer >> zeros).into(), power + zeros as i32);
        if float.is_sign_negative() {
            -magnitude
        } else {
            magnitude
        }
    }

    pub fn is_zero(&self) -> bool {
        self.numerator.sign() == Sign::NoSign
    }

    pub fn is_negative(&self) -> bool {
        self.numerator.sign() == Sign::Minus
    }

    pub fn abs(&self) -> Fraction {
        if self.is_negative() {
            -self.clone()
        } else {
            self.clone()
        }
    }

    /// The largest `e` with `2^e <= |self|`.
    pub fn log2(&self) -> i32 {
        assert!(!self.is_zero());
        self.numerator.bits() as i32 - 1 - self.halvings as i32
    }

    /// Both numerators over the larger denominator.
    fn common(&self, other: &Fraction) -> (BigInt, BigInt, u32) {
        let halvings = self.halvings.max(other.halvings);
        (
            &self.numerator << (halvings - self.halvings),
            &other.numerator << (halvings - other.halvings),
            halvings,
        )
    }
}

impl Add for &Fraction {
    type Output = Fraction;
    fn add(self, other: &Fraction) -> Fraction {
        let (one, two, halvings) = self.common(other);
        Fraction {
            numerator: one + two,
            halvings,
        }
    }
}

impl Sub for &Fraction {
    type Output = Fraction;
    fn sub(self, other: &Fraction) -> Fraction {
        self + &-other.clone()
    }
}

impl Mul for &Fraction {
    type Output = Fraction;
    fn mul(self, other: &Fraction) -> Fraction {
        Fraction {
            numerator: &self.numerator * &other.numerator,
            halvings: self.halvings + other.halvings,
        }
    }
}

impl Neg for Fraction {
    type Output = Fraction;
    fn neg(self) -> Fraction {
        Fraction {
            numerator: -self.numerator,
            ..self
        }
    }
}

impl PartialEq for Fraction {
    fn eq(&self, other: &Fraction) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Fraction {}

impl PartialOrd for Fraction {
    fn partial_cmp(&self, other: &Fraction) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Fraction {
    fn cmp(&self, other: &Fraction) -> Ordering {
        let (one, two, _) = self.common(other);
        one.cmp(&two)
    }
}
