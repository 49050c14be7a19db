//! One element of D: its row of A, its column of B, its C.

pub mod chain;
pub mod neighbours;

use crate::diagnose::estimate::unpacked;
use crate::emu::step::{Carried, Formats, Products, TraceObserver};
use crate::emu::{self, Arithmetic, Block, Gathered, Problem, Replay, gather, initial, scales};
use crate::num::{Class, Format, Unpacked, Value, fma, quiet_nan};

/// What one element of D is computed from.
pub struct Element {
    pub arithmetic: Arithmetic,
    /// Codes as they are stored.
    pub a: Vec<u64>,
    pub b: Vec<u64>,
    pub c: u64,
    pub has_c: bool,
    /// Codes of the scales, one an operand.
    pub scales: Option<[Vec<u8>; 2]>,
    /// Operands as the step takes them.
    taken: Gathered,
}

/// A fault in the computation of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The product counts as +0 times +0.
    Missing(usize),
    /// The product has the opposite sign.
    Flipped(usize),
    /// In the step with this first k, the unit's known fault strikes the sum with this number.
    KnownFault { step: usize, sum: usize },
}

impl Element {
    /// The element at `row` and `column` of a matrix of the batch.
    pub fn new(
        problem: &Problem,
        arithmetic: &Arithmetic,
        (batch, row, column): (usize, usize, usize),
    ) -> Element {
        let alone = problem.matrix(batch).part(row..row + 1, column..column + 1);
        let problem = &alone;
        let block = Block {
            batch: 0,
            rows: 0..1,
            columns: 0..1,
        };
        let k = 0..problem.k;
        let plane_a = problem.a.plane(0);
        let plane_b = problem.b.plane(0);
        Element {
            arithmetic: arithmetic.clone(),
            a: k.clone().map(|k| plane_a.code(0, k)).collect(),
            b: k.clone().map(|k| plane_b.code(k, 0)).collect(),
            c: initial(problem, &block)[0],
            has_c: problem.c.is_some(),
            scales: scales(problem, &block, k.clone()),
            taken: gather(problem, arithmetic, &block, k, |x| x),
        }
    }

    /// The operands of an element of a replay.
    pub(crate) fn of(replay: &Replay, at: &emu::Element) -> Element {
        let place = (at.batch, at.row, at.column);
        Element::new(&replay.problem, replay.arithmetic, place)
    }

    pub fn k(&self) -> usize {
        self.a.len()
    }

    pub fn formats(&self) -> Formats {
        self.arithmetic.formats()
    }

    /// Products of one step of the explanation: an exact dot product is one step.
    pub fn span(&self) -> usize {
        if self.unrounded() {
            self.k()
        } else {
            self.arithmetic.step.span()
        }
    }

    /// Whether nothing is rounded before the end.
    pub fn unrounded(&self) -> bool {
        let start = self.arithmetic.step.start(self.formats(), 0);
        matches!(start, Carried::Exact(_))
    }

    pub fn steps(&self) -> usize {
        self.k().div_ceil(self.span())
    }

    /// The range of k of a step.
    pub fn range(&self, step: usize) -> std::ops::Range<usize> {
        let span = self.span();
        step * span..(step * span + span).min(self.k())
    }

    /// A chain that starts from the code `c`.
    pub fn start(&self, c: u64) -> Carried {
        self.arithmetic.step.start(self.formats(), c)
    }

    /// Adds the products `k` of one step.
    pub fn advance(
        &self,
        k: std::ops::Range<usize>,
        carried: &mut Carried,
        change: Option<Change>,
        watch: &mut impl TraceObserver,
    ) {
        let formats = self.formats();
        let step = &self.arithmetic.step;
        let mut a = self.taken.a[k.clone()].to_vec();
        let mut b = self.taken.b[k.clone()].to_vec();
        match change {
            Some(Change::Missing(at)) if k.contains(&at) => {
                a[at - k.start] = formats.a.unpack(0);
                b[at - k.start] = formats.b.unpack(0);
            }
            Some(Change::Flipped(at)) if k.contains(&at) => a[at - k.start].negative ^= true,
            _ => {}
        }
        let scales = self.taken.scales.as_ref();
        let scales = scales.map(|[x, y]| [&x[k.clone()], &y[k.clone()]]);
        match (change, step.known_fault()) {
            (Some(Change::KnownFault { step: first, sum }), Some(fault)) if first == k.start => {
                let products = Products {
                    formats,
                    a: &a,
                    b: &b,
                    scales,
                };
                let mut add = |c| fault.add_struck(products, c, sum);
                step.carry(formats, carried, k.len(), &mut add);
            }
            _ => step.run_observed(formats, &a, &b, scales, carried, watch),
        }
    }

