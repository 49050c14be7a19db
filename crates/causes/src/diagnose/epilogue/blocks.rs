//! Scales of blocks of k, as block-scaled kernels have them: concluded by least squares from every row of D, then
//! tested on every element.

use std::collections::BTreeMap;

use super::points::{Point, Points};
use super::solve::vary;
use super::{FEW, listed};
use crate::diagnose::trial::{SPENT, Tested, Trial};
use crate::diagnose::{Case, Found, Hypothesis};
use crate::emu::{Element, Replay};

/// Numbers of k, and of columns, that share a scale.
const OF_K: [usize; 3] = [128, 64, 32];
const COLUMNS: usize = 128;

/// Most blocks of an element.
const MOST: usize = 16;

/// Scales of the first length of blocks that gives D.
pub fn blocks(case: &Case, trial: &Trial, points: &Points) -> Tested {
    let replay = case.replay;
    let problem = replay.problem;
    if replay.kernel.is_some() || problem.c.is_some() || problem.scales.is_some() {
        return Err("they are searched only without a schedule, C and scales");
    }
    if !points.tell(0) {
        return Err(FEW);
    }
    let lengths = OF_K
        .into_iter()
        .filter(|of_k| (2..=MOST).contains(&problem.k.div_ceil(*of_k)));
    let at: Vec<Element> = points.all.iter().map(|point| point.at).collect();
    for of_k in lengths {
        if !trial.affords(trial.price(&at)) {
            return Err(SPENT);
        }
        let parts = (0..problem.k).step_by(of_k).map(|first| {
            let part = Replay {
                problem: problem.part_k(first..(first + of_k).min(problem.k)),
                convert_to: None,
                ..replay
            };
            let sums = part.elements(&at);
            sums.into_iter()
                .map(|code| f64::from(f32::from_bits(code as u32)))
                .collect()
        });
        let parts: Vec<Vec<f64>> = parts.collect();
        if let Some(found) = scaled(points, &parts, of_k) {
            return Ok(vec![found]);
        }
    }
    Ok(Vec::new())
}

/// Solves the columns of each row that share scales by themselves.
fn scaled(points: &Points, parts: &[Vec<f64>], of_k: usize) -> Option<Found> {
    let mut rows: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for (i, point) in points.all.iter().enumerate() {
        rows.entry((point.row, point.at.column / COLUMNS))
            .or_default()
            .push(i);
    }
    let (mut first, mut exact, mut more, mut varied) = (None, 0, 0, false);
    for members in rows.values() {
        let scales = least_squares(points, parts, members)?;
        more += members.len() as isize - scales.len() as isize;
        for &i in members {
            let terms = || {
                parts
                    .iter()
                    .zip(&scales)
                    .map(|(part, scale)| part[i] * scale)
            };
            let (sum, size) = (terms().sum(), terms().map(f64::abs).sum());
            exact += usize::from(gives(&points.all[i], sum, size)?);
        }
        // Scales of 0 and 2 are missing sums and those counted twice, which have another cause.
        let some = |scale: &f64| {
            [0.0, 1.0, 2.0]
                .iter()
                .all(|count| (scale - count).abs() > 1e-3)
        };
        varied |= vary(scales.iter().copied()) && scales.iter().any(some);
        first.get_or_insert(scales);
    }
    // More elements are needed than numbers were concluded. Scales near 1 are another rounding.
    if more < 16 || more < rows.len() as isize || !varied {
        return None;
    }
    let scales = first?.into_iter().enumerate();
    let scales = scales.map(|(block, scale)| (block, scale as f32)).collect();
    let text = format!(
        "sums of {of_k} k each are multiplied by their own scales before they are added ({} in the first row): of \
         {}, {exact} are exactly what such scales give and the rest are next to it; the order of rounding decides \
         the last bits",
        listed("block", &scales),
        points.named()
    );
    Some(Found::new(Hypothesis::BlockScales, text).at([of_k]))
}

/// Whether a sum lies within the element's range; none if it is further away than rounding to f32 can move it.
fn gives(point: &Point, sum: f64, size: f64) -> Option<bool> {
    let [low, high] = point.range?;
    let slack = 2f64.powi(-21) * size;
    (low - slack <= sum && sum <= high + slack).then_some(low <= sum && sum <= high)
}

/// The scales with the least squared error in these elements.
fn least_squares(points: &Points, parts: &[Vec<f64>], members: &[usize]) -> Option<Vec<f64>> {
    let n = parts.len();
    if members.len() < n + 2 {
        return None;
    }
    let mut matrix = vec![vec![0.0; n + 1]; n];
    for &i in members {
        let [low, high] = points.all[i].range?;
        // The last bit of a large element is worth more.
        let weight = 1.0 / (high - low).max(1e-30).powi(2);
        for (row, part) in matrix.iter_mut().zip(parts) {
            for (cell, other) in row.iter_mut().zip(parts) {
                *cell += weight * part[i] * other[i];
            }
            row[n] += weight * part[i] * (low + high) / 2.0;
        }
    }
    for column in 0..n {
        let pivot = (column..n)
            .max_by(|&x, &y| matrix[x][column].abs().total_cmp(&matrix[y][column].abs()))?;
        matrix.swap(column, pivot);
        if matrix[column][column].abs() < 1e-200 {
            return None;
        }
        let pivot = matrix[column].clone();
        for (_, row) in matrix
            .iter_mut()
            .enumerate()
            .filter(|(at, _)| *at != column)
        {
            let factor = row[column] / pivot[column];
            let cells = row.iter_mut().zip(&pivot).skip(column);
            cells.for_each(|(cell, above)| *cell -= factor * above);
        }
    }
    let scales: Vec<f64> = (0..n).map(|i| matrix[i][n] / matrix[i][i]).collect();
    scales
        .iter()
        .all(|scale| scale.is_finite())
        .then_some(scales)
}
