//! Elements of D at other places than their own: registers exchanged within the tile of an instruction, and a result
//! stored in another layout.

use super::super::{Case, Hypothesis};
use super::Variation;
use crate::emu::{Element, Replay};

/// What reports call this test.
pub const TRIED: &str = "registers of accumulators exchanged, D stored column by column";

/// Where an element comes from: of the row and the column.
type From = fn([usize; 2]) -> [usize; 2];

/// Within a tile of so many rows and columns.
const TILES: [(&str, [usize; 2], From); 6] = [
    (
        "registers c1 and c2 of every 16x8 accumulator are exchanged (column 2t+1 of row g with column 2t of row g+8)",
        [16, 8],
        |[row, column]| match (row & 8, column & 1) {
            (0, 1) => [row | 8, column & !1],
            (8, 0) => [row & !8, column | 1],
            _ => [row, column],
        },
    ),
    (
        "registers c0 and c3 of every 16x8 accumulator are exchanged (column 2t of row g with column 2t+1 of row g+8)",
        [16, 8],
        |[row, column]| match (row & 8, column & 1) {
            (0, 0) => [row | 8, column | 1],
            (8, 1) => [row & !8, column & !1],
            _ => [row, column],
        },
    ),
    (
        "every 8x8 tile of D is transposed",
        [8, 8],
        |[row, column]| [row & !7 | column & 7, column & !7 | row & 7],
    ),
    (
        "every 16x16 tile of D is transposed",
        [16, 16],
        |[row, column]| [row & !15 | column & 15, column & !15 | row & 15],
    ),
    (
        "every 32x32 tile of D is transposed",
        [32, 32],
        |[row, column]| [row & !31 | column & 31, column & !31 | row & 31],
    ),
    (
        "every 64x64 tile of D is transposed",
        [64, 64],
        |[row, column]| [row & !63 | column & 63, column & !63 | row & 63],
    ),
];

pub fn list<'a>(case: &Case<'a>) -> Result<Vec<Variation<'a>>, &'static str> {
    let problem = &case.replay.problem;
    let (m, n) = (problem.m, problem.n);
    let moved = |kind, what: &str, from: Box<dyn Fn([usize; 2]) -> [usize; 2] + Sync>| {
        Variation::new(case, kind, what).ending(move |replay: &Replay, at: &[Element]| {
            let place = |at: &Element| {
                let [row, column] = from([at.row, at.column]);
                Element { row, column, ..*at }
            };
            replay.elements(&at.iter().map(place).collect::<Vec<_>>())
        })
    };
    let mut all = Vec::new();
    if m > 1 && n > 1 && m != n {
        let what = "D's file holds the result column by column (the same numbers in another order)";
        let by_columns = move |[row, column]: [usize; 2]| {
            let position = row * n + column;
            [position % m, position / m]
        };
        all.push(moved(Hypothesis::OperandLayout, what, Box::new(by_columns)));
    }
    for (what, [height, width], from) in TILES {
        if m.is_multiple_of(height) && n.is_multiple_of(width) && [m, n] != [height, width] {
            all.push(moved(Hypothesis::PlacesExchanged, what, Box::new(from)));
        }
    }
    Ok(all)
}
