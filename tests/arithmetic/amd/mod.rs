//! AMD's matrix cores and the references: against the published model's vectors where they are at
//! hand, and everywhere against arithmetic written another way.

mod big;
mod rdna;
mod vectors;

use half::{bf16, f16};
use proptest::prelude::*;
use serde_json::{Value, json};
use tcverify::emu::{Arithmetic, Catalogue, Engine, Problem, Replay};
use tcverify::num::{Format, Format::*, convert_exact};
use tcverify::tensor::Tensor;

use self::big::exact;
use crate::support::case::codes;

fn arithmetic(arch: &str, instruction: Option<&str>, operands: [Format; 2]) -> Arithmetic {
    let arch = Catalogue::builtin().find(arch).unwrap();
    let choice = arch.select(instruction, operands, None).unwrap();
    choice.arithmetic
}

/// The same with one constant of the step replaced.
pub(crate) fn with(arithmetic: &Arithmetic, name: &str, value: Value) -> Arithmetic {
    let mut json = serde_json::to_value(arithmetic).unwrap();
    assert!(json["step"].get(name).is_some(), "no constant {name}");
    json["step"][name] = value;
    let read = |json: &Value| serde_json::from_value::<Arithmetic>(json.clone()).unwrap();
    if read(&json).check().is_err() {
        // Of another group the instruction may be a whole step.
        json.as_object_mut().unwrap().remove("instruction_k");
    }
    let changed = read(&json);
    changed.check().unwrap();
    changed
}

fn replay(arithmetic: &Arithmetic, a: &Tensor, b: &Tensor, c: &Tensor) -> Vec<u64> {
    let problem = Problem::new(a.planes(), b.planes(), Some(c.planes())).unwrap();
    let replay = Replay {
        problem,
        arithmetic,
        convert_to: None,
        engine: Engine::Exact,
        kernel: None,
    };
    codes(&replay.collect(&|_| {}))
}

/// One dot product of codes.
pub(crate) fn dot(arithmetic: &Arithmetic, a: &[u64], b: &[u64], c: u64) -> u64 {
    let a = Tensor::from_codes(arithmetic.a, vec![1, a.len()], a);
    let b = Tensor::from_codes(arithmetic.b, vec![b.len(), 1], b);
    let c = Tensor::from_codes(arithmetic.accumulator, vec![1, 1], &[c]);
    replay(arithmetic, &a, &b, &c)[0]
}

/// The same of values, each exactly representable.
fn dot_values(arithmetic: &Arithmetic, a: &[f64], b: &[f64], c: f64) -> u64 {
    let code = |format: Format, value: f64| {
        convert_exact(Fp64, value.to_bits(), format).expect("representable")
    };
    let a: Vec<_> = a.iter().map(|&x| code(arithmetic.a, x)).collect();
    let b: Vec<_> = b.iter().map(|&x| code(arithmetic.b, x)).collect();
    dot(arithmetic, &a, &b, code(arithmetic.accumulator, c))
}

fn f32_code(value: f32) -> u64 {
    value.to_bits().into()
}

/// Finite f32 over the whole range and near 1, where sums cancel.
fn some_f32() -> impl Strategy<Value = f32> {
    let near = (0x3c00_0000u32..0x4200_0000, any::<bool>())
        .prop_map(|(code, negative)| f32::from_bits(code | u32::from(negative) << 31));
    let any = any::<u32>().prop_map(f32::from_bits);
    prop_oneof![near, any.prop_filter("finite", |x| x.is_finite())]
}

fn some_f16() -> impl Strategy<Value = f16> {
    let any = any::<u16>().prop_map(f16::from_bits);
    any.prop_filter("finite", |x| x.is_finite())
}

fn some_bf16() -> impl Strategy<Value = bf16> {
    some_f32().prop_map(|x| bf16::from_bits((x.to_bits() >> 16) as u16))
}

