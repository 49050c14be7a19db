//! Broken datapaths: what passes them, and what a spoiled part makes of a sum.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::super::fault::{Fault, Injector, Place, Stuck};
use super::super::fault_search::{bits, paths};
use super::*;
use crate::emu::{Arithmetic, Catalogue};
use crate::num::round_code;
use crate::random::{SplitMix64, mix};

/// What passes a unit's wires, and what becomes of it.
#[derive(Default)]
struct Meter {
    multiplied: RefCell<Vec<(usize, u128)>>,
    added: RefCell<usize>,
    product: Option<(usize, u128)>,
    aligner: Option<(usize, i128)>,
    adder: Option<i128>,
}

/// A part that is given is multiplied by its factor.
impl Datapath for Meter {
    fn multiplied(&self, k: usize, magnitude: u128) -> u128 {
        self.multiplied.borrow_mut().push((k, magnitude));
        match self.product {
            Some((at, by)) if at == k => magnitude * by,
            _ => magnitude,
        }
    }

    fn shifted(&self, aligner: usize, kept: i128) -> i128 {
        match self.aligner {
            Some((at, by)) if at == aligner => kept * by,
            _ => kept,
        }
    }

    fn added(&self, sum: i128) -> i128 {
        *self.added.borrow_mut() += 1;
        sum * self.adder.unwrap_or(1)
    }

    fn rounded(&self, _: Format, code: u64) -> u64 {
        code
    }
}

/// Every arithmetic of the catalogue, each once.
fn catalogue() -> Vec<Arithmetic> {
    let architectures = Catalogue::builtin().architectures().iter();
    let instructions = architectures.flat_map(|architecture| &architecture.instructions);
    let rules = instructions.flat_map(|instruction| &instruction.rules);
    let all = rules.flat_map(|rule| rule.operands.iter().map(|&of| Arithmetic::of(rule, of)));
    let all = all.map(|arithmetic| (arithmetic.canonical_json(), arithmetic));
    all.collect::<BTreeMap<_, _>>().into_values().collect()
}

/// Steps of a unit with one fault and their results.
struct Trial {
    fault: Fault,
    /// Operands, scales and C of a few steps.
    a: Vec<Unpacked>,
    b: Vec<Unpacked>,
    scales: [Vec<u8>; 2],
    c: u64,
}

/// A code, often near one, sometimes zero or special.
fn code(format: Format, random: &mut SplitMix64) -> u64 {
    let any = random.word() & format.max_code();
    if format.is_integer() || format.kind() == crate::num::Kind::Scale {
        return any & format.max_code();
    }
    match random.word() % 16 {
        0 => format.zero(random.word() & 1 == 1),
        1 | 2 => any,
        _ => {
            let fraction = format.fraction_bits();
            let most = (1u64 << format.exponent_bits()) - 2;
            let near =
                (format.bias() as i64 + (random.word() % 25) as i64 - 12).clamp(0, most as i64);
            let low = any & ((1 << fraction) - 1);
            let sign = any & format.sign_mask();
            (sign | (near as u64) << fraction | low) << format.ignored_bits()
        }
    }
}

impl Trial {
    fn new(arithmetic: &Arithmetic, random: &mut SplitMix64) -> Trial {
        let formats = arithmetic.formats();
        let places = [
            Place::Product,
            Place::Aligner,
            Place::Adder,
            Place::Rounding,
        ];
        let places: Vec<Place> = places
            .into_iter()
            .filter(|place| !bits(arithmetic, *place).is_empty())
            .collect();
        let place = places[random.word() as usize % places.len()];
        let range = bits(arithmetic, place);
        let k = random.word() as usize % paths(arithmetic, place);
        let bit = || -> u128 { 1 << range.start };
        let mut mask = 0;
        for _ in 0..1 + random.word() % 3 {
            mask |= bit() << (random.word() % u64::from(range.end - range.start));
        }
        let stuck = [Stuck::Zero, Stuck::One, Stuck::Flip][random.word() as usize % 3];
        let fault = match random.word() % 16 {
            0 => Fault::always(place, u128::MAX, Stuck::Zero, k),
            _ => Fault::always(place, mask, stuck, k),
        };
        let span = arithmetic.step.span();
        // Seldom not full.
        let count = match random.word() % 8 {
            0 => 1 + random.word() as usize % (3 * span),
            _ => 3 * span,
        };
        let numbers = |format: Format, random: &mut SplitMix64| -> Vec<Unpacked> {
            (0..count)
                .map(|_| format.unpack(code(format, random)))
                .collect()
        };
        let (a, b) = (numbers(formats.a, random), numbers(formats.b, random));
        let codes = |random: &mut SplitMix64| -> Vec<u8> {
            let Some(scale) = arithmetic.scale else {
                return Vec::new();
            };
            let mut codes: Vec<u8> = Vec::new();
            for k in 0..count {
                let same = !(k % span).is_multiple_of(scale.block);
                let near = scale.format.bias() as u64 + random.word() % 9 - 4;
                let near = (near << scale.format.fraction_bits()) | (random.word() % 8);
                codes.push(match codes.last() {
                    Some(last) if same => *last,
                    _ => (near & scale.format.max_code()) as u8,
                });
            }
            codes
        };
        let given = arithmetic.scale.is_some() && !arithmetic.step.scales_operands();
        let scales = if given {
            [codes(random), codes(random)]
        } else {
            [Vec::new(), Vec::new()]
        };
        let c = code(formats.addend, random);
        Trial {
            fault,
            a,
            b,
            scales,
            c,
        }
    }

