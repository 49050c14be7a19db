//! A flipped bit of A, B or C while the product was computed.

use super::Element as Operands;
use super::estimate::{noise, value};
use super::trial::{Stored, Work};
use crate::deadline;
use crate::emu::{Element, Problem, Replay};
use crate::num::Format;
use crate::tensor::Tensor;

/// Most flips that are tested bit for bit; estimates choose them.
const TESTED: usize = 64;

/// Most elements by which flips are estimated.
const ESTIMATED: usize = 8;

/// A row of A (side 0) or a column of B (side 1), of one matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    pub side: usize,
    pub batch: usize,
    pub index: usize,
}

/// A bit of the line's element at `k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flip {
    pub k: usize,
    pub bit: u32,
}

impl Line {
    pub fn code(&self, replay: &Replay, k: usize) -> u64 {
        let problem = &replay.problem;
        match self.side {
            0 => problem.a.plane(self.batch).code(self.index, k),
            _ => problem.b.plane(self.batch).code(k, self.index),
        }
    }

    fn codes(&self, replay: &Replay) -> Vec<u64> {
        let k = 0..replay.problem.k;
        k.map(|k| self.code(replay, k)).collect()
    }

    /// Row and column in the operand.
    pub fn place(&self, k: usize) -> [usize; 2] {
        match self.side {
            0 => [self.index, k],
            _ => [k, self.index],
        }
    }

    /// Elements of D in this line, with another code at `k`.
    pub fn with(&self, replay: &Replay, k: usize, code: u64, at: &[Element]) -> Vec<u64> {
        let mut codes = self.codes(replay);
        codes[k] = code;
        let one = |at: &Element| with_line(replay, at, self.side, &codes);
        at.iter().map(one).collect()
    }

    /// Every flip, except of the bits `without`, that gives these elements of the line: some that differ, with the
    /// codes they should have, and some that match. None if the work was spent before one was found.
    pub fn flips(
        &self,
        replay: &Replay,
        (different, equal): (&[(Stored, u64)], &[Stored]),
        without: u64,
        work: &Work,
    ) -> Option<Vec<Flip>> {
        let likely = self.likely(replay, different, without, work)?;
        let all: Vec<Stored> = different
            .iter()
            .map(|(s, _)| *s)
            .chain(equal.iter().copied())
            .collect();
        let at: Vec<Element> = all.iter().map(|stored| stored.at).collect();
        let mut spent = false;
        let gives = |flip: &Flip| {
            let code = self.code(replay, flip.k) ^ 1 << flip.bit;
            // The first element refutes most.
            [0..1, 1..all.len()].into_iter().all(|lot| {
                let affords = work.spend(lot.len() as u64 * replay.problem.k as u64);
                spent |= !affords;
                let given = all[lot.clone()].iter().map(|stored| stored.given);
                let with = |at| self.with(replay, flip.k, code, at).into_iter();
                affords && with(&at[lot]).eq(given)
            })
        };
        let flips: Vec<Flip> = likely.into_iter().filter(gives).collect();
        (!spent || !flips.is_empty()).then_some(flips)
    }