/// Subnormal or zero becomes zero.
fn flush(x: f32) -> f32 {
    if x.abs() < f32::MIN_POSITIVE {
        x * 0.0
    } else {
        x
    }
}

/// CDNA 2 in the floating point of the machine that runs the test. `smallest` is the operands'
/// smallest normal number.
fn pairwise(a: &[f32], b: &[f32], c: f32, smallest: f32, group: usize, span: usize) -> f32 {
    let operand = |x: f32| if x.abs() < smallest { 0.0 } else { x };
    let mut d = c;
    for (a, b) in a.chunks(span).zip(b.chunks(span)) {
        d = if d.abs() < f32::MIN_POSITIVE { 0.0 } else { d };
        let p: Vec<_> = a
            .iter()
            .zip(b)
            .map(|(a, b)| flush(operand(*a) * operand(*b)))
            .collect();
        for p in p.chunks(group) {
            let sum = match p {
                [x, y] => flush(x + y),
                [x, y, z, w] => flush(flush(x + y) + flush(z + w)),
                _ => unreachable!(),
            };
            d = flush(d + sum);
        }
    }
    d
}

/// CDNA 3 in doubles, the way MMA-Sim writes it: significands and powers of two apart. Exact, as
/// every intermediate has fewer than 53 bits.
fn floored(a: &[f64], b: &[f64], c: f32, smallest_exponent: i32, fp8: bool) -> f32 {
    let pow2 = |e: i32| 2f64.powi(e / 2) * 2f64.powi(e - e / 2);
    let split = |x: f64, smallest: i32| {
        let e = if x == 0.0 {
            smallest
        } else {
            ((x.abs().to_bits() >> 52) as i32 - 1023).max(smallest)
        };
        (x / pow2(e), e)
    };
    let truncated = |products: &[(f64, i32)]| {
        let e = products.iter().map(|p| p.1).max().unwrap();
        let terms = products
            .iter()
            .map(|p| (p.0 * pow2(p.1 - e + 24)).trunc() * pow2(-24));
        (terms.sum::<f64>(), e)
    };
    let group = if fp8 {
        16
    } else if smallest_exponent == -126 && a.len() == 4 {
        4
    } else {
        8
    };
    assert_eq!(a.len(), group);
    let products: Vec<_> = a
        .iter()
        .zip(b)
        .map(|(&a, &b)| {
            let ((sa, ea), (sb, eb)) = (split(a, smallest_exponent), split(b, smallest_exponent));
            let (s, e) = (sa * sb, ea + eb);
            (s, if s == 0.0 { -999 } else { e })
        })
        .collect();
    let infinite = |&&(s, e): &&(f64, i32)| e + i32::from(s.abs() >= 2.0) >= 128;
    let infinities: Vec<_> = products.iter().filter(infinite).map(|p| p.0).collect();
    if infinities.iter().any(|x| *x > 0.0) && infinities.iter().any(|x| *x < 0.0) {
        return f32::NAN;
    }
    if let Some(x) = infinities.first() {
        return f32::INFINITY.copysign(*x as f32);
    }
    let (sum, e_sum) = if fp8 {
        let turn = |first| {
            products
                .iter()
                .copied()
                .skip(first)
                .step_by(2)
                .collect::<Vec<_>>()
        };
        let (even, odd) = (truncated(&turn(0)), truncated(&turn(1)));
        let e = even.1.max(odd.1);
        let floor = |(s, f): (f64, i32)| (s * pow2(f - e + 24)).floor() * pow2(-24);
        (floor(even) + floor(odd), e)
    } else {
        truncated(&products)
    };
    let (mut s_c, e_c) = split(c.into(), -126);
    let e = e_sum.max(e_c);
    let sum = (sum * pow2(e_sum - e + 32)).floor() * pow2(-32);
    s_c = (s_c * pow2(e_c - e + 24)).floor() * pow2(-24);
    if fp8 && e_c < e - 25 {
        s_c = 0.0;
    }
    let total = (sum + s_c) * pow2(e);
    let (s, e) = split(total, -126);
    ((s * pow2(31)).floor() * pow2(-31) * pow2(e)) as f32 + 0.0
}

