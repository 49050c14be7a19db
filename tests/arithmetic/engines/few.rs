//! Products cut to grids a few at a time, where the kernel's proof begins and ends: exponents about the lowest and the highest
//! that it takes, C of a few of its smallest units, products that cancel C, and zeros of both signs.

use tcverify::emu::step::Step;
use tcverify::kernels::{self, KernelConfig, Platform};
use tcverify::num::{Format, Rounding, round_code};

use super::case::{Case, Shape, product};
use super::models::{self, Model};
use super::operands::{Addend, Kind};
use crate::support::engines::engines;
use crate::support::random::Random;

fn all() -> Vec<Model> {
    let few = |model: &Model| {
        let plan = kernels::plan(&model.arithmetic);
        matches!(plan, Some(KernelConfig::Few(_)))
    };
    let models = models::catalogue().into_iter().filter(few);
    models.chain(models::few(60)).collect()
}

/// `2^exponent` times a number of at most so many bits, as a code.
fn code(random: &mut Random, format: Format, exponent: i32, bits: u32) -> u64 {
    let significand = 1.0 + random.below(1 << (bits - 1)) as f64 / f64::from(1 << (bits - 1));
    let sign = if random.once_in(2) { -1.0 } else { 1.0 };
    let number = sign * significand * f64::from(exponent).exp2();
    round_code(
        Format::Fp64,
        number.to_bits(),
        format,
        Rounding::TowardZero,
        0,
    )
}

fn operand(random: &mut Random, format: Format, exponent: i32, spread: i32) -> u64 {
    match random.below(9) {
        0 => 0,
        1 => format.sign_mask(),
        _ => {
            let exponent = exponent + random.between(-spread, spread);
            let bits = random.pick(&[1, format.fraction_bits() + 1]);
            code(random, format, exponent, bits)
        }
    }
}

/// The constants of a model's step: bits of products and below C.
fn bits(step: &Step) -> [i32; 2] {
    match step {
        Step::ComplementDot(step) => [step.product_bits as i32, step.leading_bits as i32],
        Step::FlooredPairs(step) => [step.product_bits as i32, step.leading_bits as i32],
        _ => unreachable!("few products"),
    }
}

#[test]
fn the_ends_of_what_the_kernel_takes() {
    let mut random = Random::seeded(11);
    let mut differing = 0;
    for model in all() {
        let arithmetic = &model.arithmetic;
        let [product_bits, leading_bits] = bits(&arithmetic.step);
        let least_sum = leading_bits - 126;
        let lowest = least_sum + product_bits;
        let highest = leading_bits + 2 * product_bits - 10;
        for round in 0..24 {
            let k = random.pick(&[2, 4, 16, 40]);
            let shape = Shape::new(4, 33, k);
            let spread = random.pick(&[0, 1, 3, 30]);
            let sum = match round % 4 {
                0 => lowest + random.between(-1, 3) + 2 * spread,
                1 => highest - random.between(-1, 3) - 2 * spread,
                2 => least_sum + random.between(0, 60),
                _ => random.between(-20, 10),
            };
            let half = sum / 2;
            let a: Vec<u64> = (0..4 * k)
                .map(|_| operand(&mut random, arithmetic.a, half, spread))
                .collect();
            let b: Vec<u64> = (0..k * 33)
                .map(|_| operand(&mut random, arithmetic.b, sum - half, spread))
                .collect();
            let format = arithmetic.accumulator;
            let near = product(&model, tcverify::emu::Engine::Exact, shape, &a, &b, None);
            let c: Vec<u64> = near
                .iter()
                .map(|&near| match random.below(8) {
                    0 => 0,
                    1 => format.sign_mask(),
                    // Cancels, to a few last bits.
                    2 | 3 => (near ^ format.sign_mask()).wrapping_add(random.below(3) as u64),
                    4 => code(&mut random, format, least_sum, 1),
                    5 => {
                        let exponent = least_sum + random.between(0, 50);
                        code(&mut random, format, exponent, 1)
                    }
                    6 => {
                        let exponent = sum + random.between(-30, 30);
                        code(&mut random, format, exponent, format.fraction_bits() + 1)
                    }
                    // About one unit of a grid.
                    _ => {
                        let exponent = sum - product_bits + random.between(-3, 3);
                        code(&mut random, format, exponent, 2)
                    }
                })
                .collect();
            let exact = product(
                &model,
                tcverify::emu::Engine::Exact,
                shape,
                &a,
                &b,
                Some(&c),
            );
            differing += exact.iter().zip(&near).filter(|(x, y)| x != y).count();
            for engine in engines() {
                let found = product(&model, engine, shape, &a, &b, Some(&c));
                let wrong = exact.iter().zip(&found).position(|(x, y)| x != y);
                if let Some(at) = wrong {
                    panic!(
                        "{engine:?} {} {}: round {round}, sum {sum} +- {spread}, k {k}, element {at}: C {:x}, exact {:x}, \
                         found {:x}\nA {:x?}\nB {:x?}",
                        model.name,
                        arithmetic.canonical_json(),
                        c[at],
                        exact[at],
                        found[at],
                        &a[at / 33 * k..][..k],
                        b.iter().skip(at % 33).step_by(33).collect::<Vec<_>>(),
                    );
                }
            }
        }
    }
    assert!(differing > 10_000, "C changes only {differing} elements");
}