    /// The steps' operands.
    fn steps<'a>(&'a self, arithmetic: &Arithmetic) -> impl Iterator<Item = Products<'a>> {
        let formats = arithmetic.formats();
        let span = arithmetic.step.span();
        (0..self.a.len()).step_by(span).map(move |first| {
            let here = first..self.a.len().min(first + span);
            let given = !self.scales[0].is_empty();
            Products {
                formats,
                a: &self.a[here.clone()],
                b: &self.b[here.clone()],
                scales: given.then(|| [&self.scales[0][here.clone()], &self.scales[1][here]]),
            }
        })
    }

    fn result(&self, arithmetic: &Arithmetic, faulty: bool) -> u64 {
        let formats = arithmetic.formats();
        let step = &arithmetic.step;
        let injector = Injector::new(&self.fault, 0);
        let mut carried = step.start(formats, self.c);
        for products in self.steps(arithmetic) {
            if faulty {
                run_through(step, products, &mut carried, &injector);
            } else {
                let Products {
                    formats,
                    a,
                    b,
                    scales,
                } = products;
                step.run_scaled(formats, a, b, scales, &mut carried);
            }
        }
        step.finish(formats, &carried)
    }
}

/// A datapath that changes nothing gives what the step gives.
#[test]
fn a_sound_datapath_is_the_step() {
    let mut random = SplitMix64(3);
    let mut different = 0;
    for arithmetic in catalogue() {
        for _ in 0..40 {
            let mut trial = Trial::new(&arithmetic, &mut random);
            let wrong = trial.result(&arithmetic, true);
            let right = trial.result(&arithmetic, false);
            different += usize::from(wrong != right);
            trial.fault.bits = 0;
            let sound = trial.result(&arithmetic, true);
            assert_eq!(sound, right, "{}", arithmetic.canonical_json());
        }
    }
    assert!(different > 1000, "{different}");
}

