//! Models nobody has built: any constants that the engine accepts.

use tcverify::emu::Arithmetic;
use tcverify::emu::step::{Code, Direction, FmaChain, Fpmr, Fused, FusedHalves, RoundedDot, Step};
use tcverify::num::{Format, Rounding};

use super::operands::{ALL, Dot};
use super::products::compare;
use crate::support::random::Random;

const ROUNDINGS: [Rounding; 4] = [
    Rounding::TowardZero,
    Rounding::NearestEven,
    Rounding::NearestAway,
    Rounding::Down,
];

/// The formats with infinities, which a result needs.
const ACCUMULATORS: [Format; 6] = [
    Format::Fp16,
    Format::Bf16,
    Format::Tf32,
    Format::E5m2,
    Format::Fp32,
    Format::Fp64,
];

fn nan(format: Format) -> Code {
    Code(format.sign_mask() - 1)
}

fn fused(accumulator: Format, group: usize, random: &mut Random) -> Fused {
    let lowest = 2 * accumulator.min_exponent() - 30;
    let precision = 1 + random.below(accumulator.fraction_bits() as usize + 1) as u32;
    let rounding = random.pick(&ROUNDINGS);
    let cut = rounding != Rounding::TowardZero && random.once_in(3);
    Fused {
        group,
        fraction_bits: random.below(97) as u32,
        alignment: random.pick(&ROUNDINGS),
        zero_exponent: random.between(lowest, 10),
        precision,
        rounding,
        sum_bits: cut.then(|| precision + random.below(10) as u32),
        nan: nan(accumulator),
        minus_zero: false,
    }
}

fn halves(accumulator: Format, random: &mut Random) -> FusedHalves {
    let period = 1 + random.below(8);
    let span = period * (1 + random.below(5));
    FusedHalves {
        span,
        period,
        first: (0..period).filter(|_| random.once_in(2)).collect(),
        half: fused(accumulator, span, random),
        closing: random.pick(&[Rounding::NearestEven, Rounding::TowardZero]),
    }
}

/// `step` makes a step for an accumulator.
fn verify(name: &str, count: usize, step: impl Fn(Format, &mut Random) -> Step) {
    let mut random = Random::named(name);
    for _ in 0..count {
        let accumulator = random.pick(&ACCUMULATORS);
        let a = random.pick(&Format::FLOATS);
        let step = step(accumulator, &mut random);
        let b = match step {
            Step::FmaChain(_) => a,
            _ => random.pick(&Format::FLOATS),
        };
        let arithmetic = Arithmetic::plain([a, b], accumulator, step);
        let accepted = arithmetic.check();
        assert_eq!(accepted, Ok(()), "{name}: {arithmetic:?}");
        for inputs in ALL {
            let dot = Dot::random(&arithmetic, inputs, &mut random);
            compare(name, &arithmetic, &dot);
        }
    }
}

#[test]
fn any_fused_step() {
    verify("fused", 2_000, |accumulator, random| {
        let group = 1 + random.below(40);
        Step::Fused(fused(accumulator, group, random))
    });
}

#[test]
fn any_pair_of_halves() {
    verify("halves", 1_000, |accumulator, random| {
        Step::FusedHalves(halves(accumulator, random))
    });
}

#[test]
fn any_chain_of_multiply_adds() {
    verify("chain", 3_000, |accumulator, random| {
        Step::FmaChain(FmaChain {
            rounding: random.pick(&[Rounding::NearestEven, Rounding::TowardZero]),
            nan: nan(accumulator),
        })
    });
}

#[test]
fn any_rounded_dot() {
    let mut random = Random::named("rounded");
    let directions = [
        Direction::NearestEven,
        Direction::TowardZero,
        Direction::Up,
        Direction::Down,
        Direction::Odd,
    ];
    let accumulators = [Format::Fp16, Format::Bf16, Format::Fp32, Format::Fp64];
    for _ in 0..3_000 {
        let format = random.pick(&accumulators);
        let fused = 1 + random.below(5);
        let parts = 1 + random.below(3);
        let with_c = parts == 1 && random.below(2) == 0;
        let fpmr = (random.below(2) == 0).then(|| Fpmr {
            lscale: random.below(16) as u32,
            osm: random.below(2) == 0,
        });
        // Payloads must fit.
        let payloads = fused == 1 && random.below(2) == 0;
        let step = RoundedDot {
            group: fused * parts,
            fused,
            rounding: random.pick(&directions),
            flush: random.below(2) == 0,
            nan: nan(format),
            with_c,
            payloads,
            fpmr,
        };
        let operand = if payloads {
            random.pick(&[Format::E5m2, format])
        } else {
            random.pick(&Format::FLOATS)
        };
        let arithmetic = Arithmetic::plain([operand; 2], format, step.into());
        assert_eq!(arithmetic.check(), Ok(()), "{arithmetic:?}");
        for inputs in ALL {
            let dot = Dot::random(&arithmetic, inputs, &mut random);
            compare("rounded", &arithmetic, &dot);
        }
    }
}

/// The widest group and the most fraction bits at once: the sum still fits.
#[test]
fn the_largest_sum_that_is_accepted() {
    let mut random = Random::named("largest");
    for operand in [Format::Fp16, Format::E2m1, Format::Fp64] {
        let arithmetic = Arithmetic::plain(
            [operand; 2],
            Format::Fp64,
            Step::Fused(Fused {
                group: 1024,
                fraction_bits: 96,
                precision: 53,
                rounding: Rounding::NearestEven,
                alignment: Rounding::TowardZero,
                zero_exponent: -2000,
                nan: nan(Format::Fp64),
                sum_bits: None,
                minus_zero: false,
            }),
        );
        assert_eq!(arithmetic.check(), Ok(()));
        let largest = operand.max_finite(false);
        let dot = Dot {
            a: vec![largest; 1024],
            b: vec![largest; 1024],
            c: u64::from(random.once_in(2)),
        };
        compare("the largest sum", &arithmetic, &dot);
    }
}
