//! A number of one format as a code of another.

use super::{Class, Format, Overflow, Rounding, Specials, Target, Unpacked};

/// A value has no code in the target format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inexact;

/// The code of `to` that means exactly what `code` means in `from`, or [`Inexact`].
///
/// A NaN keeps its sign and its leading fraction bits; where the target's fraction is narrower the
/// bits lost must be zero, except for a format that has a single NaN (E4M3, FNUZ), which stands for
/// all. A format without -0 has no code for it.
pub fn convert_exact(from: Format, code: u64, to: Format) -> Result<u64, Inexact> {
    if from == to {
        return Ok(code);
    }
    match cut(from, code, to) {
        Some(cut) => Ok(cut),
        None => in_full(from, code, to),
    }
}

fn in_full(from: Format, code: u64, to: Format) -> Result<u64, Inexact> {
    let number = from.unpack(code);
    if to.is_integer() {
        return to_integer(from, number, to);
    }
    match number.class {
        Class::Infinite => to.infinity(number.negative).ok_or(Inexact),
        Class::Nan => convert_nan(from, code, to, number.negative),
        Class::Finite => {
            // Truncate, and see whether the result still means the same.
            if number.significand == 0 {
                let lost = to == Format::Ue8m0
                    || number.negative && (to.specials() == Specials::Fnuz || to.sign_mask() == 0);
                return if lost {
                    Err(Inexact)
                } else {
                    Ok(to.zero(number.negative))
                };
            }
            let leading = number.lsb(from) + 63 - number.significand.leading_zeros() as i32;
            if leading > to.max_exponent() {
                return Err(Inexact);
            }
            let result = Target::full(to, Rounding::TowardZero).round_number(from, number);
            same_value(from, code, to, result)
                .then_some(result)
                .ok_or(Inexact)
        }
    }
}

/// The code of most numbers that were widened to FP32: the same sign, another bias, fewer bits. None where that has
/// to be found [`in_full`].
fn cut(from: Format, code: u64, to: Format) -> Option<u64> {
    if from != Format::Fp32 || !matches!(to, Format::Fp16 | Format::Bf16 | Format::Tf32) {
        return None;
    }
    let lost = from.fraction_bits() - to.fraction_bits();
    let exponent = (code >> 23 & 0xff) as i32 - from.bias();
    let normal = to.min_exponent() <= exponent && exponent <= to.max_exponent();
    if !normal || code & ((1 << lost) - 1) != 0 {
        return None;
    }
    let fraction = (code & 0x7f_ffff) >> lost;
    let field = (exponent + to.bias()) as u64;
    let magnitude = (field << to.fraction_bits() | fraction) << to.ignored_bits();
    Some(to.sign(code >> 31 & 1 != 0) | magnitude)
}

/// An integer in range has a code; -0 has none.
fn to_integer(from: Format, number: Unpacked, to: Format) -> Result<u64, Inexact> {
    let zero = number.significand == 0;
    let shift = number.significand.trailing_zeros() as i32;
    // As odd * 2^exponent.
    let exponent = if zero { 0 } else { number.lsb(from) + shift };
    let odd = if zero { 0 } else { number.significand >> shift };
    let fits = number.class == Class::Finite
        && (0..32).contains(&exponent)
        && odd < 1 << 32
        && !(zero && number.negative);
    if !fits {
        return Err(Inexact);
    }
    let magnitude = (odd << exponent) as i64;
    let value = if number.negative {
        -magnitude
    } else {
        magnitude
    };
    to.integer_code(value).ok_or(Inexact)
}

