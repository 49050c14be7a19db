//! Mismatches in whole rows or columns, or in a regular lattice.

use std::collections::BTreeMap;

use crate::diagnose::groups::{Group, LINES, SHORT, Shape, Size};
use crate::report::Rect;

/// Periods of a lattice.
const PERIODS: [usize; 7] = [2, 4, 8, 16, 32, 64, 128];

/// Rows (side 0) or columns (side 1) with many more mismatches than the others; and the remaining rects.
pub fn take_lines(rects: Vec<Rect>, side: usize, size: Size) -> (Option<Group>, Vec<Rect>) {
    let of = |rect: &Rect| match side {
        0 => rect.rows,
        _ => {
            let base = rect.rows[0] / size.m * size.n;
            rect.columns.map(|column| base + column)
        }
    };
    let across = |rect: &Rect| [rect.width(), rect.height()][side] as u64;
    let (length, all) = (size.length(side), size.count(side) * size.batches);
    if length < SHORT || rects.is_empty() {
        return (None, rects);
    }
    // Rects that cover many lines are no lines.
    let covered = rects.iter().map(|rect| of(rect)[1] - of(rect)[0]);
    if covered.sum::<usize>() > 16 * crate::report::MAX_RECTS {
        return (None, rects);
    }
    let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
    for rect in &rects {
        let [from, to] = of(rect);
        (from..to).for_each(|line| *counts.entry(line).or_default() += across(rect));
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
        return (None, rects);
    }
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for rect in &rects {
        let [from, to] = of(rect);
        for line in from..to {
            let mut one = *rect;
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
        let mut rects = Vec::new();
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
            rects.extend(&group.rects);
            false
        });
        if all.is_empty() {
            continue;
        }
        all.sort_unstable();
        rects.sort_unstable();
        let shape = Shape::Lines {
            side,
            lines: all,
            dense: true,
        };
        groups.push(Group::new(shape, rects));
    }
}

/// The lattice that holds all rects, if at least half of its elements are wrong.
pub fn lattice(rects: &[Rect], size: Size) -> Option<Shape> {
    let elements: u64 = rects.iter().map(Rect::area).sum();
    if elements < 8 || rects.iter().any(|rect| rect.height().min(rect.width()) > 1) {
        return None;
    }
    let period = |of: &dyn Fn(&Rect) -> [usize; 2]| {
        let regular_by = |&&every: &&usize| {
            let [first, _] = of(&rects[0]);
            rects.iter().all(|rect| {
                let [from, to] = of(rect);
                to - from == 1 && from % every == first % every
            })
        };
        let every = PERIODS.iter().rev().find(regular_by).copied().unwrap_or(1);
        (every, of(&rects[0])[0] % every)
    };
    let (down, row) = period(&|rect| {
        let base = rect.rows[0] / size.m * size.m;
        rect.rows.map(|row| row - base)
    });
    let (across, column) = period(&|rect| rect.columns);
    let bound = Group::new(Shape::Scattered, rects.to_vec());
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
