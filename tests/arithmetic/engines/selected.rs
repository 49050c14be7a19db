//! Products of a compressed A: what kernels compute as dense products with zeros is what the exact engine computes of the
//! selected products alone, and where zeros would show no kernel computes.

use tcverify::emu::engine::{Progress, Work};
use tcverify::emu::step::Step;
use tcverify::emu::{Arithmetic, Catalogue, Engine, FastEngine, Pattern, Problem, Replay};
use tcverify::kernels::Platform;
use tcverify::num::Format;
use tcverify::tensor::Tensor;

use super::operands::{Addend, Kind, addend, operand};
use crate::support::case::codes;
use crate::support::random::Random;

const NO_PROGRESS: Progress = &|_| {};

/// A compressed product of one or more matrices.
struct Sparse {
    arithmetic: Arithmetic,
    a: Tensor,
    b: Tensor,
    c: Option<Tensor>,
    rows_of_b: Vec<u32>,
}

/// Every rule with a sparse form that has no scales, for its first and its last pair of formats.
fn rules() -> Vec<(String, Pattern, Arithmetic)> {
    let mut all: Vec<(String, Pattern, Arithmetic)> = Vec::new();
    for architecture in Catalogue::builtin().architectures() {
        for instruction in &architecture.instructions {
            for rule in instruction.rules.iter().filter(|r| r.scale.is_none()) {
                let Some(sparse) = &rule.sparse else { continue };
                for pair in [rule.operands[0], *rule.operands.last().unwrap()] {
                    let arithmetic = Arithmetic::of(rule, pair);
                    if !all.iter().any(|(.., other)| *other == arithmetic) {
                        let name = format!("{} {} {pair:?}", architecture.name, instruction.name);
                        all.push((name, sparse.pattern, arithmetic));
                    }
                }
            }
        }
    }
    all
}

impl Sparse {
    fn new(
        (pattern, arithmetic): (Pattern, &Arithmetic),
        [batches, m, n, chunks]: [usize; 4],
        [of_a, of_b]: [Kind; 2],
        of_c: Addend,
        random: &mut Random,
    ) -> Sparse {
        let [of, kept] = pattern.chunk();
        let (k, all) = (kept * chunks, of * chunks);
        let Arithmetic {
            a, b, accumulator, ..
        } = *arithmetic;
        let (mut codes_a, mut codes_b, mut rows_of_b) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..batches {
            codes_a.extend(operand(of_a, a, true, m, k, random));
            let columns = operand(of_b, b, false, n, all, random);
            codes_b.extend((0..all * n).map(|at| columns[at % n * all + at / n]));
            for first in (0..m * chunks).map(|chunk| (chunk % chunks * of) as u32) {
                // Two halves of a chunk, in one order or the other.
                let half = kept.div_ceil(2);
                let one = random.below(of / half);
                let other = (one + 1 + random.below(of / half - 1)) % (of / half);
                let halves = [one, other].into_iter().take(kept / half);
                let places = halves.flat_map(|at| at * half..(at + 1) * half);
                rows_of_b.extend(places.map(|at| first + at as u32));
            }
        }
        let count = batches * m * n;
        let c = addend(of_c, accumulator, count, || vec![0; count], random);
        let tensor = |format, rows, columns, codes: &[u64]| {
            Tensor::from_codes(format, vec![batches, rows, columns], codes)
        };
        Sparse {
            arithmetic: arithmetic.clone(),
            a: tensor(a, m, k, &codes_a),
            b: tensor(b, all, n, &codes_b),
            c: c.map(|codes| tensor(accumulator, m, n, &codes)),
            rows_of_b,
        }
    }

    fn problem(&self) -> Problem<'_> {
        let c = self.c.as_ref().map(Tensor::planes);
        Problem::selecting(self.a.planes(), self.b.planes(), c, &self.rows_of_b).unwrap()
    }

    fn by(&self, engine: Engine) -> Vec<u64> {
        let replay = Replay {
            problem: self.problem(),
            arithmetic: &self.arithmetic,
            convert_to: None,
            engine,
            kernel: None,
        };
        codes(&replay.collect(&|_| {}))
    }

    /// All rows as one dense product, if zeros do not show.
    fn together(&self, platform: Platform) -> Option<Vec<u64>> {
        let problem = self.problem();
        let mut out = vec![0; problem.batches() * problem.m * problem.n];
        let work = Work {
            problem: &problem,
            formats: self.arithmetic.formats(),
            exact: &self.arithmetic,
            progress: NO_PROGRESS,
        };
        platform.fill(&self.arithmetic, work, 0, &mut out)?;
        Some(out)
    }
}

