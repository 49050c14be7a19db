//! Taking a code apart.

use super::{Format, Specials};

/// What kind of number a code encodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Zero included.
    Finite,
    Infinite,
    Nan,
}

/// A code taken apart and **not** normalised.
///
/// A finite number is `(-1)^negative * significand * 2^(exponent - fraction_bits)`, where
/// `fraction_bits` is the format's: the significand of a normal number lies in
/// `[2^fraction_bits, 2^(fraction_bits+1))`, that of a subnormal below, at the format's smallest
/// exponent. For infinities and NaNs significand and exponent are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unpacked {
    pub class: Class,
    pub negative: bool,
    pub significand: u64,
    pub exponent: i32,
}

impl Unpacked {
    pub fn is_zero(&self) -> bool {
        self.class == Class::Finite && self.significand == 0
    }

    pub fn is_nan(&self) -> bool {
        self.class == Class::Nan
    }

    pub fn is_infinite(&self) -> bool {
        self.class == Class::Infinite
    }
}

impl Format {
    /// Takes a code apart. Bits above the format's width are not looked at: whoever reads a file
    /// refuses them first.
    pub fn unpack(self, code: u64) -> Unpacked {
        let code = code >> self.ignored_bits();
        let fraction = code & ((1 << self.fraction_bits()) - 1);
        let field = (code >> self.fraction_bits()) & ((1 << self.exponent_bits()) - 1);
        let negative = (code >> (self.width() - 1)) & 1 == 1;

        let top = (1 << self.exponent_bits()) - 1;
        let all_ones = (1 << self.fraction_bits()) - 1;
        let special = match self.specials() {
            Specials::Ieee if field == top && fraction == 0 => Some(Class::Infinite),
            Specials::Ieee if field == top => Some(Class::Nan),
            Specials::NanOnly if field == top && fraction == all_ones => Some(Class::Nan),
            Specials::Fnuz if negative && field == 0 && fraction == 0 => Some(Class::Nan),
            _ => None,
        };
        if let Some(class) = special {
            return Unpacked {
                class,
                negative,
                significand: 0,
                exponent: 0,
            };
        }
        let (hidden, exponent) = if field == 0 {
            (0, self.min_exponent())
        } else {
            (1 << self.fraction_bits(), field as i32 - self.bias())
        };
        Unpacked {
            class: Class::Finite,
            negative,
            significand: hidden | fraction,
            exponent,
        }
    }

    /// The code of zero with this sign, or of the only zero that the format has.
    pub fn zero(self, negative: bool) -> u64 {
        match self.specials() {
            Specials::Fnuz => 0,
            Specials::Ieee | Specials::NanOnly | Specials::None => self.sign(negative),
        }
    }

    /// The code of infinity with this sign, where the format has one.
    pub fn infinity(self, negative: bool) -> Option<u64> {
        let field = ((1u64 << self.exponent_bits()) - 1) << self.fraction_bits();
        (self.specials() == Specials::Ieee)
            .then(|| self.sign(negative) | field << self.ignored_bits())
    }

    /// The code of the largest finite number with this sign.
    pub fn max_finite(self, negative: bool) -> u64 {
        let all_ones = self.sign_mask() - 1;
        let below = match self.specials() {
            Specials::None | Specials::Fnuz => 0,
            Specials::NanOnly => 1,
            // The whole of the infinity's exponent field plus one code.
            Specials::Ieee => {
                (1u64 << self.fraction_bits() << self.ignored_bits())
                    + ((1 << self.ignored_bits()) - 1)
            }
        };
        let ignored = (1u64 << self.ignored_bits()) - 1;
        self.sign(negative) | ((all_ones - below) & !ignored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn largest_numbers() {
        for (format, code) in [
            (Format::Fp16, 0x7bff),
            (Format::Bf16, 0x7f7f),
            (Format::Tf32, 0x7f7f_e000),
            (Format::Xf32, 0x7f7f_e000),
            (Format::E4m3, 0x7e),
            (Format::E5m2, 0x7b),
            (Format::E4m3fnuz, 0x7f),
            (Format::E5m2fnuz, 0x7f),
            (Format::E3m2, 0x1f),
            (Format::E2m3, 0x1f),
            (Format::E2m1, 0x07),
            (Format::Fp32, 0x7f7f_ffff),
            (Format::Fp64, 0x7fef_ffff_ffff_ffff),
        ] {
            assert_eq!(format.max_finite(false), code, "{format}");
            assert_eq!(format.max_finite(true), code | format.sign_mask());
            let largest = format.unpack(code);
            assert_eq!(largest.exponent, format.max_exponent(), "{format}");
            assert_eq!(largest.class, Class::Finite);
        }
    }

    /// AMD, CDNA 3 ISA (FP8 and BF8): 240 and 57344 are the largest, 2^-10 and 2^-17 the smallest.
    #[test]
    fn fnuz_numbers() {
        for (format, bias, largest, smallest) in [
            (Format::E4m3fnuz, 8, 240.0, 2f64.powi(-10)),
            (Format::E5m2fnuz, 16, 57344.0, 2f64.powi(-17)),
        ] {
            let value = |code| {
                let n = format.unpack(code);
                assert_eq!(n.class, Class::Finite, "{format} {code:#x}");
                let sign = if n.negative { -1.0 } else { 1.0 };
                let lsb = n.exponent - format.fraction_bits() as i32;
                sign * n.significand as f64 * 2f64.powi(lsb)
            };
            assert_eq!(format.bias(), bias);
            assert_eq!(value(0x7f), largest);
            assert_eq!(value(0xff), -largest);
            assert_eq!(value(0x01), smallest);
            assert_eq!(value(0x81), -smallest);
            assert_eq!(
                value(1 << format.fraction_bits() << (format.exponent_bits() - 1)),
                1.0
            );
            assert!(format.unpack(0x80).is_nan());
            assert!(format.unpack(0).is_zero());
            assert_eq!(format.zero(true), 0);
            assert_eq!(format.infinity(true), None);
            let nans = (0..=format.max_code()).filter(|&code| format.unpack(code).is_nan());
            assert_eq!(nans.count(), 1);
        }
    }
}
