//! How mismatches are put into groups.

use super::group::{FEW, Group, LINES, SHORT, Shape, Size};
use super::lines::{join_lines, lattice, take_lines};
use crate::report::Stack;

/// Tiles that a kernel could lose.
const TILES: [usize; 5] = [128, 64, 32, 16, 8];

/// All groups, the largest first; of equals the first in D.
pub fn groups(stacks: &[Stack], size: Size) -> Vec<Group> {
    let Some(stacks) = by_matrix(stacks, size) else {
        return vec![Group::new(Shape::Scattered, stacks.to_vec())];
    };
    let mut rest = Vec::new();
    let mut found = Vec::new();
    for component in components(&stacks, size.m) {
        match rectangle(&component, size) {
            Some(parts) => found.push((component, parts)),
            None => rest.extend(component),
        }
    }
    // Among many scattered mismatches some touch by chance.
    let scattered: u64 = rest.iter().map(Stack::area).sum();
    let mut groups = Vec::new();
    for (component, (shape, inside, outside)) in found {
        let group = Group::new(shape, inside);
        if 64 * group.mismatches < scattered {
            rest.extend(component)
        } else {
            groups.push(group);
            rest.extend(outside);
        }
    }
    rest.sort_unstable();
    if let Some(shape) = lattice(&rest, size) {
        groups.push(Group::new(shape, std::mem::take(&mut rest)));
    }
    for side in [0, 1] {
        let (lines, others) = take_lines(rest, side, size);
        groups.extend(lines);
        rest = others;
    }
    join_lines(&mut groups);
    let elements: u64 = rest.iter().map(Stack::area).sum();
    match elements {
        0 => {}
        _ if elements <= FEW as u64 => {
            for stack in &rest {
                for row in stack.rows[0]..stack.rows[1] {
                    let one = |column: usize| Stack {
                        rows: [row, row + 1],
                        columns: [column, column + 1],
                    };
                    let all = stack.columns[0]..stack.columns[1];
                    groups.extend(all.map(|c| Group::new(Shape::Element, vec![one(c)])));
                }
            }
        }
        _ => groups.push(Group::new(Shape::Scattered, rest)),
    }
    groups.sort_by_key(|group| {
        (
            std::cmp::Reverse(group.mismatches),
            group.rows,
            group.columns,
        )
    });
    groups
}

/// Stacks cut at the ends of matrices; none if those are too many.
fn by_matrix(stacks: &[Stack], size: Size) -> Option<Vec<Stack>> {
    let pieces = |stack: &Stack| (stack.rows[1] - 1) / size.m - stack.rows[0] / size.m + 1;
    if stacks.iter().map(pieces).sum::<usize>() > 2 * crate::report::STACKS {
        return None;
    }
    let cut = |stack: &Stack| {
        let stack = *stack;
        let matrices = stack.rows[0] / size.m..(stack.rows[1] - 1) / size.m + 1;
        matrices.map(move |matrix| Stack {
            rows: [
                stack.rows[0].max(matrix * size.m),
                stack.rows[1].min((matrix + 1) * size.m),
            ],
            ..stack
        })
    };
    let mut pieces: Vec<Stack> = stacks.iter().flat_map(cut).collect();
    pieces.sort_unstable();
    Some(pieces)
}

/// The rectangle that a component fills: its shape, the stacks inside, and those outside.
fn rectangle(component: &[Stack], size: Size) -> Option<(Shape, Vec<Stack>, Vec<Stack>)> {
    let mut bound = Group::new(Shape::Scattered, component.to_vec());
    // Edges of which less than half is wrong are stray neighbours.
    loop {
        let [rows, columns] = [bound.rows, bound.columns];
        let filled = |rows: [usize; 2], columns: [usize; 2]| {
            let area = |stack: &Stack| clipped(stack, rows, columns).map_or(0, |s| s.area());
            let filled: u64 = bound.stacks.iter().map(area).sum();
            let all = (rows[1] - rows[0]) as u64 * (columns[1] - columns[0]) as u64;
            2 * filled >= all
        };
        let kept = [
            [
                rows[0] + usize::from(!filled([rows[0], rows[0] + 1], columns)),
                rows[1] - usize::from(!filled([rows[1] - 1, rows[1]], columns)),
            ],
            [
                columns[0] + usize::from(!filled(rows, [columns[0], columns[0] + 1])),
                columns[1] - usize::from(!filled(rows, [columns[1] - 1, columns[1]])),
            ],
        ];
        if kept == [rows, columns] {
            break;
        }
        if kept.iter().any(|[from, to]| from + 2 > *to) {
            return None;
        }
        let inside = bound.stacks.iter();
        let inside = inside.filter_map(|stack| clipped(stack, kept[0], kept[1]));
        bound = Group::new(Shape::Scattered, inside.collect());
    }
    let [rows, columns] = [bound.rows, bound.columns];
    let [height, width] = [rows[1] - rows[0], columns[1] - columns[0]];
    let area = height as u64 * width as u64;
    let all = size.m as u64 * size.n as u64 * size.batches as u64;
    let some = height >= 2 && width >= 2 && area >= 4 && 2 * area <= all;
    if !some || 10 * bound.mismatches < 9 * area {
        return None;
    }
    let outside = component
        .iter()
        .flat_map(|stack| remainder(stack, rows, columns));
    let outside: Vec<Stack> = outside.collect();
    let matrix = rows[0] / size.m;
    let lines = |side, lines: std::ops::Range<usize>| Shape::Lines {
        side,
        lines: lines.collect(),
        dense: true,
    };
    let shape = if width == size.n && width >= SHORT && height <= LINES {
        lines(0, rows[0]..rows[1])
    } else if height == size.m && height >= SHORT && width <= LINES {
        let base = matrix * size.n;
        lines(1, base + columns[0]..base + columns[1])
    } else {
        let local = [rows[0] - matrix * size.m, rows[1] - matrix * size.m];
        let tile = tile(local, size.m).zip(tile(columns, size.n));
        // What nearly fills an arbitrary rectangle is not a tile.
        if tile.is_none() && bound.mismatches < area {
            return None;
        }
        Shape::Rectangle {
            tile: tile.map(|(high, wide)| [high, wide]),
        }
    };
    Some((shape, bound.stacks, outside))
}

