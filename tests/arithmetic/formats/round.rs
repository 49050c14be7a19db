//! One rounding of an exact value.

use num_bigint::BigInt;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rustc_apfloat::ieee::{BFloat, Double, Float8E5M2, Half, Quad, Single};
use rustc_apfloat::{Float, FloatConvert};
use tcverify::num::{Class, Format, Overflow, Rounding, Target, round_code, shift_right};

use super::codes::edges_and_random;
use super::ieee::{code, direction};
use crate::support::exact::{Fraction, nearest_code, quotient};

const ROUNDINGS: [Rounding; 4] = [
    Rounding::TowardZero,
    Rounding::NearestEven,
    Rounding::NearestAway,
    Rounding::Down,
];

const NAN: u64 = 0x7fff;

/// FP32 codes with every pattern near the ties of FP16 and BF16: all values of the leading fraction
/// bits, the rest at, just below and just above the middle and the ends.
fn near_ties() -> impl Iterator<Item = u64> {
    let ends = |cut: u32| {
        let half = 1u64 << (cut - 1);
        [0, 1, half - 1, half, half + 1, 2 * half - 1]
    };
    let leading = |cut: u32| (0..1u64 << (23 - cut)).map(move |kept| kept << cut);
    let fp16 = move || leading(13).flat_map(move |kept| ends(13).map(|low| kept | low));
    let bf16 = move || leading(16).flat_map(move |kept| ends(16).map(|low| kept | low));
    let exponents = (0..0x200u64).map(|sign_and_exponent| sign_and_exponent << 23);
    exponents.flat_map(move |e| fp16().chain(bf16()).map(move |fraction| e | fraction))
}

#[test]
fn fp32_rounds_to_nearest_as_half_does() {
    let even = Rounding::NearestEven;
    for code in near_ties().chain(edges_and_random(Format::Fp32, 500_000)) {
        let number = f32::from_bits(code as u32);
        if number.is_nan() {
            continue;
        }
        let fp16 = half::f16::from_f32(number).to_bits();
        let bf16 = half::bf16::from_f32(number).to_bits();
        for (to, expected) in [(Format::Fp16, fp16), (Format::Bf16, bf16)] {
            let rounded = round_code(Format::Fp32, code, to, even, NAN);
            assert_eq!(rounded, u64::from(expected), "{number:e} to {to}");
        }
    }
}

/// Every direction, from one binary format to a narrower one, as `APFloat` does.
fn verify<From: FloatConvert<To> + FloatConvert<Quad>, To: Float>(
    (from, to): (Format, Format),
    codes: impl Iterator<Item = u64>,
) {
    for bits in codes {
        for rounding in ROUNDINGS {
            let exact = From::from_bits(bits.into());
            let wide = exact.convert(&mut false).value;
            let expected = exact.convert_r(direction(rounding), &mut false).value;
            let expected = code::<To>(to, NAN, expected, wide);
            let rounded = round_code(from, bits, to, rounding, NAN);
            assert_eq!(
                rounded, expected,
                "{from} {bits:x} to {to}, {rounding}: {rounded:x}, not {expected:x}"
            );
        }
    }
}

#[test]
fn narrowing_in_every_direction_agrees_with_apfloat() {
    use Format::{Bf16, E5m2, Fp16, Fp32, Fp64};
    verify::<Single, Half>((Fp32, Fp16), edges_and_random(Fp32, 200_000));
    verify::<Single, BFloat>((Fp32, Bf16), edges_and_random(Fp32, 200_000));
    verify::<Single, Float8E5M2>((Fp32, E5m2), edges_and_random(Fp32, 200_000));
    verify::<Half, Float8E5M2>((Fp16, E5m2), 0..0x1_0000);
    verify::<Double, Single>((Fp64, Fp32), edges_and_random(Fp64, 200_000));
    verify::<Double, Half>((Fp64, Fp16), edges_and_random(Fp64, 200_000));
    verify::<Double, Double>((Fp64, Fp64), edges_and_random(Fp64, 20_000));
}

