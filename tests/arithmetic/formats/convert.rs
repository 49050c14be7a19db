//! Exact conversion: a code that means the same, or none.

use std::collections::HashMap;

use tcverify::num::{Class, Format, Inexact, convert_exact};

use super::codes::{SMALL, all, edges_and_random};
use crate::support::exact::value;

fn is_nan(format: Format, code: u64) -> bool {
    format.unpack(code).class == Class::Nan
}

/// The code of a float in a wide format, by a native conversion.
fn native(format: Format, number: f64) -> u64 {
    match format {
        Format::Fp64 => number.to_bits(),
        _ => (number as f32).to_bits().into(),
    }
}

#[test]
fn every_small_code_widens_and_comes_back() {
    for from in SMALL {
        for to in [Format::Fp32, Format::Fp64] {
            for code in all(from) {
                let wide = convert_exact(from, code, to);
                let about = format!("{from} {code:x} to {to}: {wide:x?}");
                let wide = wide.expect(&about);
                if is_nan(from, code) {
                    assert!(is_nan(to, wide), "{about}");
                    let signs = (code & from.sign_mask() != 0, wide & to.sign_mask() != 0);
                    assert_eq!(signs.0, signs.1, "{about}");
                } else {
                    assert_eq!(wide, native(to, value(from, code)), "{about}");
                }
                assert_eq!(convert_exact(to, wide, from), Ok(code), "{about}");
            }
        }
    }
}

/// Between any two small formats: the code that the other format has for the number, if any.
#[test]
fn small_formats_convert_where_they_share_numbers() {
    for to in SMALL {
        let numbers = all(to).filter(|&code| !is_nan(to, code));
        let codes: HashMap<u64, u64> = numbers
            .map(|code| (value(to, code).to_bits(), code))
            .collect();
        for from in SMALL.into_iter().filter(|&from| from != to) {
            for code in all(from).filter(|&code| !is_nan(from, code)) {
                let same = codes.get(&value(from, code).to_bits()).copied();
                let converted = convert_exact(from, code, to);
                assert_eq!(converted, same.ok_or(Inexact), "{from} {code:x} to {to}");
            }
        }
    }
}

/// The neighbours of a small number, in a wide format, are no small numbers.
#[test]
fn neighbours_are_inexact() {
    for to in SMALL {
        let finite = |code: &u64| to.unpack(*code).class == Class::Finite;
        for number in all(to).filter(finite).map(|code| value(to, code)) {
            let narrow = number as f32;
            for near in [narrow.next_up(), narrow.next_down()] {
                let converted = convert_exact(Format::Fp32, near.to_bits().into(), to);
                assert_eq!(converted, Err(Inexact), "{near:e} to {to}");
            }
            for near in [number.next_up(), number.next_down()] {
                let converted = convert_exact(Format::Fp64, near.to_bits(), to);
                assert_eq!(converted, Err(Inexact), "{near:e} to {to}");
            }
        }
    }
}

/// Any FP32 number has an FP16 or BF16 code if and only if rounding to it changes nothing.
#[test]
fn fp32_narrows_where_rounding_changes_nothing() {
    for code in edges_and_random(Format::Fp32, 1_000_000) {
        let number = f32::from_bits(code as u32);
        if number.is_nan() {
            continue;
        }
        let fp16 = half::f16::from_f32(number);
        let bf16 = half::bf16::from_f32(number);
        for (to, rounded, back) in [
            (Format::Fp16, fp16.to_bits(), fp16.to_f32()),
            (Format::Bf16, bf16.to_bits(), bf16.to_f32()),
        ] {
            let same = back.to_bits() == number.to_bits();
            let expected = same.then_some(rounded.into()).ok_or(Inexact);
            assert_eq!(
                convert_exact(Format::Fp32, code, to),
                expected,
                "{number:e} to {to}"
            );
        }
    }
}

