//! Numbers stored wider than their format: taken if all of them are numbers of it.

use tcverify::num::Format::{self, *};

use super::numbers::{NARROW, all, value};
use super::{codes, read};
use crate::support::{Npy, Says, doubles, floats, halves};

/// Codes whose value is no NaN; NaNs are another matter.
fn numbers(format: Format) -> Vec<u64> {
    all(format)
        .filter(|&c| !value(format, c).is_nan())
        .collect()
}

#[test]
fn every_number_of_every_format_is_taken_from_wider_floats() {
    for (format, ..) in NARROW {
        let expected = numbers(format);
        let values: Vec<f64> = expected.iter().map(|&c| value(format, c)).collect();
        let singles: Vec<f32> = values.iter().map(|&v| v as f32).collect();
        let shape = [values.len()];
        let flipped: Vec<u8> = values.iter().flat_map(|v| v.to_be_bytes()).collect();
        for array in [
            Npy::new("<f8", &shape, doubles(&values)),
            Npy::new(">f8", &shape, flipped),
            Npy::new("<f4", &shape, floats(&singles)),
        ] {
            let tensor = read(&array, format).unwrap_or_else(|e| panic!("{format}: {e}"));
            assert_eq!(codes(&tensor), expected, "{format}");
        }
        if ![Fp16, Bf16].contains(&format) {
            let array = Npy::new("<f2", &shape, halves(&singles));
            assert_eq!(codes(&read(&array, format).unwrap()), expected, "{format}");
        }
    }
}

#[test]
fn nan_keeps_its_sign_and_its_leading_bits() {
    for (format, nan) in [(Fp16, 0x7e00), (Bf16, 0x7fc0), (E4m3, 0x7f), (E5m2, 0x7e)] {
        let negative = nan | 1 << (format.width() - 1);
        let array = Npy::new("<f4", &[2], floats(&[f32::NAN, -f32::NAN]));
        assert_eq!(codes(&read(&array, format).unwrap()), [nan, negative]);
    }
    // A payload that the format has no room for.
    let payload = Npy::new("<f4", &[1], 0x7fc0_0001_u32.to_le_bytes().to_vec());
    let message = read(&payload, Bf16).unwrap_err();
    message.says("NaN (fp32 0x7fc00001)");
    let all_ones = Npy::new("<f4", &[1], 0x7fff_0000_u32.to_le_bytes().to_vec());
    assert_eq!(codes(&read(&all_ones, Bf16).unwrap()), [0x7fff]);
}

/// Numbers just beyond what a format can hold: a bit too fine, too small, too large.
fn beyond(format: Format, fraction_bits: u32) -> Vec<f64> {
    let finite = |&c: &u64| value(format, c).is_finite() && value(format, c) > 0.0;
    let values = || all(format).filter(finite).map(|c| value(format, c));
    let largest = values().fold(0.0, f64::max);
    let smallest = values().fold(f64::INFINITY, f64::min);
    let fine = 1.0 + 2.0_f64.powi(-(fraction_bits as i32) - 1);
    vec![fine, smallest / 2.0, largest * 2.0, smallest * 1.5]
}

#[test]
fn the_first_number_that_does_not_fit_is_named() {
    for (format, _, fraction_bits) in NARROW {
        for bad in beyond(format, fraction_bits) {
            for bad in [bad, -bad] {
                let mut values = [1.0; 6];
                (values[3], values[5]) = (bad, bad);
                let array = Npy::new("<f8", &[2, 3], doubles(&values));
                let message = read(&array, format).unwrap_err();
                message.says_all([
                    "x.npy: element [1, 0] is ",
                    &format!("(fp64 0x{:016x})", bad.to_bits()),
                    &format!("which {format} cannot represent"),
                ]);
            }
        }
    }
}

#[test]
fn infinity_and_nan_need_a_format_that_has_them() {
    let read = |value: f32, format| read(&Npy::new("<f4", &[1], floats(&[value])), format);
    for format in [E4m3, E3m2, E2m3, E2m1] {
        for value in [f32::INFINITY, f32::NEG_INFINITY] {
            let message = read(value, format).unwrap_err();
            message.says("Inf (fp32 0x");
        }
    }
    for format in [E3m2, E2m3, E2m1] {
        let message = read(f32::NAN, format).unwrap_err();
        message.says("is NaN (fp32 0x");
    }
}

#[test]
fn one_format_of_two_bytes_is_not_the_other() {
    let array = Npy::new("<f2", &[2], halves(&[1.0, 1.0 + 1.0 / 1024.0]));
    let message = read(&array, Bf16).unwrap_err();
    message.says("element [1] is 1.0009766 (fp16 0x3c01)");
    let array = Npy::new("<f2", &[2], halves(&[1.0, 1.0078125]));
    assert_eq!(codes(&read(&array, Bf16).unwrap()), [0x3f80, 0x3f81]);
}

#[test]
fn wide_formats_from_each_other() {
    let third = 1.0 / 3.0;
    let array = Npy::new("<f8", &[1], doubles(&[third]));
    let message = read(&array, Fp32).unwrap_err();
    message.says("0.3333333333333333");
    let single = Npy::new("<f4", &[1], floats(&[third as f32]));
    let expected = f64::from(third as f32).to_bits();
    assert_eq!(codes(&read(&single, Fp64).unwrap()), [expected]);
    let back = Npy::new("<f8", &[1], doubles(&[f64::from(third as f32)]));
    assert_eq!(
        codes(&read(&back, Fp32).unwrap()),
        [u64::from((third as f32).to_bits())]
    );
}