/// FNUZ by its definition.
fn fnuz(code: u8, fraction_bits: u32) -> f64 {
    let bias = 1 << (6 - fraction_bits);
    let field = i32::from(code & 0x7f) >> fraction_bits;
    let fraction = f64::from(code & ((1 << fraction_bits) - 1)) / f64::from(1 << fraction_bits);
    let sign = if code & 0x80 == 0 { 1.0 } else { -1.0 };
    match field {
        0 => sign * fraction * 2f64.powi(1 - bias),
        _ => sign * (1.0 + fraction) * 2f64.powi(field - bias),
    }
}

fn same(given: u64, expected: f32, nan: u64) {
    let expected = if expected.is_nan() {
        nan
    } else {
        f32_code(expected)
    };
    assert_eq!(given, expected, "{given:08x} instead of {expected:08x}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn cdna1_is_the_exact_sum(
        a in prop::collection::vec(some_f16(), 4),
        b in prop::collection::vec(some_f16(), 4),
        c in some_f32(),
    ) {
        let model = arithmetic("cdna1", None, [Fp16; 2]);
        let codes = |x: &[f16]| x.iter().map(|x| x.to_bits().into()).collect::<Vec<_>>();
        let pairs = a.iter().zip(&b).map(|(a, b)| (a.to_f64(), b.to_f64()));
        let expected = exact(pairs, c.into()).to_f32();
        prop_assert_eq!(dot(&model, &codes(&a), &codes(&b), f32_code(c)), expected);
    }

    #[test]
    fn cdna1_in_bf16_two_at_a_time(
        a in prop::collection::vec(some_bf16(), 2),
        b in prop::collection::vec(some_bf16(), 2),
        c in some_f32(),
    ) {
        let model = arithmetic("cdna1", None, [Bf16; 2]);
        let codes = |x: &[bf16]| x.iter().map(|x| x.to_bits().into()).collect::<Vec<_>>();
        let pairs = a.iter().zip(&b).map(|(a, b)| (a.to_f64(), b.to_f64()));
        let expected = exact(pairs, c.into()).to_f32();
        prop_assert_eq!(dot(&model, &codes(&a), &codes(&b), f32_code(c)), expected);
    }

    #[test]
    fn the_exact_reference_rounds_once(
        a in prop::collection::vec(some_f32(), 40),
        b in prop::collection::vec(some_f32(), 40),
        c in some_f32(),
    ) {
        let codes = |x: &[f32]| x.iter().map(|&x| f32_code(x)).collect::<Vec<_>>();
        let pairs = a.iter().zip(&b).map(|(&a, &b)| (a.into(), b.into()));
        let sum = exact(pairs, c.into());
        let model = arithmetic("exact", None, [Fp32; 2]);
        prop_assert_eq!(dot(&model, &codes(&a), &codes(&b), f32_code(c)), sum.to_f32());
    }

    #[test]
    fn the_exact_reference_in_fp64(
        a in prop::collection::vec(any::<u64>(), 5),
        b in prop::collection::vec(any::<u64>(), 5),
        c in any::<u64>(),
    ) {
        // Every exponent but that of infinity.
        let finite = |&x: &u64| f64::from_bits(if x >> 52 & 0x7ff == 0x7ff { x ^ 1 << 62 } else { x });
        let (a, b): (Vec<_>, Vec<_>) = (a.iter().map(finite).collect(), b.iter().map(finite).collect());
        let c = finite(&c);
        let codes = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let sum = exact(a.iter().copied().zip(b.iter().copied()), c);
        let model = arithmetic("exact", None, [Fp64; 2]);
        prop_assert_eq!(dot(&model, &codes(&a), &codes(&b), c.to_bits()), sum.to_f64());
    }

    #[test]
    fn cdna2_is_the_machines_own_with_flushing(
        a in prop::collection::vec(any::<u16>(), 32),
        b in prop::collection::vec(any::<u16>(), 32),
        low in any::<bool>(),
        c in some_f32(),
    ) {
        // BF16 near the smallest normal numbers, where flushing shows, or anywhere.
        let code = |&x: &u16| if low { x & 0x803f | 0x1f80 | (x & 0x40) << 1 } else { x };
        let bf: Vec<_> = a.iter().map(code).collect();
        let bg: Vec<_> = b.iter().map(code).collect();
        let c = if low { c * 2f32.powi(-126) } else { c };
        let codes = |x: &[u16]| x.iter().map(|&x| x.into()).collect::<Vec<u64>>();
        let values = |x: &[u16]| x.iter().map(|&x| bf16::from_bits(x).to_f32()).collect::<Vec<_>>();
        for (name, group, span) in [("mfma", 4, 16), ("mfma-bf16", 2, 8)] {
            let model = arithmetic("cdna2", Some(name), [Bf16; 2]);
            let expected = pairwise(&values(&bf), &values(&bg), c, f32::MIN_POSITIVE, group, span);
            same(dot(&model, &codes(&bf), &codes(&bg), f32_code(c)), expected, 0x7fc0_0000);
        }
        let model = arithmetic("cdna2", None, [Fp16; 2]);
        let values = |x: &[u16]| x.iter().map(|&x| f16::from_bits(x).to_f32()).collect::<Vec<_>>();
        let expected = pairwise(&values(&a), &values(&b), c, 2f32.powi(-14), 4, 16);
        same(dot(&model, &codes(&a), &codes(&b), f32_code(c)), expected, 0x7fc0_0000);
    }

    #[test]
    fn cdna3_is_the_published_formula_in_doubles(
        a in prop::collection::vec(some_bf16(), 8),
        b in prop::collection::vec(some_bf16(), 8),
        x in prop::collection::vec(some_f16(), 8),
        y in prop::collection::vec(some_f16(), 8),
        c in some_f32(),
    ) {
        let model = arithmetic("cdna3", None, [Bf16; 2]);
        let codes = |x: &[bf16]| x.iter().map(|x| x.to_bits().into()).collect::<Vec<_>>();
        let values = |x: &[bf16]| x.iter().map(|x| x.to_f64()).collect::<Vec<_>>();
        let expected = floored(&values(&a), &values(&b), c, -126, false);
        same(dot(&model, &codes(&a), &codes(&b), f32_code(c)), expected, 0x7fff_ffff);

        let model = arithmetic("cdna3", None, [Xf32; 2]);
        let codes = |x: &[bf16]| x.iter().map(|x| u64::from(x.to_bits()) << 16).collect::<Vec<_>>();
        let expected = floored(&values(&a[..4]), &values(&b[..4]), c, -126, false);
        same(dot(&model, &codes(&a[..4]), &codes(&b[..4]), f32_code(c)), expected, 0x7fff_ffff);

        let model = arithmetic("cdna3", None, [Fp16; 2]);
        let codes = |x: &[f16]| x.iter().map(|x| x.to_bits().into()).collect::<Vec<_>>();
        let values = |x: &[f16]| x.iter().map(|x| x.to_f64()).collect::<Vec<_>>();
        let c = if c.abs() > 1e20 { c * 1e-18 } else { c };
        let expected = floored(&values(&x), &values(&y), c, -14, false);
        same(dot(&model, &codes(&x), &codes(&y), f32_code(c)), expected, 0x7fff_ffff);
    }

    #[test]
    fn cdna3_in_fp8_has_two_sums(
        a in prop::collection::vec(any::<u8>(), 16),
        b in prop::collection::vec(any::<u8>(), 16),
        scale in -60i32..30,
        c in some_f32(),
    ) {
        let numbers = |x: &[u8]| x.iter().map(|&x| if x == 0x80 { 0 } else { x }).collect::<Vec<_>>();
        let (a, b) = (numbers(&a), numbers(&b));
        // C near enough to the products to matter.
        let c = f32::from_bits(c.to_bits() & 0x807f_ffff | 0x3f80_0000) * 2f32.powi(scale);
        let codes = |x: &[u8]| x.iter().map(|&x| x.into()).collect::<Vec<u64>>();
        for f in [E4m3fnuz, E5m2fnuz] {
            let model = arithmetic("cdna3", None, [f, f]);
            let values = |x: &[u8]| x.iter().map(|&x| fnuz(x, f.fraction_bits())).collect::<Vec<_>>();
            let expected = floored(&values(&a), &values(&b), c, f.min_exponent(), true);
            same(dot(&model, &codes(&a), &codes(&b), f32_code(c)), expected, 0x7fff_ffff);
        }
    }

    #[test]
    fn chains_are_the_machines_own(
        a in prop::collection::vec(any::<u32>(), 9),
        b in prop::collection::vec(any::<u32>(), 9),
        c in any::<u32>(),
    ) {
        let float = |x: &u32| f32::from_bits(*x);
        let codes = |x: &[u32]| x.iter().map(|&x| x.into()).collect::<Vec<u64>>();
        let expected = a.iter().zip(&b).fold(float(&c), |c, (a, b)| float(a).mul_add(float(b), c));
        for arch in ["cdna1", "cdna2", "cdna3", "ieee-fma"] {
            let model = arithmetic(arch, None, [Fp32; 2]);
            same(dot(&model, &codes(&a), &codes(&b), c.into()), expected, 0x7fc0_0000);
        }

        // BF16 operands are FP32 numbers.
        let model = arithmetic("ieee-fma", None, [Bf16; 2]);
        let short = |x: &u32| f32::from_bits(x & 0xffff_0000);
        let expected = a.iter().zip(&b).fold(float(&c), |c, (a, b)| short(a).mul_add(short(b), c));
        let codes = |x: &[u32]| x.iter().map(|&x| u64::from(x >> 16)).collect::<Vec<u64>>();
        same(dot(&model, &codes(&a), &codes(&b), c.into()), expected, 0x7fc0_0000);

        // The format of A need not be that of B.
        let model = arithmetic("ieee-fma", None, [E5m2fnuz, E4m3fnuz]);
        let byte = |x: &u32| if *x as u8 == 0x80 { 0 } else { *x as u8 };
        let (e5m2, e4m3) = (|x: &u32| fnuz(byte(x), 2) as f32, |x: &u32| fnuz(byte(x), 3) as f32);
        let expected = a.iter().zip(&b).fold(float(&c), |c, (a, b)| e5m2(a).mul_add(e4m3(b), c));
        let codes = |x: &[u32]| x.iter().map(|x| byte(x).into()).collect::<Vec<u64>>();
        same(dot(&model, &codes(&a), &codes(&b), c.into()), expected, 0x7fc0_0000);
    }
}

