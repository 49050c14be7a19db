//! The operations in integers, written to be read.

use super::mufu::{Function, mufu};
use super::{Arith, NAN, SIGN};
use crate::emu::schedule::{Exactly as Ieee, Ops};
use crate::num::{Class, Format, Rounding, Target, Unpacked, fma};

/// In integers: the specification.
#[derive(Clone, Copy, Debug)]
pub struct Exactly;

const F32: Format = Format::Fp32;
/// What products share with what stands between them.
const IEEE: Ieee = Ieee { nan: NAN };

/// A nonzero finite number's significand with its leading bit at bit 23, and the weight of its last bit.
fn normalised(x: Unpacked) -> (u128, i32) {
    let up = x.significand.leading_zeros() - 40;
    (u128::from(x.significand) << up, x.exponent - 23 - up as i32)
}

fn rounded(negative: bool, magnitude: u128, lsb: i32, sticky: bool) -> u32 {
    let target = Target::full(F32, Rounding::NearestEven);
    target.round(negative, magnitude, lsb, sticky) as u32
}

impl Ops for Exactly {
    fn add(self, x: u32, y: u32) -> u32 {
        IEEE.add(x, y)
    }

    fn mul(self, x: u32, y: u32) -> u32 {
        IEEE.mul(x, y)
    }

    fn fma(self, x: u32, y: u32, z: u32) -> u32 {
        IEEE.fma(x, y, z)
    }

    fn round(self, x: u32, to: Format) -> u64 {
        IEEE.round(x, to)
    }

    fn widen(self, code: u64, from: Format) -> u32 {
        IEEE.widen(code, from)
    }
}

impl Arith for Exactly {
    fn fma_down(self, x: u32, y: u32, z: u32) -> u32 {
        let number = |code: u32| F32.unpack(code.into());
        let product = ([F32, F32], number(x), number(y));
        let target = Target::full(F32, Rounding::Down);
        fma(product, (F32, number(z)), target, NAN.into()) as u32
    }

    fn div(self, x: u32, y: u32) -> u32 {
        let sign = (x ^ y) & SIGN;
        let (x, y) = (F32.unpack(x.into()), F32.unpack(y.into()));
        let invalid = (x.is_zero() && y.is_zero()) || (x.is_infinite() && y.is_infinite());
        if x.is_nan() || y.is_nan() || invalid {
            return NAN;
        }
        if x.is_infinite() || y.is_zero() {
            return sign | super::INFINITY;
        }
        if x.is_zero() || y.is_infinite() {
            return sign;
        }
        let ((a, a_lsb), (b, b_lsb)) = (normalised(x), normalised(y));
        // 39 bits of quotient or more; the remainder only shows that there is more.
        let dividend = a << 40;
        let (quotient, rest) = (dividend / b, dividend % b);
        rounded(sign != 0, quotient, a_lsb - b_lsb - 40, rest != 0)
    }

    fn sqrt(self, x: u32) -> u32 {
        let number = F32.unpack(x.into());
        match number.class {
            Class::Nan => return NAN,
            _ if number.is_zero() => return x,
            _ if number.negative => return NAN,
            Class::Infinite => return x,
            Class::Finite => {}
        }
        let (magnitude, lsb) = normalised(number);
        // An even exponent, and 41 bits of root or more.
        let up = 60 + (lsb & 1) as u32;
        let (magnitude, lsb) = (magnitude << up, lsb - up as i32);
        let root = magnitude.isqrt();
        rounded(false, root, lsb / 2, root * root != magnitude)
    }

    fn mufu(self, function: Function, x: u32) -> u32 {
        mufu(function, x)
    }
}
