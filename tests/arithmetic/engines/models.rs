//! The arithmetics that are run: those of the catalogue, and those a user might write.

use std::collections::BTreeSet;

use tcverify::emu::step::{
    Code, ComplementDot, Direction, FlooredPairs, Fpmr, Fused, FusedHalves, Groups, Nans,
    OrderedFma, RoundedDot, Step,
};
use tcverify::emu::{Arithmetic, Catalogue};
use tcverify::kernels;
use tcverify::num::{Format, Rounding};

use crate::support::random::Random;

#[derive(Clone, Debug)]
pub struct Model {
    pub name: String,
    pub arithmetic: Arithmetic,
}

/// Every distinct arithmetic of the catalogue that has a kernel, named after the first rule that has it.
pub fn catalogue() -> Vec<Model> {
    let mut seen = BTreeSet::new();
    let mut models = Vec::new();
    for architecture in Catalogue::builtin().architectures() {
        for instruction in &architecture.instructions {
            for rule in &instruction.rules {
                for &[a, b] in &rule.operands {
                    let arithmetic = Arithmetic::of(rule, [a, b]);
                    // Those with scales have a test of their own.
                    // Those with a C of another format have one step only: tests/kernels.rs.
                    let plain = rule.scale.is_none() && arithmetic.longest_k().is_none();
                    let floats = plain && !rule.accumulator.is_integer();
                    let vectors = floats && kernels::plan(&arithmetic).is_some();
                    if vectors && seen.insert(arithmetic.sha256()) {
                        let (accumulator, place) = (rule.accumulator, &architecture.name);
                        let name = format!("{place} {} {a}*{b}->{accumulator}", instruction.name);
                        models.push(Model { name, arithmetic });
                    }
                }
            }
        }
    }
    models
}

/// The catalogue's model of this name; `Model::name` shows how they are composed.
pub fn named(name: &str) -> Model {
    let found = catalogue().into_iter().find(|model| model.name == name);
    found.unwrap_or_else(|| panic!("no model is called {name:?}"))
}

/// Models nobody has built: every constant at its ends and between, most within what the kernels
/// take and some beyond.
pub fn made_up(count: u64) -> Vec<Model> {
    let models = (0..count).map(|seed| random(&mut Random::seeded(0x6d6f_6465 + seed)));
    models.collect()
}

/// Chains of fused multiply-adds in an order that nobody has built and that a kernel computes.
pub fn ordered(count: usize) -> Vec<Model> {
    let models = (0..count as u64).map(|seed| {
        let arithmetic = ordered_fma(&mut Random::seeded(0x6f72_6472 + seed));
        assert_eq!(arithmetic.check(), Ok(()));
        assert!(kernels::plan(&arithmetic).is_some(), "{arithmetic:?}");
        let name = "a made-up chain".into();
        Model { name, arithmetic }
    });
    models.collect()
}

fn ordered_fma(random: &mut Random) -> Arithmetic {
    let a = random.pick(&[Format::Bf16, Format::Bf16, Format::Fp16, Format::Tf32]);
    let from_zero = random.once_in(2);
    // A chain from C has the products of one word of 32 bits.
    let span = if from_zero {
        random.pick(&[1, 2, 5, 8, 32])
    } else {
        4 / a.bytes()
    };
    let mut products: Vec<usize> = (0..span).collect();
    for i in (1..span).rev() {
        products.swap(i, random.below(i + 1));
    }
    let chains = if from_zero {
        random.pick(&[1, 2, 3])
    } else {
        1
    };
    let chains: Vec<_> = products
        .chunks(span.div_ceil(chains))
        .map(<[usize]>::to_vec)
        .collect();
    let step = OrderedFma {
        flush: random.once_in(2),
        invalid: Code(0xffc0_0000),
        from_zero: from_zero && chains.len() == 1,
        exact: false,
        chains,
    };
    Arithmetic::plain([a, a], Format::Fp32, Step::OrderedFma(step))
}

/// Products added to C a few at a time, with constants that nobody has built and that a kernel computes.
pub fn few(count: usize) -> Vec<Model> {
    let mut models = Vec::new();
    let mut seed = 0x6665_7770;
    while models.len() < count {
        seed += 1;
        let arithmetic = few_products(&mut Random::seeded(seed));
        assert_eq!(arithmetic.check(), Ok(()));
        if kernels::plan(&arithmetic).is_some() {
            let name = "made-up few products".into();
            models.push(Model { name, arithmetic });
        }
    }
    models
}