// ------------------------------------------------------------------------------ by hand

const TINY: f64 = 5.960464477539063e-8; // 2^-24

#[test]
fn signs_of_zero() {
    let two = |arch, operands: [Format; 2], a: &[f64], b: &[f64], c| {
        dot_values(&arithmetic(arch, None, operands), a, b, c)
    };
    // Exactly zero is +0, be it of -0 alone.
    for arch in ["cdna1", "cdna3", "exact"] {
        assert_eq!(
            two(arch, [Fp16; 2], &[1.0, -1.0], &[1.0, 1.0], 0.0),
            0,
            "{arch}"
        );
        assert_eq!(two(arch, [Fp16; 2], &[-0.0], &[1.0], -0.0), 0, "{arch}");
    }
    // A negative sum below half the smallest subnormal is -0, a positive one +0.
    let small = 2f64.powi(-76);
    for (arch, k) in [("cdna1", 8), ("cdna3", 16), ("exact", 1)] {
        // Where the last step of the instruction has it: zeros that fill the instruction up make it +0.
        let mut a = vec![0.0; k];
        a[k - 1] = -small;
        assert_eq!(
            two(arch, [Bf16; 2], &a, &vec![small; k], 0.0),
            0x8000_0000,
            "{arch}"
        );
        let shorter = if arch == "exact" { 0x8000_0000 } else { 0 };
        assert_eq!(
            two(arch, [Bf16; 2], &[-small], &[small], 0.0),
            shorter,
            "{arch}"
        );
        assert_eq!(two(arch, [Bf16; 2], &[small], &[small], 0.0), 0, "{arch}");
    }
    // CDNA 2: a C of -0 becomes +0; a product of zeros has its IEEE sign, but only after operands
    // of -0 have become +0.
    assert_eq!(two("cdna2", [Fp16; 2], &[-0.0; 16], &[1.0; 16], -0.0), 0);
    assert_eq!(two("cdna2", [Fp16; 2], &[0.0; 16], &[-1.0; 16], -0.0), 0);
    // A subnormal sum keeps its sign: 2^-126 - 1.5 * 2^-126 becomes -0. The products that follow
    // are -0 too and leave it so, unless they belong to another instruction, which flushes its C.
    let model = arithmetic("cdna2", None, [Bf16; 2]);
    let (mut a, mut b) = ([0.0; 16], [-1.0; 16]);
    (a[0], b[0]) = (-1.5 * 2f64.powi(-64), 2f64.powi(-62));
    let c = 2f64.powi(-126);
    assert_eq!(dot_values(&model, &a, &b, c), 0x8000_0000);
    assert_eq!(dot_values(&with(&model, "span", json!(4)), &a, &b, c), 0);
}

