//! The quick adder against the exact engine.

use super::*;
use crate::Suite;
use crate::emu::Scale;
use crate::emu::step::Code;
use crate::infer::evidence::prepare;
use crate::infer::kinds::MODES;
use crate::random::SplitMix64;

fn fused(random: &mut SplitMix64, accumulator: Format) -> Fused {
    let mut below = |n: u64| random.word() % n;
    let full = accumulator.fraction_bits() + 1;
    let precision = match below(2) {
        0 => full,
        _ => 1 + below(full.into()) as u32,
    };
    Fused {
        group: 1 + below(40) as usize,
        fraction_bits: below(48) as u32,
        alignment: MODES[below(4) as usize],
        zero_exponent: 20 - below(180) as i32,
        precision,
        sum_bits: (below(4) == 0).then(|| precision + below(12) as u32),
        rounding: MODES[below(4) as usize],
        nan: Code(0x7fff),
        minus_zero: below(2) == 0,
    }
}

/// A step of one of the two kinds; with scales, of the one that takes some.
fn step(random: &mut SplitMix64, accumulator: Format, scale: Option<Scale>) -> Step {
    let half = fused(random, accumulator);
    if scale.is_some() || random.word().is_multiple_of(2) {
        return Step::Fused(half);
    }
    Step::FusedHalves(FusedHalves {
        span: 16,
        period: 4,
        first: vec![random.word() as usize % 4, 1],
        half: Fused {
            group: 16,
            minus_zero: false,
            ..half
        },
        closing: Rounding::NearestEven,
    })
}

/// Every answer, and those with other exponents of zeros that should be the same.
#[test]
fn answers_are_those_of_the_exact_engine() {
    use Format::*;
    let mut random = SplitMix64(5);
    let mx = Some(Scale {
        format: Ue8m0,
        block: 32,
    });
    for (formats, scale) in [
        ([Fp16, Fp16, Fp32], None),
        ([Fp16, Fp16, Fp16], None),
        ([Bf16, Bf16, Fp32], None),
        ([E5m2, E4m3, Fp32], None),
        ([Fp32, Fp32, Fp32], None),
        ([E2m1, E4m3, Fp32], mx),
    ] {
        let [a, b, accumulator] = formats;
        let suite = Suite::scaled(a, b, accumulator, scale).unwrap();
        let (formats, exact): (_, Vec<Prepared>) = prepare(&suite);
        let mut known = 0;
        for (case, exact) in suite.cases.iter().zip(&exact) {
            let Some(quick) = Quick::new(formats, exact) else {
                continue;
            };
            for _ in 0..4 {
                let step = step(&mut random, accumulator, scale);
                let (code, zeros) = quick.answer_and_zeros(&step).expect("they fit");
                assert_eq!(quick.answer(&step), Some(code));
                assert_eq!(exact.answer(formats, &step), code, "{case:?} {step:?}");
                let (Step::Fused(half) | Step::FusedHalves(FusedHalves { half, .. })) = &step
                else {
                    unreachable!("one of two kinds")
                };
                assert!(zeros.contains(half.zero_exponent));
                let from = zeros.from.max(-200);
                let to = zeros.to.min(40);
                let other = from + (random.word() % (to - from + 1) as u64) as i32;
                let mut moved = step.clone();
                match &mut moved {
                    Step::Fused(half) | Step::FusedHalves(FusedHalves { half, .. }) => {
                        half.zero_exponent = other;
                    }
                    _ => unreachable!("one of two kinds"),
                }
                let again = exact.answer(formats, &moved);
                assert_eq!(again, code, "{case:?} {step:?} {other}");
                known += 1;
            }
        }
        assert!(known > 4000, "{known} answers");
    }
}
