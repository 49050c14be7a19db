//! One product through both engines.

use std::fmt::Write;

use tcverify::emu::{Engine, ExactShare, Problem, Replay};
use tcverify::kernels::Platform;
use tcverify::num::Format;
use tcverify::tensor::{Planes, Tensor};

use super::layout::Layout;
use super::models::Model;
use super::operands::{Addend, Kind, addend, operand};
use crate::support::case::codes;
use crate::support::random::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub batch: &'static [usize],
    pub m: usize,
    pub n: usize,
    pub k: usize,
}

impl Shape {
    pub const fn new(m: usize, n: usize, k: usize) -> Shape {
        Shape {
            batch: &[],
            m,
            n,
            k,
        }
    }

    pub const fn batched(batch: &'static [usize], m: usize, n: usize, k: usize) -> Shape {
        Shape { batch, m, n, k }
    }

    pub fn batches(self) -> usize {
        self.batch.iter().product()
    }

    fn tensor(self, rows: usize, columns: usize) -> Vec<usize> {
        let mut shape = self.batch.to_vec();
        shape.extend([rows, columns]);
        shape
    }
}

/// Everything that decides the bits of a product, `seed` included.
#[derive(Clone, Debug)]
pub struct Case {
    pub model: Model,
    pub shape: Shape,
    pub a: Kind,
    pub b: Kind,
    pub c: Addend,
    /// How the fast engine gets A, B and C; the exact engine gets them plain.
    pub layouts: [Layout; 3],
    pub round_tf32: bool,
    pub seed: u64,
}

/// The operands of a case as codes, matrix by matrix and row by row.
pub struct Operands {
    pub a: Vec<u64>,
    pub b: Vec<u64>,
    pub c: Option<Vec<u64>>,
}

impl Case {
    /// Both operands of one kind, plainly stored.
    pub fn new(model: &Model, shape: Shape, kind: Kind, c: Addend, seed: u64) -> Case {
        Case {
            model: model.clone(),
            shape,
            a: kind,
            b: kind,
            c,
            layouts: [Layout::default(); 3],
            round_tf32: false,
            seed,
        }
    }

    pub fn operands(&self) -> Operands {
        let mut random = Random::seeded(self.seed);
        let Shape { m, n, k, .. } = self.shape;
        let arithmetic = &self.model.arithmetic;
        let matrices = 0..self.shape.batches();
        let mut a = Vec::new();
        let mut b = Vec::new();
        for _ in matrices {
            a.extend(operand(self.a, arithmetic.a, true, m, k, &mut random));
            let columns = operand(self.b, arithmetic.b, false, n, k, &mut random);
            b.extend((0..k * n).map(|at| columns[at % n * k + at / n]));
        }
        let count = self.shape.batches() * m * n;
        let product = || {
            let d = self.exact(&Operands {
                a: a.clone(),
                b: b.clone(),
                c: None,
            });
            codes(&d)
        };
        let c = addend(self.c, arithmetic.accumulator, count, product, &mut random);
        Operands { a, b, c }
    }

    /// The tensors of A, B and C.
    fn store(&self, operands: &Operands, layouts: [Layout; 3]) -> (Tensor, Tensor, Option<Tensor>) {
        let Shape { batch, m, n, k } = self.shape;
        let arithmetic = &self.model.arithmetic;
        let store = |layout: Layout, format, size, codes: &[u64]| {
            // What a conversion drops of a register would decide how it is rounded.
            let widened = layout.widened && !self.round_tf32;
            let layout = Layout { widened, ..layout };
            let tensor = layout.store(format, batch, size, codes);
            if self.round_tf32 {
                tensor.rounding_tf32()
            } else {
                tensor
            }
        };
        let [la, lb, lc] = layouts;
        let c = operands.c.as_ref();
        (
            store(la, arithmetic.a, (m, k), &operands.a),
            store(lb, arithmetic.b, (k, n), &operands.b),
            c.map(|codes| lc.store(arithmetic.accumulator, batch, (m, n), codes)),
        )
    }

    fn with_replay<T>(
        &self,
        operands: &Operands,
        engine: Engine,
        layouts: [Layout; 3],
        run: impl FnOnce(&Replay) -> T,
    ) -> T {
        // C is used as it is stored: `Problem` knows no transposed C.
        let mut layouts = layouts;
        layouts[2].transposed = false;
        let (a, b, c) = self.store(operands, layouts);
        let problem = Problem::new(
            turned(&a, layouts[0]),
            turned(&b, layouts[1]),
            c.as_ref().map(Tensor::planes),
        );
        run(&Replay {
            problem: problem.expect("the shapes fit"),
            arithmetic: &self.model.arithmetic,
            convert_to: None,
            engine,
            kernel: None,
        })
    }