    /// The accumulator after so many steps.
    pub fn code(&self, steps: usize, carried: &Carried) -> u64 {
        if steps == 0 {
            return self.c;
        }
        let code = self.arithmetic.step.finish(self.formats(), carried);
        // Zero products fill up the last instruction.
        if steps == self.steps() {
            self.arithmetic.filled_up(self.k(), code)
        } else {
            code
        }
    }

    /// The accumulator before every step, and after the last.
    pub fn accumulators(&self) -> Vec<Carried> {
        let mut carried = self.start(self.c);
        let mut all = vec![carried.clone()];
        for step in 0..self.steps() {
            self.advance(self.range(step), &mut carried, None, &mut ());
            all.push(carried.clone());
        }
        all
    }

    /// The result of the steps from `first` on, which start from the accumulator `before`.
    pub fn finish_from(&self, first: usize, before: &Carried, change: Option<Change>) -> u64 {
        let mut carried = before.clone();
        for step in first..self.steps() {
            self.advance(self.range(step), &mut carried, change, &mut ());
        }
        self.code(self.steps(), &carried)
    }

    /// An operand with its scale, exactly: sides 0 and 1 are A and B.
    pub fn operand(&self, side: usize, k: usize) -> Unpacked {
        let formats = self.formats();
        let (format, codes) = match side {
            0 => (formats.a, &self.a),
            _ => (formats.b, &self.b),
        };
        let x = format.unpack(codes[k]);
        let (Some(scales), Some(scale)) = (&self.scales, formats.scale) else {
            return x;
        };
        let s = scale.format.unpack(scales[side][k].into());
        if s.is_nan() {
            return Unpacked {
                class: Class::Nan,
                significand: 0,
                ..x
            };
        }
        Unpacked {
            significand: x.significand * s.significand,
            exponent: x.exponent + s.exponent - scale.format.fraction_bits() as i32,
            ..x
        }
    }

    /// An operand with its scale, as an estimate.
    pub fn estimate(&self, side: usize, k: usize) -> f64 {
        let format = [self.arithmetic.a, self.arithmetic.b][side];
        unpacked(format, self.operand(side, k))
    }

    /// Estimates of all products.
    pub(crate) fn estimates(&self) -> impl Iterator<Item = f64> {
        (0..self.k()).map(|k| self.estimate(0, k) * self.estimate(1, k))
    }

    /// A product, its scales included, exactly.
    pub fn product(&self, k: usize) -> Value {
        let formats = self.formats();
        let fraction = formats.a.fraction_bits() + formats.b.fraction_bits();
        Value::product(self.operand(0, k), self.operand(1, k), fraction)
    }

    /// C and all products, exactly.
    pub fn exact(&self) -> Value {
        let c = Value::of(self.formats().addend, self.c);
        (0..self.k()).fold(c, |sum, k| sum.plus(&self.product(k)))
    }

    /// The chain of IEEE fused multiply-adds: its format and its result. Integers have none.
    pub fn ieee_chain(&self) -> Option<(Format, u64)> {
        let formats = self.formats();
        let format = match formats.accumulator {
            Format::Fp64 => Format::Fp64,
            accumulator if accumulator.is_integer() => return None,
            _ => Format::Fp32,
        };
        let widened = crate::num::convert_exact(formats.addend, self.c, format).ok()?;
        let target = crate::num::Target::full(format, crate::num::Rounding::NearestEven);
        let operands = [formats.a, formats.b];
        let result = (0..self.k()).fold(widened, |c, k| {
            let product = (operands, self.operand(0, k), self.operand(1, k));
            fma(
                product,
                (format, format.unpack(c)),
                target,
                quiet_nan(format),
            )
        });
        Some((format, result))
    }
}