#[test]
fn fp64_narrows_to_fp32_where_rounding_changes_nothing() {
    let narrow_edges = edges_and_random(Format::Fp32, 100_000)
        .map(|code| f32::from_bits(code as u32))
        .filter(|number| !number.is_nan())
        .map(|number| f64::from(number).to_bits());
    for code in edges_and_random(Format::Fp64, 100_000).chain(narrow_edges) {
        let number = f64::from_bits(code);
        if number.is_nan() {
            continue;
        }
        let narrow = number as f32;
        let same = f64::from(narrow).to_bits() == code;
        let expected = same.then_some(narrow.to_bits().into()).ok_or(Inexact);
        let converted = convert_exact(Format::Fp64, code, Format::Fp32);
        assert_eq!(converted, expected, "{number:e}");
    }
}

/// A TF32 code is an FP32 register: what the unit ignores does not count, and nothing else is lost.
#[test]
fn tf32_is_fp32_without_its_low_bits() {
    for code in edges_and_random(Format::Fp32, 500_000) {
        let kept = code & !0x1fff;
        let widened = convert_exact(Format::Tf32, code, Format::Fp32);
        assert_eq!(widened, Ok(kept), "{code:x} as TF32");
        let expected = (kept == code).then_some(code).ok_or(Inexact);
        let narrowed = convert_exact(Format::Fp32, code, Format::Tf32);
        assert_eq!(narrowed, expected, "{code:x} to TF32");
    }
}

#[test]
fn beyond_the_largest_number_there_is_none() {
    let fp32 = |number: f32| u64::from(number.to_bits());
    for (format, beyond) in [
        (Format::Fp16, vec![65505.0, 65520.0, 65536.0, 1e30]),
        (
            Format::E4m3,
            vec![449.0, 464.0, 480.0, 512.0, f32::INFINITY],
        ),
        (Format::E5m2, vec![57345.0, 61440.0, 65536.0]),
        (Format::E3m2, vec![30.0, 32.0, f32::INFINITY]),
        (Format::E2m3, vec![8.0, f32::INFINITY]),
        (Format::E2m1, vec![5.0, 8.0, f32::INFINITY]),
    ] {
        for number in beyond.into_iter().flat_map(|number| [number, -number]) {
            let converted = convert_exact(Format::Fp32, fp32(number), format);
            assert_eq!(converted, Err(Inexact), "{number} to {format}");
        }
    }
}

/// A NaN keeps its sign and fraction, or is refused; a format with one NaN has that for all.
#[test]
fn nans() {
    use Format::*;
    for (from, code, to, expected) in [
        (Fp32, 0x7fc0_0000, Fp16, Ok(0x7e00)),
        (Fp32, 0xffc0_0000, Fp16, Ok(0xfe00)),
        (Fp32, 0x7fff_ffff, Fp16, Err(Inexact)),
        (Fp32, 0x7f80_0001, Fp16, Err(Inexact)),
        (Fp32, 0x7f80_2000, Fp16, Ok(0x7c01)),
        (Fp16, 0x7c01, Fp32, Ok(0x7f80_2000)),
        (Fp32, 0x7fff_ffff, E4m3, Ok(0x7f)),
        (Fp32, 0xff80_0001, E4m3, Ok(0xff)),
        (E4m3, 0x7f, Fp16, Ok(0x7e00)),
        (E4m3, 0xff, E5m2, Ok(0xfe)),
        (E5m2, 0x7d, Fp16, Ok(0x7d00)),
        (Fp16, 0x7e00, E5m2, Ok(0x7e)),
        (Fp16, 0x7c80, E5m2, Err(Inexact)),
        (Fp64, 0x7ff8_0000_0000_0000, Bf16, Ok(0x7fc0)),
        (Fp64, 0x7ff0_0000_0000_0001, Fp32, Err(Inexact)),
        (Fp32, 0x7fc0_0000, E3m2, Err(Inexact)),
        (E4m3, 0x7f, E2m1, Err(Inexact)),
    ] {
        assert_eq!(
            convert_exact(from, code, to),
            expected,
            "{from} {code:x} to {to}"
        );
    }
}

#[test]
fn a_format_converts_to_itself_unchanged() {
    for format in Format::ALL {
        for code in [0, 1, format.sign_mask(), format.max_code()] {
            assert_eq!(convert_exact(format, code, format), Ok(code));
        }
    }
}
