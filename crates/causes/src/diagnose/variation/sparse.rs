//! Rows of a compressed A that were multiplied by the metadata of other rows.

use super::Variation;
use crate::diagnose::{Case, Hypothesis};
use crate::emu::Element;

/// What reports call this test.
pub const TRIED: &str = "metadata of other rows";

/// Rows that share an instruction or a tile.
const TILES: [usize; 6] = [16, 8, 32, 64, 128, 1];

pub fn list<'a>(case: &Case<'a>) -> Result<Vec<Variation<'a>>, &'static str> {
    let problem = case.replay.problem;
    let m = problem.m;
    let mut all = Vec::new();
    let mut add = |what: String, from: Box<dyn Fn(usize) -> usize + Sync>| {
        let one = Variation::new(case, Hypothesis::OtherMetadata, what);
        all.push(one.reading(1, move |at: &Element, k: usize| {
            let there = from(at.row);
            let one = problem.matrix(at.batch);
            let one = one.part(there..there + 1, at.column..at.column + 1);
            one.b.plane(0).code(k, 0)
        }));
    };
    for tile in TILES {
        if m <= tile {
            continue;
        }
        let what = if m == 2 * tile {
            format!(
                "rows {tile} to {} use the metadata of rows 0 to {}",
                m - 1,
                tile - 1
            )
        } else {
            format!(
                "all rows use the metadata of rows 0 to {} (every {tile} rows the same)",
                tile - 1
            )
        };
        add(what, Box::new(move |row| row % tile));
        if m > 2 * tile {
            let what = format!("all rows from {tile} on use the metadata of the row {tile} before");
            add(
                what,
                Box::new(move |row| row.saturating_sub(if row >= tile { tile } else { 0 })),
            );
        }
        let what =
            format!("all rows use the metadata of the row {tile} further on, wrapping around");
        add(what, Box::new(move |row| (row + tile) % m));
    }
    Ok(all)
}
