//! Elements of D at other places than their own: registers exchanged within the tile of an instruction, and a result
//! stored in another layout.

use super::Variation;
use crate::diagnose::{Case, Hypothesis};
use crate::emu::{Element, Replay};

/// What reports call this test.
pub const TRIED: &str =
    "registers of accumulators exchanged, D stored column by column, elsewhere or with gaps";

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

/// Places of elements, from which D is read.
fn moved<'a>(
    case: &Case<'a>,
    kind: Hypothesis,
    what: &str,
    from: impl Fn([usize; 2]) -> [usize; 2] + Sync + 'a,
) -> Variation<'a> {
    Variation::new(case, kind, what).ending(move |replay: &Replay, at: &[Element]| {
        let place = |at: &Element| {
            let [row, column] = from([at.row, at.column]);
            Element { row, column, ..*at }
        };
        replay.elements(&at.iter().map(place).collect::<Vec<_>>())
    })
}

pub fn list<'a>(case: &Case<'a>) -> Result<Vec<Variation<'a>>, &'static str> {
    let problem = &case.replay.problem;
    let (m, n) = (problem.m, problem.n);
    let mut all = Vec::new();
    if m > 1 && n > 1 && m != n {
        let what = "D's file holds the result column by column (the same numbers in another order)";
        all.push(moved(case, Hypothesis::OperandLayout, what, move |at| {
            let position = at[0] * n + at[1];
            [position % m, position / m]
        }));
    }
    for (what, [height, width], from) in TILES {
        // A tile as large as D that is transposed is D transposed.
        let is_d = height == width && [m, n] == [height, width];
        if m.is_multiple_of(height) && n.is_multiple_of(width) && !is_d {
            all.push(moved(case, Hypothesis::PlacesExchanged, what, from));
        }
    }
    all.extend(shifted(case));
    all.extend(strides(case));
    Ok(all)
}

/// D transposed, A and B too, where they are square.
pub fn transposed<'a>(case: &Case<'a>) -> Vec<Variation<'a>> {
    let problem = case.replay.problem;
    let (m, n, k) = (problem.m, problem.n, problem.k);
    let mut all = Vec::new();
    if m == n && m > 1 {
        let what = "D is the transpose of the model's result";
        let kind = Hypothesis::DTransposed;
        all.push(moved(case, kind, what, |[row, column]| [column, row]));
    }
    if m == k && k > 1 {
        let one = Variation::new(case, Hypothesis::ATransposed, "A is taken transposed");
        all.push(one.reading(0, move |at, of_k| {
            problem.a.plane(at.batch).code(of_k, at.row)
        }));
    }
    if n == k && k > 1 {
        let one = Variation::new(case, Hypothesis::BTransposed, "B is taken transposed");
        all.push(one.reading(1, move |at, of_k| {
            problem.b.plane(at.batch).code(at.column, of_k)
        }));
    }
    all
}

/// D stored from another element on: what does not fit the file wraps around here.
fn shifted<'a>(case: &Case<'a>) -> Vec<Variation<'a>> {
    let problem = &case.replay.problem;
    let (m, n) = (problem.m, problem.n);
    let mut all = Vec::new();
    for off in [1, 2, 4, 8, 16, 32, 64, 128] {
        for (by, which) in [(m * n - off.min(m * n), "after"), (off, "before")] {
            // Whole rows further on are another row's place.
            if off >= m * n || off.is_multiple_of(n) {
                continue;
            }
            let what = format!("D was stored from {off} elements {which} its first one on");
            let kind = Hypothesis::OperandLayout;
            all.push(moved(case, kind, &what, move |[row, column]| {
                let position = (row * n + column + by) % (m * n);
                [position / n, position % n]
            }));
        }
    }
    all
}

/// D stored with its rows another distance apart: between them lies what was there before.
fn strides<'a>(case: &Case<'a>) -> Vec<Variation<'a>> {
    let problem = &case.replay.problem;
    let (m, n) = (problem.m, problem.n);
    let mut strides: Vec<usize> = [1, 2, 4, 8, 16, 32].map(|by| n + by).into();
    strides.extend([16, 32, 64, 128].map(|of| n.next_multiple_of(of)));
    // More of a gap than of D proves little, and so does a small D.
    if m * n < 64 {
        return Vec::new();
    }
    strides.retain(|&stride| stride > n && stride < 2 * n && stride < m * n);
    strides.sort_unstable();
    strides.dedup();
    let of = |stride: usize| {
        let what = format!(
            "D was stored with rows {stride} elements apart, not {n} (between them lies what was there before)"
        );
        let given = *case;
        let one = Variation::new(case, Hypothesis::OperandLayout, what);
        one.ending(move |replay: &Replay, at: &[Element]| {
            let place = |at: &Element| {
                let position = at.row * n + at.column;
                let [row, column] = [position / stride, position % stride];
                Element { row, column, ..*at }
            };
            let there: Vec<Element> = at.iter().map(place).collect();
            let own = |at: &Element| at.column < n;
            let sums: Vec<Element> = there.iter().copied().filter(own).collect();
            let mut sums = replay.elements(&sums).into_iter();
            let each = at.iter().zip(&there);
            each.map(|(at, there)| {
                if own(there) {
                    sums.next().expect("one for each")
                } else {
                    given.stored([at.batch * m + at.row, at.column]).given
                }
            })
            .collect()
        })
    };
    strides.into_iter().map(of).collect()
}
