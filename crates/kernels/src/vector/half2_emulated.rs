//! Lanes of two IEEE halves in plain Rust: tests run the kernels that need AVX512-FP16 on every machine.

use super::portable::{Portable, by_halves};
use super::{Half2, Vector, operations};
use tcverify_num::{Format, Rounding, convert_exact, round_code};

type Lanes = <Portable as Vector>::I;

// SAFETY: plain Rust.
unsafe impl Half2 for Portable {
    operations! {
        fn mul_half2(x: Lanes, y: Lanes) -> Lanes = {
            // 22 bits: exact in a float.
            by_halves(x, y, |x, y| to_half(to_float(x) * to_float(y)))
        };
        fn truncate_half2(x: Lanes) -> Lanes = by_halves(x, x, |x, _| to_float(x) as i16 as u16);
        fn add_both_halves(sum: Lanes, x: Lanes) -> Lanes = {
            std::array::from_fn(|i| sum[i] + i32::from(x[i] as i16) + (x[i] >> 16))
        };
        fn half_codes(x: <Portable as Vector>::F) -> Lanes = x.map(|x| to_half(x).into());
    }
}

fn to_float(half: u16) -> f32 {
    let float = convert_exact(Format::Fp16, half.into(), Format::Fp32);
    f32::from_bits(float.expect("every half is a float") as u32)
}

fn to_half(float: f32) -> u16 {
    let code = u64::from(float.to_bits());
    round_code(
        Format::Fp32,
        code,
        Format::Fp16,
        Rounding::TowardZero,
        0x7fff,
    ) as u16
}