fn convert_nan(from: Format, code: u64, to: Format, negative: bool) -> Result<u64, Inexact> {
    let fraction = (code >> from.ignored_bits()) & ((1 << from.fraction_bits()) - 1);
    let top = (1u64 << to.exponent_bits()) - 1;
    let (have, want) = (from.fraction_bits(), to.fraction_bits());
    let fraction = match to.specials() {
        Specials::None => return Err(Inexact),
        Specials::Fnuz => return Ok(to.sign_mask()),
        Specials::NanOnly => (1 << want) - 1,
        // A single NaN widens to the quiet one.
        Specials::Ieee if matches!(from.specials(), Specials::NanOnly | Specials::Fnuz) => {
            1 << (want - 1)
        }
        Specials::Ieee if want >= have => fraction << (want - have),
        Specials::Ieee if fraction & ((1 << (have - want)) - 1) == 0 => fraction >> (have - want),
        Specials::Ieee => return Err(Inexact),
    };
    Ok(to.sign(negative) | (top << want | fraction) << to.ignored_bits())
}

fn same_value(from: Format, code: u64, to: Format, other: u64) -> bool {
    let parts = |format: Format, code| {
        let n = format.unpack(code);
        let zeros = n.significand.trailing_zeros();
        (n.class == Class::Finite && n.significand != 0).then(|| {
            let lsb = n.lsb(format) + zeros as i32;
            (n.negative, n.significand >> zeros, lsb)
        })
    };
    parts(from, code).is_some() && parts(from, code) == parts(to, other)
}

/// `code` rounded once to the format `to`; a NaN becomes `nan`.
pub fn round_code(from: Format, code: u64, to: Format, rounding: Rounding, nan: u64) -> u64 {
    rounded(from, code, Target::full(to, rounding), nan)
}

fn rounded(from: Format, code: u64, target: Target, nan: u64) -> u64 {
    let number = from.unpack(code);
    match number.class {
        Class::Nan => nan,
        Class::Infinite => target.beyond(number.negative),
        Class::Finite => target.round_number(from, number),
    }
}

/// An FP32 register as the TF32 one that it is rounded to. Infinities and NaNs stay as they are.
pub fn tf32_code(register: u64, rounding: Rounding) -> u64 {
    let number = Format::Fp32.unpack(register);
    if number.is_nan() || number.is_infinite() {
        return register;
    }
    Target::full(Format::Tf32, rounding).round_number(Format::Fp32, number)
}

/// `code` as a result of a kernel: rounded once. To FP8, what the format cannot hold becomes its largest number,
/// infinities too (PTX ISA, `cvt` with `.satfinite`, which FP8 must have); to others, infinity.
pub fn result_code(from: Format, code: u64, to: Format, rounding: Rounding) -> u64 {
    let target = Target {
        overflow: match to {
            Format::E4m3 | Format::E5m2 => Overflow::Saturate,
            _ => Overflow::ToInfinity,
        },
        ..Target::full(to, rounding)
    };
    rounded(from, code, target, conversion_nan(to))
}

