//! Codes of numbers given as integers, for probes.

use crate::num::{Class, Format};

/// The code of `(-1)^negative * m * 2^e`, where the format has it exactly.
pub fn code(format: Format, negative: bool, m: u64, e: i32) -> Option<u64> {
    if m == 0 {
        return Some(format.zero(negative));
    }
    let trailing = m.trailing_zeros();
    let (m, e) = (m >> trailing, e + trailing as i32);
    let leading = e + m.ilog2() as i32;
    if leading > format.max_exponent() {
        return None;
    }
    let fraction_bits = format.fraction_bits();
    let exponent = leading.max(format.min_exponent());
    let up = u32::try_from(e - (exponent - fraction_bits as i32)).ok()?;
    let significand = m << up;
    let hidden = 1u64 << fraction_bits;
    let field = if significand >= hidden {
        (exponent + format.bias()) as u64
    } else {
        0
    };
    let bits = field << fraction_bits | (significand & (hidden - 1));
    let code = format.sign(negative) | bits << format.ignored_bits();
    // The largest code of some formats is a NaN.
    (format.unpack(code).class == Class::Finite).then_some(code)
}

/// The code of 1.
pub fn one(format: Format) -> u64 {
    code(format, false, 1, 0).expect("every format has a one")
}

/// The exponent of a format's smallest number.
pub fn lowest(format: Format) -> i32 {
    format.min_exponent() - format.fraction_bits() as i32
}

/// The largest significand of a format: ones in all places.
pub fn ones(format: Format) -> u64 {
    (1 << (format.fraction_bits() + 1)) - 1
}

/// Codes x and y with `x = ±mx * 2^i`, `y = my * 2^j`, `i + j = e`: normal numbers of similar size
/// if there are any, so that the product's exponent is that of its value (or one less, where the
/// significands carry).
pub fn factors(
    [a, b]: [Format; 2],
    negative: bool,
    [mx, my]: [u64; 2],
    e: i32,
) -> Option<(u64, u64)> {
    let both = |i: i32| {
        let x = code(a, negative, mx, i)?;
        Some((x, code(b, false, my, e - i)?))
    };
    if mx == 0 || my == 0 {
        return both(0);
    }
    let (lx, ly) = (mx.ilog2() as i32, my.ilog2() as i32);
    // Exponents i for which both are normal.
    let least = (a.min_exponent() - lx).max(e + ly - b.max_exponent());
    let most = (a.max_exponent() - lx).min(e + ly - b.min_exponent());
    let middle = e.div_euclid(2);
    if least <= most {
        let near = middle.clamp(least, most);
        let found = [near, near - 1, near + 1].into_iter().find_map(both);
        if found.is_some() {
            return found;
        }
    }
    (lowest(a)..=a.max_exponent()).find_map(both)
}

/// Scales that are powers of two: exponents, ascending, and codes.
pub fn scale_powers(format: Format) -> Vec<(i32, u64)> {
    let power = |code: u64| {
        let x = format.unpack(code);
        let power = x.class == Class::Finite && x.significand.is_power_of_two();
        let last = x.exponent - format.fraction_bits() as i32;
        power.then(|| (last + x.significand.ilog2() as i32, code))
    };
    let mut all: Vec<_> = (0..=format.max_code()).filter_map(power).collect();
    all.sort_unstable();
    // Codes that differ in an ignored bit are one scale.
    all.dedup_by_key(|(exponent, _)| *exponent);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_known_numbers() {
        assert_eq!(code(Format::Fp16, false, 1, 0), Some(0x3c00));
        assert_eq!(code(Format::Fp16, true, 1, -24), Some(0x8001));
        assert_eq!(code(Format::Fp16, false, 1, -25), None);
        assert_eq!(code(Format::Fp16, false, 2047, 5), Some(0x7bff));
        assert_eq!(code(Format::Fp16, false, 1, 16), None);
        assert_eq!(code(Format::E4m3, false, 15, 5), None);
        assert_eq!(code(Format::E4m3, false, 14, 5), Some(0x7e));
        assert_eq!(code(Format::Tf32, false, 3, -1), Some(0x3fc0_0000));
        assert_eq!(code(Format::E5m2fnuz, true, 0, 0), Some(0));
    }

    #[test]
    fn codes_of_known_scales() {
        let powers = scale_powers(Format::Ue8m0);
        assert_eq!(powers.len(), 255);
        assert_eq!((powers[0], powers[127]), ((-127, 0), (0, 127)));
        let powers = scale_powers(Format::Ue4m3);
        assert_eq!(
            (powers[0], powers[9], powers[17]),
            ((-9, 1), (0, 0x38), (8, 0x78))
        );
        assert_eq!(powers.len(), 18);
    }

    #[test]
    fn factors_multiply_to_what_was_asked_for() {
        for formats in [
            [Format::Fp16; 2],
            [Format::E4m3, Format::E5m2],
            [Format::E2m1; 2],
            [Format::Bf16; 2],
        ] {
            for e in -60..40 {
                let Some((x, y)) = factors(formats, true, [3, 1], e) else {
                    continue;
                };
                let (x, y) = (formats[0].unpack(x), formats[1].unpack(y));
                assert!(x.negative && !y.negative);
                let bits = (formats[0].fraction_bits() + formats[1].fraction_bits()) as i32;
                let product = x.significand * y.significand;
                let up = product.trailing_zeros() as i32;
                assert_eq!(product >> up, 3);
                assert_eq!(x.exponent + y.exponent - bits + up, e);
            }
        }
    }
}