    pub fn exact(&self, operands: &Operands) -> Tensor {
        let plain = [Layout::default(); 3];
        let run = |replay: &Replay| replay.collect(&|_| {});
        self.with_replay(operands, Engine::Exact, plain, run)
    }

    pub fn by(&self, operands: &Operands, engine: Engine) -> Tensor {
        let run = |replay: &Replay| replay.collect(&|_| {});
        self.with_replay(operands, engine, self.layouts, run)
    }

    /// Who computed what when the fast engine is asked.
    pub fn exact_share(&self, operands: &Operands, platform: Platform) -> ExactShare {
        let engine = platform.engine();
        let run = |replay: &Replay| replay.exact_share();
        self.with_replay(operands, engine, self.layouts, run)
    }

    /// Runs the product everywhere.
    ///
    /// # Errors
    /// A report on the first element that differs from the exact engine's.
    pub fn check(&self) -> Result<Compared, String> {
        let operands = self.operands();
        let expected = self.exact(&operands);
        let mut compared = Compared::default();
        for platform in Platform::available() {
            let found = self.by(&operands, platform.engine());
            if let Some(at) = first_difference(&expected, &found) {
                return Err(self.report(platform, &operands, &expected, &found, at));
            }
            compared.products += 1;
            compared.elements += expected.len() as u64;
        }
        Ok(compared)
    }

    fn report(
        &self,
        platform: Platform,
        operands: &Operands,
        expected: &Tensor,
        found: &Tensor,
        at: usize,
    ) -> String {
        let Shape { batch, m, n, k } = self.shape;
        let arithmetic = &self.model.arithmetic;
        let (expected, found) = (codes(expected), codes(found));
        let differing = expected.iter().zip(&found).filter(|(x, y)| x != y).count();
        let (matrix, row, column) = (at / (m * n), at / n % m, at % n);
        let mut text = format!(
            "{}: {}\n{} kernel, {batch:?} {m}x{n}x{k}, A {:?}, B {:?}, C {:?}, seed {:#x}\n\
             layouts {:?}, round_tf32 {}\n\
             {differing} of {} elements differ, first [{matrix}, {row}, {column}]: \
             exact {:x}, fast {:x}",
            self.model.name,
            arithmetic.canonical_json(),
            platform.name(),
            self.a,
            self.b,
            self.c,
            self.seed,
            self.layouts,
            self.round_tf32,
            expected.len(),
            expected[at],
            found[at],
        );
        if k <= 64 {
            let a = &operands.a[(matrix * m + row) * k..][..k];
            let b = operands.b[matrix * k * n + column..].iter().step_by(n);
            let b: Vec<_> = b.take(k).collect();
            let c = operands.c.as_ref().map(|c| c[at]);
            write!(text, "\na {a:x?}\nb {b:x?}\nc {c:x?}").expect("a string grows");
        }
        text
    }
}

/// What was compared: a product once for each platform.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compared {
    pub products: u64,
    pub elements: u64,
}

impl std::ops::AddAssign for Compared {
    fn add_assign(&mut self, other: Compared) {
        self.products += other.products;
        self.elements += other.elements;
    }
}

fn turned(tensor: &Tensor, layout: Layout) -> Planes<'_> {
    if layout.transposed {
        tensor.planes().transposed()
    } else {
        tensor.planes()
    }
}

fn first_difference(x: &Tensor, y: &Tensor) -> Option<usize> {
    assert_eq!((x.format(), x.shape()), (y.format(), y.shape()));
    let bytes = x.format().bytes();
    let payload = |tensor| Tensor::as_payload(tensor).expect("D is in canonical layout");
    let mut pairs = payload(x).chunks(bytes).zip(payload(y).chunks(bytes));
    pairs.position(|(x, y)| x != y)
}

/// A product of matrices given as codes, without a batch.
pub fn product(
    model: &Model,
    engine: Engine,
    shape: Shape,
    a: &[u64],
    b: &[u64],
    c: Option<&[u64]>,
) -> Vec<u64> {
    let arithmetic = &model.arithmetic;
    let tensor = |format: Format, rows, columns, codes: &[u64]| {
        Tensor::from_codes(format, shape.tensor(rows, columns), codes)
    };
    let a = tensor(arithmetic.a, shape.m, shape.k, a);
    let b = tensor(arithmetic.b, shape.k, shape.n, b);
    let c = c.map(|c| tensor(arithmetic.accumulator, shape.m, shape.n, c));
    let c = c.as_ref().map(Tensor::planes);
    let replay = Replay {
        problem: Problem::new(a.planes(), b.planes(), c).expect("the shapes fit"),
        arithmetic,
        convert_to: None,
        engine,
        kernel: None,
    };
    codes(&replay.collect(&|_| {}))
}