/// The part of a stack inside a rectangle.
pub fn clipped(stack: &Stack, rows: [usize; 2], columns: [usize; 2]) -> Option<Stack> {
    let both = |one: [usize; 2], other: [usize; 2]| {
        let both = [one[0].max(other[0]), one[1].min(other[1])];
        (both[0] < both[1]).then_some(both)
    };
    Some(Stack {
        rows: both(stack.rows, rows)?,
        columns: both(stack.columns, columns)?,
    })
}

/// The parts of a stack outside a rectangle.
fn remainder(stack: &Stack, rows: [usize; 2], columns: [usize; 2]) -> Vec<Stack> {
    let Some(inside) = clipped(stack, rows, columns) else {
        return vec![*stack];
    };
    let of = |rows: [usize; 2], columns: [usize; 2]| Stack { rows, columns };
    let all = [
        of([stack.rows[0], inside.rows[0]], stack.columns),
        of([inside.rows[1], stack.rows[1]], stack.columns),
        of(inside.rows, [stack.columns[0], inside.columns[0]]),
        of(inside.rows, [inside.columns[1], stack.columns[1]]),
    ];
    let some = |s: &Stack| s.rows[0] < s.rows[1] && s.columns[0] < s.columns[1];
    all.into_iter().filter(some).collect()
}

/// The largest tile size with which both ends of a side coincide; the end of D counts as an edge.
fn tile([from, to]: [usize; 2], length: usize) -> Option<usize> {
    let fits = |tile: &usize| {
        let edges = from.is_multiple_of(*tile) && (to.is_multiple_of(*tile) || to == length);
        edges && *tile <= to - from
    };
    TILES.into_iter().find(fits)
}

/// Groups of stacks that touch by a side or a corner. The stacks are sorted by row; those of different matrices, of
/// `m` rows each, never touch.
fn components(stacks: &[Stack], m: usize) -> Vec<Vec<Stack>> {
    let mut parent: Vec<usize> = (0..stacks.len()).collect();
    // Stacks that reach the current row.
    let mut active: Vec<usize> = Vec::new();
    let mut row = None;
    for (index, stack) in stacks.iter().enumerate() {
        if row != Some(stack.rows[0]) {
            row = Some(stack.rows[0]);
            active.retain(|&other| stacks[other].rows[1] >= stack.rows[0]);
        }
        for &other in &active {
            let [left, right] = stacks[other].columns;
            let same = stacks[other].rows[0] / m == stack.rows[0] / m;
            if same && left <= stack.columns[1] && stack.columns[0] <= right {
                let (one, two) = (root(&mut parent, other), root(&mut parent, index));
                parent[one.max(two)] = one.min(two);
            }
        }
        active.push(index);
    }
    let mut groups: Vec<Vec<Stack>> = stacks.iter().map(|_| Vec::new()).collect();
    for (index, stack) in stacks.iter().enumerate() {
        groups[root(&mut parent, index)].push(*stack);
    }
    groups.retain(|group| !group.is_empty());
    groups
}

fn root(parent: &mut [usize], mut index: usize) -> usize {
    while parent[index] != index {
        parent[index] = parent[parent[index]];
        index = parent[index];
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touching_stacks_are_one() {
        let stack = |rows, columns| Stack { rows, columns };
        let all = [
            stack([0, 3], [0, 2]),
            stack([2, 9], [10, 20]),
            // By a corner, and by a side.
            stack([3, 4], [2, 5]),
            stack([4, 5], [3, 4]),
            // A column and a row away.
            stack([6, 7], [8, 9]),
            stack([11, 12], [3, 4]),
        ];
        let found = components(&all, 100);
        assert_eq!(found.len(), 4);
        assert_eq!(found[0], [all[0], all[2], all[3]]);
        assert_eq!(components(&all, 3).len(), 5);
    }
}
