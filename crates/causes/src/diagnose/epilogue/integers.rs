//! Numbers that are added to integer sums: one for all, for every column or for every row.

use std::collections::BTreeMap;

use super::listed;
use super::points::elements;
use crate::diagnose::trial::{SPENT, Tested, Trial};
use crate::diagnose::{Case, Found, Hypothesis};
use crate::emu::Element;
use crate::forms::grouped;
use crate::num::Format;

/// Elements of a row or column by which its number is more than an element's own.
const LEAST: usize = 4;

/// The numbers that give all examined elements, if there are any.
pub fn integers(case: &Case, trial: &Trial) -> Tested {
    let replay = case.replay;
    let problem = &replay.problem;
    if replay.format() != Format::Int32 || !case.is_whole() {
        return Ok(Vec::new());
    }
    let (rows, m) = (problem.batches() * problem.m, problem.m);
    if rows < LEAST || problem.n < LEAST {
        return Ok(Vec::new());
    }
    let (at, _) = elements(problem);
    let sampled: Vec<Element> = trial.elements().map(|stored| stored.at).collect();
    if !trial.affords(trial.price(&at) + trial.price(&sampled)) {
        return Err(SPENT);
    }
    let row = |at: &Element| at.batch * m + at.row;
    let off = |at: &[Element]| -> Vec<i32> {
        let sums = replay.elements(at).into_iter().zip(at);
        let off = |(sum, at): (u64, &Element)| {
            let given = case.stored([row(at), at.column]).given as u32;
            given.wrapping_sub(sum as u32) as i32
        };
        sums.map(off).collect()
    };
    let [of_all, of_sampled] = [off(&at), off(&sampled)];
    let tested = format!(
        "it gives all {} examined elements, bit for bit",
        grouped(at.len() as u64)
    );
    for name in ["column", "row"] {
        let line = |at: &Element| if name == "column" { at.column } else { row(at) };
        let mut numbers: BTreeMap<usize, i32> = BTreeMap::new();
        let mut all = at.iter().zip(&of_all);
        let same = all.all(|(at, off)| *numbers.entry(line(at)).or_insert(*off) == *off);
        // Other elements of these lines, right or wrong, have the same numbers.
        let mut others = sampled.iter().zip(&of_sampled);
        let number = |at: &Element| numbers.get(&line(at));
        let same = same && others.all(|(at, off)| number(at).is_none_or(|one| one == off));
        // Numbers of few lines have another cause.
        let some = 2 * numbers.values().filter(|number| **number != 0).count() >= numbers.len();
        let Some(&first) = numbers.values().next().filter(|_| same && some) else {
            continue;
        };
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
