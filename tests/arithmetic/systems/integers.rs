//! Integer products.

use proptest::prelude::*;
use tcverify::emu::step::Step;
use tcverify::emu::{Arithmetic, Catalogue, Engine, Problem, Replay};
use tcverify::kernels::Platform;
use tcverify::num::Format::{self, *};
use tcverify::tensor::Tensor;

use super::dot::Dot;
use crate::support::case::codes as codes_of;
use crate::support::random::Random;

fn arithmetic(arch: &str, instruction: &str, operands: [Format; 2]) -> Arithmetic {
    let arch = Catalogue::builtin().find(arch).unwrap();
    let choice = arch.select(Some(instruction), operands, None).unwrap();
    choice.arithmetic
}

/// The numbers of a format, by native conversions.
fn number(format: Format, code: u64) -> i64 {
    match format {
        Int8 => i64::from(code as u8 as i8),
        Int4 => i64::from((code as u8) << 4) as i8 as i64 >> 4,
        _ => code as i64,
    }
}

#[test]
fn ends_of_the_ranges() {
    let dot = |instruction: &str, format: Format, a: u64, b: u64, k: usize, c: i32| {
        let dot = Dot::plain(&vec![a; k], &vec![b; k], u64::from(c as u32));
        dot.replay(&arithmetic("ampere", instruction, [format; 2])) as u32 as i32
    };
    for (format, a, b, product) in [
        (Int8, 0x80, 0x80, 16384),
        (Int8, 0x80, 0x7f, -16256),
        (Uint8, 0xff, 0xff, 65025),
        (Int4, 0x8, 0x8, 64),
        (Int4, 0x8, 0x7, -56),
        (Uint4, 0xf, 0xf, 225),
    ] {
        assert_eq!(dot("mma", format, a, b, 1, 0), product, "{format}");
        assert_eq!(
            dot("mma", format, a, b, 100, -7),
            100 * product - 7,
            "{format}"
        );
        assert_eq!(
            dot("mma", format, a, b, 3, i32::MAX),
            i32::MAX.wrapping_add(3 * product),
            "{format} wraps"
        );
        let clamped = (i64::from(i32::MAX) + 3 * i64::from(product)).min(i32::MAX.into());
        assert_eq!(
            i64::from(dot("mma-satfinite", format, a, b, 3, i32::MAX)),
            clamped,
            "{format} saturates"
        );
    }
    assert_eq!(dot("mma-satfinite", Int8, 0x80, 1, 1, i32::MIN), i32::MIN);
}

/// Clamping once an instruction: what an earlier one lost does not come back.
#[test]
fn saturation_depends_on_the_instruction() {
    let mut a = vec![0x7f; 32];
    a.extend(vec![0x81; 32]);
    let dot = Dot::plain(&a, &[0x7f; 64], i32::MAX as u64);
    let sum =
        |arch, instruction| dot.replay(&arithmetic(arch, instruction, [Int8; 2])) as u32 as i32;
    let products = 32 * 127 * 127;
    assert_eq!(sum("ampere", "mma"), i32::MAX);
    assert_eq!(sum("ampere", "mma-satfinite"), i32::MAX - products);
    // All 64 in one step: the sum of products is zero.
    let mut wide = arithmetic("ampere", "mma-satfinite", [Int8; 2]);
    match &mut wide.step {
        Step::IntegerSum(step) => step.group = 64,
        other => panic!("{other:?}"),
    }
    assert_eq!(dot.replay(&wide) as u32 as i32, i32::MAX);
}

#[test]
fn every_integer_rule_of_the_catalogue_multiplies() {
    let mut rules = 0;
    for arch in Catalogue::builtin().architectures() {
        for instruction in &arch.instructions {
            for rule in instruction.rules.iter().filter(|r| r.accumulator == Int32) {
                if matches!(&rule.step, Step::SlicedIntegers(step) if step.phases != [0, 1, 2, 3]) {
                    continue; // It multiplies by some bits only.
                }
                for &operands in &rule.operands {
                    let arithmetic = Arithmetic::of(rule, operands);
                    let [a, b] = operands.map(|f| f.max_finite(true) | f.max_finite(false));
                    let [x, y] = [number(operands[0], a), number(operands[1], b)];
                    let d = Dot::plain(&[a; 200], &[b; 200], 5).replay(&arithmetic);
                    assert_eq!(i64::from(d as u32 as i32), 200 * x * y + 5);
                    rules += 1;
                }
            }
        }
    }
    assert!(rules > 70, "{rules}");
}

