//! Codes as floats, without branches, so that it becomes vector code.

use crate::num::{Format, Specials};

/// Writes the numbers that codes of a format of at most 32 bits are; an f32 holds them all. Infinities
/// stay, and a NaN becomes some NaN. Says whether there are any of these.
#[inline(always)]
pub fn floats(format: Format, codes: &[u32], out: &mut [f32]) -> bool {
    let fraction_bits = format.fraction_bits();
    let sign_bit = format.width() - 1;
    let ones = (1u32 << sign_bit) - 1;
    let top = (1u32 << format.exponent_bits()) - 1;
    let first_special = match format.specials() {
        Specials::Ieee => top << fraction_bits,
        Specials::NanOnly => ones,
        Specials::None | Specials::Fnuz => ones + 1,
    };
    let nan_is_negative_zero = format.specials() == Specials::Fnuz;
    // Magnitude bits, moved to where an f32 has them, are the number divided by this.
    let scale = f32::from_bits(((127 + 127 - format.bias()) as u32) << 23);
    let ignored = format.ignored_bits();
    let mut special = false;
    for (out, &code) in out.iter_mut().zip(codes) {
        let code = code >> ignored;
        let magnitude = code & ones;
        let sign = (code >> sign_bit) << 31;
        let bits = magnitude << (23 - fraction_bits);
        let number = (f32::from_bits(bits) * scale).to_bits();
        let lonely = nan_is_negative_zero && magnitude == 0 && sign != 0;
        let is_special = magnitude >= first_special || lonely;
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
                let special = floats(format, &[code as u32], &mut out);
                let number = format.unpack(code);
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
