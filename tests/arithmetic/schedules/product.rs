//! A product with everything a schedule may want, and the library's answer to it.

use tcverify::emu::schedule::{
    BoundSchedule, Per, Schedule, ScheduleSpec, Values, ZeroPoint, scale_shapes,
};
use tcverify::emu::{Arithmetic, Catalogue, Engine, Problem, Replay};
use tcverify::num::Format;
use tcverify::tensor::Tensor;

use super::operands::{self, Kind};
use crate::support::random::Random;

pub const ONE: u32 = 0x3f80_0000;

/// An instruction of the catalogue.
#[derive(Clone, Debug)]
pub struct Unit {
    pub name: String,
    pub arithmetic: Arithmetic,
}

impl Unit {
    pub fn new(arch: &str, instruction: &str, operands: Format, accumulator: Format) -> Unit {
        let found = Catalogue::builtin().find(arch).expect("an architecture");
        let choice = found
            .select(Some(instruction), [operands; 2], Some(accumulator))
            .unwrap_or_else(|e| panic!("{arch} {instruction}: {e}"));
        Unit {
            name: format!("{arch} {instruction} {operands}"),
            arithmetic: choice.arithmetic.clone(),
        }
    }

    /// One step: the only arithmetic that is the library's.
    pub fn step(&self, accumulator: u32, a: &[u32], b: &[u32]) -> u32 {
        let formats = self.arithmetic.formats();
        let step = &self.arithmetic.step;
        assert!(a.len() <= step.span());
        let unpack = |format: Format, codes: &[u32]| -> Vec<_> {
            codes
                .iter()
                .map(|&code| format.unpack(code.into()))
                .collect()
        };
        let (a, b) = (unpack(formats.a, a), unpack(formats.b, b));
        let mut carried = step.start(formats, accumulator.into());
        step.run(formats, &a, &b, &mut carried);
        step.finish(formats, &carried) as u32
    }

    /// Steps over consecutive products.
    pub fn mma(&self, mut accumulator: u32, a: &[u32], b: &[u32]) -> u32 {
        let span = self.arithmetic.step.span();
        for (a, b) in a.chunks(span).zip(b.chunks(span)) {
            accumulator = self.step(accumulator, a, b);
        }
        self.arithmetic.filled_up(a.len(), accumulator.into()) as u32
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Matrices; none is one that has no axis of its own.
    pub batch: Option<usize>,
    pub m: usize,
    pub n: usize,
    pub k: usize,
}

pub const fn shape(m: usize, n: usize, k: usize) -> Shape {
    Shape {
        batch: None,
        m,
        n,
        k,
    }
}

/// What is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    pub shape: Shape,
    pub kind: Kind,
    /// C's format, if there is a C.
    pub c: Option<Format>,
    pub bias: bool,
    pub per: Option<Per>,
    pub alpha: u32,
    pub beta: u32,
    pub result: Format,
    pub scale_result: Option<u32>,
    pub zero_point: Option<ZeroPoint>,
}

impl Wish {
    pub fn plain(shape: Shape, kind: Kind) -> Wish {
        Wish {
            shape,
            kind,
            c: None,
            bias: false,
            per: None,
            alpha: ONE,
            beta: ONE,
            result: Format::Fp32,
            scale_result: None,
            zero_point: None,
        }
    }
}

/// Codes in C order, one matrix after the other.
#[derive(Clone, Debug)]
pub struct Product {
    pub wish: Wish,
    pub a: Vec<u64>,
    pub b: Vec<u64>,
    pub c: Option<Vec<u64>>,
    pub bias: Option<Vec<u32>>,
    pub scales: Option<[Vec<u32>; 2]>,
    /// Integers for rows and for columns.
    pub zero_points: Option<[Vec<u32>; 2]>,
}

/// What one element of D is made of: codes along k, and numbers in f32.
#[derive(Clone, Debug)]
pub struct Dot<'a> {
    pub unit: &'a Unit,
    pub a: Vec<u32>,
    pub b: Vec<u32>,
    /// C's code in its own format.
    pub c: Option<(u64, Format)>,
    pub bias: Option<u32>,
    pub alpha: u32,
    pub beta: u32,
    /// By block of k, or one.
    pub scale_a: Vec<u32>,
    pub scale_b: Vec<u32>,
    /// Of the row (where it has one) and of the column.
    pub zero_points: Option<[u32; 2]>,
    pub scale_result: Option<u32>,
    pub result: Format,
    /// Row, column, and D's size: stream-K wants to know.
    pub at: [usize; 2],
    pub size: [usize; 2],
}

