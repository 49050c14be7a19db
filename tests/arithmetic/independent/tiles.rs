//! Whole products element by element, whatever the number of threads.

use tcverify::emu::{Arithmetic, Catalogue, Engine, Problem, Replay};
use tcverify::num::Format;
use tcverify::tensor::Tensor;

use super::operands::Dot;
use super::products::engine;
use crate::support::case::codes;
use crate::support::engines::engines;
use crate::support::random::Random;
use crate::support::wrong::{changed, fused};

/// A product of random numbers and its arithmetic.
pub struct Product {
    pub arithmetic: Arithmetic,
    pub a: Tensor,
    pub b: Tensor,
    pub c: Option<Tensor>,
}

/// The rule of an architecture for operands of one format or two.
pub fn rule(arch: &str, operands: [Format; 2], accumulator: Format) -> Arithmetic {
    let arch = Catalogue::builtin().find(arch).expect("an architecture");
    let choice = arch.select(Some("mma"), operands, Some(accumulator));
    choice.unwrap_or_else(|e| panic!("{e}")).arithmetic
}

impl Product {
    pub fn random(arithmetic: Arithmetic, batch: &[usize], [m, n, k]: [usize; 3]) -> Product {
        let mut random = Random::named(&arithmetic.canonical_json());
        let mut tensor = |format: Format, rows, columns| {
            let shape = [batch, &[rows, columns]].concat();
            let count = shape.iter().product();
            // Numbers near 1, so that every term of a sum counts.
            let near_one = |random: &mut Random| {
                let width = format.fraction_bits() + format.ignored_bits();
                let field = (format.bias() - 1 + random.below(3) as i32) as u64;
                let fraction = random.bits() & ((1 << width) - 1);
                format.zero(random.once_in(2)) | field << width | fraction
            };
            let codes: Vec<u64> = (0..count).map(|_| near_one(&mut random)).collect();
            Tensor::from_codes(format, shape, &codes)
        };
        Product {
            a: tensor(arithmetic.a, m, k),
            b: tensor(arithmetic.b, k, n),
            c: Some(tensor(arithmetic.accumulator, m, n)),
            arithmetic,
        }
    }

    pub fn problem(&self) -> Problem<'_> {
        let c = self.c.as_ref().map(Tensor::planes);
        let problem = Problem::new(self.a.planes(), self.b.planes(), c);
        problem.expect("shapes fit")
    }

    pub fn replay(&self, engine: Engine) -> Vec<u64> {
        replay(self.problem(), &self.arithmetic, engine)
    }

    /// Whether every engine, on all cores, returns these codes.
    pub fn verify(&self, expected: &[u64], what: &str) {
        for engine in engines() {
            assert!(self.replay(engine) == expected, "{what}, {engine:?}");
        }
    }

    /// Every element as a dot product of its own.
    pub fn element_by_element(&self) -> Vec<u64> {
        let (a, b) = (self.a.planes(), self.b.planes());
        let mut all = Vec::new();
        for batch in 0..a.batches() {
            let (a, b) = (a.plane(batch), b.plane(batch));
            let c = self.c.as_ref().map(|c| c.planes().plane(batch));
            for row in 0..a.rows {
                for column in 0..b.columns {
                    let dot = Dot {
                        a: (0..a.columns).map(|k| a.code(row, k)).collect(),
                        b: (0..a.columns).map(|k| b.code(k, column)).collect(),
                        c: c.map_or(0, |c| c.code(row, column)),
                    };
                    all.push(engine(&self.arithmetic, &dot));
                }
            }
        }
        all
    }
}

pub fn replay(problem: Problem, arithmetic: &Arithmetic, engine: Engine) -> Vec<u64> {
    let replay = Replay {
        problem,
        arithmetic,
        convert_to: None,
        engine,
        kernel: None,
    };
    codes(&replay.collect(&|_| {}))
}

/// One arithmetic of each kind, and of the fused kind with either accumulator.
pub fn kinds() -> [Arithmetic; 4] {
    use Format::{Bf16, E4m3, E5m2, Fp16, Fp32, Fp64};
    [
        rule("ampere", [Bf16; 2], Fp32),
        rule("volta", [Fp16; 2], Fp16),
        rule("hopper", [E5m2, E4m3], Fp32),
        rule("ampere", [Fp64; 2], Fp64),
    ]
}

/// Neither M nor N is a multiple of a tile, nor K of a step.
#[test]
fn elements_are_independent_of_each_other() {
    for arithmetic in kinds() {
        let mut product = Product::random(arithmetic, &[], [70, 45, 75]);
        product.verify(&product.element_by_element(), "with C");
        product.c = None;
        product.verify(&product.element_by_element(), "without C");
    }
}

#[test]
fn batches_are_products_of_their_own() {
    for arithmetic in kinds() {
        let product = Product::random(arithmetic, &[2, 3], [35, 33, 37]);
        product.verify(&product.element_by_element(), "a batch");
    }
}

#[test]
fn single_rows_columns_and_products() {
    for arithmetic in kinds() {
        for shape in [
            [1, 1, 1],
            [1, 100, 3],
            [100, 1, 40],
            [1, 1, 200],
            [33, 65, 1],
        ] {
            let product = Product::random(arithmetic.clone(), &[], shape);
            product.verify(&product.element_by_element(), &format!("{shape:?}"));
        }
    }
}

/// K longer than what is unpacked at a time, with steps that divide that length and one that does
/// not.
#[test]
fn long_dot_products() {
    let odd = changed(&kinds()[0], |a| fused(a).group = 3);
    for arithmetic in kinds().into_iter().chain([odd]) {
        for k in [2048, 2049, 4096 + 13] {
            let product = Product::random(arithmetic.clone(), &[], [3, 2, k]);
            product.verify(&product.element_by_element(), &format!("K = {k}"));
        }
    }
}

#[test]
fn the_number_of_threads_does_not_matter() {
    for arithmetic in kinds() {
        let product = Product::random(arithmetic, &[2], [70, 45, 75]);
        let expected = product.element_by_element();
        for threads in [1, 2, 3, 8] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().expect("threads can be started");
            pool.install(|| product.verify(&expected, &format!("{threads} threads")));
        }
    }
}