    /// Flips that by estimate move the elements as far as they are off.
    fn likely(
        &self,
        replay: &Replay,
        different: &[(Stored, u64)],
        without: u64,
        work: &Work,
    ) -> Option<Vec<Flip>> {
        let format = [replay.arithmetic.a, replay.arithmetic.b][self.side];
        let bits = format.width();
        let k = replay.problem.k;
        let sampled = &different[..different.len().min(ESTIMATED)];
        // Every bit of every operand is estimated.
        let bits_of_each = u64::from(bits).div_ceil(2);
        let cost = (sampled.len() * k) as u64 * bits_of_each;
        work.spend(cost).then_some(())?;
        let result = replay.format();
        let arithmetic = replay.arithmetic;
        let share = noise(arithmetic.a, arithmetic.accumulator);
        let unit = if result.is_integer() {
            0.0
        } else {
            (-f64::from(result.fraction_bits())).exp2()
        };
        let elements: Vec<Estimated> = sampled
            .iter()
            .map(|(stored, reproduced)| {
                let operands = Operands::of(replay, &stored.at);
                let of = |side| (0..k).map(|k| operands.estimate(side, k)).collect();
                let (own, other): (Vec<f64>, Vec<f64>) = (of(self.side), of(1 - self.side));
                let sizes = own.iter().zip(&other).map(|(x, y)| (x * y).abs());
                Estimated {
                    sum: sizes.sum(),
                    other,
                    own,
                    reproduced: value(result, *reproduced),
                    given: value(result, stored.given),
                }
            })
            .collect();
        let codes = self.codes(replay);
        let mut likely: Vec<(f64, Flip)> = Vec::new();
        for (k, &code) in codes.iter().enumerate() {
            for bit in format.ignored_bits()..bits {
                if without >> bit & 1 == 1 {
                    continue;
                }
                let before = value(format, code);
                let after = value(format, code ^ 1 << bit);
                let off = |element: &Estimated| element.off(k, [before, after], share, unit);
                let total = elements
                    .iter()
                    .map(off)
                    .try_fold(0.0, |sum: f64, off| Some(sum + off?));
                likely.extend(total.map(|total| (total, Flip { k, bit })));
            }
        }
        likely.sort_by(|(x, _), (y, _)| x.total_cmp(y));
        likely.truncate(TESTED);
        Some(likely.into_iter().map(|(_, flip)| flip).collect())
    }
}

/// An element of D whose row of A (side 0) or column of B has these codes.
pub fn with_line(replay: &Replay, at: &Element, side: usize, codes: &[u64]) -> u64 {
    let (format, shape) = match side {
        0 => (replay.arithmetic.a, vec![1, codes.len()]),
        _ => (replay.arithmetic.b, vec![codes.len(), 1]),
    };
    let line = Tensor::from_codes(format, shape, codes);
    altered(replay, at, |mut problem| {
        *[&mut problem.a, &mut problem.b][side] = line.planes();
        problem
    })
}

/// An element of D whose C is this code.
pub fn with_addend(replay: &Replay, at: &Element, (format, code): (Format, u64)) -> u64 {
    let c = Tensor::from_codes(format, vec![1, 1], &[code]);
    altered(replay, at, |problem| Problem {
        c: Some(c.planes()),
        ..problem
    })
}

/// An element of D, computed alone from changed operands.
fn altered<'a>(
    replay: &Replay<'a>,
    at: &Element,
    change: impl FnOnce(Problem<'a>) -> Problem<'a>,
) -> u64 {
    let Element { batch, row, column } = *at;
    let alone = replay.rectangle(batch, row..row + 1, column..column + 1);
    let problem = change(alone.problem);
    Replay { problem, ..alone }.part(0, 0..1, 0..1, &deadline::unheard)[0]
}

/// An element of D, its operands and its two codes as estimates.
struct Estimated {
    own: Vec<f64>,
    other: Vec<f64>,
    /// Of the magnitudes of all products.
    sum: f64,
    reproduced: f64,
    given: f64,
}

impl Estimated {
    /// How far a change of the operand at `k` takes the element from the given one, as a share of what rounding can
    /// do; none if it is further away.
    fn off(&self, k: usize, [before, after]: [f64; 2], share: f64, unit: f64) -> Option<f64> {
        // `own` includes the operand's scale.
        let scale = if before == 0.0 {
            1.0
        } else {
            self.own[k] / before
        };
        let change = (after - before) * scale * self.other[k];
        if !change.is_finite() || !self.given.is_finite() || !self.reproduced.is_finite() {
            let made = self.reproduced + after * self.other[k];
            let equal = made == self.given || made.is_nan() && self.given.is_nan();
            return (equal || !self.reproduced.is_finite()).then_some(0.0);
        }
        let made = self.reproduced + change;
        let rounding = share * (self.sum + change.abs()) + unit * (made.abs() + self.given.abs());
        let off = (made - self.given).abs() / (rounding + f64::MIN_POSITIVE);
        (off <= 1.0).then_some(off)
    }
}