fn few_products(random: &mut Random) -> Arithmetic {
    let accumulator = random.pick(&[Format::Fp32, Format::Fp32, Format::Fp16, Format::Bf16]);
    let operand = |random: &mut Random| match random.below(5) {
        0 => random.pick(&NARROW),
        1 => Format::Tf32,
        2 | 3 => Format::Bf16,
        _ => Format::Fp16,
    };
    let a = operand(random);
    let b = if random.once_in(3) {
        operand(random)
    } else {
        a
    };
    let complement = random.once_in(2);
    let mut order: Vec<usize> = (0..random.pick(&[1, 3, 4, 8])).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, random.below(i + 1));
    }
    let groups = Groups {
        size: if complement || random.once_in(3) {
            2
        } else {
            4
        },
        order,
    };
    // As built, and others.
    let built = random.once_in(2);
    let product_bits = if built {
        24
    } else {
        random.between(8, 26) as u32
    };
    let lowest = if complement { 26 } else { product_bits as i32 };
    let leading_bits = if built {
        26
    } else {
        random.between(lowest, 28) as u32
    };
    let half = accumulator == Format::Fp16;
    let least = match (half, random.once_in(2)) {
        (true, true) => -14,
        (false, true) => -126,
        _ => random.pick(&[-4096, -130, -100, -75, -30, -14, 0, 5, 40]),
    };
    let nan = match accumulator {
        Format::Fp32 => Nans {
            operand: Code(0xffc0_0a3d),
            invalid: Code(0xffc0_0000),
        },
        Format::Fp16 => Nans {
            operand: Code(0xfe3d),
            invalid: Code(0xfe00),
        },
        _ => Nans {
            operand: Code(0xfffd),
            invalid: Code(0xffc0),
        },
    };
    let step = if complement {
        Step::ComplementDot(ComplementDot {
            groups,
            product_bits,
            leading_bits,
            least_leading: random.once_in(2).then_some(least),
            flush_operands: random.once_in(2),
            flush_sums: !half && random.once_in(2),
            nan,
        })
    } else {
        let vanishing = random.pick(&[-4096, -126, -60, -24, -14, -3, 20]);
        Step::FlooredPairs(FlooredPairs {
            groups,
            product_bits,
            leading_bits,
            least_leading: least,
            vanishing_c: random.once_in(2).then_some(vanishing),
            nan,
        })
    };
    Arithmetic::plain([a, b], accumulator, step)
}

/// Rounded dot products that nobody has built and that a kernel computes.
pub fn rounded(count: usize) -> Vec<Model> {
    let mut models = Vec::new();
    let mut seed = 0x646f_7473;
    while models.len() < count {
        seed += 1;
        let arithmetic = rounded_dot(&mut Random::seeded(seed));
        if arithmetic.check().is_ok() && kernels::plan(&arithmetic).is_some() {
            let name = "a made-up dot product".into();
            models.push(Model { name, arithmetic });
        }
    }
    models
}

fn rounded_dot(random: &mut Random) -> Arithmetic {
    let accumulator = random.pick(&[Format::Fp32, Format::Fp32, Format::Fp16, Format::Fp64]);
    let group = random.pick(&[1, 2, 2, 3, 4, 8]);
    let with_c = random.once_in(2);
    let fpmr = with_c && random.once_in(2);
    let (nan, largest) = match accumulator {
        Format::Fp16 => (0x7e00, 15),
        Format::Fp32 => (0x7fc0_0000, 127),
        _ => (0x7ff8_0000_0000_0000, 127),
    };
    let step = RoundedDot {
        group,
        fused: if with_c { group } else { random.pick(&[1, 2]) },
        rounding: random.pick(&[
            Direction::NearestEven,
            Direction::NearestEven,
            Direction::TowardZero,
            Direction::Odd,
        ]),
        flush: random.once_in(2),
        nan: Code(nan),
        with_c,
        payloads: random.once_in(3),
        fpmr: fpmr.then(|| Fpmr {
            lscale: random.between(0, largest) as u32,
            osm: random.once_in(2),
        }),
    };
    let operand = |random: &mut Random| match random.below(4) {
        0 => random.pick(&Format::ALL[..8]),
        1 => Format::E5m2,
        2 => Format::Bf16,
        _ => accumulator,
    };
    let a = operand(random);
    let b = if random.once_in(3) {
        operand(random)
    } else {
        a
    };
    Arithmetic::plain([a, b], accumulator, Step::RoundedDot(step))
}