/// Results of faulty steps, as an injection that stood in the steps themselves gave them: an arithmetic's kind and
/// digest, and a digest of the results.
const PINNED: [(&str, &str, &str); 30] = [
    ("block_dot", "3671ea569f5f", "f840959e5f8f8967"),
    ("block_dot", "68e6e4023745", "e08fbd1bb4457e04"),
    ("block_window", "1303e595a152", "e3714c47572234b2"),
    ("block_window", "e442b1f1caa3", "ebc583d0c09dfc07"),
    ("complement_dot", "2305fcf412d0", "b3c3caba0a4d9fc5"),
    ("complement_dot", "c681c618adb2", "551c8ca135c119d0"),
    ("exact_sum", "29e664c720a2", "303fbdcc59a2c7f4"),
    ("exact_sum", "f34098d4cd8b", "f3e3badeaf2ae0f5"),
    ("floored_pairs", "e85ba06678f7", "8f9214814e3a812b"),
    ("floored_pairs", "f62ada40e270", "65449d7815cdffc6"),
    ("fma_chain", "6401c9e3a829", "bac20411d2395620"),
    ("fma_chain", "25049118a0b7", "363ccbb5da30be67"),
    ("fused", "0f9a639307cd", "c545c0c31bfaa477"),
    ("fused", "c46504180e9f", "95d3e10b6bd46f5d"),
    ("fused_floor", "1cf5c87cdbab", "204002ef37131b46"),
    ("fused_floor", "627c4dac825d", "3dd7c52dd28cc439"),
    ("fused_halves", "6544c07055c2", "9c883a7ef0448c76"),
    ("fused_halves", "4a779fc8fddf", "e4bec2a63fde4bce"),
    ("half_chain", "67e6e3e55d8d", "e5d9cc31505da30a"),
    ("integer_sum", "30735d556dd5", "8ae8b11656508720"),
    ("integer_sum", "59fb8f73ff62", "0b487c51c38b6fd1"),
    ("ordered_fma", "36f7435c8709", "8c92e3f69e9e3d1b"),
    ("ordered_fma", "cfa9fe1e1c8b", "515dd24cde335424"),
    ("pairwise_flush", "5e9930033192", "a1e057e0fb0cd205"),
    ("pairwise_flush", "7530b5187373", "a95cdd410555793b"),
    ("sliced", "bf473d408b7d", "9826743c270b3184"),
    ("sliced", "0f683746854b", "3e0f1a4c26df0622"),
    ("sliced_integers", "0d4b02feb0f3", "e13767e1c0598872"),
    ("sliced_integers", "5929b6322be1", "eacc9c81d994f667"),
    ("sticky_rne", "cf769d6d8a8c", "516064704b6feba4"),
];

/// Trials of each arithmetic.
const TRIALS: usize = 1000;

#[test]
fn faulty_steps_give_what_they_gave() {
    let all = catalogue();
    for (kind, name, pinned) in PINNED {
        let mut named = all.iter().filter(|all| all.sha256().starts_with(name));
        let arithmetic = named.next().unwrap_or_else(|| {
            panic!(
                "no {kind} of digest {name}: pin a likeness of it that a second injection confirms"
            )
        });
        let mut random = SplitMix64(1);
        let (mut digest, mut changed) = (0, 0);
        for _ in 0..TRIALS {
            let trial = Trial::new(arithmetic, &mut random);
            let given = trial.result(arithmetic, true);
            changed += usize::from(given != trial.result(arithmetic, false));
            digest = mix(digest ^ given);
        }
        assert_eq!(format!("{digest:016x}"), pinned, "{kind} {name}");
        assert!(changed > 50, "{kind} {name}: {changed}");
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
fn number(format: Format, number: f32) -> u64 {
    let bits = number.to_bits().into();
    round_code(Format::Fp32, bits, format, Rounding::NearestEven, 0x7e00)
}

/// A step of an FP16 unit through a datapath.
fn run(arithmetic: &Arithmetic, a: &[f32], b: &[f32], c: f32, meter: &Meter) -> f32 {
    let numbers = |x: &[f32]| -> Vec<Unpacked> {
        x.iter()
            .map(|&x| Format::Fp16.unpack(number(Format::Fp16, x)))
            .collect()
    };
    let (a, b) = (numbers(a), numbers(b));
    let products = Products {
        formats: arithmetic.formats(),
        a: &a,
        b: &b,
        scales: None,
    };
    f32::from_bits(add_through(&arithmetic.step, products, c.to_bits().into(), meter) as u32)
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
        let meter = Meter::default();
        run(&arithmetic, &a, &b, 1.0, &meter);
        let significand = |x: &f32| (x * 1024.0) as u128;
        let expected: BTreeMap<usize, u128> = a
            .iter()
            .zip(&b)
            .map(|(a, b)| significand(a) * significand(b))
            .enumerate()
            .collect();
        let multiplied = meter.multiplied.into_inner();
        assert_eq!(multiplied.len(), group, "{kind}");
        assert_eq!(
            multiplied.into_iter().collect::<BTreeMap<_, _>>(),
            expected,
            "{kind}"
        );
    }
}

/// An exact sum of which a multiplier, an aligner or the adder gives another number is that of other operands.
#[test]
fn a_spoiled_part_of_an_exact_sum_is_another_operand() {
    let unit = of("cdna1", Format::Fp16);
    let sum = |a: &[f32], b: &[f32], c: f32, meter: Meter| run(&unit, a, b, c, &meter);
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
        let meter = Meter::default();
        run(&unit, &a, &b, 0.0, &meter);
        assert_eq!(meter.added.into_inner(), sums, "{a:?}");
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
        let sum = |meter: Meter| run(&unit, &a, &b, 1024.0, &meter);
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
