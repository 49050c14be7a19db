//! Block-scaled formats of Blackwell.

use tcverify::emu::step::{BlockDot, Step};
use tcverify::emu::{Arithmetic, Catalogue, Engine, Problem, Replay, Scale, Wanted, WantedScale};
use tcverify::kernels::Platform;
use tcverify::num::Format::{self, *};
use tcverify::num::Rounding;
use tcverify::tensor::Tensor;

use super::dot::Dot;
use crate::support::case::{Case, codes as codes_of};
use crate::support::exact::{Fraction, nearest_code, quotient, value};
use crate::support::random::Random;
use crate::support::vectors::{PEERS, cases, replay_all};

fn arithmetic(arch: &str, operands: [Format; 2], scale: Scale) -> Arithmetic {
    let arch = Catalogue::builtin().find(arch).unwrap();
    let wanted = Wanted {
        instruction: None,
        operands,
        accumulator: None,
        addend: None,
        scale: Some(WantedScale {
            format: Some(scale.format),
            block: Some(scale.block),
        }),
    };
    arch.choose(&wanted).unwrap().arithmetic
}

fn peers(what: &str) -> Option<Vec<Case>> {
    cases(PEERS, what, 10, |about| about.get("kind").is_some())
}

#[test]
fn every_peer_result_is_reproduced() {
    let Some(cases) = peers("block-scaled peer results") else {
        return;
    };
    assert_eq!(replay_all(PEERS, &cases), 10 * 24 * 24);
}

/// What each wrong constant changes, and in how many of the ten cases that is seen.
#[test]
fn wrong_models_differ() {
    let Some(cases) = peers("wrong models of block-scaled peer results") else {
        return;
    };
    let count = |change: &dyn Fn(&mut Arithmetic) -> bool| {
        let mut refuting = [0, 0];
        for case in &cases {
            let mut wrong = case.choice().arithmetic;
            let fp4 = matches!(wrong.step, Step::BlockDot(_));
            if change(&mut wrong) && case.mismatches(&wrong) > 0 {
                refuting[usize::from(fp4)] += 1;
            }
        }
        refuting
    };
    let bits = |delta: i32| {
        count(&|a| {
            let bits = match &mut a.step {
                Step::Fused(step) => &mut step.fraction_bits,
                Step::BlockDot(step) => &mut step.fraction_bits,
                other => panic!("{other:?}"),
            };
            *bits = bits.checked_add_signed(delta).unwrap();
            true
        })
    };
    let block = |change: fn(&mut BlockDot)| {
        count(&|a| match &mut a.step {
            Step::BlockDot(step) => {
                change(step);
                true
            }
            _ => false,
        })
    };
    let group = |factor: usize| {
        count(&|a| match &mut a.step {
            Step::Fused(step) => {
                step.group = step.group * factor / 2;
                true
            }
            Step::BlockDot(step) => {
                step.group = step.group * factor / 2;
                true
            }
            other => panic!("{other:?}"),
        })
    };
    let found = [
        ("a bit less", bits(-1)),
        ("a bit more", bits(1)),
        (
            "the 25 bits of another probe, for FP4",
            block(|s| s.fraction_bits = 25),
        ),
        ("parts of 8", block(|s| s.part = 8)),
        ("to nearest", block(|s| s.rounding = Rounding::NearestEven)),
        (
            "aligned to nearest",
            block(|s| s.alignment = Rounding::NearestEven),
        ),
        ("half the group", group(1)),
        ("twice the group", group(4)),
    ];
    assert_eq!(found, EXPECTED);
}

const EXPECTED: [(&str, [usize; 2]); 8] = [
    ("a bit less", [6, 2]),
    ("a bit more", [6, 2]),
    ("the 25 bits of another probe, for FP4", [0, 2]),
    ("parts of 8", [0, 2]),
    ("to nearest", [0, 4]),
    ("aligned to nearest", [0, 2]),
    ("half the group", [6, 4]),
    ("twice the group", [6, 4]),
];

// ------------------------------------------------------------------- straight lines from the facts

const UE8M0_32: Scale = Scale {
    format: Ue8m0,
    block: 32,
};

/// The exponent of a number, which for a subnormal is that of the smallest normal number.
pub(super) fn exponent(format: Format, x: f64) -> i32 {
    let smallest = match format {
        E4m3 | Ue4m3 => -6,
        E5m2 => -14,
        E3m2 => -2,
        E2m3 | E2m1 => 0,
        Ue8m0 => -127,
        Fp32 => -126,
        other => panic!("{other}"),
    };
    Fraction::of(x).log2().max(smallest)
}

