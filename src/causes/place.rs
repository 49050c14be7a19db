//! Damage: where the mismatches lie, counted over all of D.

use super::{Case, Change, Found};
use crate::num::Fields;
use crate::report::{KEPT, grouped};

/// Tiles that a kernel could lose.
const TILES: [usize; 5] = [128, 64, 32, 16, 8];

/// Rows or columns shorter than this are hit as a whole by chance.
const SHORT: usize = 8;

fn found(kind: &'static str, sentence: String) -> Option<Found> {
    Some(Found {
        kind,
        sentence,
        change: Change::None,
    })
}

/// A single mismatch of a single bit.
pub fn flipped_bit(case: &Case) -> Option<Found> {
    let [seen] = case.spread.different[..] else {
        return None;
    };
    let xor = seen.reproduced ^ seen.given;
    if case.comparison.mismatches != 1 || xor.count_ones() != 1 {
        return None;
    }
    let format = case.given.format();
    let fields = Fields::differing(format, seen.reproduced, seen.given);
    let field = match (fields.sign, fields.exponent) {
        (true, _) => "sign",
        (_, true) => "exponent",
        _ if format.is_integer() => "value",
        _ => "significand",
    };
    let problem = &case.replay.problem;
    let (m, n) = (problem.m, problem.n);
    let (row, column) = (seen.position / n % m, seen.position % n);
    let matrix = match problem.batches() {
        1 => String::new(),
        _ => format!(" of matrix {}", seen.position / n / m),
    };
    let elements = grouped(case.comparison.elements);
    found(
        "flipped_bit",
        format!(
            "One bit of one element differs and nothing else, of {elements} elements: bit {} ({field}) at row {row}, \
             column {column}{matrix}.",
            xor.trailing_zeros()
        ),
    )
}

/// Whole rows, whole columns, or a rectangle: nothing if only a part of D was compared.
pub fn place(case: &Case) -> Option<Found> {
    if case.comparison.elements != case.given.len() as u64 {
        return None;
    }
    rows(case)
        .or_else(|| columns(case))
        .or_else(|| rectangle(case))
}

fn rows(case: &Case) -> Option<Found> {
    let c = case.comparison;
    let n = case.replay.problem.n;
    let lie = lines("rows", [c.rows_touched, c.rows], n, c.mismatches)?;
    let listed = listed(&case.spread.rows_touched, c.rows_touched, "row");
    found("rows", format!("{lie} {listed}{}.", counted(case)))
}

fn columns(case: &Case) -> Option<Found> {
    let c = case.comparison;
    let m = case.replay.problem.m;
    let lie = lines("columns", [c.columns_touched, c.columns], m, c.mismatches)?;
    let listed = listed(&case.spread.columns_touched, c.columns_touched, "column");
    found("columns", format!("{lie} {listed}{}.", counted(case)))
}

/// What the numbers mean in a batch.
fn counted(case: &Case) -> &'static str {
    match case.replay.problem.batches() {
        1 => "",
        _ => " (counted on from matrix to matrix)",
    }
}

/// Few of many, at least half of their elements wrong.
fn lines(what: &str, [touched, all]: [u64; 2], length: usize, mismatches: u64) -> Option<String> {
    let elements = touched * length as u64;
    let few = 4 * touched <= all && 2 * mismatches >= elements && length >= SHORT;
    few.then(|| {
        let share = match mismatches == elements {
            true => "and every element there differs".to_owned(),
            false => format!(
                "where {} of {} elements differ",
                grouped(mismatches),
                grouped(elements)
            ),
        };
        format!(
            "All {} mismatches lie in {} of {} {what} of D, {share}:",
            grouped(mismatches),
            grouped(touched),
            grouped(all)
        )
    })
}

/// `row 5`, `rows 5, 9, 70`, `every 128th row from 5 on`.
fn listed(indices: &[usize], touched: u64, what: &str) -> String {
    if let [one] = indices {
        return format!("{what} {one}");
    }
    let step = indices[1] - indices[0];
    let regular = indices.windows(2).all(|pair| pair[1] - pair[0] == step);
    let last = indices[indices.len() - 1];
    let all = touched <= KEPT as u64;
    match (regular, step) {
        (true, 1) if all => format!("{what}s {} to {last}", indices[0]),
        (true, step) if all && indices.len() > 2 => {
            format!("{what}s {} to {last} in steps of {step}", indices[0])
        }
        _ => {
            let named: Vec<_> = indices.iter().take(8).map(usize::to_string).collect();
            let more = if touched > 8 { ", ..." } else { "" };
            format!("{what}s {}{more}", named.join(", "))
        }
    }
}

fn rectangle(case: &Case) -> Option<Found> {
    let problem = &case.replay.problem;
    let (m, n) = (problem.m, problem.n);
    let mismatches = case.comparison.mismatches;
    let [[top, bottom], [left, right]] = [case.spread.rows, case.spread.columns];
    let matrix = top / m;
    let (height, width) = (bottom - top, right - left);
    let area = height as u64 * width as u64;
    let one_matrix = (bottom - 1) / m == matrix;
    let small = 2 * area <= case.comparison.elements;
    if !one_matrix || !small || height < 2 || width < 2 || area < 4 || 10 * mismatches < 9 * area {
        return None;
    }
    let rows = [top - matrix * m, bottom - matrix * m];
    let columns = [left, right];
    let tile = tile(rows, m).zip(tile(columns, n));
    // Something that merely nearly fills an arbitrary rectangle is no tile.
    if tile.is_none() && mismatches < area {
        return None;
    }
    let share = match mismatches == area {
        true => "all of that rectangle and nothing else".to_owned(),
        false => format!(
            "{} of its {} elements, and nothing else",
            grouped(mismatches),
            grouped(area)
        ),
    };
    let of = match problem.batches() {
        1 => String::new(),
        _ => format!(" of matrix {matrix}"),
    };
    let place = format!(
        "rows {} to {}, columns {} to {}{of}: {share}",
        rows[0],
        rows[1] - 1,
        left,
        right - 1
    );
    match tile {
        Some((high, wide)) => found(
            "tile",
            format!("What differs is {place}. It begins and ends where tiles of {high}x{wide} do."),
        ),
        None => found("rectangle", format!("What differs is {place}.")),
    }
}

/// The largest tile at whose edges a side begins and ends, the end of D being one.
fn tile([from, to]: [usize; 2], length: usize) -> Option<usize> {
    let fits = |tile: &usize| {
        let edges = from.is_multiple_of(*tile) && (to.is_multiple_of(*tile) || to == length);
        edges && *tile <= to - from
    };
    TILES.into_iter().find(fits)
}