/// What conversions make of every NaN: all bits ones but the sign, which is the largest number where there is no
/// NaN (PTX ISA, `cvt`); of FNUZ formats the only one.
fn conversion_nan(to: Format) -> u64 {
    match to.specials() {
        Specials::Fnuz => to.sign_mask(),
        _ => to.sign_mask() - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_values() {
        let f32 = |x: f32| u64::from(x.to_bits());
        for (format, value, code) in [
            (Format::Int8, -128.0, Some(0x80)),
            (Format::Int8, 128.0, None),
            (Format::Int8, 0.5, None),
            (Format::Int8, 0.0, Some(0)),
            (Format::Int8, -0.0, None),
            (Format::Int8, f32::NAN, None),
            (Format::Uint8, 255.0, Some(255)),
            (Format::Uint8, -1.0, None),
            (Format::Int4, -8.0, Some(8)),
            (Format::Int4, 8.0, None),
            (Format::Uint4, 15.0, Some(15)),
            (Format::Int32, -2147483648.0, Some(0x8000_0000)),
            (Format::Int32, 2147483648.0, None),
            (Format::Int32, 1e30, None),
            (Format::Int32, 1e-30, None),
            (Format::Ue8m0, 1.0, Some(127)),
            (Format::Ue8m0, 2f32.powi(-127), Some(0)),
            (Format::Ue8m0, 2f32.powi(-128), None),
            (Format::Ue8m0, 2f32.powi(127), Some(254)),
            (Format::Ue8m0, 3.0, None),
            (Format::Ue8m0, 0.0, None),
            (Format::Ue8m0, -1.0, None),
            (Format::Ue8m0, f32::NAN, Some(255)),
            (Format::Ue8m0, f32::INFINITY, None),
            (Format::Ue4m3, 1.5, Some(0x3c)),
            (Format::Ue4m3, -1.5, None),
            (Format::Ue4m3, 480.0, None),
            (Format::E4m3fnuz, 1.0, Some(0x40)),
            (Format::E4m3fnuz, -240.0, Some(0xff)),
            (Format::E4m3fnuz, 256.0, None),
            (Format::E4m3fnuz, 0.0, Some(0)),
            (Format::E4m3fnuz, -0.0, None),
            (Format::E4m3fnuz, f32::NAN, Some(0x80)),
            (Format::E4m3fnuz, f32::INFINITY, None),
            (Format::E5m2fnuz, 1.0, Some(0x40)),
            (Format::E5m2fnuz, 57344.0, Some(0x7f)),
            (Format::E5m2fnuz, -(2f32.powi(-17)), Some(0x81)),
            (Format::E5m2fnuz, 2f32.powi(-18), None),
            (Format::E5m2fnuz, -f32::NAN, Some(0x80)),
        ] {
            let given = convert_exact(Format::Fp32, f32(value), format);
            assert_eq!(given.ok(), code, "{value} as {format}");
        }
    }

    #[test]
    fn fnuz_codes_widen_and_come_back() {
        for format in [Format::E4m3fnuz, Format::E5m2fnuz] {
            for code in 0..=format.max_code() {
                let wide = convert_exact(format, code, Format::Fp32).unwrap();
                assert_eq!(convert_exact(Format::Fp32, wide, format), Ok(code));
            }
        }
    }

    #[test]
    fn what_is_cut_is_found_in_full_as_well() {
        for to in [Format::Fp16, Format::Bf16, Format::Tf32] {
            let mut cuts = 0;
            for high in 0..1u64 << 16 {
                for low in [0, 0x1000, 0x2000, 0xe000, 0xffff] {
                    let code = high << 16 | low;
                    if let Some(found) = cut(Format::Fp32, code, to) {
                        assert_eq!(Ok(found), in_full(Format::Fp32, code, to), "{code:x}");
                        cuts += 1;
                    }
                }
            }
            let normal = (to.max_exponent() - to.min_exponent() + 1) << 8;
            assert!(cuts >= normal, "{to}: {cuts}");
        }
    }

    #[test]
    fn nans_keep_what_they_carry() {
        for narrow in [Format::Tf32, Format::Xf32, Format::Bf16] {
            // All are the high bits of an FP32.
            let below = 32 - narrow.width() - narrow.ignored_bits();
            let low = 23 - narrow.fraction_bits();
            for payload in 1u64..1 << narrow.fraction_bits() {
                for sign in [0, 1 << 31] {
                    let wide = sign | 0x7f80_0000 | payload << low;
                    let code = wide >> below;
                    assert_eq!(
                        convert_exact(narrow, code, Format::Fp32),
                        Ok(wide),
                        "{narrow}"
                    );
                    assert_eq!(
                        convert_exact(Format::Fp32, wide, narrow),
                        Ok(code),
                        "{narrow}"
                    );
                }
            }
            // One NaN for all, and it widens to the quiet one.
            for (single, code, sign) in [
                (Format::E4m3, 0x7f, 0),
                (Format::E4m3, 0xff, 1 << 31),
                (Format::E4m3fnuz, 0x80, 0),
            ] {
                let quiet = convert_exact(Format::Fp32, sign | 0x7fc0_0000, narrow).unwrap();
                assert_eq!(convert_exact(narrow, quiet, single), Ok(code), "{narrow}");
            }
            // A payload that does not fit.
            assert!(
                convert_exact(Format::Fp32, 0x7fc0_0001, narrow).is_err(),
                "{narrow}"
            );
        }
    }
}
