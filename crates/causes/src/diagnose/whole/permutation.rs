//! Misplaced rows or columns of D: each is looked up among the replayed ones.

use std::collections::HashMap;

use crate::diagnose::Mostly;
use crate::diagnose::defects::known;
use crate::diagnose::groups::{Group, Shape};
use crate::diagnose::trial::{SPENT, Stored, Tested, Trial, relocated};
use crate::diagnose::whole::moved_lines::shifted;
use crate::diagnose::{Case, Hypothesis};
use crate::emu::Element;

/// What reports call these tests.
pub const TRIED: [&str; 2] = ["misplaced rows", "misplaced columns"];

/// Lines are looked up by two runs of so many elements.
const RUN: usize = 32;

/// Fewest bits by which a line or a tile can be identified.
const BITS: usize = 64;

/// Most lines that a sentence names.
const LISTED: usize = 4;

/// The lines of one side: rows (0) or columns (1), counted over all matrices.
struct Lines<'c, 'a> {
    case: &'c Case<'a>,
    side: usize,
    /// Lines of one matrix.
    count: usize,
}

impl Lines<'_, '_> {
    fn name(&self) -> &'static str {
        ["row", "column"][self.side]
    }

    /// The positions within a line by which it is looked up.
    fn across(&self) -> Vec<usize> {
        let length = self.case.size().length(self.side);
        if length <= 2 * RUN {
            (0..length).collect()
        } else {
            (0..RUN).chain(length / 2..length / 2 + RUN).collect()
        }
    }

    /// The codes of all lines at these positions: replayed, then as D has them.
    fn codes(&self, across: &[usize]) -> [Vec<Vec<u64>>; 2] {
        let (replay, size) = (self.case.replay, self.case.size());
        let mut replayed = vec![Vec::new(); size.batches * self.count];
        for (batch, lines) in replayed.chunks_mut(self.count).enumerate() {
            for run in across.chunk_by(|x, y| x + 1 == *y) {
                let run = run[0]..run[run.len() - 1] + 1;
                let width = run.len();
                match self.side {
                    0 => {
                        let codes = replay.part(batch, 0..self.count, run, &|_| {});
                        for (line, codes) in lines.iter_mut().zip(codes.chunks(width)) {
                            line.extend(codes);
                        }
                    }
                    _ => {
                        let codes = replay.part(batch, run, 0..self.count, &|_| {});
                        for row in codes.chunks(self.count) {
                            let codes = lines.iter_mut().zip(row);
                            codes.for_each(|(line, code)| line.push(*code));
                        }
                    }
                }
            }
        }
        let given = |line| {
            let at = across.iter().map(|&at| size.element(self.side, line, at));
            at.map(|at| self.case.stored(at).given).collect()
        };
        let given = (0..replayed.len()).map(given).collect();
        [replayed, given]
    }

    /// The element of another line, which may be one of another matrix.
    fn of(&self, at: &Element, line: usize) -> Element {
        let (batch, index) = (line / self.count, line % self.count);
        relocated(Element { batch, ..*at }, self.side, index)
    }

    fn line(&self, at: &Element) -> usize {
        at.batch * self.count + [at.row, at.column][self.side]
    }

    /// `row 5`, `row 5 of matrix 1`
    fn named(&self, line: usize) -> String {
        let matrix = self.case.size().of_matrix(line / self.count);
        format!("{} {}{matrix}", self.name(), line % self.count)
    }
}

