//! Wires of units: what passes each, and what a spoiled part makes of a sum.

use std::collections::BTreeMap;

use super::*;
use crate::num::{Rounding, round_code};
use crate::{Arithmetic, Catalogue};

/// What passes a unit's wires, and what becomes of it.
#[derive(Default)]
struct Meter {
    multiplied: Vec<(usize, u128)>,
    shifted: Vec<Option<usize>>,
    added: usize,
    product: Option<(usize, u128)>,
    aligner: Option<(usize, i128)>,
    adder: Option<i128>,
}

impl TraceObserver for Meter {}

/// A part that is given is multiplied by its factor.
impl FaultInjector for Meter {
    fn is_sound(&self) -> bool {
        false
    }

    fn multiplied(&mut self, k: usize, magnitude: u128) -> u128 {
        self.multiplied.push((k, magnitude));
        match self.product {
            Some((at, by)) if at == k => magnitude * by,
            _ => magnitude,
        }
    }

    fn shifted(&mut self, aligner: Option<usize>, kept: i128) -> i128 {
        self.shifted.push(aligner);
        match self.aligner {
            Some((at, by)) if Some(at) == aligner => kept * by,
            _ => kept,
        }
    }

    fn added(&mut self, sum: i128) -> i128 {
        self.added += 1;
        sum * self.adder.unwrap_or(1)
    }
}

fn of(architecture: &str, a: Format) -> Arithmetic {
    let architecture = Catalogue::builtin()
        .find(architecture)
        .expect("it is there");
    let mut rules = architecture
        .instructions
        .iter()
        .flat_map(|instruction| &instruction.rules);
    let rule =
        rules.find(|rule| rule.operands.contains(&[a, a]) && rule.accumulator == Format::Fp32);
    Arithmetic::of(rule.expect("a rule"), [a, a])
}

/// The code of a number, which the format has.
fn code(format: Format, number: f32) -> u64 {
    let bits = number.to_bits().into();
    round_code(Format::Fp32, bits, format, Rounding::NearestEven, 0x7e00)
}

/// A step of an FP16 unit with wires.
fn run(arithmetic: &Arithmetic, a: &[f32], b: &[f32], c: f32, meter: &mut Meter) -> f32 {
    let numbers = |x: &[f32]| -> Vec<Unpacked> {
        x.iter()
            .map(|&x| Format::Fp16.unpack(code(Format::Fp16, x)))
            .collect()
    };
    let (a, b) = (numbers(a), numbers(b));
    let products = Products {
        formats: arithmetic.formats(),
        a: &a,
        b: &b,
        scales: None,
    };
    f32::from_bits(arithmetic.step.add(products, c.to_bits().into(), meter) as u32)
}

/// Every multiplier returns one product of significands, under its number.
#[test]
fn multipliers_are_numbered_as_products_are() {
    for (architecture, kind) in [
        ("volta", "fused"),
        ("cdna3", "fused_floor"),
        ("cdna1", "exact_sum"),
        ("cdna2", "pairwise_flush"),
    ] {
        let mut arithmetic = of(architecture, Format::Fp16);
        if let Step::FusedFloor(step) = &mut arithmetic.step {
            step.sums = 3;
        }
        let group = match &arithmetic.step {
            Step::PairwiseFlush(step) => step.group,
            step => step.span(),
        };
        let a: Vec<f32> = (0..group).map(|k| 1.0 + k as f32 / 16.0).collect();
        let b: Vec<f32> = a.iter().rev().copied().collect();
        let mut meter = Meter::default();
        run(&arithmetic, &a, &b, 1.0, &mut meter);
        let significand = |x: &f32| (x * 1024.0) as u128;
        let expected: BTreeMap<usize, u128> = a
            .iter()
            .zip(&b)
            .map(|(a, b)| significand(a) * significand(b))
            .enumerate()
            .collect();
        assert_eq!(meter.multiplied.len(), group, "{kind}");
        assert_eq!(
            meter.multiplied.into_iter().collect::<BTreeMap<_, _>>(),
            expected,
            "{kind}"
        );
    }
}

/// An exact sum of which a multiplier, an aligner or the adder gives another number is that of other operands.
#[test]
fn a_spoiled_part_of_an_exact_sum_is_another_operand() {
    let unit = of("cdna1", Format::Fp16);
    let sum = |a: &[f32], b: &[f32], c: f32, mut meter: Meter| run(&unit, a, b, c, &mut meter);
    let with = |k: usize, by: u128| Meter {
        product: Some((k, by)),
        ..Meter::default()
    };
    let shifted = |k: usize, by: i128| Meter {
        aligner: Some((k, by)),
        ..Meter::default()
    };
    let added = |by: i128| Meter {
        adder: Some(by),
        ..Meter::default()
    };
    let b = [3.0, -0.5, 1.25, 4.0];
    for c in [0.0, -7.5, 100.0] {
        let a = [1.5, 2.0, -6.0, 0.125];
        let sound = 4.5 - 1.0 - 7.5 + 0.5 + c;
        assert_eq!(sum(&a, &b, c, Meter::default()), sound);
        for (k, product) in [4.5, -1.0, -7.5, 0.5].into_iter().enumerate() {
            assert_eq!(sum(&a, &b, c, with(k, 0)), sound - product, "{k} {c}");
            assert_eq!(sum(&a, &b, c, with(k, 3)), sound + 2.0 * product, "{k} {c}");
            assert_eq!(sum(&a, &b, c, shifted(k, 0)), sound - product, "{k} {c}");
            assert_eq!(
                sum(&a, &b, c, shifted(k, -2)),
                sound - 3.0 * product,
                "{k} {c}"
            );
        }
        assert_eq!(sum(&a, &b, c, added(0)), 0.0, "{c}");
        assert_eq!(sum(&a, &b, c, added(-2)), -2.0 * sound, "{c}");
    }
    // Of zeros alone nothing reaches the adder, nor of a NaN.
    for (a, sums) in [([0.0; 4], 0), ([1.0; 4], 1), ([f32::NAN; 4], 0)] {
        let mut meter = Meter::default();
        run(&unit, &a, &b, 0.0, &mut meter);
        assert_eq!(meter.added, sums, "{a:?}");
    }
}

/// The wires end some bits below the largest term; what lies below them is summed all the same.
#[test]
fn what_lies_below_the_wires_of_an_exact_sum_stays() {
    let unit = of("cdna1", Format::Fp16);
    let low = |exponent: i32| 2f32.powi(exponent);
    assert_eq!(fma_bits(Format::Fp32), 50);
    // C is 2^10 and taken off again, so that wires end at 2^-40; the last product straddles that.
    let b = [-32.0, low(-21), 0.0, 0.0];
    for sign in [1.0, -1.0] {
        let a = [32.0, sign * 3.0 * low(-20), 0.0, 0.0];
        let sum = |mut meter: Meter| run(&unit, &a, &b, 1024.0, &mut meter);
        assert_eq!(sum(Meter::default()), sign * 3.0 * low(-41));
        let aligner = |by: i128| Meter {
            aligner: Some((1, by)),
            ..Meter::default()
        };
        assert_eq!(sum(aligner(0)), sign * low(-41));
        assert_eq!(sum(aligner(5)), sign * 11.0 * low(-41));
        // The adder has the floor of the sum.
        let adder = sum(Meter {
            adder: Some(0),
            ..Meter::default()
        });
        let floor = if sign > 0.0 {
            low(-40)
        } else {
            -2.0 * low(-40)
        };
        assert_eq!(adder, sign * 3.0 * low(-41) - floor);
    }
}
