//! The other published rule of block-scaled FP4, and what tells it from the catalogue's default.

use serde_json::json;
use tcverify::emu::{Arithmetic, Catalogue, Scale, Wanted, WantedScale};
use tcverify::num::Format::{self, *};
use tcverify::num::Rounding;
use tcverify::probe::{Case, replay};

use super::block_scaled::{dots, exponent};
use super::dot::Dot;
use crate::amd::with;
use crate::probes::machine::scaled;
use crate::support::exact::{Fraction, nearest_code, quotient, value};

const SCALES: [(&str, Format, usize); 4] = [
    ("tcgen05-mxf4", Ue8m0, 32),
    ("tcgen05-mxf4nvf4", Ue8m0, 32),
    ("tcgen05-mxf4nvf4", Ue8m0, 16),
    ("tcgen05-mxf4nvf4", Ue4m3, 16),
];

fn rule(instruction: &str, format: Format, block: usize) -> Arithmetic {
    let wanted = Wanted {
        instruction: Some(instruction),
        operands: [E2m1; 2],
        accumulator: None,
        addend: None,
        scale: Some(WantedScale {
            format: Some(format),
            block: Some(block),
        }),
    };
    let arch = Catalogue::builtin().find("blackwell").unwrap();
    arch.choose(&wanted).unwrap().arithmetic
}

fn both(instruction: &str, format: Format, block: usize) -> [Arithmetic; 2] {
    [instruction.to_owned(), format!("{instruction}-window")].map(|name| rule(&name, format, block))
}

/// A product of some operands, the same scales for A and B.
fn dot(scale: Scale, products: &[(usize, u64, u64)], scales: &[(usize, u64)], c: u64) -> Dot {
    let (mut a, mut b) = (vec![0; 64], vec![0; 64]);
    for &(k, x, y) in products {
        (a[k], b[k]) = (x, y);
    }
    let one = if scale.format == Ue8m0 { 0x7f } else { 0x38 };
    let mut codes = vec![one; 64 / scale.block];
    for &(block, code) in scales {
        codes[block] = code;
    }
    Dot {
        a,
        b,
        c,
        scales: Some([codes.clone(), codes]),
    }
}

/// Codes of E2M1: 0.5, 1, 2, 4; 8 is the sign.
const HALF: u64 = 1;
const ONE: u64 = 2;
const TWO: u64 = 4;
const FOUR: u64 = 6;
const MINUS: u64 = 8;

#[test]
fn products_that_tell_the_two_rules_apart() {
    let nvfp4 = Scale {
        format: Ue4m3,
        block: 16,
    };
    // 2^16 and -2^16 leave 81/64 * 2^-14 twice, in two groups of four: 2^-20 lies below the window of 2^-19. Sums of
    // sixteen keep 81 units of it, sums of four 40 each.
    let apart = [
        (0, ONE, ONE),
        (16, ONE, ONE | MINUS),
        (32, HALF, HALF),
        (36, HALF, HALF),
    ];
    let groups = dot(nvfp4, &apart, &[(0, 0x78), (1, 0x78), (2, 0x09)], 0);
    // C = -2^17 lies above the scales, 2^14, and below the largest product, 2^18: by C's exponent 2^-18 is kept, by the
    // scales' 2^-21.
    let between = [(0, FOUR, FOUR), (16, FOUR, TWO | MINUS), (32, HALF, HALF)];
    let window = dot(
        nvfp4,
        &between,
        &[(0, 0x70), (1, 0x70), (2, 0x09)],
        0xc800_0000,
    );
    let [ours, other] = both("tcgen05-mxf4nvf4", Ue4m3, 16);
    let bits = |x: f32| u64::from(x.to_bits());
    let unit = 2f32.powi(-20);
    assert_eq!(groups.replay(&ours), bits(162.0 * unit));
    assert_eq!(groups.replay(&other), bits(160.0 * unit));
    assert_eq!(window.replay(&ours), bits(80.0 * unit));
    assert_eq!(window.replay(&other), bits(81.0 * unit));

    // 2^-149 - 2^-176, the second from a block of smaller scales: cut to 2^-174 it vanishes, exactly it takes the last bit.
    for (instruction, format, block) in SCALES.into_iter().filter(|(_, format, _)| *format == Ue8m0)
    {
        let scale = Scale { format, block };
        let mut tiny = dot(scale, &[(0, HALF, HALF), (32, HALF, HALF | MINUS)], &[], 0);
        let blocks = 64 / block;
        let codes = |first: u64| {
            let mut all = vec![first; blocks];
            all[32 / block] = 40;
            all
        };
        tiny.scales = Some([codes(53), codes(54)]);
        let [ours, other] = both(instruction, format, block);
        assert_eq!(tiny.replay(&ours), 1, "{instruction} {block}");
        assert_eq!(tiny.replay(&other), 0, "{instruction} {block}");
    }
}