/// Lines of this side that hold the values of others, if that gives all elements of the trial.
pub fn permuted(case: &Case, trial: &Trial, side: usize) -> Tested {
    let problem = case.replay.problem;
    let lines = Lines {
        case,
        side,
        count: case.size().count(side),
    };
    if !case.is_whole() {
        return Err("only a part of D was compared");
    }
    let across = lines.across();
    if across.len() * case.replay.format().bytes() * 8 < BITS || lines.count * problem.batches() < 2
    {
        return Err("they are too short to be distinguished");
    }
    let all = (problem.batches() * lines.count * across.len()) as u64;
    if !trial.affords(case.price_of_product(all * problem.k as u64)) {
        return Err(SPENT);
    }
    let [replayed, given] = lines.codes(&across);
    let mut places: HashMap<&[u64], usize> = HashMap::new();
    for (line, codes) in replayed.iter().enumerate() {
        // Constant lines identify no place.
        if codes.iter().any(|code| code != &codes[0]) {
            places.entry(codes).or_insert(line);
        }
    }
    let mut from: Vec<usize> = (0..given.len()).collect();
    for (line, codes) in given
        .iter()
        .enumerate()
        .filter(|(line, codes)| **codes != replayed[*line])
    {
        if let Some(&place) = places.get(&codes[..]) {
            from[line] = place;
        }
    }
    let moved: Vec<usize> = (0..from.len()).filter(|&line| from[line] != line).collect();
    if moved.is_empty() {
        return Ok(Vec::new());
    }
    let there = |at: &Element| lines.of(at, from[lines.line(at)]);
    if !trial.fits_elsewhere(&case.replay, &there) {
        return Ok(Vec::new());
    }
    // Every element that differs must be in a misplaced line.
    let touched: Vec<usize> = trial
        .differing()
        .map(|stored| lines.line(&stored.at))
        .collect();
    if touched.iter().any(|line| from[*line] == *line) {
        return Ok(Vec::new());
    }
    let (hypothesis, what) = describe(&lines, &from, &moved);
    let found = trial.found(hypothesis, what);
    Ok(vec![match moved[..] {
        [_] => found.at([from[moved[0]] % lines.count]),
        _ => found,
    }])
}

/// Lines of this side that hold the values of others, if most of their elements say so.
pub fn mostly(case: &Case, trial: &Trial, side: usize) -> Option<Mostly> {
    let problem = case.replay.problem;
    let lines = Lines {
        case,
        side,
        count: case.size().count(side),
    };
    let across = lines.across();
    let count = problem.batches() * lines.count;
    let all = (count * across.len()) as u64;
    if across.len() < 8
        || count < 2
        || !trial.affords(case.price_of_product(all * problem.k as u64))
    {
        return None;
    }
    let [replayed, given] = lines.codes(&across);
    let mut votes = vec![HashMap::<usize, usize>::new(); count];
    for at in 0..across.len() {
        // A code that two lines have at this position tells nothing.
        let mut places: HashMap<u64, Option<usize>> = HashMap::new();
        for (line, codes) in replayed.iter().enumerate() {
            let place = places.entry(codes[at]).or_insert(Some(line));
            *place = place.filter(|there| *there == line);
        }
        for (line, codes) in given.iter().enumerate() {
            if let Some(Some(place)) = places.get(&codes[at]) {
                *votes[line].entry(*place).or_default() += 1;
            }
        }
    }
    let elected = |line: usize| {
        let most = votes[line]
            .iter()
            .max_by_key(|(place, votes)| (**votes, **place));
        let elected = most.filter(|(_, votes)| 2 * **votes > across.len());
        elected.map_or(line, |(place, _)| *place)
    };
    let from: Vec<usize> = (0..count).map(elected).collect();
    let moved: Vec<usize> = (0..count).filter(|&line| from[line] != line).collect();
    if moved.is_empty() {
        return None;
    }
    let (kind, what) = describe(&lines, &from, &moved);
    let replayed = case.replay.collect(&|_| {});
    let planes = replayed.planes();
    let code = |i: usize| {
        let at = case.element(i);
        let there = lines.of(&at, from[lines.line(&at)]);
        planes.plane(there.batch).code(there.row, there.column)
    };
    Some(Mostly {
        kind,
        what,
        codes: (0..case.given.len()).map(code).collect(),
        nearly: 0,
    })
}

