//! Elements of D as the exact engine computes them with a fault in it.

use std::ops::Range;

use super::fault::{Fault, Injector, Place, exponent_field};
use super::unit;
use crate::check::Prepared;
use crate::emu::step::{Products, scaled};
use crate::emu::{Arithmetic, Replay};
use crate::num::Unpacked;

/// A product of one chain over K, element by element.
pub struct Chain<'a> {
    replay: Replay<'a>,
    /// Unpacked operands of a row and of some columns, to be used again.
    a: Line,
    b: Vec<Line>,
}

/// Units of a row that take the products of a chain in turn, where a step takes one: as many as an instruction has
/// products, up to four. A CUDA core is alone.
pub fn turns(arithmetic: &Arithmetic) -> usize {
    arithmetic.instruction_k.unwrap_or(1).clamp(1, 4)
}

/// Which operand.
#[derive(Clone, Copy)]
enum Side {
    A,
    B,
}

/// A row of A, or a column of B.
#[derive(Clone)]
struct Line {
    index: usize,
    codes: Vec<u64>,
    numbers: Vec<Unpacked>,
    /// One per number, where the step takes scales.
    scales: Vec<u8>,
}

impl Line {
    const NONE: Line = Line {
        index: usize::MAX,
        codes: Vec::new(),
        numbers: Vec::new(),
        scales: Vec::new(),
    };
}

/// Columns whose operands are kept.
const KEPT: usize = 4096;