/// The captured models' ordinary numbers are the kernels' own.
#[test]
fn ordinary_numbers_are_the_kernels_own() {
    let mut seen = 0;
    for model in all()
        .into_iter()
        .filter(|model| model.name.starts_with("rdna"))
    {
        let case = Case::new(
            &model,
            Shape::new(9, 70, 150),
            Kind::Ordinary,
            Addend::Ordinary,
            6,
        );
        let operands = case.operands();
        for platform in Platform::available() {
            let share = case.exact_share(&operands, platform);
            assert_eq!(
                (share.exact, share.total),
                (0, 9 * 70 * 150),
                "{}",
                model.name
            );
            seen += 1;
        }
    }
    assert!(seen >= 20, "{seen}");
}

/// A negative product that is as good as zero beside another still counts minus one.
#[test]
fn a_product_far_below_another_counts() {
    let mut seen = 0;
    for model in all() {
        let arithmetic = &model.arithmetic;
        let formats = [arithmetic.a, arithmetic.b, arithmetic.accumulator];
        let floored = matches!(arithmetic.step, Step::FlooredPairs(_));
        if !model.name.starts_with("rdna")
            || !floored
            || formats[0] != Format::Bf16
            || formats[2] != Format::Fp32
        {
            continue;
        }
        // 2^60 times 2^40, and -2^-38 times 2^-38.
        let (a, b) = ([0x5d80, 0xac80], [0x5380, 0x2c80]);
        let shape = Shape::new(4, 33, 2);
        let a = a.repeat(4);
        let b: Vec<u64> = b.into_iter().flat_map(|b| [b; 33]).collect();
        for engine in engines() {
            let d = product(&model, engine, shape, &a, &b, None);
            assert_eq!(d, [0x717f_ffff; 132], "{engine:?} {}", model.name);
            seen += 1;
        }
    }
    assert!(seen >= 6, "{seen}");
}

/// In a chain that flushes, nothing is left of a C whose last bits lie below all normal numbers.
#[test]
fn what_chains_leave_of_c_is_flushed() {
    let mut seen = 0;
    for model in models::catalogue().into_iter().chain(models::ordered(60)) {
        let Step::OrderedFma(step) = &model.arithmetic.step else {
            continue;
        };
        if model.arithmetic.a != Format::Bf16 || !step.flush {
            continue;
        }
        // -2^-112, and as much of C, which has one bit more: 2^-135.
        let shape = Shape::new(4, 33, 1);
        let (a, b, c) = ([0x2380; 4], [0xa380; 33], [0x0780_0001; 132]);
        for engine in engines() {
            let d = product(&model, engine, shape, &a, &b, Some(&c));
            assert_eq!(d, [0; 132], "{engine:?} {}", model.name);
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen}");
}