/// The hypothesis and its text for these lines, line `i` of which holds the values of line `from[i]`.
fn describe(lines: &Lines, from: &[usize], moved: &[usize]) -> (Hypothesis, String) {
    let (name, count) = (lines.name(), lines.count);
    let several = [Hypothesis::RowsPermuted, Hypothesis::ColumnsPermuted][lines.side];
    let matrix = |line: usize| line / count;
    // All lines come from the same place in other matrices.
    let away = |line: &&usize| {
        from[**line] % count == **line % count && matrix(from[**line]) != matrix(**line)
    };
    if moved.iter().filter(away).count() == moved.len() {
        let mut pairs: Vec<(usize, usize)> = moved
            .iter()
            .map(|&line| (matrix(line), matrix(from[line])))
            .collect();
        pairs.dedup();
        let whole = moved.len() == pairs.len() * count;
        let texts = pairs.iter().take(LISTED).map(|(here, there)| {
            if whole {
                format!("matrix {here} holds the values of matrix {there}")
            } else {
                format!("{name}s of matrix {here} hold the values of {name}s of matrix {there}")
            }
        });
        let texts: Vec<String> = texts.collect();
        return (
            Hypothesis::OtherMatrix,
            texts.join(", ") + more(pairs.len()),
        );
    }
    let holds = |line: usize| {
        format!(
            "{} holds the values of {}",
            lines.named(line),
            lines.named(from[line])
        )
    };
    match *moved {
        [one] => (
            [Hypothesis::RowMoved, Hypothesis::ColumnMoved][lines.side],
            holds(one),
        ),
        [one, other] if from[one] == other && from[other] == one => {
            let [one, other] = [one, other].map(|line| lines.named(line));
            (several, format!("{one} and {other} are swapped"))
        }
        _ => {
            let local = |line: usize| (line % count, from[line] % count);
            let inside = moved.iter().all(|&line| matrix(from[line]) == matrix(line));
            let reversed = |&line: &usize| local(line).0 + local(line).1 == count - 1;
            if inside && moved.iter().all(reversed) && moved.len() + 1 >= from.len() {
                return (several, format!("the {name}s of D are in reverse order"));
            }
            if let Some(by) = shift(
                &moved.iter().map(|&line| local(line)).collect::<Vec<_>>(),
                count,
            ) && inside
                && moved.len() + by.unsigned_abs() >= from.len()
            {
                let hypothesis = [Hypothesis::RowMoved, Hypothesis::ColumnMoved][lines.side];
                return (hypothesis, shifted(name, by));
            }
            if let Some(text) = inside.then(|| blocks(name, from, count)).flatten() {
                return (several, text);
            }
            let listed: Vec<String> = moved.iter().take(LISTED).map(|&line| holds(line)).collect();
            let mut sources: Vec<usize> = moved.iter().map(|&line| from[line]).collect();
            sources.sort_unstable();
            sources.dedup();
            let how = if sources == moved {
                "are permuted"
            } else {
                "hold the values of others"
            };
            let text = format!(
                "{} {name}s {how}: {}{}",
                moved.len(),
                listed.join(", "),
                more(moved.len())
            );
            (several, text)
        }
    }
}

/// `blocks of 64 rows are exchanged: rows 0 to 63 and 64 to 127, ...`, if whole blocks of lines have changed places.
fn blocks(name: &str, from: &[usize], count: usize) -> Option<String> {
    // Lines are counted over all matrices.
    if from.len() != count {
        return None;
    }
    let is_block = |size: &usize| {
        let keeps = |(line, &there): (usize, &usize)| {
            let first = line / size * size;
            from[first].is_multiple_of(*size) && there == from[first] + line % size
        };
        count.is_multiple_of(*size) && from.iter().enumerate().all(keeps)
    };
    let size = (2..=count / 2).rev().find(is_block)?;
    let of = |block: usize| from[block * size] / size;
    let moved: Vec<usize> = (0..from.len() / size)
        .filter(|&block| of(block) != block)
        .collect();
    let lines = |block: usize| format!("{} to {}", block * size, block * size + size - 1);
    let pairs = moved.iter().all(|&block| of(of(block)) == block);
    let texts = moved.iter().filter(|&&block| !pairs || block < of(block));
    let number = if pairs { moved.len() / 2 } else { moved.len() };
    let texts: Vec<String> = texts
        .take(LISTED)
        .map(|&block| {
            let [here, there] = [block, of(block)].map(lines);
            if pairs {
                format!("{name}s {here} and {there}")
            } else {
                format!("{name}s {here} hold those of {there}")
            }
        })
        .collect();
    let how = if pairs {
        "exchanged"
    } else {
        "at other places"
    };
    Some(format!(
        "blocks of {size} {name}s are {how}: {}{}",
        texts.join(", "),
        more(number)
    ))
}