#[test]
fn special_values() {
    let inf = f64::INFINITY;
    for (arch, nan) in [
        ("cdna1", 0x7fc0_0000),
        ("cdna2", 0x7fc0_0000),
        ("cdna3", 0x7fff_ffff),
        ("ieee-fma", 0x7fc0_0000),
        ("exact", 0x7fc0_0000),
    ] {
        let run = |a: &[f64], b: &[f64], c| dot_values(&arithmetic(arch, None, [Bf16; 2]), a, b, c);
        assert_eq!(run(&[1.0, inf], &[1.0, -1.0], 1.0), 0xff80_0000, "{arch}");
        assert_eq!(run(&[1.0, 1.0], &[1.0, 1.0], inf), 0x7f80_0000, "{arch}");
        assert_eq!(run(&[inf, 1.0], &[0.0, 1.0], 1.0), nan, "{arch}");
        assert_eq!(run(&[inf, inf], &[1.0, -1.0], 1.0), nan, "{arch}");
        assert_eq!(run(&[inf], &[1.0], -inf), nan, "{arch}");
        assert_eq!(run(&[f64::NAN], &[0.0], 1.0), nan, "{arch}");
        assert_eq!(run(&[0.0], &[0.0], f64::NAN), nan, "{arch}");
    }
    // 2^127 * 2 - 2^127 * 2: only the exact sums cancel.
    let big = 2f64.powi(127);
    for (arch, code) in [
        ("cdna1", 0x3f80_0000),
        ("exact", 0x3f80_0000),
        ("cdna2", 0x7fc0_0000),
        ("cdna3", 0x7fff_ffff),
        // 2^128, and then -2^128, is the first to overflow.
        ("ieee-fma", 0x7f80_0000),
    ] {
        let model = arithmetic(arch, None, [Bf16; 2]);
        let code_given = dot_values(&model, &[big, -big], &[2.0, 2.0], 1.0);
        assert_eq!(code_given, code, "{arch}");
    }
    // FNUZ: the code of -0 is NaN.
    let model = arithmetic("cdna3", None, [E4m3fnuz, E5m2fnuz]);
    assert_eq!(dot(&model, &[0x40, 0x80], &[0x40, 0], 0), 0x7fff_ffff);
    assert_eq!(dot(&model, &[0x40, 0x00], &[0x40, 0], 0), 0x3f80_0000);
}

