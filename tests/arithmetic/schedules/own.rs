//! The arithmetic of CUDA cores as the tests see it: the processor's own f32, and conversions that share
//! nothing with the program.

use tcverify::num::Format;

/// PTX ISA: what every floating-point instruction returns for a NaN.
const NAN: u32 = 0x7fff_ffff;

fn code(x: f32) -> u32 {
    if x.is_nan() { NAN } else { x.to_bits() }
}

fn of(code: u32) -> f32 {
    f32::from_bits(code)
}

pub fn add(x: u32, y: u32) -> u32 {
    code(of(x) + of(y))
}

pub fn mul(x: u32, y: u32) -> u32 {
    code(of(x) * of(y))
}

pub fn fma(x: u32, y: u32, z: u32) -> u32 {
    code(of(x).mul_add(of(y), of(z)))
}

/// An s32 as an f32, to nearest even.
pub fn from_int(code: u32) -> u32 {
    (code as i32 as f32).to_bits()
}

/// `cvt.rn`, for FP8 `cvt.rn.satfinite`.
pub fn narrow(x: u32, to: Format) -> u64 {
    let nan = of(x).is_nan();
    match to {
        Format::Fp32 => x.into(),
        Format::Fp16 if nan => 0x7fff,
        Format::Bf16 if nan => 0x7fff,
        Format::Fp16 => half::f16::from_f32(of(x)).to_bits().into(),
        Format::Bf16 => half::bf16::from_f32(of(x)).to_bits().into(),
        Format::E4m3 | Format::E5m2 if nan => 0x7f,
        Format::E4m3 => nearest_fp8(of(x), 0x7e, |code| float8::F8E4M3::from_bits(code).to_f32()),
        Format::E5m2 => nearest_fp8(of(x), 0x7b, |code| float8::F8E5M2::from_bits(code).to_f32()),
        other => panic!("no result is {other} here"),
    }
}

/// The nearest of all numbers up to the largest; of two, the one with the even code.
fn nearest_fp8(x: f32, largest: u8, value: impl Fn(u8) -> f32) -> u64 {
    let wanted = f64::from(x.abs()).min(f64::from(value(largest)));
    let distance = |code: u8| (f64::from(value(code)) - wanted).abs();
    let better = |best: u8, next: u8| {
        let (old, new) = (distance(best), distance(next));
        let take = new < old || new == old && next.is_multiple_of(2);
        if take { next } else { best }
    };
    let magnitude = (1..=largest).fold(0, better);
    u64::from(magnitude | if x.is_sign_negative() { 0x80 } else { 0 })
}

/// A code of a result or of C as an f32.
pub fn widen(code: u64, from: Format) -> u32 {
    let x = match from {
        Format::Fp32 => return code as u32,
        Format::Fp16 => half::f16::from_bits(code as u16).to_f32(),
        Format::Bf16 => half::bf16::from_bits(code as u16).to_f32(),
        Format::E4m3 => float8::F8E4M3::from_bits(code as u8).to_f32(),
        Format::E5m2 => float8::F8E5M2::from_bits(code as u8).to_f32(),
        other => panic!("no {other} here"),
    };
    x.to_bits()
}

/// The upper 19 bits of an f32, the others dropped.
pub fn tf32_truncated(x: u32) -> u32 {
    x & 0xffff_e000
}

/// Half a unit of the last of 19 bits is added first.
pub fn tf32_half_ulp(x: u32) -> u32 {
    let finite = of(x).is_finite();
    tf32_truncated(if finite { x + 0x1000 } else { x })
}

/// `x - y`, which is exact where y is a part of x.
pub fn sub(x: u32, y: u32) -> u32 {
    code(of(x) - of(y))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fp8_is_rounded_to_nearest_even_and_saturates() {
        for (x, e4m3, e5m2) in [
            (0.0f32, 0, 0),
            (-0.0, 0x80, 0x80),
            (1.0, 0x38, 0x3c),
            // Halfway between 1 and 1.125: the even code.
            (1.0625, 0x38, 0x3c),
            (1.1875, 0x3a, 0x3d),
            (1e9, 0x7e, 0x7b),
            (f32::NEG_INFINITY, 0xfe, 0xfb),
            (f32::NAN, 0x7f, 0x7f),
        ] {
            assert_eq!(narrow(x.to_bits(), Format::E4m3), e4m3, "{x}");
            assert_eq!(narrow(x.to_bits(), Format::E5m2), e5m2, "{x}");
        }
    }
}
