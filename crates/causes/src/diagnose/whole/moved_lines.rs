//! Rows or columns of D that hold the values of another row or column.

use crate::deadline;
use crate::diagnose::trial::{SPENT, Tested, Trial, relocated};
use crate::diagnose::{Case, Hypothesis};
use crate::emu::Element;

/// Most places that are tested.
const TESTED: usize = 8;

/// The row (side 0) or column (side 1) of the same matrix whose values D holds: one at a fixed distance, or one for
/// all.
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
    let length = case.size().count(side);
    if !trial.affords((length as u64 * problem.k as u64).div_ceil(2)) {
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
        // Whether D holds the values of the line `there(line)`.
        let fits = |there: &dyn Fn(isize) -> isize| {
            trial.fits_elsewhere(&replay, &|at| {
                relocated(*at, side, there(index(at) as isize) as usize)
            })
        };
        let same_line = trial.differing().all(|stored| index(&stored.at) == own);
        if fits(&|_| place as isize) {
            let text = if same_line {
                format!("{what} {own} holds the values of {what} {place}")
            } else {
                format!("every {what} holds the values of {what} {place}")
            };
            return Ok(vec![trial.found(hypothesis, text).at([place])]);
        }
        let distance = place as isize - own as isize;
        // Beyond the edge of D lines wrap around, or repeat the last one.
        let around = |at: isize| (at + distance).rem_euclid(length as isize);
        let clamped = |at: isize| (at + distance).clamp(0, length as isize - 1);
        if !same_line && (fits(&around) || fits(&clamped)) {
            let text = shifted(what, distance);
            return Ok(vec![trial.found(hypothesis, text)]);
        }
    }
    Ok(Vec::new())
}

/// Says that every line holds the values of the one `by` further.
pub fn shifted(line: &str, by: isize) -> String {
    let one = match by {
        1 => "the next one".to_owned(),
        -1 => "the previous one".to_owned(),
        2.. => format!("the one {by} further"),
        _ => format!("the one {} before", -by),
    };
    format!("every {line} holds the values of {one}")
}

/// Whether a value is too common to identify a place.
fn zero_like(case: &Case, code: u64) -> bool {
    let number = case.replay.format().unpack(code);
    number.is_zero() || number.is_nan() || number.is_infinite()
}
