//! Zero points of integer operands: solved exactly from the differences of elements.

use super::Variation;
use crate::diagnose::{Case, Hypothesis};
use crate::emu::{Element, Replay};
use crate::num::Format;

/// What reports call this test.
pub const TRIED: &str = "zero points subtracted from A and B";

/// Zero points of operands of eight bits are no larger.
const LARGEST: i64 = 256;

/// Elements of D that are read to solve for them.
const ROWS: usize = 8;

/// The sums of a row of A and of a column of B, and K: what zero points are multiplied by.
fn sums(case: &Case, at: &Element) -> [i64; 2] {
    let problem = &case.replay.problem;
    let [of_a, of_b] = [case.replay.arithmetic.a, case.replay.arithmetic.b];
    let number = |format: Format, code: u64| {
        let number = format.unpack(code);
        let magnitude = number.significand as i64;
        if number.negative {
            -magnitude
        } else {
            magnitude
        }
    };
    let (a, b) = (problem.a.plane(at.batch), problem.b.plane(at.batch));
    let k = 0..problem.k;
    [
        k.clone().map(|k| number(of_a, a.code(at.row, k))).sum(),
        k.map(|k| number(of_b, b.code(k, at.column))).sum(),
    ]
}

/// What is added to a sum of products.
fn correction([za, zb]: [i64; 2], [of_a, of_b]: [i64; 2], k: usize) -> i64 {
    k as i64 * za * zb - za * of_b - zb * of_a
}

/// What listing costs, in multiply-adds: elements and the sums of their lines.
pub fn cost(case: &Case) -> u64 {
    if case.replay.format() == Format::Int32 {
        (3 * ROWS * ROWS * case.replay.problem.k) as u64
    } else {
        0
    }
}

pub fn list<'a>(case: &Case<'a>) -> Result<Vec<Variation<'a>>, &'static str> {
    let replay = case.replay;
    let problem = replay.problem;
    let small = |format: Format| format.is_integer() && format.bytes() == 1;
    let integers = small(replay.arithmetic.a)
        && small(replay.arithmetic.b)
        && replay.format() == Format::Int32
        && replay.kernel.is_none()
        && problem.selected.is_none();
    if !integers {
        return Ok(Vec::new());
    }
    let (m, n) = (problem.m, problem.n);
    if m < 2 || n < 2 {
        return Err("D has one row or one column");
    }
    let spread = |all: usize| (0..all.min(ROWS)).map(move |i| i * all / all.min(ROWS));
    let at: Vec<Element> = spread(m)
        .flat_map(|row| {
            spread(n).map(move |column| Element {
                batch: 0,
                row,
                column,
            })
        })
        .collect();
    let codes = replay.elements(&at);
    // Of every element: what is off, and the two sums.
    let known: Vec<(Element, i64, [i64; 2])> = at
        .iter()
        .zip(codes)
        .map(|(at, code)| {
            let given = case.stored([at.row, at.column]).given as u32 as i32;
            let off = i64::from(given) - i64::from(code as u32 as i32);
            (*at, off, sums(case, at))
        })
        .collect();
    // In a row only the sum of B's column changes, and in a column only that of A's row.
    let solved = |side: usize| {
        known.iter().enumerate().find_map(|(i, (at, off, of))| {
            known[i + 1..]
                .iter()
                .find_map(|(other, off_there, of_there)| {
                    let same = [at.column == other.column, at.row == other.row][side];
                    let by = of_there[side] - of[side];
                    let change = off_there - off;
                    (same && by != 0 && change % by == 0).then(|| -change / by)
                })
        })
    };
    // Rows of A multiply B's zero point.
    let (Some(zb), Some(za)) = (solved(0), solved(1)) else {
        return Ok(Vec::new());
    };
    let both = [za, zb];
    let k = problem.k;
    let fits = known
        .iter()
        .all(|(_, off, of)| correction(both, *of, k) == *off);
    if !fits || both == [0, 0] || both.iter().any(|zero| zero.abs() > LARGEST) {
        return Ok(Vec::new());
    }
    let named: Vec<String> = [("A", za), ("B", zb)]
        .into_iter()
        .filter(|(_, zero)| *zero != 0)
        .map(|(name, zero)| format!("{zero} is subtracted from {name}"))
        .collect();
    let what = format!("{} first (zero points)", named.join(" and "));
    let one = Variation::new(case, Hypothesis::ZeroPoints, what);
    let case = *case;
    Ok(vec![one.ending(move |replay: &Replay, at: &[Element]| {
        let each = replay.elements(at).into_iter().zip(at);
        each.map(|(code, at)| {
            let sum = i64::from(code as u32 as i32) + correction(both, sums(&case, at), k);
            u64::from(sum as u32)
        })
        .collect()
    })])
}