/// Truncation to 14 bits is truncation to FP32 without the low 10 bits, subnormals included.
#[test]
fn fourteen_bits_are_fp32_with_ten_bits_cleared() {
    let full = Target::full(Format::Fp32, Rounding::TowardZero);
    let short = Target {
        precision: 14,
        ..full
    };
    let finite = |code: &u64| Format::Fp64.unpack(*code).class == Class::Finite;
    for code in edges_and_random(Format::Fp64, 200_000).filter(finite) {
        let number = Format::Fp64.unpack(code);
        let lsb = number.exponent - 52;
        let round =
            |target: Target| target.round(number.negative, number.significand.into(), lsb, false);
        assert_eq!(round(short), round(full) & !0x3ff, "{code:x}");
    }
}

fn any_rounding() -> impl Strategy<Value = Rounding> {
    prop::sample::select(ROUNDINGS.as_slice())
}

/// Magnitudes of every length, with long runs of equal bits.
fn any_magnitude() -> impl Strategy<Value = u128> {
    let run = (any::<u128>(), 0..128u32, 0..128u32);
    run.prop_map(|(bits, long, short)| {
        let kept = bits >> long;
        kept >> short.min(127) << short.min(127) | (kept & 1)
    })
}

/// The same numbers on every run, and nothing written when one fails.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 20_000,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(0),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    /// Any integer at any scale to any format with infinities, at any precision.
    #[test]
    fn rounding_is_a_search_among_the_codes(
        format in prop::sample::select(&[
            Format::Fp16, Format::Bf16, Format::Tf32, Format::E5m2, Format::Fp32, Format::Fp64,
        ][..]),
        short in 0..53u32,
        rounding in any_rounding(),
        negative: bool,
        magnitude in any_magnitude(),
        scale in -1200..1200i32,
        sticky: bool,
    ) {
        let precision = (format.fraction_bits() + 1).saturating_sub(short).max(1);
        let lsb = scale % (2 * format.bias() + 150);
        let target = Target { format, precision, rounding, overflow: Overflow::ToInfinity };
        // What is sticky has to lie below the rounding position.
        let length = 128 - magnitude.leading_zeros();
        let sticky = sticky && length > precision + 1;

        let rounded = target.round(negative, magnitude, lsb, sticky);

        let exact = (BigInt::from(magnitude) << 8) + i32::from(sticky);
        let exact = Fraction::new(exact, lsb - 8);
        let expected = nearest_code(format, precision, rounding, negative, &exact);
        prop_assert_eq!(rounded, expected, "{:x} instead of {:x}", rounded, expected);
    }

    #[test]
    fn shifting_is_division(
        magnitude in any_magnitude(),
        shift in 0..200u32,
        rounding in any_rounding(),
        negative: bool,
    ) {
        let shifted = shift_right(magnitude, shift, rounding, negative);
        let exact = Fraction::new(magnitude.into(), 0);
        let exact = if negative { -exact } else { exact };
        let expected = quotient(&exact, shift as i32, rounding);
        let shifted = BigInt::from(shifted);
        prop_assert_eq!(if negative { -shifted } else { shifted }, expected);
    }
}

/// What is no finite number: NaN becomes the code given, infinity stays.
#[test]
fn specials_pass_through() {
    use Format::{Bf16, Fp16, Fp32};
    for (code, to, expected) in [
        (0x7fff_ffff, Fp16, 0x7fff),
        (0xff80_0001, Bf16, 0x7fff),
        (0x7f80_0000, Fp16, 0x7c00),
        (0xff80_0000, Bf16, 0xff80),
        (0x8000_0000, Fp16, 0x8000),
    ] {
        for rounding in ROUNDINGS {
            assert_eq!(round_code(Fp32, code, to, rounding, NAN), expected);
        }
    }
}