const KINDS: [Kind; 12] = [
    Kind::Ordinary,
    Kind::Wide,
    Kind::Tiny,
    Kind::Subnormal,
    Kind::Cancelling,
    Kind::Full,
    Kind::MixedZeros,
    Kind::Zeros,
    Kind::FewSpecials,
    Kind::OneSpecial,
    Kind::Lines,
    Kind::Level,
];

#[test]
fn selected_products_are_those_of_the_exact_engine() {
    let mut random = Random::seeded(0x7370_6172);
    let (mut together, mut alone) = (0, 0);
    for (name, pattern, arithmetic) in rules() {
        for turn in 0..8 {
            let kinds = match turn {
                0 => [Kind::Ordinary; 2],
                _ => [(); 2].map(|()| random.pick(&KINDS)),
            };
            let c = random.pick(&[
                Addend::Missing,
                Addend::Ordinary,
                Addend::Wide,
                Addend::Tiny,
                Addend::FewSpecials,
            ]);
            let shape = [
                1 + random.below(2),
                1 + random.below(20),
                random.pick(&[3, 16, 33, 70]),
                1 + random.below(40),
            ];
            let sparse = Sparse::new((pattern, &arithmetic), shape, kinds, c, &mut random);
            let expected = sparse.by(Engine::Exact);
            for platform in Platform::available() {
                let what = || format!("{} {name} {shape:?} {kinds:?} {c:?}", platform.name());
                assert!(sparse.by(platform.engine()) == expected, "{}", what());
                match sparse.together(platform) {
                    Some(found) => {
                        together += 1;
                        assert!(found == expected, "{}", what());
                    }
                    None => alone += 1,
                }
            }
        }
    }
    println!("selected: {together} together, {alone} row by row");
    assert!(together > 500 && alone > 100, "{together} {alone}");
}

/// Ordinary numbers are computed together, by every kernel.
#[test]
fn ordinary_numbers_are_computed_together() {
    let mut random = Random::seeded(2);
    let mut seen = 0;
    for (name, pattern, arithmetic) in rules() {
        let kinds = [Kind::Ordinary; 2];
        let shape = [1, 9, 70, 64];
        let sparse = Sparse::new(
            (pattern, &arithmetic),
            shape,
            kinds,
            Addend::Ordinary,
            &mut random,
        );
        let expected = sparse.by(Engine::Exact);
        for platform in Platform::available() {
            assert_eq!(
                sparse.together(platform).as_ref(),
                Some(&expected),
                "{name}"
            );
            seen += 1;
        }
    }
    assert!(seen > 40, "{seen}");
}

fn hopper(format: Format) -> Arithmetic {
    let hopper = Catalogue::builtin().find("hopper").unwrap();
    let choice = hopper.select(Some("wgmma"), [format; 2], Some(Format::Fp32));
    choice.unwrap().arithmetic
}

/// A sparse product of one value in A and one in B.
fn uniform(arithmetic: &Arithmetic, [a, b]: [u64; 2]) -> Sparse {
    let mut random = Random::seeded(3);
    let (shape, kinds) = ([1, 4, 40, 16], [Kind::Ordinary; 2]);
    let case = (Pattern::TwoOfFour, arithmetic);
    let sparse = Sparse::new(case, shape, kinds, Addend::Missing, &mut random);
    Sparse {
        a: Tensor::from_codes(arithmetic.a, vec![1, 4, 32], &[a; 4 * 32]),
        b: Tensor::from_codes(arithmetic.b, vec![1, 64, 40], &[b; 64 * 40]),
        ..sparse
    }
}

/// Products below the exponent of zeros: more zeros would cut bits away. Of ones just above it they do not.
#[test]
fn zeros_that_would_show_are_not_added() {
    let model = hopper(Format::Bf16);
    let Step::Fused(fused) = &model.step else {
        panic!("hopper is fused");
    };
    assert_eq!((fused.zero_exponent, fused.fraction_bits), (-133, 25));
    // (1 + 2^-7) * 2^-67 times (1 + 2^-7) * 2^-66 and 2^-67.
    let a = (127 - 67) << 7 | 1;
    for (b, shows) in [((127 - 66) << 7 | 1, false), ((127 - 67) << 7 | 1, true)] {
        let sparse = uniform(&model, [a, b]);
        let expected = sparse.by(Engine::Exact);
        for platform in Platform::available() {
            let together = sparse.together(platform);
            assert_eq!(together.is_none(), shows, "{}", platform.name());
            assert!(together.is_none_or(|found| found == expected));
            assert_eq!(sparse.by(platform.engine()), expected);
        }
    }
}

