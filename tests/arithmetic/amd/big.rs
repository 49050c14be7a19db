//! Exact arithmetic of another kind.

/// A number as sign and magnitude in units of 2^-2200, schoolbook arithmetic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Big {
    negative: bool,
    digits: Vec<u32>,
}

const UNIT: i32 = -2200;
const DIGITS: usize = 140;

impl Big {
    fn zero() -> Big {
        Big {
            negative: false,
            digits: vec![0; DIGITS],
        }
    }

    /// `integer * 2^exponent`
    fn scaled(negative: bool, mut integer: u128, exponent: i32) -> Big {
        let mut big = Big::zero();
        big.negative = negative;
        let mut bit = (exponent - UNIT) as usize;
        while integer > 0 {
            big.digits[bit / 32] |= ((integer & 1) as u32) << (bit % 32);
            (integer, bit) = (integer >> 1, bit + 1);
        }
        big
    }

    /// A finite double: integer and exponent.
    fn split(x: f64) -> (bool, u128, i32) {
        let bits = x.to_bits();
        let field = (bits >> 52 & 0x7ff) as i32;
        let fraction = bits & ((1 << 52) - 1);
        match field {
            0 => (x.is_sign_negative(), fraction.into(), -1074),
            _ => (
                x.is_sign_negative(),
                (fraction | 1 << 52).into(),
                field - 1075,
            ),
        }
    }

    fn of(x: f64) -> Big {
        let (negative, integer, exponent) = Big::split(x);
        Big::scaled(negative, integer, exponent)
    }

    fn product(x: f64, y: f64) -> Big {
        let ((s, m, e), (t, n, f)) = (Big::split(x), Big::split(y));
        Big::scaled(s != t, m * n, e + f)
    }

    fn compare_magnitudes(&self, other: &Big) -> std::cmp::Ordering {
        self.digits.iter().rev().cmp(other.digits.iter().rev())
    }

    fn plus(&self, other: &Big) -> Big {
        let mut sum = Big::zero();
        let mut carry = 0i64;
        let (large, small) = match self.compare_magnitudes(other) {
            std::cmp::Ordering::Less => (other, self),
            _ => (self, other),
        };
        sum.negative = large.negative;
        let sign = if large.negative == small.negative {
            1
        } else {
            -1
        };
        for i in 0..DIGITS {
            let digit = i64::from(large.digits[i]) + sign * i64::from(small.digits[i]) + carry;
            sum.digits[i] = digit as u32;
            carry = digit >> 32;
        }
        sum
    }

    /// The nearest number of those that `value` gives for 0, 1, ... `largest` in rising order, ties
    /// to the even one; `largest + 1` from the middle between it and `beyond` on.
    fn nearest(&self, largest: u64, value: impl Fn(u64) -> f64, beyond: Big) -> u64 {
        let magnitude = Big {
            negative: false,
            ..self.clone()
        };
        let (mut low, mut high) = (0, largest);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if Big::of(value(middle))
                .compare_magnitudes(&magnitude)
                .is_le()
            {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        let above = if low == largest {
            beyond
        } else {
            Big::of(value(low + 1))
        };
        let twice = magnitude.plus(&magnitude);
        match twice.compare_magnitudes(&Big::of(value(low)).plus(&above)) {
            std::cmp::Ordering::Less => low,
            std::cmp::Ordering::Greater => low + 1,
            std::cmp::Ordering::Equal => low + (low & 1),
        }
    }

    pub fn is_zero(&self) -> bool {
        self.digits.iter().all(|&digit| digit == 0)
    }

    pub fn to_f32(&self) -> u64 {
        let value = |code: u64| f64::from(f32::from_bits(code as u32));
        let code = self.nearest(0x7f7f_ffff, value, Big::scaled(false, 1, 128));
        let negative = self.negative && !self.is_zero();
        code | u64::from(negative) << 31
    }

    pub fn to_f64(&self) -> u64 {
        let largest = f64::MAX.to_bits();
        let code = self.nearest(largest, f64::from_bits, Big::scaled(false, 1, 1024));
        let negative = self.negative && !self.is_zero();
        code | u64::from(negative) << 63
    }
}

/// The sum of some products and C.
pub fn exact(products: impl IntoIterator<Item = (f64, f64)>, c: f64) -> Big {
    let add = |sum: Big, (x, y)| sum.plus(&Big::product(x, y));
    products.into_iter().fold(Big::of(c), add)
}
