//! Taking a code apart.

use super::{Format, Kind, Specials};

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
/// exponent. For infinities significand and exponent are 0; for NaNs the significand is the fraction, their payload.
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

    /// The weight of the significand's last bit, as a power of two.
    pub fn lsb(&self, format: Format) -> i32 {
        self.exponent - format.fraction_bits() as i32
    }

    /// What kind of number a product is: infinity times zero is a NaN.
    pub fn product_class(&self, other: &Unpacked) -> Class {
        let infinite = self.is_infinite() || other.is_infinite();
        if self.is_nan() || other.is_nan() || infinite && (self.is_zero() || other.is_zero()) {
            Class::Nan
        } else if infinite {
            Class::Infinite
        } else {
            Class::Finite
        }
    }

    /// One, as the format has it.
    pub fn one(format: Format) -> Unpacked {
        finite(false, 1 << format.fraction_bits(), 0)
    }

    /// Whether it is subnormal in the format, or zero.
    pub fn is_below_normal(&self, format: Format) -> bool {
        self.class == Class::Finite && self.significand >> format.fraction_bits() == 0
    }

    /// A zero of its sign if it is subnormal in the format.
    pub fn flushed(self, format: Format) -> Unpacked {
        if self.is_below_normal(format) {
            Unpacked {
                significand: 0,
                ..self
            }
        } else {
            self
        }
    }
}

/// The infinities and NaNs among the terms of a sum.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpecialTerms {
    nan: bool,
    positive: bool,
    negative: bool,
}

impl SpecialTerms {
    pub fn add(&mut self, class: Class, negative: bool) {
        match class {
            Class::Finite => {}
            Class::Infinite if negative => self.negative = true,
            Class::Infinite => self.positive = true,
            Class::Nan => self.nan = true,
        }
    }

    pub fn add_product(&mut self, a: &Unpacked, b: &Unpacked) {
        self.add(a.product_class(b), a.negative != b.negative);
    }

    /// What kind of number the sum is, as far as these decide it, and whether an infinite one is negative.
    pub fn sum(self) -> (Class, bool) {
        let class = match (self.nan, self.positive, self.negative) {
            (true, _, _) | (_, true, true) => Class::Nan,
            (_, false, false) => Class::Finite,
            _ => Class::Infinite,
        };
        (class, self.negative)
    }
}

impl Format {
    /// Takes a code apart. Bits above the format's width are ignored: readers of files refuse them first.
    pub fn unpack(self, code: u64) -> Unpacked {
        match self.kind() {
            Kind::Float => self.unpack_float(code),
            Kind::Signed | Kind::Unsigned => {
                let value = self.integer(code);
                finite(value < 0, value.unsigned_abs(), 0)
            }
            Kind::Scale => self.unpack_scale(code),
        }
    }

    /// The integer that a code of an integer format is.
    pub fn integer(self, code: u64) -> i64 {
        debug_assert!(self.is_integer());
        let unused = 64 - self.width();
        match self.kind() {
            Kind::Signed => (code << unused) as i64 >> unused,
            _ => (code << unused >> unused) as i64,
        }
    }

    /// The code of an integer, if the format has it.
    pub fn integer_code(self, value: i64) -> Option<u64> {
        let code = value as u64 & self.max_code();
        (self.integer(code) == value).then_some(code)
    }

    fn unpack_scale(self, code: u64) -> Unpacked {
        match self {
            Format::Ue8m0 if code == 0xff => Unpacked {
                class: Class::Nan,
                ..finite(false, 0, 0)
            },
            Format::Ue8m0 => finite(false, 1, code as i32 - self.bias()),
            // UE4M3
            _ => Unpacked {
                negative: false,
                ..Format::E4m3.unpack_float(code)
            },
        }
    }

