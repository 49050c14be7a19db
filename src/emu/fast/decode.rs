//! Codes as floats, without branches, so that it becomes vector code.

use crate::num::{Format, Specials};

/// The exponent of zeros: below every other.
pub const ZERO: i32 = i32::MIN / 2;

/// Takes codes of a format of at most 32 bits apart; an f32 holds all of its numbers.
pub struct Decoder {
    fraction_bits: u32,
    sign_bit: u32,
    ignored: u32,
    bias: i32,
    /// Magnitudes from here on are infinities and NaNs.
    first_special: u32,
    /// FNUZ has its NaN where others have -0; others have no such code.
    lonely_nan: u32,
    /// Magnitude bits, moved to where an f32 has them, are the number divided by this.
    scale: f32,
}

impl Decoder {
    pub fn new(format: Format) -> Decoder {
        let fraction_bits = format.fraction_bits();
        let sign_bit = format.width() - 1;
        let ones = (1u32 << sign_bit) - 1;
        let top = (1u32 << format.exponent_bits()) - 1;
        Decoder {
            fraction_bits,
            sign_bit,
            ignored: format.ignored_bits(),
            bias: format.bias(),
            first_special: match format.specials() {
                Specials::Ieee => top << fraction_bits,
                Specials::NanOnly => ones,
                Specials::None | Specials::Fnuz => ones + 1,
            },
            lonely_nan: match format.specials() {
                Specials::Fnuz => 1 << sign_bit,
                _ => u32::MAX,
            },
            scale: f32::from_bits(((127 + 127 - format.bias()) as u32) << 23),
        }
    }

    /// Numbers as they are. Infinities stay, and a NaN becomes some NaN; says whether there are any of these.
    #[inline(always)]
    pub fn floats(&self, codes: &[u32], out: &mut [f32]) -> bool {
        let Decoder {
            fraction_bits,
            sign_bit,
            ignored,
            first_special,
            lonely_nan,
            scale,
            ..
        } = *self;
        let ones = (1u32 << sign_bit) - 1;
        let mut special = false;
        for (out, &code) in out.iter_mut().zip(codes) {
            let code = code >> ignored;
            let magnitude = code & ones;
            let sign = (code >> sign_bit) << 31;
            let bits = magnitude << (23 - fraction_bits);
            let number = (f32::from_bits(bits) * scale).to_bits();
            let lonely = code == lonely_nan;
            let is_special = (magnitude >= first_special) | lonely;
            special |= is_special;
            let nan = if lonely { 1 << 22 } else { 0 };
            let number = if is_special {
                // The fraction decides between infinity and NaN.
                0x7f80_0000 | bits & 0x007f_ffff | nan
            } else {
                number
            };
            *out = f32::from_bits(number | sign);
        }
        special
    }

    /// Numbers and their exponents. Specials come out as zeros; says whether there are any.
    #[inline(always)]
    pub fn numbers(&self, codes: &[u32], values: &mut [f32], exponents: &mut [i32]) -> bool {
        let Decoder {
            fraction_bits,
            sign_bit,
            ignored,
            bias,
            first_special,
            lonely_nan,
            scale,
        } = *self;
        let ones = (1u32 << sign_bit) - 1;
        let mut special = false;
        for ((value, exponent), &code) in values.iter_mut().zip(exponents).zip(codes) {
            let code = code >> ignored;
            let magnitude = code & ones;
            let is_special = (magnitude >= first_special) | (code == lonely_nan);
            special |= is_special;
            let magnitude = if is_special { 0 } else { magnitude };
            let sign = (code >> sign_bit) << 31;
            let number = f32::from_bits(magnitude << (23 - fraction_bits)) * scale;
            *value = f32::from_bits(number.to_bits() | sign);
            let e = (magnitude >> fraction_bits).max(1) as i32 - bias;
            *exponent = if magnitude == 0 { ZERO } else { e };
        }
        special
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::convert_exact;

    #[test]
    fn every_narrow_code_is_the_float_it_means() {
        for format in Format::FLOATS {
            if format.bytes() > 2 {
                continue;
            }
            for code in 0..=format.max_code() {
                let mut out = [0.0];
                let special = Decoder::new(format).floats(&[code as u32], &mut out);
                let number = format.unpack(code);
                let (mut value, mut exponent) = ([0.0], [0]);
                let same = Decoder::new(format).numbers(&[code as u32], &mut value, &mut exponent);
                assert_eq!(same, special);
                if special || number.is_zero() {
                    assert_eq!((value, exponent), ([0.0], [ZERO]), "{format} {code:x}");
                } else {
                    // Subnormal numbers have the smallest exponent.
                    let field = (out[0].to_bits() >> 23 & 255) as i32 - 127;
                    let field = field.max(format.min_exponent());
                    assert_eq!((value, exponent), (out, [field]), "{format} {code:x}");
                }
                assert_eq!(special, number.is_nan() || number.is_infinite());
                if number.is_nan() {
                    assert!(out[0].is_nan(), "{format} {code:x}");
                } else {
                    let expected = convert_exact(format, code, Format::Fp32).expect("it fits");
                    assert_eq!(u64::from(out[0].to_bits()), expected, "{format} {code:x}");
                }
            }
        }
    }
}
