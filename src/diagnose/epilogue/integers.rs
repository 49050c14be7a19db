//! Numbers that are added to integer sums: one for all, for every column or for every row.

use std::collections::BTreeMap;

use super::super::trial::{SPENT, Tested, Trial};
use super::super::{Case, Found, Hypothesis};
use super::listed;
use crate::num::Format;
use crate::report::grouped;

/// Elements of a row or column by which its number is more than an element's own.
const LEAST: usize = 4;

/// Most rows and columns of D that are examined.
const MOST: usize = 64;

/// The numbers that give all examined elements, if there are any.
pub fn integers(case: &Case, trial: &Trial) -> Tested {
    let replay = case.replay;
    let problem = &replay.problem;
    if replay.format() != Format::Int32 || !case.is_whole() {
        return Ok(Vec::new());
    }
    let (rows, columns) = (
        (problem.batches() * problem.m).min(MOST),
        problem.n.min(MOST),
    );
    if rows < LEAST || columns < LEAST {
        return Ok(Vec::new());
    }
    let all: Vec<_> = (0..rows * columns)
        .map(|i| case.stored([i / columns, i % columns]))
        .collect();
    let at: Vec<_> = all.iter().map(|stored| stored.at).collect();
    if !trial.affords(trial.price(&at)) {
        return Err(SPENT);
    }
    let sums = replay.elements(&at);
    let off = |i: usize| (all[i].given as u32).wrapping_sub(sums[i] as u32) as i32;
    // D may have more columns than those examined.
    let tested = format!(
        "it gives all {} examined elements, bit for bit",
        grouped(all.len() as u64)
    );
    let lines: [(&str, &dyn Fn(usize) -> usize); 2] =
        [("column", &|i| i % columns), ("row", &|i| i / columns)];
    for (name, line) in lines {
        let mut numbers: BTreeMap<usize, i32> = BTreeMap::new();
        let same =
            (0..all.len()).all(|i| *numbers.entry(line(i)).or_insert_with(|| off(i)) == off(i));
        // Numbers of few lines have another cause.
        let some = 2 * numbers.values().filter(|number| **number != 0).count() >= numbers.len();
        if !same || !some {
            continue;
        }
        let first = numbers[&0];
        let text = if numbers.values().all(|number| *number == first) {
            format!("{first} is added to every element (a bias): {tested}")
        } else {
            format!(
                "a bias is added, one number per {name} ({}): {tested}",
                listed(name, &numbers)
            )
        };
        return Ok(vec![Found::new(Hypothesis::Bias, text)]);
    }
    Ok(Vec::new())
}
