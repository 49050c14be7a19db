//! Elements of D beside the sums from which an epilogue may compute them.

use crate::diagnose::Case;
use crate::diagnose::estimate::value;
use crate::diagnose::trial::{SPENT, Trial};
use crate::emu::schedule::{BoundSchedule, Values};
use crate::emu::{Element, Problem, Replay};
use crate::num::{Format, convert_exact};

/// Rows and columns whose elements are examined in a large D.
const ROWS: usize = 24;
const COLUMNS: usize = 96;

/// Most elements of a D that are all examined.
const ALL: usize = 4096;

/// Most elements of a D of which most are explained by an epilogue.
const EVERYWHERE: usize = 1 << 18;

/// An element of D, and its sums and C in f32.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    pub at: Element,
    /// The row, counted over all matrices.
    pub row: usize,
    /// The requested sum, and the one without C.
    pub requested: f32,
    pub bare: f32,
    /// The requested sum with the request's factors and bias.
    pub finished: f32,
    /// The requested sum, rounded to D's format.
    pub rounded: f32,
    pub c: f32,
    pub given: u64,
    /// Whether D holds another code than the requested one.
    pub differs: bool,
    /// The numbers that round to the given code; none for infinities and NaN.
    pub range: Option<[f64; 2]>,
}

impl Point {
    /// The sum without C, or the requested one.
    pub fn sum(&self, bare: bool) -> f32 {
        if bare { self.bare } else { self.requested }
    }
}

/// Sums of elements in place of the requested ones.
pub trait OtherSums {
    fn sums(&self, at: &[Element]) -> Vec<u64>;
    /// What they cost, in multiply-adds.
    fn price(&self, at: &[Element]) -> u64;
}

/// Borrowed sums, of whatever kind.
pub type Sums<'a> = &'a dyn OtherSums;

/// The elements in which epilogues are searched.
pub struct Points {
    pub all: Vec<Point>,
    /// Whether every element of D is among them.
    pub whole: bool,
}