/// The distance between every line and the one whose values it holds. Beyond the edge of D lines wrap around, or
/// repeat the last one.
fn shift(pairs: &[(usize, usize)], count: usize) -> Option<isize> {
    let (here, there) = pairs[0];
    let (count, by) = (count as isize, there as isize - here as isize);
    let mut all = [by, by - count, by + count];
    all.sort_by_key(|by| by.abs());
    all.into_iter().find(|by| {
        pairs.iter().all(|&(here, there)| {
            let (wanted, there) = (here as isize + by, there as isize);
            wanted.rem_euclid(count) == there || wanted.clamp(0, count - 1) == there
        })
    })
}

fn more(count: usize) -> &'static str {
    if count > LISTED { ", ..." } else { "" }
}

/// A rectangle that holds what belongs to another place, of this matrix or another.
pub fn tile(case: &Case, trial: &Trial, group: &Group) -> Tested {
    /// Most elements of D that are replayed for it.
    const MOST: u64 = 1 << 20;
    /// Most matching places that are tested.
    const PLACES: usize = 64;
    /// Rows and columns of a persistent kernel's tile.
    const SIDE: usize = 128;
    if !matches!(group.shape, Shape::Rectangle { .. }) {
        return Ok(Vec::new());
    }
    let replay = case.replay;
    let problem = replay.problem;
    let (m, n) = (problem.m, problem.n);
    let elements = problem.batches() as u64 * m as u64 * n as u64;
    if elements > MOST || !trial.affords(case.price_of_product(problem.work())) {
        return Err(SPENT);
    }
    let different: Vec<_> = trial.differing().collect();
    // Fewer bits would be found somewhere by chance.
    if different.len() * replay.format().bytes() * 8 < BITS {
        return Ok(Vec::new());
    }
    let all: Vec<Vec<u64>> = (0..problem.batches())
        .map(|batch| replay.part(batch, 0..m, 0..n, &|_| {}))
        .collect();
    let base = group.rows[0] / m;
    let [top, left] = [group.rows[0] % m, group.columns[0]];
    let [height, width] = [
        group.rows[1] - group.rows[0],
        group.columns[1] - group.columns[0],
    ];
    let code = |batch: usize, row: usize, column: usize| all[batch][row * n + column];
    let mut places = Vec::new();
    for batch in 0..problem.batches() {
        for row in 0..=m - height {
            for column in 0..=n - width {
                let holds = |stored: &Stored| {
                    let at = stored.at;
                    code(batch, row + at.row - top, column + at.column - left) == stored.given
                };
                if different.iter().all(holds) && (batch, row, column) != (base, top, left) {
                    places.push((batch, row, column));
                }
            }
        }
    }
    // The nearest first, of the same matrix first.
    places.sort_by_key(|(batch, row, column)| {
        (
            batch.abs_diff(base),
            row.abs_diff(top) + column.abs_diff(left),
        )
    });
    for (batch, row, column) in places.into_iter().take(PLACES) {
        let there = |at: &[Element]| {
            let place = |at: &Element| code(batch, row + at.row - top, column + at.column - left);
            at.iter().map(place).collect()
        };
        if trial.fits(&there) {
            let matrix = if batch == base {
                String::new()
            } else {
                format!(" of matrix {batch}")
            };
            // The tile of those kernels, as a whole and in the place of another.
            let whole = [height, width] == [SIDE; 2]
                && [top, left, row, column].iter().all(|at| at % SIDE == 0);
            let known = if whole && batch == base {
                known("tile_moved", case.architecture)
            } else {
                String::new()
            };
            let what = format!(
                "it holds the values of rows {row} to {}, columns {column} to {}{matrix}{known}",
                row + height - 1,
                column + width - 1
            );
            let found = trial.found(Hypothesis::TileMoved, what);
            return Ok(vec![found.at([row, column])]);
        }
    }
    Ok(Vec::new())
}