impl<'a> Chain<'a> {
    /// `None` if D is not one chain over K of a single product.
    pub fn of(prepared: &'a Prepared) -> Option<Chain<'a>> {
        let replay = prepared.replay();
        let plain = replay.kernel.is_none() && replay.problem.batches() == 1;
        plain.then(|| Chain {
            replay,
            a: Line::NONE,
            b: Vec::new(),
        })
    }

    /// The code of an element of D.
    pub fn element(&mut self, [row, column]: [usize; 2], mut injector: Injector) -> u64 {
        let fault = injector.fault();
        let arithmetic = self.replay.arithmetic;
        let (formats, step) = (arithmetic.formats(), &arithmetic.step);
        let k = self.whole();
        self.take_row(row);
        let kept = (KEPT / k).max(1);
        if self.b.is_empty() {
            self.b.resize(kept, Line::NONE);
        }
        if self.b[column % kept].index != column {
            self.b[column % kept] = self.line(Side::B, column, k);
        }
        let (a, b) = (&self.a, &self.b[column % kept]);
        let c = self.replay.problem.c;
        let c = c.map_or(0, |c| c.plane(0).code(row, column));
        let mut carried = step.start(formats, c);
        let span = step.span();
        for start in (0..k).step_by(span) {
            let here = start..k.min(start + span);
            let first = self.first_unit(start);
            let broken = self.operand_of(fault, &here, first);
            let acts = injector.step(first, fault.acts_on(arithmetic.a, a.codes[broken]));
            let spoiled = acts.then(|| self.spoiled(fault, here.clone(), first));
            let spoiled = spoiled.flatten();
            let (line, at) = match &spoiled {
                Some(line) => (line, 0..here.len()),
                None => (a, here.clone()),
            };
            let given = !a.scales.is_empty();
            let products = Products {
                formats,
                a: &line.numbers[at.clone()],
                b: &b.numbers[here.clone()],
                scales: given.then(|| [&line.scales[at], &b.scales[here]]),
            };
            if acts && fault.place.is_inside() {
                unit::run_through(step, products, &mut carried, &injector);
            } else {
                let Products { a, b, scales, .. } = products;
                step.run_scaled(formats, a, b, scales, &mut carried);
            }
        }
        self.replay.convert(step.finish(formats, &carried))
    }

    /// Makes `a` this row's operands.
    fn take_row(&mut self, row: usize) {
        if self.a.index != row {
            self.a = self.line(Side::A, row, self.whole());
        }
    }

    /// Which unit of a row has the first product of the step that starts there.
    fn first_unit(&self, start: usize) -> usize {
        let arithmetic = self.replay.arithmetic;
        match arithmetic.step.span() {
            1 => start % turns(arithmetic),
            _ => 0,
        }
    }

    /// The operand of A whose exponent decides whether a fault acts, in a step whose first product is that of unit `first`.
    fn operand_of(&self, fault: &Fault, here: &Range<usize>, first: usize) -> usize {
        let block = self.replay.arithmetic.scale.map_or(1, |scale| scale.block);
        let beyond = match fault.place {
            Place::Adder | Place::Rounding => 0,
            Place::Scale => fault.k * block,
            _ => fault.k.saturating_sub(first),
        };
        (here.start + beyond).min(here.end - 1)
    }

    /// The exponent field of that operand, for a row of D and a step.
    pub fn exponent(&mut self, row: usize, step: usize, fault: &Fault) -> u32 {
        self.take_row(row);
        let arithmetic = self.replay.arithmetic;
        let span = arithmetic.step.span();
        let here = step * span..self.whole().min((step + 1) * span);
        let at = self.operand_of(fault, &here, self.first_unit(here.start));
        exponent_field(arithmetic.a, self.a.codes[at])
    }

    /// The operands of A of a step whose first product is that of unit `first`, if the fault spoils one, or a scale.
    fn spoiled(&self, fault: &Fault, here: Range<usize>, first: usize) -> Option<Line> {
        let arithmetic = self.replay.arithmetic;
        let (a, row) = (&self.a, self.a.index);
        let part = || Line {
            index: row,
            codes: Vec::new(),
            numbers: a.numbers[here.clone()].to_vec(),
            scales: a.scales.get(here.clone()).unwrap_or_default().to_vec(),
        };
        match fault.place {
            Place::Operand => {
                let at = here.start + fault.k.checked_sub(first)?;
                if !here.contains(&at) {
                    return None;
                }
                let mut line = part();
                let number = arithmetic.a.unpack(fault.code(a.codes[at]));
                line.numbers[at - here.start] = self.moved(number, self.scale(Side::A, row, at));
                Some(line)
            }
            Place::Scale => {
                let block = arithmetic.scale?.block;
                let broken = here.start / block + fault.k;
                let mut line = part();
                for at in here.clone().filter(|at| at / block == broken) {
                    let scale = fault.code(self.scale(Side::A, row, at));
                    let number = arithmetic.a.unpack(a.codes[at]);
                    line.numbers[at - here.start] = self.moved(number, scale);
                    if let Some(code) = line.scales.get_mut(at - here.start) {
                        *code = scale as u8;
                    }
                }
                Some(line)
            }
            _ => None,
        }
    }

    /// A row of A, or a column of B, with the zeros that fill up the last instruction: the unit multiplies those, too.
    fn line(&self, side: Side, index: usize, k: usize) -> Line {
        let Replay {
            problem,
            arithmetic,
            ..
        } = self.replay;
        let (format, mut codes): (_, Vec<u64>) = match side {
            Side::A => {
                let plane = problem.a.plane(0);
                let codes = (0..problem.k).map(|at| plane.code(index, at));
                (arithmetic.a, codes.collect())
            }
            Side::B => {
                let plane = problem.b.plane(0);
                let codes = (0..problem.k).map(|at| plane.code(at, index));
                (arithmetic.b, codes.collect())
            }
        };
        codes.resize(k, 0);
        let scale = |at: usize| self.scale(side, index, at);
        let numbers = codes.iter().enumerate();
        let numbers = numbers.map(|(at, &code)| self.moved(format.unpack(code), scale(at)));
        let given = arithmetic.scale.is_some() && !arithmetic.step.scales_operands();
        Line {
            index,
            numbers: numbers.collect(),
            scales: if given {
                (0..k).map(|at| scale(at) as u8).collect()
            } else {
                Vec::new()
            },
            codes,
        }
    }

    /// The code of the scale of an element; 0 beyond K, and where there are none.
    fn scale(&self, side: Side, index: usize, at: usize) -> u64 {
        let problem = &self.replay.problem;
        match problem.scales {
            Some(scales) if at < problem.k => match side {
                Side::A => scales.a.plane(0).code(index, at / scales.block),
                Side::B => scales.b.plane(0).code(at / scales.block, index),
            },
            _ => 0,
        }
    }

    /// An operand, multiplied by its scale where the unit scales operands.
    fn moved(&self, number: Unpacked, scale: u64) -> Unpacked {
        let arithmetic = self.replay.arithmetic;
        match arithmetic.scale {
            Some(of) if arithmetic.step.scales_operands() => {
                scaled(number, of.format.unpack(scale))
            }
            _ => number,
        }
    }

    /// Steps of an element.
    pub fn steps(&self) -> usize {
        let span = self.replay.arithmetic.step.span();
        self.whole().div_ceil(span)
    }

    /// K with the zeros that fill up the last instruction.
    fn whole(&self) -> usize {
        let arithmetic = self.replay.arithmetic;
        let k = self.replay.problem.k;
        let step = &arithmetic.step;
        if step.rounds() {
            let instruction = arithmetic.instruction_k.unwrap_or(1);
            k.next_multiple_of(instruction)
                .next_multiple_of(step.span())
        } else {
            k
        }
    }
}
