//! How mismatches are put into groups.

use crate::diagnose::groups::lines::{join_lines, lattice, take_lines};
use crate::diagnose::groups::{FEW, Group, LINES, SHORT, Shape, Size};
use crate::report::Rect;

/// Tiles that a kernel could lose.
const TILES: [usize; 5] = [128, 64, 32, 16, 8];

/// All groups, the largest first; of equals the first in D.
pub fn groups(rects: &[Rect], size: Size) -> Vec<Group> {
    let Some(rects) = by_matrix(rects, size) else {
        return vec![Group::new(Shape::Scattered, rects.to_vec())];
    };
    let mut rest = Vec::new();
    let mut found = Vec::new();
    for component in components(&rects, size.m) {
        match rectangle(&component, size) {
            Some(parts) => found.push((component, parts)),
            None => rest.extend(component),
        }
    }
    // Among many scattered mismatches some touch by chance.
    let scattered: u64 = rest.iter().map(Rect::area).sum();
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
    let elements: u64 = rest.iter().map(Rect::area).sum();
    match elements {
        0 => {}
        _ if elements <= FEW as u64 => {
            for rect in &rest {
                for row in rect.rows[0]..rect.rows[1] {
                    let one = |column: usize| Rect {
                        rows: [row, row + 1],
                        columns: [column, column + 1],
                    };
                    let all = rect.columns[0]..rect.columns[1];
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

/// Rects cut at the ends of matrices; none if those are too many.
fn by_matrix(rects: &[Rect], size: Size) -> Option<Vec<Rect>> {
    let pieces = |rect: &Rect| (rect.rows[1] - 1) / size.m - rect.rows[0] / size.m + 1;
    if rects.iter().map(pieces).sum::<usize>() > 2 * crate::report::MAX_RECTS {
        return None;
    }
    let cut = |rect: &Rect| {
        let rect = *rect;
        let matrices = rect.rows[0] / size.m..(rect.rows[1] - 1) / size.m + 1;
        matrices.map(move |matrix| Rect {
            rows: [
                rect.rows[0].max(matrix * size.m),
                rect.rows[1].min((matrix + 1) * size.m),
            ],
            ..rect
        })
    };
    let mut pieces: Vec<Rect> = rects.iter().flat_map(cut).collect();
    pieces.sort_unstable();
    Some(pieces)
}

/// The rectangle that a component fills: its shape, the rects inside, and those outside.
fn rectangle(component: &[Rect], size: Size) -> Option<(Shape, Vec<Rect>, Vec<Rect>)> {
    let mut bound = Group::new(Shape::Scattered, component.to_vec());
    // Edges of which less than half is wrong are stray neighbours.
    loop {
        let [rows, columns] = [bound.rows, bound.columns];
        let filled = |rows: [usize; 2], columns: [usize; 2]| {
            let area = |rect: &Rect| clipped(rect, rows, columns).map_or(0, |s| s.area());
            let filled: u64 = bound.rects.iter().map(area).sum();
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
        let inside = bound.rects.iter();
        let inside = inside.filter_map(|rect| clipped(rect, kept[0], kept[1]));
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
        .flat_map(|rect| remainder(rect, rows, columns));
    let outside: Vec<Rect> = outside.collect();
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
    Some((shape, bound.rects, outside))
}

/// The part of a rect inside a rectangle.
pub fn clipped(rect: &Rect, rows: [usize; 2], columns: [usize; 2]) -> Option<Rect> {
    let both = |one: [usize; 2], other: [usize; 2]| {
        let both = [one[0].max(other[0]), one[1].min(other[1])];
        (both[0] < both[1]).then_some(both)
    };
    Some(Rect {
        rows: both(rect.rows, rows)?,
        columns: both(rect.columns, columns)?,
    })
}

/// The parts of a rect outside a rectangle.
fn remainder(rect: &Rect, rows: [usize; 2], columns: [usize; 2]) -> Vec<Rect> {
    let Some(inside) = clipped(rect, rows, columns) else {
        return vec![*rect];
    };
    let of = |rows: [usize; 2], columns: [usize; 2]| Rect { rows, columns };
    let all = [
        of([rect.rows[0], inside.rows[0]], rect.columns),
        of([inside.rows[1], rect.rows[1]], rect.columns),
        of(inside.rows, [rect.columns[0], inside.columns[0]]),
        of(inside.rows, [inside.columns[1], rect.columns[1]]),
    ];
    let some = |s: &Rect| s.rows[0] < s.rows[1] && s.columns[0] < s.columns[1];
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

/// Groups of rects that touch by a side or a corner. The rects are sorted by row; those of different matrices, of
/// `m` rows each, never touch.
fn components(rects: &[Rect], m: usize) -> Vec<Vec<Rect>> {
    let mut parent: Vec<usize> = (0..rects.len()).collect();
    // Rects that reach the current row.
    let mut active: Vec<usize> = Vec::new();
    let mut row = None;
    for (index, rect) in rects.iter().enumerate() {
        if row != Some(rect.rows[0]) {
            row = Some(rect.rows[0]);
            active.retain(|&other| rects[other].rows[1] >= rect.rows[0]);
        }
        for &other in &active {
            let [left, right] = rects[other].columns;
            let same = rects[other].rows[0] / m == rect.rows[0] / m;
            if same && left <= rect.columns[1] && rect.columns[0] <= right {
                let (one, two) = (root(&mut parent, other), root(&mut parent, index));
                parent[one.max(two)] = one.min(two);
            }
        }
        active.push(index);
    }
    let mut groups: Vec<Vec<Rect>> = rects.iter().map(|_| Vec::new()).collect();
    for (index, rect) in rects.iter().enumerate() {
        groups[root(&mut parent, index)].push(*rect);
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
        let rect = |rows, columns| Rect { rows, columns };
        let all = [
            rect([0, 3], [0, 2]),
            rect([2, 9], [10, 20]),
            // By a corner, and by a side.
            rect([3, 4], [2, 5]),
            rect([4, 5], [3, 4]),
            // A column and a row away.
            rect([6, 7], [8, 9]),
            rect([11, 12], [3, 4]),
        ];
        let found = components(&all, 100);
        assert_eq!(found.len(), 4);
        assert_eq!(found[0], [all[0], all[2], all[3]]);
        assert_eq!(components(&all, 3).len(), 5);
    }
}