const NARROW: [Format; 6] = [
    Format::Fp16,
    Format::E4m3,
    Format::E5m2,
    Format::E3m2,
    Format::E2m3,
    Format::E2m1,
];

pub fn random(random: &mut Random) -> Model {
    let half = random.once_in(4);
    let accumulator = if half { Format::Fp16 } else { Format::Fp32 };
    let operand = |random: &mut Random| match random.below(if half { 2 } else { 6 }) {
        0 => random.pick(&NARROW),
        1 => Format::Fp16,
        2 | 3 => Format::Bf16,
        4 => Format::Tf32,
        _ => random.pick(&Format::ALL[..8]),
    };
    let a = operand(random);
    let b = if random.once_in(3) {
        operand(random)
    } else {
        a
    };
    let fused = fused(random, accumulator);
    let step = if random.once_in(4) {
        Step::FusedHalves(halves(random, fused))
    } else {
        Step::Fused(fused)
    };
    let arithmetic = Arithmetic::plain([a, b], accumulator, step);
    if let Err(reason) = arithmetic.check() {
        panic!("{arithmetic:?}: {reason}");
    }
    Model {
        name: "made up".into(),
        arithmetic,
    }
}

fn fused(random: &mut Random, accumulator: Format) -> Fused {
    let half = accumulator == Format::Fp16;
    let full = accumulator.fraction_bits() + 1;
    let odd = random.once_in(24);
    Fused {
        sum_bits: None,
        minus_zero: random.once_in(6),
        group: match random.below(8) {
            0 => random.between(1, 70) as usize,
            1 => random.pick(&[127, 128, 129, 200, 256, 1000]),
            _ => random.pick(&[1, 2, 3, 4, 7, 8, 12, 16, 20, 32, 64]),
        },
        fraction_bits: match random.below(8) {
            0 => random.pick(&[0, 5, 7, 29, 30, 35, 60, 96]),
            1 => 8,
            2 => 28,
            _ => random.between(8, 28) as u32,
        },
        alignment: if odd && random.once_in(2) {
            random.pick(&[Rounding::NearestEven, Rounding::Down])
        } else {
            Rounding::TowardZero
        },
        zero_exponent: match random.below(8) {
            0 => random.between(-160, 20),
            1 => random.pick(&[-4096, -300, 0]),
            // FP16's and FP32's smallest exponents, and near them.
            _ if half => random.pick(&[-14, -15, -21, -28, -40, -90, -98]),
            _ => random.pick(&[-126, -127, -133, -150, -254]),
        },
        precision: match random.below(3) {
            0 if !half || odd => random.between(1, full as i32) as u32,
            1 if !half => random.pick(&[8, 12, 14, 20, 23]),
            _ => full,
        },
        rounding: match (odd, half) {
            (true, _) => random.pick(&[Rounding::NearestAway, Rounding::Down]),
            (false, true) => Rounding::NearestEven,
            (false, false) => Rounding::TowardZero,
        },
        nan: Code(if half {
            random.pick(&[0x7fff, 0x7e00, 0xfe01])
        } else {
            random.pick(&[0x7fff_ffff, 0x7fc0_0000, 0xff80_0001])
        }),
    }
}

/// Two halves as long as `half.group`, or, seldom, shorter ones.
fn halves(random: &mut Random, half: Fused) -> FusedHalves {
    let (period, first) = random.pick(&[
        (4, vec![0, 1]),
        (2, vec![0]),
        (2, vec![1]),
        (4, vec![0, 3]),
        (4, vec![3, 1]),
        (8, vec![0, 3, 5, 6]),
        (8, vec![4, 5, 6, 7]),
        (6, vec![5, 0, 2]),
    ]);
    // So that the pattern fits a whole number of times.
    let group = half
        .group
        .next_multiple_of(period / 2)
        .min(500 / period * period);
    FusedHalves {
        span: 2 * group,
        period,
        first,
        half: Fused {
            group: if random.once_in(12) { group + 1 } else { group },
            minus_zero: false,
            ..half
        },
        closing: if random.once_in(12) {
            Rounding::TowardZero
        } else {
            Rounding::NearestEven
        },
    }
}
