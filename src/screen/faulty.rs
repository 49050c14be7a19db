//! Elements of D as the exact engine computes them with a fault in it.

use super::fault::{Injector, Place};
use crate::check::Prepared;
use crate::emu::Replay;
use crate::emu::step::{Carried, Products, StepKind};
use crate::num::Unpacked;
use crate::tensor::Plane;

/// A product of one chain over K, element by element.
pub struct Chain<'a> {
    replay: Replay<'a>,
    /// Operands of a row and of a column, taken apart, to be used again.
    a: (usize, Vec<Unpacked>),
    b: Vec<(usize, Vec<Unpacked>)>,
}

/// Columns whose operands are kept.
const KEPT: usize = 4096;

impl<'a> Chain<'a> {
    /// `None` if something other than a chain of unscaled steps stands between operands and D.
    pub fn of(prepared: &'a Prepared) -> Option<Chain<'a>> {
        let replay = prepared.replay();
        let plain = replay.kernel.is_none() && replay.problem.scales.is_none();
        (plain && replay.problem.batches() == 1).then_some(Chain {
            replay,
            a: (usize::MAX, Vec::new()),
            b: Vec::new(),
        })
    }

    /// The code of an element of D.
    pub fn element(&mut self, [row, column]: [usize; 2], mut injector: Injector) -> u64 {
        let fault = injector.fault();
        let problem = self.replay.problem;
        let arithmetic = self.replay.arithmetic;
        let (formats, step) = (arithmetic.formats(), &arithmetic.step);
        let k = self.whole();
        // The unit multiplies the zeros, too, that fill up the last instruction.
        let code = |plane: &Plane, inside: bool, [row, column]: [usize; 2]| match inside {
            true => plane.code(row, column),
            false => 0,
        };
        let plane_a = problem.a.plane(0);
        let code_a = |at: usize| code(&plane_a, at < problem.k, [row, at]);
        if self.a.0 != row {
            let codes = (0..k).map(|at| arithmetic.a.unpack(code_a(at)));
            self.a = (row, codes.collect());
        }
        let kept = (KEPT / k).max(1);
        if self.b.is_empty() {
            self.b.resize(kept, (usize::MAX, Vec::new()));
        }
        let slot = &mut self.b[column % kept];
        if slot.0 != column {
            let plane = problem.b.plane(0);
            let codes = (0..k).map(|at| {
                let code = code(&plane, at < problem.k, [at, column]);
                arithmetic.b.unpack(code)
            });
            *slot = (column, codes.collect());
        }
        let (a, b) = (&self.a.1, &slot.1);
        let c = problem.c.map_or(0, |c| c.plane(0).code(row, column));
        let mut carried = step.start(formats, c);
        let span = step.span();
        // Where a step takes one product, the units of a row of them take turns.
        let lanes = if span == 1 { 4 } else { span };
        let mut spoiled = Vec::new();
        for start in (0..k).step_by(span) {
            let here = start..k.min(start + span);
            let acts = injector.step();
            let mut a = &a[here.clone()];
            let at = match span {
                1 => start
                    .checked_sub(fault.k)
                    .filter(|k| k % lanes == 0)
                    .map(|_| 0),
                _ => Some(fault.k),
            };
            if acts
                && fault.place == Place::Operand
                && let Some(at) = at.filter(|&at| at < a.len())
            {
                let code = code_a(start + at);
                spoiled.clear();
                spoiled.extend_from_slice(a);
                spoiled[at] = arithmetic.a.unpack(fault.operand(fault.k, code));
                a = &spoiled;
            }
            let products = Products {
                formats,
                a,
                b: &b[here],
                scales: None,
            };
            StepKind::run(step, products, &mut carried, &mut injector);
        }
        self.replay.convert(self.finish(&carried))
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
        match step.rounds() {
            true => {
                let instruction = arithmetic.instruction_k.unwrap_or(1);
                k.next_multiple_of(instruction)
                    .next_multiple_of(step.span())
            }
            // All of K is one step.
            false => k,
        }
    }

    fn finish(&self, carried: &Carried) -> u64 {
        let arithmetic = self.replay.arithmetic;
        arithmetic.step.finish(arithmetic.formats(), carried)
    }
}