impl Points {
    /// Elements with the sums of the request, or with those of something else in its place.
    ///
    /// # Errors
    /// Why none are examined.
    pub fn of(case: &Case, trial: &Trial, other: Option<Sums>) -> Result<Points, &'static str> {
        let (at, whole) = elements(&case.replay.problem);
        let all = Points::at(case, trial, other, &at)?;
        Ok(Points { all, whole })
    }

    /// All elements of a D of which the request finishes nothing, and adds no C.
    ///
    /// # Errors
    /// Why none are examined.
    pub fn everywhere(case: &Case, trial: &Trial) -> Result<Points, &'static str> {
        let problem = case.replay.problem;
        let finishes =
            |own: BoundSchedule| own.spec.epilogue.function.is_some() || !own.values.is_neutral();
        if problem.c.is_some() || case.replay.kernel.is_some_and(finishes) {
            return Err("the request finishes sums itself");
        }
        if case.given.len() > EVERYWHERE {
            return Err("D is large");
        }
        let at: Vec<Element> = (0..case.given.len()).map(|i| case.element(i)).collect();
        let all = Points::at(case, trial, None, &at)?;
        Ok(Points { all, whole: true })
    }

    /// Those of some rows and columns: the rows are counted over all matrices.
    pub fn among(&self, [rows, columns]: [&dyn Fn(usize) -> bool; 2]) -> Points {
        let within = |point: &&Point| rows(point.row) && columns(point.at.column);
        Points {
            all: self.all.iter().filter(within).copied().collect(),
            whole: false,
        }
    }

    fn at(
        case: &Case,
        trial: &Trial,
        other: Option<Sums>,
        at: &[Element],
    ) -> Result<Vec<Point>, &'static str> {
        let replay = case.replay;
        let problem = replay.problem;
        let format = replay.format();
        if replay.arithmetic.accumulator != Format::Fp32 {
            return Err("sums are not FP32");
        }
        if !matches!(format, Format::Fp32 | Format::Bf16 | Format::Fp16) {
            return Err("D is not FP32, BF16 or FP16");
        }
        if !case.is_whole() {
            return Err("only a part of D was compared");
        }
        let neutral = Values::default();
        let spec = replay.kernel.map(|kernel| kernel.spec.clone());
        let spec = spec.map(|mut spec| {
            spec.epilogue.function = None;
            spec
        });
        if spec.as_ref().is_some_and(|spec| spec.scales.is_some()) {
            return Err("the schedule has its own scales");
        }
        let bound = |values| {
            let spec = spec.as_ref();
            spec.map(|spec| BoundSchedule::new(spec, values, &problem))
        };
        let kernel = bound(&neutral);
        // The request's own factors, bias and function.
        let own = replay.kernel.filter(|own| {
            let function = own.spec.epilogue.function.is_some();
            other.is_none() && (function || !own.values.is_neutral())
        });
        let each = 1 + u64::from(problem.c.is_some()) + 2 * u64::from(own.is_some());
        let price = other.map_or_else(|| trial.price(at) * each, |other| other.price(at));
        if !trial.affords(price) {
            return Err(SPENT);
        }
        let requested = Replay {
            kernel,
            convert_to: None,
            ..replay
        };
        let sums = match other {
            Some(other) => other.sums(at),
            None => requested.elements(at),
        };
        let bare = match problem.c {
            _ if other.is_some() => sums.clone(),
            None => sums.clone(),
            Some(_) => Replay {
                problem: Problem { c: None, ..problem },
                ..requested
            }
            .elements(at),
        };
        let [finished, asked] = match own {
            Some(own) => [
                Replay {
                    kernel: bound(own.values),
                    ..requested
                }
                .elements(at),
                replay.elements(at),
            ],
            None => [
                sums.clone(),
                sums.iter().map(|&sum| replay.convert(sum)).collect(),
            ],
        };
        let number = |code: u64| f32::from_bits(code as u32);
        let point = |(i, &at): (usize, &Element)| {
            let [sum, bare, finished] = [&sums, &bare, &finished].map(|all| all[i]);
            let row = at.batch * problem.m + at.row;
            let given = case.stored([row, at.column]).given;
            let c = problem.c.map(|c| {
                let code = c.plane(at.batch).code(at.row, at.column);
                convert_exact(c.tensor().format(), code, Format::Fp32)
            });
            let c = c.transpose().ok()?.unwrap_or(0);
            Some(Point {
                at,
                row,
                requested: number(sum),
                bare: number(bare),
                finished: number(finished),
                rounded: value(format, replay.convert(sum)) as f32,
                c: number(c),
                given,
                differs: asked[i] != given,
                range: range(format, given),
            })
        };
        let all: Option<Vec<Point>> = at.iter().enumerate().map(point).collect();
        all.ok_or("C is not representable in FP32")
    }

    /// Whether enough elements differ to determine so many unknown numbers.
    pub fn tell(&self, unknown: usize) -> bool {
        let differing = self.all.iter().filter(|point| point.differs).count();
        8 * differing >= self.all.len() && self.all.len() >= 2 * unknown + 8
    }

    /// `all 7,680 elements`, `all 2,304 tested elements`
    pub fn named(&self) -> String {
        let tested = if self.whole { "" } else { "tested " };
        let count = crate::forms::grouped(self.all.len() as u64);
        format!("all {count} {tested}elements")
    }
}

/// All elements of a small D; in a large one those of some rows and columns.
pub fn elements(problem: &Problem) -> (Vec<Element>, bool) {
    let (m, n) = (problem.m, problem.n);
    let rows = problem.batches() * m;
    let whole = rows.saturating_mul(n) <= ALL;
    let [rows_of, columns_of] = if whole {
        [rows, n]
    } else {
        [rows.min(ROWS), n.min(COLUMNS)]
    };
    let spread = |i: usize, of: usize, all: usize| i * all / of;
    let element = |i: usize| {
        let row = spread(i / columns_of, rows_of, rows);
        Element {
            batch: row / m,
            row: row % m,
            column: spread(i % columns_of, columns_of, n),
        }
    };
    ((0..rows_of * columns_of).map(element).collect(), whole)
}

/// The numbers to which a code is the nearest.
pub fn range(format: Format, code: u64) -> Option<[f64; 2]> {
    let sign = format.sign_mask();
    let magnitude = code & !sign;
    let here = value(format, magnitude);
    let above = value(format, magnitude + 1);
    if !here.is_finite() {
        return None;
    }
    let below = match magnitude {
        0 => -above,
        _ => value(format, magnitude - 1),
    };
    let above = if above.is_finite() {
        above
    } else {
        2.0 * here - below
    };
    let [low, high] = [(below + here) / 2.0, (here + above) / 2.0];
    let slack = match format {
        // A tie rounds to the even code: the ends belong to it, and not to the odd one.
        Format::Fp32 if code & 1 == 1 => here * -2f64.powi(-44),
        Format::Fp32 => 0.0,
        // A number was rounded to FP32 before it was rounded to fewer bits.
        _ => here * 2f64.powi(-24),
    };
    Some(match code & sign {
        0 => [low - slack, high + slack],
        _ => [-high - slack, slack - low],
    })
}
