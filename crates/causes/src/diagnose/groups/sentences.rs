//! Sentences about where the mismatches of a group lie.

use crate::diagnose::groups::{Group, Shape, Size};
use crate::forms::grouped;

impl Shape {
    /// Its name in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Shape::Lines { side: 0, .. } => "rows",
            Shape::Lines { .. } => "columns",
            Shape::Rectangle { tile: Some(_) } => "tile",
            Shape::Rectangle { tile: None } => "rectangle",
            Shape::Lattice { .. } => "lattice",
            Shape::Element => "element",
            Shape::Scattered => "scattered",
        }
    }
}

/// `rows 32 to 63, columns 96 to 127`: the beginning of a sentence about the group.
pub fn place(group: &Group, size: Size) -> String {
    match &group.shape {
        Shape::Lines { side, lines, .. } => {
            let counted = match size.batches {
                1 => "",
                _ => " (counted on from matrix to matrix)",
            };
            listed(lines, ["row", "column"][*side]) + counted
        }
        Shape::Rectangle { tile } => {
            let one = |[high, wide]: &[usize; 2]| {
                let [rows, columns] = [local_rows(group, size), group.columns];
                let whole = rows[1] - rows[0] == *high && columns[1] - columns[0] == *wide;
                if whole {
                    format!(" (one whole {high}x{wide} tile)")
                } else {
                    format!(" (whole {high}x{wide} tiles)")
                }
            };
            rectangle(group, size) + &tile.as_ref().map_or(String::new(), one)
        }
        Shape::Lattice { every, first } => {
            let side = |every: usize, first: usize, range: [usize; 2], what: &str| match every {
                1 if range[1] - range[0] == 1 => format!("{what} {}", range[0]),
                1 => format!("{what}s {} to {}", range[0], range[1] - 1),
                every => format!("every {what} whose index modulo {every} is {first}"),
            };
            let rows = side(every[0], first[0], local_rows(group, size), "row");
            format!(
                "{rows}, {}",
                side(every[1], first[1], group.columns, "column")
            )
        }
        Shape::Element => format!(
            "row {}, column {}{}",
            local_rows(group, size)[0],
            group.columns[0],
            size.of_matrix(group.rows[0] / size.m)
        ),
        Shape::Scattered => format!("{} scattered elements", grouped(group.mismatches)),
    }
}

/// A sentence about the place alone, if it is remarkable; `all`: D has no mismatches elsewhere.
pub fn alone(group: &Group, size: Size, all: bool) -> Option<String> {
    let only = if all { "All " } else { "" };
    match &group.shape {
        // Few of many, at least half of their elements wrong.
        Shape::Lines {
            side,
            lines,
            dense: true,
        } => {
            let indices = lines;
            let (lines, all) = (
                lines.len() as u64,
                (size.count(*side) * size.batches) as u64,
            );
            let elements = lines * size.length(*side) as u64;
            let run = indices.windows(2).all(|two| two[0] + 1 == two[1]);
            let few =
                (4 * lines <= all || run && 2 * lines <= all) && 2 * group.mismatches >= elements;
            few.then(|| {
                let mismatches = grouped(group.mismatches);
                let share = if group.mismatches == elements {
                    "and every element there differs".to_owned()
                } else {
                    format!(
                        "where {mismatches} of {} elements differ",
                        grouped(elements)
                    )
                };
                format!(
                    "{only}{mismatches} mismatches lie in {} of {} {} of D, {share}: {}",
                    grouped(lines),
                    grouped(all),
                    group.shape.name(),
                    place(group, size)
                )
            })
        }
        Shape::Rectangle { tile } => {
            let area = group.area(size);
            let rest = if all { " and nothing else" } else { "" };
            let share = if group.mismatches == area {
                format!("all of that rectangle{rest}")
            } else {
                let comma = if all { "," } else { "" };
                let [some, all] = [grouped(group.mismatches), grouped(area)];
                format!("{some} of its {all} elements{comma}{rest}")
            };
            let edges = tile.map_or(String::new(), |[high, wide]| {
                format!(". Its edges coincide with tiles of {high}x{wide}")
            });
            Some(format!(
                "The differing elements are {}: {share}{edges}",
                rectangle(group, size)
            ))
        }
        Shape::Lattice { .. } => {
            let mismatches = grouped(group.mismatches);
            Some(format!(
                "{only}{mismatches} mismatches lie at {}",
                place(group, size)
            ))
        }
        _ => None,
    }
}

fn rectangle(group: &Group, size: Size) -> String {
    let [rows, columns] = [local_rows(group, size), group.columns];
    format!(
        "rows {} to {}, columns {} to {}{}",
        rows[0],
        rows[1] - 1,
        columns[0],
        columns[1] - 1,
        size.of_matrix(group.rows[0] / size.m)
    )
}

/// The rows within their matrix.
fn local_rows(group: &Group, size: Size) -> [usize; 2] {
    let base = group.rows[0] / size.m * size.m;
    group.rows.map(|row| row - base)
}

/// `row 5`, `rows 5, 9, 70`, `rows 7 to 103 in steps of 32`.
fn listed(indices: &[usize], what: &str) -> String {
    if let [one] = indices {
        return format!("{what} {one}");
    }
    let step = indices[1] - indices[0];
    let regular = indices.windows(2).all(|pair| pair[1] - pair[0] == step);
    let last = indices[indices.len() - 1];
    match (regular, step) {
        (true, 1) => format!("{what}s {} to {last}", indices[0]),
        (true, step) if indices.len() > 2 => {
            format!("{what}s {} to {last} in steps of {step}", indices[0])
        }
        _ => {
            let named: Vec<_> = indices.iter().take(8).map(usize::to_string).collect();
            let more = if indices.len() > 8 { ", ..." } else { "" };
            format!("{what}s {}{more}", named.join(", "))
        }
    }
}
