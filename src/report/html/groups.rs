//! Groups of mismatches by number: the same on the map, among the causes and in the list.

use serde::Serialize;

use crate::report::{Cause, Comparison, Mismatch, Report};

/// Something that the map points at: first, and one past the last; rows count on from matrix to matrix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mark {
    pub label: String,
    pub rows: [usize; 2],
    pub columns: [usize; 2],
}

/// Mismatches so few that each is pointed at.
const FEW: u64 = 8;

/// Groups by what was found of them; where nothing was, or one thing of all, few mismatches each by its index.
pub fn marks(report: &Report, c: &Comparison) -> Vec<Mark> {
    let areas = areas(&report.causes);
    if !areas.is_empty() || c.mismatches > FEW || c.mismatches != c.first.len() as u64 {
        let numbered = areas.into_iter().enumerate();
        return numbered
            .map(|(i, [rows, columns])| Mark {
                label: (i + 1).to_string(),
                rows,
                columns,
            })
            .collect();
    }
    let elements = c.first.iter().map(|mismatch| {
        let [row, column] = place(mismatch, &report.reproduced.shape);
        Mark {
            label: format!("{:?}", mismatch.index),
            rows: [row, row + 1],
            columns: [column, column + 1],
        }
    });
    elements.collect()
}

/// The number of a cause's group, from 1.
pub fn number(cause: &Cause, all: &[Cause]) -> Option<usize> {
    let area = cause.area.as_ref()?;
    let area = [area.rows, area.columns];
    areas(all)
        .iter()
        .position(|other| *other == area)
        .map(|i| i + 1)
}

/// The number of the group that a mismatch lies in: of the smallest of those around it.
pub fn number_of(mismatch: &Mismatch, report: &Report) -> Option<usize> {
    let at = place(mismatch, &report.reproduced.shape);
    let areas = areas(&report.causes);
    let around = areas.iter().enumerate().filter(|(_, sides)| {
        let inside = |(at, [from, to]): (usize, &[usize; 2])| *from <= at && at < *to;
        at.into_iter().zip(*sides).all(inside)
    });
    let size = |[rows, columns]: &[[usize; 2]; 2]| {
        (rows[1] - rows[0]).saturating_mul(columns[1] - columns[0])
    };
    around
        .min_by_key(|(_, sides)| size(sides))
        .map(|(i, _)| i + 1)
}

/// Every place that something was found of, once.
fn areas(causes: &[Cause]) -> Vec<[[usize; 2]; 2]> {
    let mut areas = Vec::new();
    for area in causes.iter().filter_map(|cause| cause.area.as_ref()) {
        let area = [area.rows, area.columns];
        if !areas.contains(&area) {
            areas.push(area);
        }
    }
    areas
}

/// The row, counted on from matrix to matrix, and the column.
fn place(mismatch: &Mismatch, shape: &[usize]) -> [usize; 2] {
    let Some((column, rows)) = mismatch.index.split_last() else {
        return [0, 0];
    };
    let row = rows
        .iter()
        .zip(shape)
        .fold(0, |row, (at, length)| row * length + at);
    [row, *column]
}