/// The rule as its source's description has it, in fractions.
fn described(scale: Scale, dot: &Dot) -> u64 {
    let scales = dot.scales.as_ref().unwrap();
    let nvfp4 = scale.format == Ue4m3;
    let steps = dot.a.chunks(64).zip(dot.b.chunks(64)).enumerate();
    steps.fold(dot.c, |code, (step, (a, b))| {
        let c = value(Fp32, code);
        let of_block = |k: usize| {
            let block = (64 * step + k) / scale.block;
            [0, 1].map(|side: usize| value(scale.format, scales[side][block]))
        };
        let nan = (0..a.len()).any(|k| of_block(k).iter().any(|scale| scale.is_nan()));
        if nan || c.is_nan() {
            return 0x7fff_ffff;
        }
        if c.is_infinite() {
            return code;
        }
        // A product, its exponent, and that of its scales.
        let products: Vec<Option<(Fraction, i32, i32)>> = (0..a.len())
            .map(|k| {
                let [x, y] = of_block(k);
                let [a, b] = [a[k], b[k]].map(|code| value(E2m1, code));
                if a * b == 0.0 || x * y == 0.0 {
                    return None;
                }
                let of_scales = exponent(scale.format, x) + exponent(scale.format, y);
                let all = exponent(E2m1, a) + exponent(E2m1, b) + of_scales;
                let scales = &Fraction::of(x) * &Fraction::of(y);
                Some((&Fraction::of(a * b) * &scales, all, of_scales))
            })
            .collect();
        let most = |some: &[Option<(Fraction, i32, i32)>]| {
            let all = some.iter().flatten();
            all.clone().map(|p| p.1).max().zip(all.map(|p| p.2).max())
        };
        let Some((largest, largest_scale)) = most(&products) else {
            return if c == 0.0 { 0 } else { code };
        };
        let sum = |some: &[Option<(Fraction, i32, i32)>]| {
            let all = some.iter().flatten();
            all.fold(Fraction::zero(), |sum, (x, ..)| &sum + x)
        };
        let cut =
            |x: &Fraction, grid: i32| Fraction::new(quotient(x, grid, Rounding::TowardZero), grid);
        let rounded =
            |x: &Fraction| match nearest_code(Fp32, 24, Rounding::TowardZero, x.is_negative(), x) {
                0x8000_0000 => 0,
                code => code,
            };
        let of_c = (c != 0.0).then(|| exponent(Fp32, c));
        let addend = Fraction::of(c);
        if let Some(of_c) = of_c.filter(|of_c| *of_c >= largest) {
            let blocks = products.chunks(16).map(|some| cut(&sum(some), of_c - 35));
            return rounded(&blocks.fold(cut(&addend, of_c - 35), |total, x| &total + &x));
        }
        let q = (largest - 39).max(largest_scale - 35);
        let groups: Vec<(Fraction, Option<i32>)> = products
            .chunks(if nvfp4 { 4 } else { 16 })
            .map(|some| {
                let own = most(some);
                let grid = match (own, of_c) {
                    (Some((own, _)), Some(of_c)) if !nvfp4 && of_c >= own => q.max(of_c - 35),
                    _ => q,
                };
                (cut(&sum(some), grid), own.map(|own| own.1))
            })
            .collect();
        let total = |floor: bool| {
            let counts = |(x, own): &&(Fraction, Option<i32>)| {
                let tiny = cut(x, -174).is_zero();
                !(floor && tiny && own.is_some_and(|own| own < largest_scale))
            };
            let all = groups.iter().filter(counts);
            rounded(&all.fold(cut(&addend, q), |total, (x, _)| &total + x))
        };
        match total(false) {
            code if !nvfp4 && (1..1 << 23).contains(&(code & 0x7fff_ffff)) => total(true),
            code => code,
        }
    })
}