impl Product {
    pub fn draw(unit: &Unit, wish: Wish, random: &mut Random) -> Product {
        let Shape { batch, m, n, k } = wish.shape;
        let batches = batch.unwrap_or(1);
        let arithmetic = &unit.arithmetic;
        // Columns of A and rows of B lie along k.
        let a = |random: &mut Random| {
            let element = |i| operands::code(arithmetic.a, wish.kind, i % k, random);
            (0..batches * m * k).map(element).collect()
        };
        let b = |random: &mut Random| {
            let element = |i| operands::code(arithmetic.b, wish.kind, i / n % k, random);
            (0..batches * k * n).map(element).collect()
        };
        let (a, b) = (a(random), b(random));
        let c = wish.c.map(|format| {
            let element = |_| operands::code(format, wish.kind, 0, random);
            (0..batches * m * n).map(element).collect()
        });
        let mut floats = |count: usize| -> Vec<u32> {
            let element = |_| operands::code(Format::Fp32, Kind::Normal, 0, random) as u32;
            (0..count).map(element).collect()
        };
        let bias = wish.bias.then(|| floats(n));
        let scales = wish.per.map(|per| {
            let shapes = scale_shapes(per, m, n, k);
            shapes.map(|[rows, columns]| floats(batches * rows * columns))
        });
        // Sums of int8 products, and now and then what leaves the range with them.
        let mut integer = || {
            let bits = random.bits();
            let wide = bits >> 60 == 0;
            ((bits >> 8) as i32 >> if wide { 0 } else { 16 }) as u32
        };
        let zero_points = wish.zero_point.map(|_| {
            [batches * m, batches * n].map(|count| (0..count).map(|_| integer()).collect())
        });
        Product {
            wish,
            a,
            b,
            c,
            bias,
            scales,
            zero_points,
        }
    }

    fn tensor(&self, format: Format, rows: usize, columns: usize, codes: &[u64]) -> Tensor {
        let batch = self.wish.shape.batch;
        let shape: Vec<usize> = batch.into_iter().chain([rows, columns]).collect();
        Tensor::from_codes(format, shape, codes)
    }

    /// Hands the library's view of this product to `with`.
    pub fn with<R>(
        &self,
        unit: &Unit,
        spec: &ScheduleSpec,
        with: impl FnOnce(&Problem, &Values) -> R,
    ) -> R {
        let Shape { m, n, k, .. } = self.wish.shape;
        let arithmetic = &unit.arithmetic;
        let a = self.tensor(arithmetic.a, m, k, &self.a);
        let b = self.tensor(arithmetic.b, k, n, &self.b);
        let c = self.c.as_ref().map(|c| {
            let format = self.wish.c.expect("drawn with a format");
            self.tensor(format, m, n, c)
        });
        let c = c.as_ref().map(Tensor::planes);
        let problem = Problem::new(a.planes(), b.planes(), c).expect("shapes that fit");
        let wide = |codes: &[u32]| codes.iter().map(|&x| x.into()).collect::<Vec<u64>>();
        let mut values = Values::default();
        (values.alpha, values.beta) = (self.wish.alpha, self.wish.beta);
        values.scale_result = self.wish.scale_result;
        if let Some(bias) = &self.bias {
            let bias = Tensor::from_codes(Format::Fp32, vec![n], &wide(bias));
            values = values.with_bias(&bias, &problem).expect("a bias that fits");
        }
        if let (Some(scales), Some(scaling)) = (&self.scales, &spec.scales) {
            let shapes = scale_shapes(scaling.per, m, n, k);
            let [a, b] = [0, 1].map(|i| {
                let [rows, columns] = shapes[i];
                let count = self.wish.shape.batch.unwrap_or(1) * rows * columns;
                // Another schedule's scales: the first one for all.
                let codes = if self.wish.per == Some(scaling.per) {
                    wide(&scales[i])
                } else {
                    vec![scales[i][0].into(); count]
                };
                self.tensor(Format::Fp32, rows, columns, &codes)
            });
            values = values
                .with_scales(scaling.per, [a.planes(), b.planes()], &problem)
                .expect("scales that fit");
        }
        if let (Some([rows, columns]), Some(of)) = (&self.zero_points, spec.zero_point) {
            let rows = self.tensor(Format::Int32, m, 1, &wide(rows));
            let columns = self.tensor(Format::Int32, 1, n, &wide(columns));
            let rows = (of == ZeroPoint::PerRow).then_some(&rows);
            values = values
                .with_zero_point(rows, &columns, &problem)
                .expect("zero points that fit");
        }
        with(&problem, &values)
    }

