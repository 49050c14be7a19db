//! Matrices of a batch computed from operands of other matrices, as from stale buffers.

use crate::diagnose::trial::{Tested, Trial};
use crate::diagnose::{Case, Hypothesis};
use crate::emu::{Element, Problem, Replay};

/// What reports call this test.
pub const TRIED: &str = "operands of other matrices of the batch";
pub const EQUALS_C: &str = "D equal to C";

/// The greatest distance between matrices that is tried.
const NEAR: usize = 16;

/// C without any product.
pub fn equals_c(case: &Case, trial: &Trial) -> Tested {
    let replay = case.replay;
    let Some(c) = replay.problem.c else {
        return Ok(Vec::new());
    };
    let format = c.tensor().format();
    let own = format == replay.format();
    if !own && format != replay.arithmetic.accumulator {
        return Ok(Vec::new());
    }
    let code = |at: &Element| {
        let code = c.plane(at.batch).code(at.row, at.column);
        if own { code } else { replay.convert(code) }
    };
    if !trial.fits(&|at| at.iter().map(code).collect()) {
        return Ok(Vec::new());
    }
    let what = "D equals C, so no product was added";
    Ok(vec![trial.found(Hypothesis::StoppedEarly, what).at([0])])
}

/// A, B or all operands of another matrix.
pub fn matrices(case: &Case, trial: &Trial) -> Tested {
    let replay = case.replay;
    let problem = replay.problem;
    let batches = problem.batches();
    if batches < 2 || problem.scales.is_some() {
        return Ok(Vec::new());
    }
    let first = trial.differing().next().map(|stored| stored.at.batch);
    let one = trial
        .differing()
        .all(|stored| Some(stored.at.batch) == first);
    // The distance of matrices of one operand is zero.
    if !one {
        for (side, name) in ["A", "B"].into_iter().enumerate() {
            let element = |at: &Element| {
                let there = |of: usize| if of == side { 0 } else { at.batch };
                let alone = Replay {
                    problem: Problem {
                        a: problem.a.matrix(there(0)),
                        b: problem.b.matrix(there(1)),
                        c: problem.c.map(|c| c.matrix(at.batch)),
                        ..problem
                    },
                    kernel: replay.kernel.map(|kernel| kernel.part(at.batch, [0, 0])),
                    ..replay
                };
                alone.elements(&[Element { batch: 0, ..*at }])[0]
            };
            if trial.fits(&|at: &[Element]| at.iter().map(element).collect()) {
                let what = format!("every matrix is multiplied with {name} of matrix 0");
                return Ok(vec![trial.found(Hypothesis::OtherOperands, what)]);
            }
        }
    }
    for by in 1..batches.min(NEAR) {
        for (of, hypothesis) in [
            ([true, true], Hypothesis::OtherMatrix),
            ([true, false], Hypothesis::OtherOperands),
            ([false, true], Hypothesis::OtherOperands),
        ] {
            let there =
                |batch: usize, moved: bool| if moved { (batch + by) % batches } else { batch };
            let element = |at: &Element| {
                let a = problem.a.matrix(there(at.batch, of[0]));
                let b = problem.b.matrix(there(at.batch, of[1]));
                let c = problem
                    .c
                    .map(|c| c.matrix(there(at.batch, of == [true, true])));
                let alone = Replay {
                    problem: Problem { a, b, c, ..problem },
                    kernel: replay.kernel.map(|kernel| kernel.part(at.batch, [0, 0])),
                    ..replay
                };
                alone.elements(&[Element { batch: 0, ..*at }])[0]
            };
            if !trial.fits(&|at: &[Element]| at.iter().map(element).collect()) {
                continue;
            }
            let [which, other] = match first.filter(|_| one) {
                Some(matrix) => [
                    format!("matrix {matrix}"),
                    format!("matrix {}", (matrix + by) % batches),
                ],
                None => [
                    "every matrix".to_owned(),
                    format!("the one {by} further on, wrapping around"),
                ],
            };
            let what = match of {
                [true, true] => format!("{which} holds the result of {other}"),
                [true, false] => format!("{which} holds the product of A of {other} and its own B"),
                _ => format!("{which} holds the product of its own A and B of {other}"),
            };
            return Ok(vec![trial.found(hypothesis, what)]);
        }
    }
    Ok(Vec::new())
}