#[test]
fn agrees_with_its_description() {
    for (instruction, format, block) in SCALES {
        let scale = Scale { format, block };
        let [ours, other] = both(instruction, format, block);
        dots([E2m1; 2], scale, &format!("window {scale}"), 300, |dot| {
            let [found, expected] = [dot.replay(&other), described(scale, dot)];
            assert_eq!(found, expected, "{found:x} {expected:x} {dot:x?}");
        });
        // Probes reach what random products do not. Those that ask about windows, and some others.
        let suite = scaled([E2m1, E2m1, Fp32], Some(scale));
        let some = |(i, case): &(usize, &Case)| {
            let every = match case.family {
                "windows" => 1,
                "apart" => 3,
                _ => 50,
            };
            i % every == 0
        };
        let cases = suite.cases.iter().enumerate().filter(some);
        let cases: Vec<Case> = cases.map(|(_, case)| case.clone()).collect();
        let answers = |model: &Arithmetic| replay::answers(model, &cases);
        let [default, window] = [answers(&ours), answers(&other)];
        for (case, answer) in cases.iter().zip(&window) {
            let dot = Dot {
                a: case.a.clone(),
                b: case.b.clone(),
                c: case.c,
                scales: Some(case.scales.clone()),
            };
            assert_eq!(*answer, described(scale, &dot), "{}", case.purpose);
        }
        let count =
            |one: &[u64], other: &[u64]| one.iter().zip(other).filter(|(x, y)| x != y).count();
        let apart = count(&default, &window);
        println!(
            "{instruction} {scale}: {apart} of {} probes tell the rules apart",
            cases.len()
        );
        assert!(apart > 0, "{instruction} {scale}");
        // Where a part is as long as sixteen products, and what floors only subnormal results, some constants cannot show.
        let mx = format == Ue8m0;
        for (name, value, shows) in [
            ("part", json!(8), true),
            ("product_part", json!(2), true),
            ("product_part", json!(8), true),
            ("product_bits", json!(38), true),
            // The largest product is at most 2^4 times its scales.
            ("product_bits", json!(40), false),
            ("scale_bits", json!(34), true),
            ("scale_bits", json!(36), true),
            ("addend_bits", json!(34), true),
            ("addend_bits", json!(36), true),
            ("least_sum", json!(-173), mx),
            ("least_sum", json!(-175), mx),
        ] {
            let wrong = answers(&with(&other, name, value.clone()));
            println!("  {name} {value}: {}", count(&wrong, &window));
            assert_eq!(
                count(&wrong, &window) > 0,
                shows,
                "{instruction} {scale} {name} {value}"
            );
        }
        for (name, value) in [
            ("fraction_bits", json!(25)),
            ("fraction_bits", json!(33)),
            ("fraction_bits", json!(34)),
            ("fraction_bits", json!(36)),
            ("fraction_bits", json!(37)),
            ("fraction_bits", json!(39)),
            ("part", json!(4)),
            ("part", json!(8)),
        ] {
            let wrong = answers(&with(&ours, name, value.clone()));
            println!(
                "  the default's {name} {value}: {}",
                count(&wrong, &default)
            );
            assert!(
                count(&wrong, &default) > 0,
                "{instruction} {scale} {name} {value}"
            );
        }
    }
}