    /// D by the library.
    pub fn replay(&self, unit: &Unit, spec: &ScheduleSpec, engine: Engine) -> Vec<u64> {
        self.with(unit, spec, |problem, values| {
            let result = self.wish.result;
            BoundSchedule::check(spec, values, &unit.arithmetic, problem, result)
                .unwrap_or_else(|e| panic!("{}: {e}", unit.name));
            let replay = Replay {
                problem: *problem,
                arithmetic: &unit.arithmetic,
                convert_to: Some(result),
                engine,
                kernel: Some(BoundSchedule::new(spec, values, problem)),
            };
            crate::support::case::codes(&replay.collect(&|_| {}))
        })
    }

    /// Every element of D by `own`, in C order.
    pub fn straight(&self, unit: &Unit, own: impl Fn(&Dot) -> u64) -> Vec<u64> {
        let Shape { batch, m, n, .. } = self.wish.shape;
        let mut d = Vec::new();
        for matrix in 0..batch.unwrap_or(1) {
            for row in 0..m {
                for column in 0..n {
                    d.push(own(&self.dot(unit, matrix, row, column)));
                }
            }
        }
        d
    }

    pub fn dot<'a>(&self, unit: &'a Unit, matrix: usize, row: usize, column: usize) -> Dot<'a> {
        let Shape { m, n, k, .. } = self.wish.shape;
        let a = |i: usize| self.a[(matrix * m + row) * k + i] as u32;
        let b = |i: usize| self.b[(matrix * k + i) * n + column] as u32;
        let at = (matrix * m + row) * n + column;
        let (mut scale_a, mut scale_b) = (Vec::new(), Vec::new());
        if let (Some([a, b]), Some(per)) = (&self.scales, self.wish.per) {
            match per {
                Per::Tensor => {
                    scale_a.push(a[matrix]);
                    scale_b.push(b[matrix]);
                }
                Per::Row | Per::RowOrTensor => {
                    scale_a.push(a[matrix * m + row]);
                    scale_b.push(b[matrix * n + column]);
                }
                Per::Block {
                    rows,
                    columns,
                    k: of_k,
                } => {
                    let blocks = k.div_ceil(of_k);
                    let (down, across) = (m.div_ceil(rows), n.div_ceil(columns));
                    for block in 0..blocks {
                        scale_a.push(a[(matrix * down + row / rows) * blocks + block]);
                        scale_b.push(b[(matrix * blocks + block) * across + column / columns]);
                    }
                }
            }
        }
        Dot {
            unit,
            a: (0..k).map(a).collect(),
            b: (0..k).map(b).collect(),
            c: self
                .c
                .as_ref()
                .zip(self.wish.c)
                .map(|(c, format)| (c[at], format)),
            bias: self.bias.as_ref().map(|bias| bias[column]),
            alpha: self.wish.alpha,
            beta: self.wish.beta,
            scale_a,
            scale_b,
            zero_points: self
                .zero_points
                .as_ref()
                .map(|[rows, columns]| [rows[matrix * m + row], columns[matrix * n + column]]),
            scale_result: self.wish.scale_result,
            result: self.wish.result,
            at: [row, column],
            size: [m, n],
        }
    }
}

/// A preset's spec.
pub fn preset(name: &str) -> ScheduleSpec {
    let schedule = Schedule::preset(name).unwrap_or_else(|e| panic!("{e}"));
    schedule.spec.clone()
}
