//! Distances and differing fields between two codes of one format.

use super::{Class, Format};

/// The position of a code on the number line of its format: consecutive representable numbers
/// differ by one, both zeros sit at 0, infinity follows the largest finite number.
pub fn position(format: Format, code: u64) -> i128 {
    if format.is_integer() {
        return format.integer(code).into();
    }
    let magnitude = i128::from((code & !format.sign_mask()) >> format.ignored_bits());
    if code & format.sign_mask() != 0 {
        -magnitude
    } else {
        magnitude
    }
}

/// How many representable numbers `given` lies above `expected` (negative: below), counted in the
/// format of both; `None` if either is NaN. The two zeros are at distance 0.
pub fn ulp_distance(format: Format, expected: u64, given: u64) -> Option<i128> {
    let nan = |code| format.unpack(code).class == Class::Nan;
    (!nan(expected) && !nan(given)).then(|| position(format, given) - position(format, expected))
}

/// Which fields of two codes differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    pub sign: bool,
    pub exponent: bool,
    pub significand: bool,
}

impl Fields {
    pub fn differing(format: Format, one: u64, other: u64) -> Fields {
        let xor = one ^ other;
        if format.is_integer() {
            return Fields {
                sign: xor & format.sign_mask() != 0,
                exponent: false,
                significand: xor & !format.sign_mask() != 0,
            };
        }
        let low = format.fraction_bits() + format.ignored_bits();
        Fields {
            sign: xor & format.sign_mask() != 0,
            exponent: (xor & !format.sign_mask()) >> low != 0,
            significand: xor & ((1 << low) - 1) != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        let d = |a, b| ulp_distance(Format::Fp32, a, b);
        assert_eq!(d(0x3f80_0000, 0x3f80_0001), Some(1));
        assert_eq!(d(0x3f80_0000, 0x3f7f_ffff), Some(-1));
        assert_eq!(d(0x0000_0000, 0x8000_0000), Some(0));
        assert_eq!(d(0x0000_0001, 0x8000_0001), Some(-2));
        assert_eq!(d(0x7f7f_ffff, 0x7f80_0000), Some(1));
        assert_eq!(d(0x7fff_ffff, 0x7f80_0000), None);
        let d = |a, b| ulp_distance(Format::Int32, a, b);
        assert_eq!(d(0xffff_ffff, 1), Some(2));
        assert_eq!(d(0x7fff_ffff, 0x8000_0000), Some(1 - (1 << 32)));
    }

    #[test]
    fn every_bit_belongs_to_one_field() {
        for format in Format::ALL {
            let low = format.fraction_bits() + format.ignored_bits();
            for bit in 0..format.max_code().trailing_ones() {
                // In a code of ones a wrong shift of the rest shows, too.
                let code = format.max_code();
                let found = Fields::differing(format, code, code ^ 1 << bit);
                let sign = 1 << bit == format.sign_mask();
                let exponent = !sign && !format.is_integer() && bit >= low;
                let [s, e, m] = [found.sign, found.exponent, found.significand];
                assert_eq!(
                    [s, e, m],
                    [sign, exponent, !sign && !exponent],
                    "{format} {bit}"
                );
            }
            let same = Fields::differing(format, 1, 1);
            assert!(
                !(same.sign || same.exponent || same.significand),
                "{format}"
            );
        }
    }
}
