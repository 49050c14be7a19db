//! Mismatches in whole rows or columns, or in a regular lattice.

use std::collections::BTreeMap;

use super::group::{Group, LINES, SHORT, Shape, Size};
use crate::report::Stack;

/// Periods of a lattice.
const PERIODS: [usize; 7] = [2, 4, 8, 16, 32, 64, 128];

/// Rows (side 0) or columns (side 1) with many more mismatches than the others; and the remaining stacks.
pub fn take_lines(stacks: Vec<Stack>, side: usize, size: Size) -> (Option<Group>, Vec<Stack>) {
    let of = |stack: &Stack| match side {
        0 => stack.rows,
        _ => {
            let base = stack.rows[0] / size.m * size.n;
            stack.columns.map(|column| base + column)
        }
    };
    let across = |stack: &Stack| [stack.width(), stack.height()][side] as u64;
    let (length, all) = (size.length(side), size.count(side) * size.batches);
    if length < SHORT || stacks.is_empty() {
        return (None, stacks);
    }
    // Stacks that cover many lines are no lines.
    let covered = stacks.iter().map(|stack| of(stack)[1] - of(stack)[0]);
    if covered.sum::<usize>() > 16 * crate::report::STACKS {
        return (None, stacks);
    }
    let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
    for stack in &stacks {
        let [from, to] = of(stack);
        (from..to).for_each(|line| *counts.entry(line).or_default() += across(stack));
    }
    let most = counts.values().copied().max().unwrap_or(0);
    let hit = |count: u64| count >= 4 && 4 * count >= most;
    let lines: Vec<usize> = counts
        .iter()
        .filter(|(_, c)| hit(**c))
        .map(|(&l, _)| l)
        .collect();
    let held: u64 = lines.iter().map(|line| counts[line]).sum();
    let total: u64 = counts.values().sum();
    // It is no chance if the others have far fewer each.
    let others = (total - held) as f64 / (all - lines.len()).max(1) as f64;
    let few = !lines.is_empty() && lines.len() <= LINES.min(all / 4);
    let apart = held as f64 >= (8.0 * others + 4.0) * lines.len() as f64;
    if !few || !apart {
        return (None, stacks);
    }
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for stack in &stacks {
        let [from, to] = of(stack);
        for line in from..to {
            let mut one = *stack;
            let range = match side {
                0 => &mut one.rows,
                _ => &mut one.columns,
            };
            let first = range[0] + line - from;
            *range = [first, first + 1];
            match lines.binary_search(&line) {
                Ok(_) => inside.push(one),
                Err(_) => outside.push(one),
            }
        }
    }
    let dense = 2 * held >= lines.len() as u64 * length as u64;
    let shape = Shape::Lines { side, lines, dense };
    inside.sort_unstable();
    outside.sort_unstable();
    (Some(Group::new(shape, inside)), outside)
}

/// Joins all whole rows into one group, adjacent or not; and all whole columns.
pub fn join_lines(groups: &mut Vec<Group>) {
    for side in [0, 1] {
        let mut stacks = Vec::new();
        let mut all: Vec<usize> = Vec::new();
        groups.retain(|group| {
            let lines = match &group.shape {
                Shape::Lines {
                    side: of,
                    lines,
                    dense: true,
                } if *of == side => lines,
                _ => return true,
            };
            all.extend(lines);
            stacks.extend(&group.stacks);
            false
        });
        if all.is_empty() {
            continue;
        }
        all.sort_unstable();
        stacks.sort_unstable();
        let shape = Shape::Lines {
            side,
            lines: all,
            dense: true,
        };
        groups.push(Group::new(shape, stacks));
    }
}

/// The lattice that holds all stacks, if at least half of its elements are wrong.
pub fn lattice(stacks: &[Stack], size: Size) -> Option<Shape> {
    let elements: u64 = stacks.iter().map(Stack::area).sum();
    if elements < 8
        || stacks
            .iter()
            .any(|stack| stack.height().min(stack.width()) > 1)
    {
        return None;
    }
    let period = |of: &dyn Fn(&Stack) -> [usize; 2]| {
        let regular_by = |&&every: &&usize| {
            let [first, _] = of(&stacks[0]);
            stacks.iter().all(|stack| {
                let [from, to] = of(stack);
                to - from == 1 && from % every == first % every
            })
        };
        let every = PERIODS.iter().rev().find(regular_by).copied().unwrap_or(1);
        (every, of(&stacks[0])[0] % every)
    };
    let (down, row) = period(&|stack| {
        let base = stack.rows[0] / size.m * size.m;
        stack.rows.map(|row| row - base)
    });
    let (across, column) = period(&|stack| stack.columns);
    let bound = Group::new(Shape::Scattered, stacks.to_vec());
    let points = |[from, to]: [usize; 2], every: usize| ((to - 1 - from) / every + 1) as u64;
    let all = points(bound.rows, down).saturating_mul(points(bound.columns, across));
    let wide = bound.rows[1] - bound.rows[0] > 1 && bound.columns[1] - bound.columns[0] > 1;
    let regular = wide && down > 1 && across > 1 && 2 * elements >= all;
    let shape = Shape::Lattice {
        every: [down, across],
        first: [row, column],
    };
    regular.then_some(shape)
}
