//! Rows or columns of D that are those of another row or column.

use super::trial::{SPENT, Stored, Tested, Trial};
use super::{Case, Hypothesis};
use crate::deadline;
use crate::emu::Element;

/// Places that are tested.
const TESTED: usize = 8;

/// Which row (side 0) or column (side 1) of the same matrix holds what D has: a fixed distance away, or one
/// for all.
pub fn moved(case: &Case, trial: &Trial, side: usize) -> Tested {
    let replay = case.replay;
    let problem = replay.problem;
    let mut differing = trial
        .differing()
        .filter(|stored| !zero_like(case, stored.given));
    // By one element, half of D would be found somewhere.
    let (Some(first), Some(_)) = (differing.next(), differing.next()) else {
        return Err("too few elements differ");
    };
    let length = [problem.m, problem.n][side];
    if !trial.affords(length as u64 * problem.k as u64) {
        return Err(SPENT);
    }
    let Element { batch, row, column } = first.at;
    let own = [row, column][side];
    let line = match side {
        0 => replay.part(batch, 0..length, column..column + 1, &deadline::unheard),
        _ => replay.part(batch, row..row + 1, 0..length, &deadline::unheard),
    };
    let holds = |&at: &usize| at != own && line[at] == first.given;
    let mut places: Vec<usize> = (0..length).filter(holds).collect();
    // The nearest first.
    places.sort_by_key(|&place| place.abs_diff(own));
    for place in places.into_iter().take(TESTED) {
        let what = ["row", "column"][side];
        let hypothesis = [Hypothesis::RowMoved, Hypothesis::ColumnMoved][side];
        let index = |at: &Element| [at.row, at.column][side];
        let one = |at: &[Element]| {
            let at: Vec<_> = at
                .iter()
                .map(|at| Stored::moved(*at, side, place))
                .collect();
            replay.elements(&at)
        };
        let same_line = trial.differing().all(|stored| index(&stored.at) == own);
        let distance = place as isize - own as isize;
        // What would lie outside comes round again, or is that of the edge.
        let shifted = |around: bool| {
            move |at: &[Element]| {
                let there = |at: &Element| {
                    let there = index(at) as isize + distance;
                    let last = length as isize - 1;
                    let inside = if around {
                        there.rem_euclid(length as isize)
                    } else {
                        there.clamp(0, last)
                    };
                    Stored::moved(*at, side, inside as usize)
                };
                let places: Vec<_> = at.iter().map(there).collect();
                replay.elements(&places)
            }
        };
        if trial.fits(&one) {
            let text = if same_line {
                format!("{what} {own} holds the values of {what} {place}")
            } else {
                format!("every {what} holds the values of {what} {place}")
            };
            return Ok(vec![trial.found(hypothesis, text).at([place])]);
        }
        if !same_line && (trial.fits(&shifted(true)) || trial.fits(&shifted(false))) {
            let by = distance.unsigned_abs();
            let text = match (by, distance > 0) {
                (1, true) => format!("every {what} holds the values of the next one"),
                (1, false) => format!("every {what} holds the values of the previous one"),
                (n, true) => format!("every {what} holds the values of the one {n} further"),
                (n, false) => format!("every {what} holds the values of the one {n} before"),
            };
            return Ok(vec![trial.found(hypothesis, text)]);
        }
    }
    Ok(Vec::new())
}

/// Zeros are everywhere.
fn zero_like(case: &Case, code: u64) -> bool {
    let number = case.replay.format().unpack(code);
    number.is_zero() || number.is_nan() || number.is_infinite()
}
