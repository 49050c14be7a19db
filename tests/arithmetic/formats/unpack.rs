//! Taking codes apart.

use tcverify::num::{Class, Format};

use super::codes::{SMALL, all, edges_and_random};
use crate::support::exact::{Fraction, value};
use crate::support::random::Random;

/// Class, sign and number agree with the other implementation, and the significand is that of a
/// number not normalised.
fn verify(format: Format, code: u64) {
    let expected = value(format, code);
    let number = format.unpack(code);
    let about = || format!("{format} {code:x}: {number:?} for {expected}");

    let class = if expected.is_nan() {
        Class::Nan
    } else if expected.is_infinite() {
        Class::Infinite
    } else {
        Class::Finite
    };
    assert_eq!(number.class, class, "{}", about());
    assert_eq!(
        number.negative,
        code & format.sign_mask() != 0,
        "{}",
        about()
    );
    if class != Class::Finite {
        return;
    }

    let fraction_bits = format.fraction_bits();
    let lsb = number.exponent - fraction_bits as i32;
    let magnitude = Fraction::new(number.significand.into(), lsb);
    assert!(magnitude == Fraction::of(expected.abs()), "{}", about());
    let minus = expected.is_sign_negative();
    assert_eq!(number.negative, minus, "{}", about());

    let normal = number.significand >> fraction_bits == 1;
    let subnormal = number.significand >> fraction_bits == 0;
    let least = number.exponent == format.min_exponent();
    assert!(normal || (subnormal && least), "{}", about());
}

#[test]
fn every_code_of_every_small_format() {
    for format in SMALL {
        all(format).for_each(|code| verify(format, code));
    }
}

/// All 2^19 TF32 numbers, each in one register whose low bits are noise.
#[test]
fn every_tf32_number_whatever_its_low_bits() {
    let mut noise = Random::named("tf32");
    for number in 0..1 << 19 {
        verify(Format::Tf32, number << 13);
        verify(Format::Tf32, number << 13 | (noise.bits() & 0x1fff));
    }
}

#[test]
fn edges_of_fp32_and_fp64() {
    for format in [Format::Fp32, Format::Fp64] {
        edges_and_random(format, 200_000).for_each(|code| verify(format, code));
    }
}

/// The largest numbers and the infinities are where the other implementations have them.
#[test]
fn named_codes() {
    for (format, largest) in [
        (Format::Fp16, 65504.0),
        (Format::Bf16, f64::from(half::bf16::MAX.to_f32())),
        (Format::Tf32, 2f64.powi(128) - 2f64.powi(117)),
        (Format::E4m3, 448.0),
        (Format::E5m2, 57344.0),
        (Format::E3m2, 28.0),
        (Format::E2m3, 7.5),
        (Format::E2m1, 6.0),
        (Format::Fp32, f32::MAX.into()),
        (Format::Fp64, f64::MAX),
    ] {
        for (negative, sign) in [(false, 1.0), (true, -1.0)] {
            assert_eq!(value(format, format.max_finite(negative)), sign * largest);
            let zero = value(format, format.zero(negative));
            assert_eq!(zero.to_bits(), (sign * 0.0).to_bits());
            if let Some(infinity) = format.infinity(negative) {
                assert_eq!(value(format, infinity), sign * f64::INFINITY);
            }
        }
    }
}
