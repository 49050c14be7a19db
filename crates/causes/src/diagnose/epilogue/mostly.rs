//! An epilogue that gives most of D: its numbers are concluded from a quarter of the rows or columns, since other faults
//! seldom lie in all of them.

use super::points::{Point, Points};
use super::solve::SOLVERS;
use super::{Fit, SOLVED, before, functions, functions_and_none, solved};
use crate::diagnose::Case;
use crate::diagnose::Mostly;
use crate::diagnose::trial::Trial;
use crate::num::Format;

/// Parts of the rows or columns, each of which is tried alone.
const PARTS: usize = 4;

/// Rows (or columns) of a part that are examined, and columns (or rows) in which they are.
const LINES: usize = 8;
const ACROSS: usize = 96;

/// About as many elements tell the numbers in the end.
const REFINED: usize = 1 << 14;

/// Units in the last place by which a number that is concluded from few elements may be off.
const NEAR: u64 = 4;

/// One in so many elements may be off by that.
const FEW_OF: u64 = 16;

/// The first epilogue that gives all that is examined of one part.
pub fn mostly(case: &Case, trial: &Trial) -> Option<Mostly> {
    let points = Points::everywhere(case, trial).ok()?;
    let problem = case.replay.problem;
    let lengths = [problem.batches() * problem.m, problem.n];
    let (side, lines, solver, fit) = (0..2 * PARTS).find_map(|part| {
        let (side, part) = (part / PARTS, part % PARTS);
        let [count, across] = [lengths[side], lengths[1 - side]];
        let first = part * count / PARTS;
        let lines = first..first + LINES.min(count / PARTS);
        let is_line = |line: usize| lines.contains(&line);
        let step = across.div_ceil(ACROSS);
        let is_across = |at: usize| at.is_multiple_of(step);
        let some = match side {
            0 => points.among([&is_line, &is_across]),
            _ => points.among([&is_across, &is_line]),
        };
        // Other lines have numbers of their own, which these do not tell.
        let (solver, fit) = fitted(case, trial, &some)?;
        (!fit.formula.is_by_line(side)).then_some((side, lines, solver, fit))
    })?;
    // More elements tell the numbers to the last bit, and those of all lines: of lines that were examined all that are
    // nearly given, of others those of the part.
    let refined = solver.and_then(|solver| {
        let place = |point: &Point| match side {
            0 => [point.row, point.at.column],
            _ => [point.at.column, point.row],
        };
        let steps = [
            points.all.len().div_ceil(REFINED),
            lengths[1 - side].div_ceil(ACROSS),
        ];
        let near = |point: &&Point| {
            let [line, at] = place(point);
            if !lines.contains(&line) && !line.is_multiple_of(steps[0]) {
                return false;
            }
            let is_known = !fit.formula.has_tables() || at.is_multiple_of(steps[1]);
            if is_known {
                is_near(case, fit.formula.code(case, point), point)
            } else {
                lines.contains(&line)
            }
        };
        let near: Vec<Point> = points.all.iter().filter(near).copied().collect();
        let near = Points {
            all: near,
            whole: false,
        };
        solved_by(case, trial, &near, solver)
    });
    let fit = refined.unwrap_or(fit);
    let formula = &fit.formula;
    let [mut nearly, mut by_numbers] = [0, 0];
    let codes = points.all.iter().map(|point| {
        let computed = formula.code(case, point);
        let format = case.replay.format();
        if case.tolerance.accepts(format, computed.0, point.given) {
            return computed.0;
        }
        let is_near = is_near(case, computed, point);
        nearly += u64::from(is_near);
        by_numbers += u64::from(is_near && !computed.1);
        if is_near { point.given } else { computed.0 }
    });
    let codes = codes.collect();
    // Numbers that are not known to the last bit miss few elements; where they miss more, something else is at work.
    if FEW_OF * by_numbers > points.all.len() as u64 {
        return None;
    }
    Some(Mostly {
        kind: formula.hypothesis(false),
        what: fit.describe(false),
        codes,
        nearly,
    })
}

/// Whether an element is what a formula computes but for the last bits, which depend on how a function is computed or on
/// numbers that are not known to the last bit.
fn is_near(case: &Case, (code, given): (u64, bool), point: &Point) -> bool {
    let sign = case.replay.format().sign_mask();
    let distance = match (code ^ point.given) & sign {
        0 => code.abs_diff(point.given),
        _ => (code & !sign) + (point.given & !sign),
    };
    // A unit of a narrow format is no rounding of a number.
    given || case.replay.format() == Format::Fp32 && distance <= NEAR
}

/// A function, or numbers that the solver of this place in the list finds.
fn fitted(case: &Case, trial: &Trial, points: &Points) -> Option<(Option<usize>, Fit)> {
    if let Ok(Some(fit)) = functions(case, trial, points) {
        return Some((None, fit));
    }
    (0..SOLVERS.len())
        .find_map(|solver| Some((Some(solver), solved_by(case, trial, points, solver)?)))
}

fn solved_by(case: &Case, trial: &Trial, points: &Points, solver: usize) -> Option<Fit> {
    let (_, solver, unknown, refutes) = SOLVERS[solver];
    if !points.tell(unknown) || !trial.affords(SOLVED * points.all.len() as u64) {
        return None;
    }
    let ranges: Vec<_> = functions_and_none()
        .map(|function| before(points, function))
        .collect();
    let known = |at: usize, _| ranges[at].as_deref();
    let fit = solved(case, points, &known, (solver, refutes));
    fit.ok().flatten()
}
