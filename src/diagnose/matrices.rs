//! Matrices of a batch computed from operands of other matrices, as from stale buffers.

use super::trial::{Tested, Trial};
use super::{Case, Hypothesis};
use crate::emu::{Element, Problem, Replay};

/// What reports call this test.
pub const TRIED: &str = "operands of other matrices of the batch, D equal to C";

/// The greatest distance between matrices that is tried.
const NEAR: usize = 16;

/// A, B or all operands of another matrix; or C without any product.
pub fn matrices(case: &Case, trial: &Trial) -> Tested {
    let replay = case.replay;
    let problem = replay.problem;
    if let Some(c) = problem.c.filter(|c| c.tensor().format() == replay.format()) {
        let code = |at: &Element| c.plane(at.batch).code(at.row, at.column);
        if trial.fits(&|at| at.iter().map(code).collect()) {
            let what = "D equals C, so no product was added";
            return Ok(vec![trial.found(Hypothesis::StoppedEarly, what).at([0])]);
        }
    }
    let batches = problem.batches();
    if batches < 2 || problem.scales.is_some() {
        return Ok(Vec::new());
    }
    let first = trial.differing().next().map(|stored| stored.at.batch);
    let one = trial
        .differing()
        .all(|stored| Some(stored.at.batch) == first);
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
