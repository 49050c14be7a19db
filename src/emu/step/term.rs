//! Terms of a sum, which are brought to one grid before they are added.

use super::trace::{Source, TermTrace};
use crate::num::{Format, Formats, Rounding, Unpacked, shift_right};

/// A finite term: `(-1)^negative * magnitude * 2^lsb`, competing with `exponent`.
#[derive(Clone, Copy)]
pub(super) struct Term {
    pub negative: bool,
    pub magnitude: u128,
    pub lsb: i32,
    pub exponent: i32,
}

/// Fraction bits of a product.
#[inline]
pub(super) fn fraction_bits(formats: Formats) -> i32 {
    (formats.a.fraction_bits() + formats.b.fraction_bits()) as i32
}

#[inline]
pub(super) fn signed(negative: bool, magnitude: u128) -> i128 {
    if negative {
        -(magnitude as i128)
    } else {
        magnitude as i128
    }
}

/// The exponent of the highest set bit of `magnitude * 2^lsb`; none of zero.
#[inline]
pub(super) fn leading(magnitude: u128, lsb: i32) -> Option<i32> {
    (magnitude != 0).then(|| lsb + magnitude.ilog2() as i32)
}

/// `value * 2^from` in units of `2^to`, rounded toward minus infinity.
#[inline]
pub fn floor_to(value: i128, from: i32, to: i32) -> i128 {
    match u32::try_from(to - from) {
        Ok(down) => value >> down.min(127),
        // Zeros may lie anywhere.
        Err(_) if value == 0 => 0,
        Err(_) => value << (from - to),
    }
}

impl Term {
    /// The exact product of operands that have so many fraction bits together. It competes with the sum of their
    /// exponents, which is not its own.
    #[inline]
    pub(super) fn product(a: &Unpacked, b: &Unpacked, fraction_bits: i32) -> Term {
        let exponent = a.exponent + b.exponent;
        Term {
            negative: a.negative != b.negative,
            magnitude: u128::from(a.significand) * u128::from(b.significand),
            lsb: exponent - fraction_bits,
            exponent,
        }
    }

    /// C.
    #[inline]
    pub(super) fn addend(format: Format, c: Unpacked) -> Term {
        Term {
            negative: c.negative,
            magnitude: c.significand.into(),
            lsb: c.exponent - format.fraction_bits() as i32,
            exponent: c.exponent,
        }
    }

    /// Competing with this exponent, if it is zero.
    #[inline]
    pub(super) fn or_zero(self, zero_exponent: i32) -> Term {
        match self.magnitude {
            0 => Term {
                exponent: zero_exponent,
                ..self
            },
            _ => self,
        }
    }

    /// In units of `2^grid`.
    #[inline]
    pub(super) fn align(self, grid: i32, alignment: Rounding) -> i128 {
        let magnitude = if self.magnitude == 0 {
            0
        } else if self.lsb >= grid {
            self.magnitude << (self.lsb - grid)
        } else {
            let shift = (grid - self.lsb) as u32;
            shift_right(self.magnitude, shift, alignment, self.negative)
        };
        signed(self.negative, magnitude)
    }

    /// A sum of terms, `sum * 2^lsb`, as a term of another one.
    pub(super) fn sum(sum: i128, lsb: i32, exponent: i32) -> Term {
        Term {
            negative: sum < 0,
            magnitude: sum.unsigned_abs(),
            lsb,
            exponent,
        }
    }

    /// As a trace has it, of which so many units of `2^grid` are kept.
    pub(super) fn kept(self, source: Source, kept: i128, grid: i32) -> TermTrace {
        TermTrace {
            source,
            negative: self.negative,
            magnitude: self.magnitude,
            lsb: self.lsb,
            exponent: self.exponent,
            kept,
            kept_lsb: grid,
        }
    }

    pub(super) fn trace(self, source: Source, grid: i32, alignment: Rounding) -> TermTrace {
        self.kept(source, self.align(grid, alignment), grid)
    }

    /// The products that a group lacks.
    pub(super) fn missing(zero_exponent: i32, grid: i32) -> TermTrace {
        let zero = Term {
            negative: false,
            magnitude: 0,
            lsb: 0,
            exponent: zero_exponent,
        };
        zero.kept(Source::Missing, 0, grid)
    }
}
