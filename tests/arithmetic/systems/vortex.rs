//! Block scales and FP4 of Vortex's TFR.

use tcverify::emu::{Arithmetic, Catalogue, Wanted, WantedScale};
use tcverify::num::Format::{self, *};

use super::dot::Dot;
use crate::support::exact::value;
use crate::support::random::Random;

fn arithmetic(instruction: &str, format: Format, scale: Format) -> Arithmetic {
    let arch = Catalogue::builtin().find("vortex-tfr").unwrap();
    let wanted = Wanted {
        instruction: Some(instruction),
        operands: [format; 2],
        accumulator: None,
        addend: None,
        scale: Some(WantedScale {
            format: Some(scale),
            block: None,
        }),
    };
    arch.choose(&wanted).unwrap().arithmetic
}

fn plain(instruction: &str, format: Format) -> Arithmetic {
    let arch = Catalogue::builtin().find("vortex-tfr").unwrap();
    arch.select(Some(instruction), [format; 2], None)
        .unwrap()
        .arithmetic
}

/// 1 * 1 with these scales, plus c.
fn one(arithmetic: &Arithmetic, x: u64, y: u64, c: f32) -> u64 {
    let dot = Dot {
        a: vec![2],
        b: vec![2],
        c: c.to_bits().into(),
        scales: Some([vec![x], vec![y]]),
    };
    dot.replay(arithmetic)
}

/// Printed with the description of the unit.
#[test]
fn printed_vectors() {
    for instruction in ["fedp", "fedp-nt8"] {
        let mxfp4 = arithmetic(instruction, E2m1, Ue8m0);
        let c = |exponent: i32| 1.0 + 2f32.powi(exponent);
        assert_eq!(one(&mxfp4, 127, 127, c(-12)), 0x4000_0000);
        assert_eq!(one(&mxfp4, 127, 127, c(-11)), 0x4000_0800);
        // Scales whose sum is 40 give 2^-24.
        assert_eq!(one(&mxfp4, 147, 147, 0.0), (127 - 24) << 23);

        let nvfp4 = arithmetic(instruction, E2m1, Ue4m3);
        let scale = |code| f32::from_bits(one(&nvfp4, code, 0x38, 0.0) as u32);
        assert_eq!(
            scale(0x04),
            0.01171875,
            "a subnormal is read as a normal number"
        );
        assert_eq!(scale(0x7f), 480.0, "NaN is 1.875 * 2^8");
        assert_eq!(scale(0xb8), 1.0, "the sign is ignored");
    }
}

/// The exponent field of MXFP4 has six bits and a sign: simulated from the source.
#[test]
fn mxfp4_scales_wrap() {
    let mxfp4 = arithmetic("fedp", E2m1, Ue8m0);
    for (sum, exponent) in [
        (0, 0),
        (7, 7),
        (8, -56),
        (-56, -56),
        (-57, 7),
        (-60, 4),
        (40, -24),
        (44, -20),
    ] {
        let x = (127 + sum) as u64;
        let expected = ((127 + exponent) as u64) << 23;
        assert_eq!(one(&mxfp4, x, 127, 0.0), expected, "{sum}");
        assert_eq!(one(&mxfp4, 127, x, 0.0), expected, "{sum}");
    }
}

fn operands(random: &mut Random, format: Format, k: usize) -> Vec<u64> {
    let finite = |random: &mut Random| loop {
        let code = random.bits() & format.max_code();
        if value(format, code).is_finite() {
            break code;
        }
    };
    (0..k).map(|_| finite(random)).collect()
}

/// With equal exponents in all lanes nothing is cut off: the sum is exact.
#[test]
fn mxfp4_is_exact_within_a_block() {
    let mut random = Random::named("mxfp4");
    for (instruction, most) in [("fedp", 32), ("fedp-nt8", 16)] {
        let mxfp4 = arithmetic(instruction, E2m1, Ue8m0);
        for _ in 0..500 {
            let k = 1 + random.below(most);
            let (a, b) = (
                operands(&mut random, E2m1, k),
                operands(&mut random, E2m1, k),
            );
            let (x, y) = (random.between(-28, 3), random.between(-28, 3));
            let product = |(&a, &b): (&u64, &u64)| value(E2m1, a) * value(E2m1, b);
            let sum: f64 = a.iter().zip(&b).map(product).sum();
            let expected = (sum * 2f64.powi(x + y)) as f32;
            let scales = Some([vec![(127 + x) as u64], vec![(127 + y) as u64]]);
            let dot = Dot { a, b, c: 0, scales };
            let found = f32::from_bits(dot.replay(&mxfp4) as u32);
            assert_eq!(found, expected, "{dot:x?}");
        }
    }
}

/// Lanes whose exponents lie at most 8 apart lose nothing either; one rounding is left.
#[test]
fn nvfp4_rounds_once_where_scales_are_near() {
    let mut random = Random::named("nvfp4");
    let nvfp4 = arithmetic("fedp", E2m1, Ue4m3);
    for _ in 0..500 {
        let k = 17 + random.below(16);
        let (a, b) = (
            operands(&mut random, E2m1, k),
            operands(&mut random, E2m1, k),
        );
        let mut scale = || ((5 + random.below(5)) << 3 | random.below(8)) as u64;
        let scales = [vec![scale(), scale()], vec![scale(), scale()]];
        let sum: f64 = (0..k)
            .map(|k| {
                let scale = value(Ue4m3, scales[0][k / 16]) * value(Ue4m3, scales[1][k / 16]);
                value(E2m1, a[k]) * value(E2m1, b[k]) * scale
            })
            .sum();
        let dot = Dot {
            a,
            b,
            c: 0,
            scales: Some(scales),
        };
        let found = f32::from_bits(dot.replay(&nvfp4) as u32);
        assert_eq!(found, sum as f32, "{dot:x?}");
    }
}

/// MXFP8 with C = 0 is FP8 moved by the scales, where neither leaves FP32's range.
#[test]
fn mxfp8_moves_the_result() {
    let mut random = Random::named("mxfp8");
    for (instruction, most) in [("fedp", 16), ("fedp-nt8", 8)] {
        for format in [E4m3, E5m2] {
            let (mx, fp8) = (
                arithmetic(instruction, format, Ue8m0),
                plain(instruction, format),
            );
            for _ in 0..300 {
                let k = 1 + random.below(most);
                let (a, b) = (
                    operands(&mut random, format, k),
                    operands(&mut random, format, k),
                );
                let (x, y) = (random.between(-20, 20), random.between(-20, 20));
                let unscaled = Dot::plain(&a, &b, 0).replay(&fp8);
                let expected = f32::from_bits(unscaled as u32) * 2f32.powi(x + y);
                let scales = Some([vec![(127 + x) as u64], vec![(127 + y) as u64]]);
                let dot = Dot { a, b, c: 0, scales };
                assert_eq!(f32::from_bits(dot.replay(&mx) as u32), expected, "{dot:x?}");
            }
        }
    }
}

/// The code that is NaN elsewhere is 2^128 here.
#[test]
fn scales_know_no_nan() {
    let mx = arithmetic("fedp", E4m3, Ue8m0);
    let dot = |x, y| Dot {
        a: vec![0x38],
        b: vec![0x38],
        c: 0,
        scales: Some([vec![x], vec![y]]),
    };
    assert_eq!(
        dot(0xff, 0x7f - 28).replay(&mx),
        u64::from(2f32.powi(100).to_bits())
    );
    assert_eq!(dot(0xff, 0x7f).replay(&mx), 0x7f80_0000, "2^128 overflows");
}