/// Terms cut to a multiple of 2^(E - bits), added, cut to an FP32.
fn cut_and_add(terms: &[(Fraction, i32)], bits: i32) -> u64 {
    let grid = terms.iter().map(|t| t.1).max().unwrap() - bits;
    let sum = terms.iter().fold(Fraction::zero(), |sum, (x, _)| {
        &sum + &Fraction::new(quotient(x, grid, Rounding::TowardZero), grid)
    });
    match nearest_code(Fp32, 24, Rounding::TowardZero, sum.is_negative(), &sum) {
        0x8000_0000 => 0,
        code => code,
    }
}

/// kind::mxf8f6f4: 32 products a step, 25 bits, zeros at -133.
fn mxf8f6f4(formats: [Format; 2], dot: &Dot) -> u64 {
    let scales = dot.scales.as_ref().unwrap();
    let blocks = dot.a.chunks(32).zip(dot.b.chunks(32)).enumerate();
    blocks.fold(dot.c, |c, (block, (a, b))| {
        let [x, y] = [0, 1].map(|side: usize| value(Ue8m0, scales[side][block]));
        let c = value(Fp32, c);
        if x.is_nan() || y.is_nan() || c.is_nan() {
            return 0x7fff_ffff;
        }
        if c.is_infinite() {
            return u64::from((c as f32).to_bits());
        }
        let mut terms: Vec<_> = a
            .iter()
            .zip(b)
            .map(|(&a, &b)| {
                let (a, b) = (value(formats[0], a), value(formats[1], b));
                if a * b == 0.0 {
                    return (Fraction::zero(), -133);
                }
                let scale = &Fraction::of(x) * &Fraction::of(y);
                let product = &Fraction::of(a) * &Fraction::of(b);
                let e = exponent(formats[0], a) + exponent(formats[1], b);
                (&product * &scale, e + scale.log2())
            })
            .collect();
        terms.resize(32, (Fraction::zero(), -133));
        terms.push(addend(c, -133));
        cut_and_add(&terms, 25)
    })
}

/// kind::mxf4 and mxf4nvf4: 64 products a step in runs of 16, 35 bits, zeros at -139.
fn fp4(scale: Scale, dot: &Dot) -> u64 {
    let scales = dot.scales.as_ref().unwrap();
    let steps = dot.a.chunks(64).zip(dot.b.chunks(64)).enumerate();
    steps.fold(dot.c, |c, (step, (a, b))| {
        let c = value(Fp32, c);
        if c.is_nan() {
            return 0x7fff_ffff;
        }
        let mut terms = Vec::new();
        for (part, (a, b)) in a.chunks(16).zip(b.chunks(16)).enumerate() {
            let block = (64 * step + 16 * part) / scale.block;
            let [x, y] = [0, 1].map(|side: usize| value(scale.format, scales[side][block]));
            if x.is_nan() || y.is_nan() {
                return 0x7fff_ffff;
            }
            let products = a
                .iter()
                .zip(b)
                .map(|(&a, &b)| value(E2m1, a) * value(E2m1, b));
            let all_zero = products.clone().all(|p| p == 0.0);
            let sum: f64 = products.sum(); // exact: small multiples of a quarter
            terms.push(if all_zero || x * y == 0.0 {
                (Fraction::zero(), -139)
            } else {
                let scales = &Fraction::of(x) * &Fraction::of(y);
                let e = exponent(scale.format, x) + exponent(scale.format, y);
                (&Fraction::of(sum) * &scales, e)
            });
        }
        if c.is_infinite() {
            return u64::from((c as f32).to_bits());
        }
        terms.resize(4, (Fraction::zero(), -139));
        terms.push(addend(c, -139));
        cut_and_add(&terms, 35)
    })
}

fn addend(c: f64, zero: i32) -> (Fraction, i32) {
    if c == 0.0 {
        (Fraction::zero(), zero)
    } else {
        (Fraction::of(c), exponent(Fp32, c))
    }
}