/// A zero among the selected products counts as others would: in each step, of each row.
#[test]
fn zeros_that_are_there_already_hide_others() {
    let hopper = Catalogue::builtin().find("hopper").unwrap();
    let choice = hopper.select(Some("wgmma"), [Format::Fp16; 2], Some(Format::Fp16));
    let model = choice.unwrap().arithmetic;
    let Step::Fused(fused) = &model.step else {
        panic!("hopper is fused");
    };
    assert_eq!((fused.zero_exponent, fused.group), (-21, 16));
    // Products of 2^-22.
    let small = (15 - 11) << 10;
    let steps = [
        &[][..],
        &[0],
        &[0, 16],
        &[3, 31, 32 + 15, 32 + 16, 65, 85, 96, 127],
    ];
    for (zeros, together) in steps.into_iter().zip([false, false, false, true]) {
        let mut sparse = uniform(&model, [small; 2]);
        let mut a = vec![small; 4 * 32];
        zeros.iter().for_each(|&at| a[at] = 0);
        sparse.a = Tensor::from_codes(Format::Fp16, vec![1, 4, 32], &a);
        let expected = sparse.by(Engine::Exact);
        for platform in Platform::available() {
            let found = sparse.together(platform);
            assert_eq!(found.is_some(), together, "{zeros:?}");
            assert!(found.is_none_or(|found| found == expected));
            assert_eq!(sparse.by(platform.engine()), expected);
        }
    }
}

/// An infinity in a row of B that a row of A leaves out is not met; one in A is.
#[test]
fn infinities_that_are_left_out_are_not_met() {
    let model = hopper(Format::Fp16);
    let one = 0x3c00;
    for (in_a, together) in [(false, false), (true, true)] {
        let mut sparse = uniform(&model, [one; 2]);
        let left_out = (0..4).find(|at| sparse.rows_of_b[..2].iter().all(|row| row != at));
        let left_out = left_out.unwrap() as usize;
        let (mut a, mut b) = (vec![one; 4 * 32], vec![one; 64 * 40]);
        if in_a {
            a[0] = 0x7c00;
        } else {
            b[left_out * 40] = 0x7c00;
        }
        sparse.a = Tensor::from_codes(Format::Fp16, vec![1, 4, 32], &a);
        sparse.b = Tensor::from_codes(Format::Fp16, vec![1, 64, 40], &b);
        let expected = sparse.by(Engine::Exact);
        let first = if in_a {
            0x7f80_0000
        } else {
            32f32.to_bits().into()
        };
        assert_eq!(expected[0], first);
        for platform in Platform::available() {
            assert_eq!(sparse.together(platform).is_some(), together);
            assert_eq!(sparse.by(platform.engine()), expected);
        }
    }
}

/// Metadata that no pattern has: an element of another step, and a row of B twice.
#[test]
fn other_selections_are_computed_row_by_row() {
    let model = hopper(Format::Fp16);
    for (at, row) in [(0, 33), (1, 0)] {
        let mut sparse = uniform(&model, [0x3c00; 2]);
        sparse.rows_of_b[..2].copy_from_slice(&[0, 1]);
        sparse.rows_of_b[at] = row;
        let expected = sparse.by(Engine::Exact);
        for platform in Platform::available() {
            assert_eq!(sparse.together(platform), None);
            assert_eq!(sparse.by(platform.engine()), expected);
        }
    }
}

/// One fraction bit fewer differs, and the kernels compute that, too.
#[test]
fn a_wrong_model_of_selected_products_differs() {
    let model = hopper(Format::E4m3);
    let mut wrong = model.clone();
    let Step::Fused(fused) = &mut wrong.step else {
        panic!("hopper is fused");
    };
    fused.fraction_bits -= 1;
    let mut random = Random::seeded(4);
    let shape = [1, 16, 64, 64];
    let kinds = [Kind::Ordinary; 2];
    let case = (Pattern::TwoOfFour, &model);
    let right = Sparse::new(case, shape, kinds, Addend::Ordinary, &mut random);
    let expected = right.by(Engine::Exact);
    let wrong = Sparse {
        arithmetic: wrong,
        ..right
    };
    for platform in Platform::available() {
        let found = wrong.together(platform).expect("ordinary numbers");
        assert_eq!(found, wrong.by(Engine::Exact));
        let differing = found.iter().zip(&expected).filter(|(x, y)| x != y);
        assert!(differing.count() > found.len() / 4);
    }
}