    fn unpack_float(self, code: u64) -> Unpacked {
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
                significand: fraction,
                exponent: 0,
            };
        }
        let (hidden, exponent) = if field == 0 {
            (0, self.min_exponent())
        } else {
            (1 << self.fraction_bits(), field as i32 - self.bias())
        };
        finite(negative, hidden | fraction, exponent)
    }

    /// The code of zero with this sign, or of the only zero that the format has.
    pub fn zero(self, negative: bool) -> u64 {
        match self.specials() {
            _ if self.is_integer() => 0,
            Specials::Fnuz => 0,
            Specials::Ieee | Specials::NanOnly | Specials::None => self.sign(negative),
        }
    }

    /// The code of infinity with this sign, where the format has one.
    pub fn infinity(self, negative: bool) -> Option<u64> {
        (self.specials() == Specials::Ieee).then(|| self.beyond(negative))
    }

    /// What a number beyond the largest one becomes where conversions do not saturate (OCP OFP8 1.0, 5.2;
    /// OCP MX 1.0, 5.3): the infinity of its sign, else the NaN, else the largest number.
    pub fn beyond(self, negative: bool) -> u64 {
        match self.specials() {
            Specials::Ieee => {
                let field = ((1u64 << self.exponent_bits()) - 1) << self.fraction_bits();
                self.sign(negative) | field << self.ignored_bits()
            }
            Specials::NanOnly => self.max_finite(negative) + 1,
            Specials::Fnuz => self.sign_mask(),
            Specials::None => self.max_finite(negative),
        }
    }

    /// The code of the largest finite number with this sign, or of the integer farthest in its
    /// direction.
    pub fn max_finite(self, negative: bool) -> u64 {
        match self.kind() {
            Kind::Signed if negative => return self.sign_mask(),
            Kind::Unsigned => return if negative { 0 } else { self.max_code() },
            Kind::Scale => return (1 << (self.exponent_bits() + self.fraction_bits())) - 2,
            Kind::Signed | Kind::Float => {}
        }
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

fn finite(negative: bool, significand: u64, exponent: i32) -> Unpacked {
    Unpacked {
        class: Class::Finite,
        negative,
        significand,
        exponent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_twos_complement() {
        for (format, code, value) in [
            (Format::Int8, 0x80, -128),
            (Format::Int8, 0x7f, 127),
            (Format::Int8, 0xff, -1),
            (Format::Uint8, 0xff, 255),
            (Format::Int4, 0x8, -8),
            (Format::Int4, 0xf, -1),
            (Format::Uint4, 0xf, 15),
            (Format::Int32, 0x8000_0000, i64::from(i32::MIN)),
            (Format::Int32, 0xffff_ffff, -1),
        ] {
            assert_eq!(format.integer(code), value, "{format} {code:x}");
            let n = format.unpack(code);
            assert_eq!(
                (n.negative, n.significand),
                (value < 0, value.unsigned_abs())
            );
            assert_eq!((n.exponent, format.fraction_bits()), (0, 0));
        }
    }

    /// The number that a code is; none of infinities and NaNs.
    fn value(format: Format, code: u64) -> Option<f64> {
        let n = format.unpack(code);
        let magnitude = n.significand as f64 * 2f64.powi(n.lsb(format));
        let value = if n.negative { -magnitude } else { magnitude };
        (n.class == Class::Finite).then_some(value)
    }

    /// OCP Microscaling Formats 1.0 (E8M0); PTX ISA (UE4M3: the sign is not looked at).
    #[test]
    fn scales() {
        for (format, code, expected) in [
            (Format::Ue8m0, 0x00, Some(2f64.powi(-127))),
            (Format::Ue8m0, 0x7f, Some(1.0)),
            (Format::Ue8m0, 0xfe, Some(2f64.powi(127))),
            (Format::Ue8m0, 0xff, None),
            (Format::Ue4m3, 0x38, Some(1.0)),
            (Format::Ue4m3, 0xb8, Some(1.0)),
            (Format::Ue4m3, 0x01, Some(2f64.powi(-9))),
            (Format::Ue4m3, 0x80, Some(0.0)),
            (Format::Ue4m3, 0x7e, Some(448.0)),
            (Format::Ue4m3, 0x7f, None),
            (Format::Ue4m3, 0xff, None),
        ] {
            assert_eq!(value(format, code), expected, "{format} {code:x}");
            assert!(!format.unpack(code).negative);
        }
    }

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

    #[test]
    fn beyond_the_largest() {
        for (format, codes) in [
            (Format::Fp16, [0x7c00, 0xfc00]),
            (Format::Tf32, [0x7f80_0000, 0xff80_0000]),
            (Format::E5m2, [0x7c, 0xfc]),
            (Format::E4m3, [0x7f, 0xff]),
            (Format::E4m3fnuz, [0x80; 2]),
            (Format::E5m2fnuz, [0x80; 2]),
            (Format::E3m2, [0x1f, 0x3f]),
            (Format::E2m1, [0x07, 0x0f]),
            (Format::Ue8m0, [0xff; 2]),
            (Format::Ue4m3, [0x7f; 2]),
            (Format::Int8, [0x7f, 0x80]),
        ] {
            let beyond = [false, true].map(|negative| format.beyond(negative));
            assert_eq!(beyond, codes, "{format}");
        }
    }

    /// Every code is looked at.
    #[test]
    fn no_code_is_farther_from_zero_than_the_largest() {
        for format in Format::ALL
            .into_iter()
            .filter(|format| format.max_code() <= 0xffff)
        {
            let value = |code| value(format, code);
            let all: Vec<f64> = (0..=format.max_code()).filter_map(value).collect();
            let most = all.iter().copied().fold(f64::MIN, f64::max);
            let least = all.iter().copied().fold(f64::MAX, f64::min);
            assert_eq!(value(format.max_finite(false)), Some(most), "{format}");
            // A scale has no sign; its codes are its bits alone.
            if format.kind() != Kind::Scale {
                assert_eq!(value(format.max_finite(true)), Some(least), "{format}");
            }
            let positive = all
                .iter()
                .copied()
                .filter(|&x| x > 0.0)
                .fold(f64::MAX, f64::min);
            // The least integer is farther than the largest.
            let [top, bottom] = [most.max(-least), positive].map(|x| x.log2().floor() as i32);
            assert_eq!(format.max_exponent(), top, "{format}");
            let subnormals = match format.kind() {
                Kind::Float => format.fraction_bits() as i32,
                _ if format == Format::Ue4m3 => format.fraction_bits() as i32,
                _ => 0,
            };
            assert_eq!(format.min_exponent(), bottom + subnormals, "{format}");
        }
    }

    /// AMD, CDNA 3 ISA (FP8 and BF8): 240 and 57344 are the largest, 2^-10 and 2^-17 the smallest.
    #[test]
    fn fnuz_numbers() {
        for (format, bias, largest, smallest) in [
            (Format::E4m3fnuz, 8, 240.0, 2f64.powi(-10)),
            (Format::E5m2fnuz, 16, 57344.0, 2f64.powi(-17)),
        ] {
            let value = |code| value(format, code).expect("a finite number");
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