/// What CDNA 3 drops, where and in which direction: each constant is pinned from both sides, but
/// for the sum's fraction bits, of which more than the result's cannot show.
#[test]
fn floors_of_cdna3() {
    let model = arithmetic("cdna3", None, [Fp16; 2]);
    let one = 0x3f80_0000;
    let power = |exponent| 2f64.powi(exponent);
    // Products are truncated toward zero.
    let run = |a: &[f64], b: &[f64], c| dot_values(&model, a, b, c);
    assert_eq!(run(&[1.0, -TINY], &[1.0, 0.5], 0.0), one);
    assert_eq!(run(&[1.0, -TINY], &[1.0, 1.0], 0.0), one - 1);
    // C is floored: however small a negative one is, it takes 2^-24 away.
    assert_eq!(run(&[1.0], &[1.0], -power(-60)), one - 1);
    assert_eq!(run(&[1.0], &[1.0], power(-25)), one);

    // 1 + 2^-24 + 2^-31: the last bit decides the tie, and 2^-32 would not.
    let result = |bits: u32, last: i32| {
        let model = with(&model, "result_fraction_bits", json!(bits));
        let factor = (power(last / 2), power(last - last / 2));
        dot_values(&model, &[TINY, factor.0], &[1.0, factor.1], 1.0)
    };
    assert_eq!((result(30, -31), result(31, -31)), (one, one + 1));
    assert_eq!((result(31, -32), result(32, -32)), (one, one + 1));
    // 1 - 1.5 * 2^-24 + 2^-32: the same with the products' sum.
    let sum = |bits: u32| {
        let model = with(&model, "sum_fraction_bits", json!(bits));
        let (a, b) = ([-1.5 * power(-12), power(-16)], [power(-12), power(-16)]);
        dot_values(&model, &a, &b, 1.0)
    };
    assert_eq!((sum(31), sum(32)), (one - 2, one - 1));

    // FP8: the sum of odd k is floored to the other's exponent, a product of the same sum truncated.
    let fp8 = arithmetic("cdna3", None, [E4m3fnuz; 2]);
    let (a, b) = ([128.0, -power(-10)], [128.0, power(-10)]);
    assert_eq!(dot_values(&fp8, &a, &b, 0.0), 0x4680_0000 - 1);
    assert_eq!(
        dot_values(&with(&fp8, "sums", json!(1)), &a, &b, 0.0),
        0x4680_0000
    );
    // C is dropped when its exponent is more than 25 below.
    let window = |window: Value, exponent| {
        let model = with(&fp8, "addend_window", window);
        dot_values(&model, &[1.0], &[1.0], -power(exponent))
    };
    assert_eq!(
        (window(json!(24), -25), window(json!(25), -25)),
        (one, one - 1)
    );
    assert_eq!(
        (window(json!(25), -26), window(json!(26), -26)),
        (one, one - 1)
    );
    assert_eq!(window(Value::Null, -60), one - 1);
    // A C of zero counts with the exponent -126, so that 2^-150 + 2^-157 is more than a tie. A lower
    // one cannot show: a result has no bits below 2^-157.
    let bf16 = arithmetic("cdna3", None, [Bf16; 2]);
    let zero = |exponent: i32| {
        let model = with(&bf16, "zero_exponent", json!(exponent));
        let (a, b) = ([power(-75), power(-78)], [power(-75), power(-79)]);
        dot_values(&model, &a, &b, 0.0)
    };
    assert_eq!((zero(-126), zero(-124)), (1, 0));
}
