//! Mistakes of kernels' writers: tiles of K that are those of other k, and accumulators that were not cleared.

use super::{Read, Variation};
use crate::diagnose::flipped_bits::with_addend;
use crate::diagnose::{Case, Hypothesis};
use crate::emu::{Element, Replay};
use crate::num::Format;
use crate::tensor::parallel;

/// What reports call this test.
pub const TRIED: &str = "tiles of K taken twice, stale or shifted, accumulators not cleared";

/// k of a tile of a main loop.
const TILES: [usize; 4] = [32, 64, 16, 128];

/// Tiles that are tested one by one.
const TESTED: usize = 64;

/// Rows or columns of a tile of D.
const SIDES: [usize; 6] = [128, 64, 32, 16, 256, 8];

pub fn list<'a>(case: &Case<'a>) -> Result<Vec<Variation<'a>>, &'static str> {
    let problem = case.replay.problem;
    if problem.selected.is_some() {
        return Err("A is compressed");
    }
    let k = problem.k;
    let mut all = Vec::new();
    for tile in TILES {
        let tiles = k / tile;
        if tiles < 2 {
            continue;
        }
        for sides in [&[0][..], &[1]] {
            let name = ["A", "B"][sides[0]];
            let what = format!(
                "every tile of {tile} k of {name} but the first is that of the {tile} k before (a stale buffer)"
            );
            let from = move |k: usize| if k >= tile { k - tile } else { k };
            all.push(stale(case, what, sides, from));
        }
        for number in (1..tiles).take(TESTED) {
            let first = number * tile;
            let in_tile = move |k: usize| (first..first + tile).contains(&k);
            let from = move |k: usize| if in_tile(k) { k - tile } else { k };
            let [last, end] = [first - 1, first + tile - 1];
            let before = first - tile;
            let what = format!(
                "the tile of k {before} to {last} is counted twice, and that of k {first} to {end} is missing"
            );
            all.push(stale(case, what, &[0, 1], from));
            for sides in [&[0][..], &[1]] {
                let name = ["A", "B"][sides[0]];
                let what = format!(
                    "k {first} to {end} of {name} are those of k {before} to {last} (a stale buffer)"
                );
                all.push(stale(case, what, sides, from));
            }
        }
    }
    all.extend(shifted(case));
    all.extend(not_cleared(case));
    Ok(all)
}

/// Those of all of one operand.
pub fn of_operands<'a>(case: &Case<'a>) -> Vec<Variation<'a>> {
    shifted(case)
}

/// The k of one operand further on or back, by elements, vectors or tiles; or in reverse order.
fn shifted<'a>(case: &Case<'a>) -> Vec<Variation<'a>> {
    let k = case.replay.problem.k;
    let mut all = Vec::new();
    for side in [0, 1] {
        let name = ["A", "B"][side];
        for by in [1, 2, 4, 8, 16, 32, 64, 128]
            .into_iter()
            .filter(|by| *by < k)
        {
            let what = format!("the k of {name} are {by} further on, wrapping around");
            all.push(stale(case, what, &[side], move |of_k| (of_k + by) % k));
            let what = format!("the k of {name} are {by} further back, wrapping around");
            all.push(stale(case, what, &[side], move |of_k| (of_k + k - by) % k));
        }
        let what = format!("the k of {name} are in reverse order");
        all.push(stale(case, what, &[side], move |of_k| k - 1 - of_k));
    }
    all
}

/// The products of these k missing.
pub fn without<'a>(
    case: &Case<'a>,
    kind: Hypothesis,
    what: String,
    [first, end]: [usize; 2],
) -> Variation<'a> {
    let a = case.replay.problem.a;
    let code = move |at: &Element, k: usize| match k {
        k if (first..end).contains(&k) => 0,
        k => a.plane(at.batch).code(at.row, k),
    };
    Variation::new(case, kind, what).reading(0, code)
}

/// Operands with the codes of other k.
fn stale<'a>(
    case: &Case<'a>,
    what: String,
    sides: &[usize],
    from: impl Fn(usize) -> usize + Copy + Sync + 'a,
) -> Variation<'a> {
    let mut one = Variation::new(case, Hypothesis::StaleTile, what);
    let problem = case.replay.problem;
    for &side in sides {
        let read: Read<'a> = Box::new(move |at: &Element, k: usize| match side {
            0 => problem.a.plane(at.batch).code(at.row, from(k)),
            _ => problem.b.plane(at.batch).code(from(k), at.column),
        });
        one.read[side] = Some(read);
    }
    one
}

/// Tiles of D whose chains start from the sums of the tile before, which D shows where it holds sums.
fn not_cleared<'a>(case: &Case<'a>) -> Vec<Variation<'a>> {
    let replay = case.replay;
    let problem = replay.problem;
    let sums = replay.format() == Format::Fp32 && replay.arithmetic.addend() == Format::Fp32;
    if !sums || problem.c.is_some() || replay.kernel.is_some() {
        return Vec::new();
    }
    let mut all = Vec::new();
    for tile in SIDES {
        for side in [1, 0] {
            if [problem.m, problem.n][side] <= tile {
                continue;
            }
            let (line, of) = [("row", "above"), ("column", "on the left")][side];
            let what = format!(
                "accumulators were not cleared: every tile of {tile} {line}s starts from the sums of the one {of}"
            );
            let given = *case;
            let one = Variation::new(case, Hypothesis::NotCleared, what);
            all.push(one.ending(move |replay: &Replay, at: &[Element]| {
                parallel::map(at.len(), |i| {
                    let mut before = at[i];
                    let index = [&mut before.row, &mut before.column];
                    let [row, column] = index;
                    let own = if side == 0 { row } else { column };
                    match own.checked_sub(tile) {
                        None => replay.elements(&at[i..i + 1])[0],
                        Some(there) => {
                            *own = there;
                            let row = before.batch * problem.m + before.row;
                            let code = given.stored([row, before.column]).given;
                            with_addend(replay, &at[i], (Format::Fp32, code))
                        }
                    }
                })
            }));
        }
    }
    all
}