#[test]
fn floats_and_integers_do_not_mix() {
    let ampere = arithmetic("ampere", "mma", [Int8; 2]);
    for (a, accumulator) in [(Fp16, Int32), (Int8, Fp32), (Ue8m0, Int32), (Int32, Int32)] {
        let wrong = Arithmetic::plain([a; 2], accumulator, ampere.step.clone());
        assert!(wrong.check().is_err(), "{a} {accumulator}");
    }
    let fp16 = arithmetic("ampere", "mma", [Fp16; 2]);
    for (a, accumulator) in [(Int8, Fp32), (Fp16, Int32), (Ue4m3, Fp32)] {
        let wrong = Arithmetic::plain([a; 2], accumulator, fp16.step.clone());
        assert!(wrong.check().is_err(), "{a} {accumulator}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn sums_are_those_of_64_bits_modulo_two_to_the_32(
        codes in prop::collection::vec((any::<u8>(), any::<u8>()), 1..150),
        c in any::<u32>(),
        pair in 0..8usize,
    ) {
        let narrow = pair >= 4;
        let formats = if narrow { [Int4, Uint4] } else { [Int8, Uint8] };
        let operands = [formats[pair & 1], formats[pair >> 1 & 1]];
        let keep = |x: u8| u64::from(if narrow { x & 15 } else { x });
        let (a, b): (Vec<_>, Vec<_>) = codes.iter().map(|&(a, b)| (keep(a), keep(b))).unzip();
        let product = |(&a, &b): (&u64, &u64)| number(operands[0], a) * number(operands[1], b);
        let sum: i64 = a.iter().zip(&b).map(product).sum();
        let expected = (i64::from(c as i32) + sum) as i32 as u32;
        let dot = Dot::plain(&a, &b, c.into());
        prop_assert_eq!(dot.replay(&arithmetic("turing", "mma", operands)), u64::from(expected));
    }
}

/// Ragged shapes, batches, C at the ends of its range: every kernel against the exact engine.
#[test]
fn kernels_agree_with_the_exact_engine() {
    let mut random = Random::named("integer kernels");
    for round in 0..120 {
        let instruction = ["mma", "mma-satfinite"][round % 2];
        let operands = random.pick(&[[Int8, Int8], [Uint8, Int8], [Int4, Uint4], [Uint4, Uint4]]);
        let arithmetic = arithmetic("ampere", instruction, operands);
        let [batch, m, n, k] = [2, 9, 40, 200].map(|most| 1 + random.below(most));
        let mut codes = |count: usize, any: u64, strange: &[u64]| -> Vec<u64> {
            let mut code = || {
                if random.once_in(3) {
                    random.pick(strange)
                } else {
                    random.bits() & any
                }
            };
            (0..count).map(|_| code()).collect()
        };
        let mut operand = |format: Format, shape: [usize; 3]| {
            let ends = [format.max_finite(true), format.max_finite(false)];
            let codes = codes(shape.iter().product(), format.max_code(), &ends);
            Tensor::from_codes(format, shape.to_vec(), &codes)
        };
        let a = operand(operands[0], [batch, m, k]);
        let b = operand(operands[1], [batch, k, n]);
        let c = operand(Int32, [batch, m, n]);
        let d = |engine| {
            let problem = Problem::new(a.planes(), b.planes(), Some(c.planes())).unwrap();
            let replay = Replay {
                problem,
                arithmetic: &arithmetic,
                convert_to: None,
                engine,
                kernel: None,
            };
            codes_of(&replay.collect(&|_| {}))
        };
        let expected = d(Engine::Exact);
        for platform in Platform::available() {
            assert_eq!(d(platform.engine()), expected, "{platform:?} {instruction}");
        }
    }
}

/// More k than are packed at a time, groups that do not divide that, and a K that once left no column
/// to pack.
#[test]
fn long_products_agree_too() {
    let mut random = Random::named("long integers");
    for (group, k) in [(32, 4096 + 40), (48, 3 * 4096 + 7), (64, 4_300_000)] {
        let mut arithmetic = arithmetic("ampere", "mma-satfinite", [Int8; 2]);
        match &mut arithmetic.step {
            Step::IntegerSum(step) => step.group = group,
            other => panic!("{other:?}"),
        }
        let mut operand = |shape: [usize; 2]| {
            let code = |_| {
                if k > 100_000 {
                    0x7f
                } else {
                    random.bits() & 0xff
                }
            };
            let codes: Vec<_> = (0..shape[0] * shape[1]).map(code).collect();
            Tensor::from_codes(Int8, shape.to_vec(), &codes)
        };
        let (a, b) = (operand([2, k]), operand([k, 1]));
        let d = |engine| {
            let replay = Replay {
                problem: Problem::new(a.planes(), b.planes(), None).unwrap(),
                arithmetic: &arithmetic,
                convert_to: None,
                engine,
                kernel: None,
            };
            codes_of(&replay.collect(&|_| {}))
        };
        let expected = d(Engine::Exact);
        for platform in Platform::available() {
            assert_eq!(d(platform.engine()), expected, "{platform:?} {k}");
        }
    }
}
