//! The fused multiply-add, against `APFloat`'s and the processor's.

use rustc_apfloat::ieee::{Double, Half, Quad, Single};
use rustc_apfloat::{Float, FloatConvert, Round};
use tcverify::num::{Format, Rounding, Target, fma};

use super::ieee::{code, direction};
use crate::support::exact::value;
use crate::support::random::Random;

const CASES: usize = 200_000;

/// Operands that make trouble: sums that cancel or nearly do, ties, terms far apart, subnormals,
/// the largest numbers, specials.
fn operands(format: Format, random: &mut Random) -> [u64; 3] {
    let bias = format.bias();
    let (low, high) = (-bias - 3, bias);
    let far = 2 * format.fraction_bits() as i32 + 8;

    let ea = random.between(low, high);
    let eb = random.between((low - ea).max(low), (high - ea).min(high));
    let [a, b] = [ea, eb].map(|exponent| number(format, exponent, random));
    let product = ea + eb;
    let exponent = match random.below(8) {
        // As large as the product, near its last bits, anywhere.
        0 | 1 => random.between(product - 2, product + 2),
        2 => random.between(product - far, product + far),
        3 => random.between(low, high),
        4 => return [a, b, special(format, random)],
        5 => return [special(format, random), b, number(format, eb, random)],
        _ => return [a, b, nearly_cancelling(format, [a, b], random)],
    };
    [a, b, number(format, exponent, random)]
}

/// A number of about this exponent; short fractions make exact sums and ties.
fn number(format: Format, exponent: i32, random: &mut Random) -> u64 {
    let bias = format.bias();
    let field = (exponent + bias).clamp(0, 2 * bias) as u64;
    let fraction_bits = format.fraction_bits();
    let fraction = random.bits() & ((1 << fraction_bits) - 1);
    let cleared = if random.once_in(2) {
        random.below(fraction_bits as usize)
    } else {
        0
    };
    let fraction = fraction >> cleared << cleared;
    format.zero(random.once_in(2)) | field << fraction_bits | fraction
}

fn special(format: Format, random: &mut Random) -> u64 {
    let infinity = format.infinity(false).unwrap_or(0);
    let largest = format.max_finite(false);
    let magnitude = random.pick(&[0, 1, infinity, infinity + 1, largest]);
    format.zero(random.once_in(2)) | magnitude
}

/// The rounded product negated, or a code or two beside it.
fn nearly_cancelling(format: Format, [a, b]: [u64; 2], random: &mut Random) -> u64 {
    let product = ours(format, [a, b, 0], Rounding::TowardZero, 0);
    let beside = product.wrapping_add(random.below(5) as u64).wrapping_sub(2);
    (beside ^ format.sign_mask()) & format.max_code()
}

/// Our fused multiply-add within one format.
fn ours(format: Format, [a, b, c]: [u64; 3], rounding: Rounding, nan: u64) -> u64 {
    let target = Target::full(format, rounding);
    let [a, b, c] = [a, b, c].map(|code| format.unpack(code));
    fma(([format; 2], a, b), (format, c), target, nan)
}

/// `APFloat`'s, in this format and truncated to 113 bits.
fn theirs<F: FloatConvert<Quad>>(
    format: Format,
    [a, b, c]: [u64; 3],
    rounding: Rounding,
    nan: u64,
) -> u64 {
    let [a, b, c] = [a, b, c].map(|code| F::from_bits(code.into()));
    let [p, q, r]: [Quad; 3] = [a, b, c].map(|number| number.convert(&mut false).value);
    let result = a.mul_add_r(b, c, direction(rounding)).value;
    let wide = p.mul_add_r(q, r, Round::TowardZero).value;
    code(format, nan, result, wide)
}

fn verify<F: FloatConvert<Quad>>(format: Format) {
    let nan = format.max_code() >> 1;
    let mut random = Random::named(format.name());
    for _ in 0..CASES {
        let operands = operands(format, &mut random);
        for rounding in [Rounding::NearestEven, Rounding::TowardZero] {
            let expected = theirs::<F>(format, operands, rounding, nan);
            let result = ours(format, operands, rounding, nan);
            assert_eq!(
                result, expected,
                "{format} {operands:x?} {rounding}: {result:x}, not {expected:x}"
            );
        }
    }
}

#[test]
fn half_precision_agrees_with_apfloat() {
    verify::<Half>(Format::Fp16);
}

#[test]
fn single_precision_agrees_with_apfloat() {
    verify::<Single>(Format::Fp32);
}

#[test]
fn double_precision_agrees_with_apfloat() {
    verify::<Double>(Format::Fp64);
}

#[test]
fn to_nearest_it_is_the_processors() {
    let (nan32, nan64) = (0x7fff_ffff, 0x7fff_ffff_ffff_ffff);
    let mut random = Random::named("native");
    for _ in 0..5 * CASES {
        let codes = operands(Format::Fp64, &mut random);
        let [a, b, c] = codes.map(f64::from_bits);
        let native = a.mul_add(b, c);
        let native = if native.is_nan() {
            nan64
        } else {
            native.to_bits()
        };
        let result = ours(Format::Fp64, codes, Rounding::NearestEven, nan64);
        assert_eq!(result, native, "{a:e} * {b:e} + {c:e}");

        let codes = operands(Format::Fp32, &mut random);
        let [a, b, c] = codes.map(|code| f32::from_bits(code as u32));
        let native = a.mul_add(b, c);
        let native = if native.is_nan() {
            nan32
        } else {
            u64::from(native.to_bits())
        };
        let result = ours(Format::Fp32, codes, Rounding::NearestEven, nan32);
        assert_eq!(result, native, "{a:e} * {b:e} + {c:e}");
    }
}

/// Factors of a narrow format and an FP32 addend: the same as all three in FP32.
#[test]
fn narrow_factors_multiply_into_fp32() {
    let nan = 0x7fff_ffff;
    let mut random = Random::named("narrow");
    for format in Format::FLOATS
        .into_iter()
        .filter(|&format| format != Format::Fp64)
    {
        for _ in 0..CASES / 4 {
            let [a, b] = [(); 2].map(|()| random.bits() & format.max_code());
            let [x, y] = [a, b].map(|code| value(format, code) as f32);
            let near = (x * y).to_bits().wrapping_add(random.below(3) as u32);
            let any = random.bits() as u32;
            let c = random.pick(&[near ^ 0x8000_0000, near, any]);
            for rounding in [Rounding::NearestEven, Rounding::TowardZero] {
                let wide = [x.to_bits(), y.to_bits(), c].map(u64::from);
                let expected = theirs::<Single>(Format::Fp32, wide, rounding, nan);
                let factors = ([format; 2], format.unpack(a), format.unpack(b));
                let addend = (Format::Fp32, Format::Fp32.unpack(c.into()));
                let target = Target::full(Format::Fp32, rounding);
                let result = fma(factors, addend, target, nan);
                assert_eq!(
                    result, expected,
                    "{format} {a:x} * {b:x} + {c:x} {rounding}"
                );
            }
        }
    }
}