/// Codes of a finite operand, of a scale (rarely NaN, mostly near one another), and of C.
pub(super) fn dots(
    format: [Format; 2],
    scale: Scale,
    name: &str,
    count: usize,
    mut see: impl FnMut(&Dot),
) {
    let mut random = Random::named(name);
    for round in 0..count {
        let k = 1 + random.below(150);
        let operand = |random: &mut Random, format: Format| loop {
            let code = random.bits() & format.max_code();
            let sparse = random.once_in(5);
            if value(format, code).is_finite() {
                break if sparse { 0 } else { code };
            }
        };
        let a = (0..k).map(|_| operand(&mut random, format[0])).collect();
        let b = (0..k).map(|_| operand(&mut random, format[1])).collect();
        let middle = 10 + random.below(230) as u64;
        let scale_code = |random: &mut Random| match (scale.format, random.below(60)) {
            (_, 0) => random.bits() & 0xff,
            (Ue8m0, _) => (middle + random.below(9) as u64).min(0xfe),
            _ => random.below(0x7f) as u64,
        };
        let blocks = k.div_ceil(scale.block);
        let mut of_side = || (0..blocks).map(|_| scale_code(&mut random)).collect();
        let scales = Some([of_side(), of_side()]);
        let c = match round % 3 {
            0 => 0,
            1 => random.bits() & 0xffff_ffff,
            // Near the products.
            _ => {
                let field =
                    (2 * middle as i64 - 127 + random.between(-20, 20) as i64).clamp(0, 254);
                (field as u64) << 23 | random.bits() & 0x807f_ffff
            }
        };
        if value(Fp32, c).is_infinite() {
            continue;
        }
        see(&Dot { a, b, c, scales });
    }
}

#[test]
fn agrees_with_fractions() {
    for arch in ["rtx-blackwell", "blackwell"] {
        for formats in [[E4m3, E4m3], [E5m2, E3m2], [E2m3, E2m1]] {
            let mx = arithmetic(arch, formats, UE8M0_32);
            dots(
                formats,
                UE8M0_32,
                &format!("{arch} {formats:?}"),
                300,
                |dot| {
                    let [found, expected] = [dot.replay(&mx), mxf8f6f4(formats, dot)];
                    assert_eq!(found, expected, "{found:x} {expected:x} {dot:x?}");
                },
            );
        }
        for scale in [(Ue8m0, 32), (Ue8m0, 16), (Ue4m3, 16)] {
            let (format, block) = scale;
            let scale = Scale { format, block };
            let arithmetic = arithmetic(arch, [E2m1; 2], scale);
            dots([E2m1; 2], scale, &format!("{arch} {scale}"), 500, |dot| {
                let [found, expected] = [dot.replay(&arithmetic), fp4(scale, dot)];
                assert_eq!(found, expected, "{found:x} {expected:x} {dot:x?}");
            });
        }
    }
}

#[test]
fn infinities_of_c_stay_and_nans_win() {
    for scale in [
        UE8M0_32,
        Scale {
            format: Ue4m3,
            block: 16,
        },
    ] {
        let arithmetic = arithmetic("blackwell", [E2m1; 2], scale);
        let dot = |scale, c| Dot {
            a: vec![2; 16],
            b: vec![2; 16],
            c,
            scales: Some([vec![scale], vec![0x38]]),
        };
        assert_eq!(dot(0x38, 0xff80_0000).replay(&arithmetic), 0xff80_0000);
        assert_eq!(dot(0x38, 0x7f80_0001).replay(&arithmetic), 0x7fff_ffff);
        assert_eq!(dot(0xff, 0xff80_0000).replay(&arithmetic), 0x7fff_ffff);
    }
}

/// Results do not depend on how scales are laid out, only on which belongs to what.
#[test]
fn whole_matrices_and_batches() {
    let scale = Scale {
        format: Ue4m3,
        block: 16,
    };
    let arithmetic = arithmetic("rtx-blackwell", [E2m1; 2], scale);
    let (batch, m, n, k) = (2, 3, 5, 40);
    let mut random = Random::named("matrices");
    let mut codes = |count: usize, below: usize| -> Vec<u64> {
        (0..count).map(|_| random.below(below) as u64).collect()
    };
    let (a, b) = (codes(batch * m * k, 16), codes(batch * k * n, 16));
    let (sa, sb) = (codes(batch * m * 3, 0x7f), codes(batch * 3 * n, 0x7f));
    let tensor = |format, shape: [usize; 3], codes: &[u64]| {
        Tensor::from_codes(format, shape.to_vec(), codes)
    };
    let [ta, tb] = [
        tensor(E2m1, [batch, m, k], &a),
        tensor(E2m1, [batch, k, n], &b),
    ];
    let [tsa, tsb] = [
        tensor(Ue4m3, [batch, m, 3], &sa),
        tensor(Ue4m3, [batch, 3, n], &sb),
    ];
    let problem = Problem::new(ta.planes(), tb.planes(), None).unwrap();
    let problem = problem.with_scales(tsa.planes(), tsb.planes(), 16).unwrap();
    let replay = tcverify::emu::Replay {
        problem,
        arithmetic: &arithmetic,
        convert_to: None,
        engine: tcverify::emu::Engine::Exact,
        kernel: None,
    };
    let d = replay.collect(&|_| {});
    for batch in 0..batch {
        for row in 0..m {
            for column in 0..n {
                let down = |codes: &[u64], rows: usize| -> Vec<u64> {
                    (0..rows)
                        .map(|k| codes[(batch * rows + k) * n + column])
                        .collect()
                };
                let row_of = |codes: &[u64], k: usize| codes[(batch * m + row) * k..][..k].to_vec();
                let dot = Dot {
                    a: row_of(&a, k),
                    b: down(&b, k),
                    c: 0,
                    scales: Some([row_of(&sa, 3), down(&sb, 3)]),
                };
                let found = d.planes().plane(batch).code(row, column);
                assert_eq!(found, fp4(scale, &dot));
            }
        }
    }
}

