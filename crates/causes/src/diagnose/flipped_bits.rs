//! A flipped bit of A, B or C while the product was computed.

use crate::deadline;
use crate::diagnose::Element as Operands;
use crate::diagnose::estimate::{noise, value};
use crate::diagnose::trial::{Stored, WEAK, Work, is_narrow};
use crate::emu::{Element, Problem, Replay};
use crate::num::{Format, Rounding, result_code};
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
        let mut spent = false;
        let gives = |flip: &Flip| {
            let code = self.code(replay, flip.k) ^ 1 << flip.bit;
            let gives = self.gives(replay, (different, equal), (flip.k, code), work);
            spent |= gives.is_none();
            gives == Some(true)
        };
        let flips: Vec<Flip> = likely.into_iter().filter(gives).collect();
        (!spent || !flips.is_empty()).then_some(flips)
    }

    /// Whether another code at `k` gives these elements; none if the work is spent.
    fn gives(
        &self,
        replay: &Replay,
        (different, equal): (&[(Stored, u64)], &[Stored]),
        (k, code): (usize, u64),
        work: &Work,
    ) -> Option<bool> {
        let all = different.iter().map(|(stored, _)| stored).chain(equal);
        let all: Vec<Stored> = all.copied().collect();
        let at: Vec<Element> = all.iter().map(|stored| stored.at).collect();
        // The first element refutes most.
        for lot in [0..1, 1..all.len()] {
            work.spend(lot.len() as u64 * replay.problem.k as u64)
                .then_some(())?;
            let given = all[lot.clone()].iter().map(|stored| stored.given);
            if !self.with(replay, k, code, &at[lot]).into_iter().eq(given) {
                return Some(false);
            }
        }
        Some(true)
    }

    /// The place and the code of one element of the line that gives these elements: those that differ, with the codes
    /// they should have, and some that match. Each place that is found.
    pub fn replaced(
        &self,
        replay: &Replay,
        (different, equal): (&[(Stored, u64)], &[Stored]),
        work: &Work,
    ) -> Vec<(usize, u64)> {
        /// By fewer elements a number is solved, not found.
        const LEAST: usize = 4;
        let format = [replay.arithmetic.a, replay.arithmetic.b][self.side];
        let sampled = &different[..different.len().min(ESTIMATED)];
        let narrow = is_narrow(replay) && different.len() < WEAK;
        if sampled.len() < LEAST || narrow || format.bytes() > 4 {
            return Vec::new();
        }
        let Some(elements) = self.estimated(replay, sampled, work, 1) else {
            return Vec::new();
        };
        let arithmetic = replay.arithmetic;
        let share = noise(arithmetic.a, arithmetic.accumulator);
        let mut likely: Vec<(f64, usize, u64)> = Vec::new();
        for (k, &code) in self.codes(replay).iter().enumerate() {
            let before = value(format, code);
            let scale = match before {
                0.0 => 1.0,
                _ => elements[0].own[k] / before,
            };
            let (mut products, mut squares) = (0.0, 0.0);
            for one in &elements {
                let by = scale * one.other[k];
                products += (one.given - one.reproduced) * by;
                squares += by * by;
            }
            let after = before + products / squares;
            let Some(code) = nearest(format, after) else {
                continue;
            };
            let off = |one: &Estimated| {
                let made = one.reproduced + (after - before) * scale * one.other[k];
                (made - one.given).abs()
                    / (share * (one.sum + made.abs())
                        + unit(replay) * one.given.abs()
                        + f64::MIN_POSITIVE)
            };
            let worst = elements.iter().map(off).fold(0.0, f64::max);
            if worst <= 8.0 {
                likely.push((worst, k, code));
            }
        }
        likely.sort_by(|(x, ..), (y, ..)| x.total_cmp(y));
        let step = 1i64 << format.ignored_bits();
        let whole = format.max_code() & !(step as u64 - 1);
        let mut found = Vec::new();
        for (_, k, code) in likely.into_iter().take(TESTED / 8) {
            let near = [0, 1, -1, 2, -2].map(|by| code.wrapping_add_signed(by * step) & whole);
            let gives = |code: &u64| {
                let gives = self.gives(replay, (different, equal), (k, *code), work);
                gives == Some(true)
            };
            found.extend(near.into_iter().find(gives).map(|code| (k, code)));
        }
        found
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
        let sampled = &different[..different.len().min(ESTIMATED)];
        // Every bit of every operand is estimated.
        let elements = self.estimated(replay, sampled, work, u64::from(bits).div_ceil(2))?;
        let arithmetic = replay.arithmetic;
        let share = noise(arithmetic.a, arithmetic.accumulator);
        let unit = unit(replay);
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

    /// Estimates of these elements' operands, for so many multiply-adds each.
    fn estimated(
        &self,
        replay: &Replay,
        sampled: &[(Stored, u64)],
        work: &Work,
        each: u64,
    ) -> Option<Vec<Estimated>> {
        let k = replay.problem.k;
        work.spend((sampled.len() * k) as u64 * each)
            .then_some(())?;
        let result = replay.format();
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
        Some(elements)
    }
}

/// A unit in the last place of D, as a share of a number.
fn unit(replay: &Replay) -> f64 {
    let result = replay.format();
    if result.is_integer() {
        0.0
    } else {
        (-f64::from(result.fraction_bits())).exp2()
    }
}

/// The code of the number that is nearest, if it is finite.
fn nearest(format: Format, number: f64) -> Option<u64> {
    if format.is_integer() {
        let whole = number.round();
        let fits = whole.abs() < 2f64.powi(31);
        return fits.then(|| whole as i64 as u64 & format.max_code());
    }
    let wide = u64::from((number as f32).to_bits());
    let own = match format.ignored_bits() {
        0 => format,
        _ => Format::Fp32,
    };
    let code = result_code(Format::Fp32, wide, own, Rounding::NearestEven);
    value(format, code).is_finite().then_some(code)
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