#[test]
fn scales_of_another_shape_are_refused() {
    let tensor = |format, shape: &[usize]| {
        let count = shape.iter().product();
        Tensor::from_codes(format, shape.to_vec(), &vec![0; count])
    };
    let (a, b) = (tensor(E2m1, &[3, 64]), tensor(E2m1, &[64, 5]));
    let problem = Problem::new(a.planes(), b.planes(), None).unwrap();
    let try_with = |sa: &[usize], sb: &[usize]| {
        let (sa, sb) = (tensor(Ue8m0, sa), tensor(Ue8m0, sb));
        let with = problem.with_scales(sa.planes(), sb.planes(), 32);
        with.map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(try_with(&[3, 2], &[2, 5]), Ok(()));
    for (sa, sb, words) in [
        (
            &[3, 4][..],
            &[2, 5][..],
            "the scales of A are 3x4, but one per 32 k of A needs 3x2",
        ),
        (
            &[3, 2],
            &[5, 2],
            "the scales of B are 5x2, but one per 32 k of B needs 2x5",
        ),
        (&[1, 3, 2], &[2, 5], "the scales of A are 1x3x2"),
        (&[6], &[2, 5], "the scales of A are 6,"),
    ] {
        let message = try_with(sa, sb).unwrap_err();
        assert!(message.contains(words), "{message}");
    }
}

/// Scales of every size, NaN among them, on every kernel: the bits of the exact engine, and mostly
/// without its help.
#[test]
fn kernels_agree_with_the_exact_engine() {
    let mut random = Random::named("scaled kernels");
    let (mut handed, mut total) = (0, 0);
    for round in 0..150 {
        let formats = random.pick(&[[E4m3, E4m3], [E5m2, E3m2], [E2m3, E5m2], [E2m1, E2m1]]);
        let mx = mxf8f6f4_of(formats);
        let [batch, m, n] = [2, 13, 70].map(|most| 1 + random.below(most));
        let k = 1 + random.below(400);
        let blocks = k.div_ceil(32);
        let wild = round % 3 == 0;
        // Like the activations and weights of a model: no help is needed then.
        let tame = round % 6 == 2 && formats == [E4m3; 2];
        let middle = 127 + random.between(-40, 40);
        let mut scale = |count: usize| -> Vec<u64> {
            let mut code = || match random.below(400) {
                0 if !tame => 0xff,
                1 if !tame => 0,
                _ if wild => random.below(255) as u64,
                _ => (middle + random.between(-6, 6)) as u64,
            };
            (0..count).map(|_| code()).collect()
        };
        let (sa, sb) = (scale(batch * m * blocks), scale(batch * blocks * n));
        let mut codes = |format: Format, count: usize| -> Vec<u64> {
            let special = random.once_in(4) && !tame;
            let mut code = || loop {
                let code = random.bits() & format.max_code();
                if special || value(format, code).is_finite() {
                    break if random.once_in(6) { 0 } else { code };
                }
            };
            (0..count).map(|_| code()).collect()
        };
        let (a, b) = (
            codes(formats[0], batch * m * k),
            codes(formats[1], batch * k * n),
        );
        let c: Vec<_> = match round % 2 {
            0 => vec![0; batch * m * n],
            _ => codes(Fp32, batch * m * n),
        };
        let tensor = |format, shape: [usize; 3], codes: &[u64]| {
            Tensor::from_codes(format, shape.to_vec(), codes)
        };
        let [a, b] = [
            tensor(formats[0], [batch, m, k], &a),
            tensor(formats[1], [batch, k, n], &b),
        ];
        let [sa, sb] = [
            tensor(Ue8m0, [batch, m, blocks], &sa),
            tensor(Ue8m0, [batch, blocks, n], &sb),
        ];
        let c = tensor(Fp32, [batch, m, n], &c);
        let problem = Problem::new(a.planes(), b.planes(), Some(c.planes())).unwrap();
        let problem = problem.with_scales(sa.planes(), sb.planes(), 32).unwrap();
        let replay = |engine| Replay {
            problem,
            arithmetic: &mx,
            convert_to: None,
            engine,
            kernel: None,
        };
        let expected = codes_of(&replay(Engine::Exact).collect(&|_| {}));
        for platform in Platform::available() {
            let fast = replay(platform.engine());
            assert_eq!(
                codes_of(&fast.collect(&|_| {})),
                expected,
                "{platform:?} {round}"
            );
            if tame && m * n >= 16 {
                let by = fast.exact_share();
                (handed, total) = (handed + by.exact, total + by.total);
            }
        }
    }
    assert!(
        handed == 0 && total > 0,
        "{handed} of {total} fell to the exact engine"
    );
}

/// The largest scales on one side and the smallest on the other: results are ordinary numbers, but operands with their
/// scales are beyond what one exponent of a float can move. Zeros have the largest ones on both: they say nothing.
#[test]
fn scales_at_both_ends() {
    let mut random = Random::named("scales at both ends");
    let mut differ = 0;
    for round in 0..24 {
        let formats = [[E5m2, E5m2], [E2m3, E5m2], [E5m2, E4m3]][round % 3];
        let mx = mxf8f6f4_of(formats);
        let (m, n, k) = (3, 70, 96);
        let mut codes = |format: Format, count: usize| -> Vec<u64> {
            let mut code = || loop {
                let code = random.bits() & format.max_code();
                // Of the largest binades, of the smallest, and zeros.
                let magnitude = value(format, code).abs();
                if magnitude.is_finite() && !(0.25..1024.0).contains(&magnitude) {
                    break code;
                }
            };
            (0..count).map(|_| code()).collect()
        };
        let (mut a, mut b) = (codes(formats[0], m * k), codes(formats[1], k * n));
        let mut near = |end: u64, count: usize| -> Vec<u64> {
            (0..count)
                .map(|_| end.abs_diff(random.below(4) as u64))
                .collect()
        };
        let ends = if round % 2 == 0 { [4, 254] } else { [254, 4] };
        let (mut sa, mut sb) = (near(ends[0], 3 * m), near(ends[1], 3 * n));
        a[..32].fill(0);
        sa[0] = 254;
        for column in (0..n).step_by(3) {
            // All of the column, or its first block.
            let zeros = if column % 2 == 0 { k } else { 32 };
            (0..zeros).for_each(|k| b[k * n + column] = 0);
            sb[column] = 254;
        }
        let a = Tensor::from_codes(formats[0], vec![m, k], &a);
        let b = Tensor::from_codes(formats[1], vec![k, n], &b);
        let sa = Tensor::from_codes(Ue8m0, vec![m, 3], &sa);
        let sb = Tensor::from_codes(Ue8m0, vec![3, n], &sb);
        let problem = Problem::new(a.planes(), b.planes(), None).unwrap();
        let problem = problem.with_scales(sa.planes(), sb.planes(), 32).unwrap();
        let replay = |arithmetic, engine| Replay {
            problem,
            arithmetic,
            convert_to: None,
            engine,
            kernel: None,
        };
        let expected = codes_of(&replay(&mx, Engine::Exact).collect(&|_| {}));
        for platform in Platform::available() {
            let found = codes_of(&replay(&mx, platform.engine()).collect(&|_| {}));
            assert_eq!(found, expected, "{platform:?} {round}");
        }
        let mut wrong = mx.clone();
        let Step::Fused(step) = &mut wrong.step else {
            panic!("a fused step");
        };
        step.fraction_bits += 1;
        let other = codes_of(&replay(&wrong, Engine::Exact).collect(&|_| {}));
        differ += usize::from(other != expected);
    }
    assert!(differ > 12, "a bit more shows in {differ} of 24");
}

fn mxf8f6f4_of(formats: [Format; 2]) -> Arithmetic {
    let arch = Catalogue::builtin().find("rtx-blackwell").unwrap();
    let wanted = Wanted {
        instruction: Some("mma-mxf8f6f4"),
        operands: formats,
        accumulator: None,
        addend: None,
        scale: Some(WantedScale::default()),
    };
    arch.choose(&wanted).unwrap().arithmetic
}
