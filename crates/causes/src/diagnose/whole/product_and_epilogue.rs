//! Two things in one: another product, and an epilogue that the request does not name.

use crate::diagnose::epilogue::{self, OtherSums, is_empty, meet, quotient};
use crate::diagnose::trial::{Stored, Trial};
use crate::diagnose::variation::{self, Variation};
use crate::diagnose::{Ask, Case, Found, Hypothesis};
use crate::emu::Element;
use crate::emu::schedule::{
    ActivationChoice, BoundSchedule, Function, Overrides, ScheduleSpec, Values,
};
use crate::num::Format;

/// What reports call this test.
const TRIED: &str = "another product together with a bias or a factor";

/// Zeros of D whose requested sums are computed.
const ZEROS: usize = 16;

/// Rows and columns of the elements that refute most.
const GRID: usize = 4;

/// The sums of a variation.
struct Varied<'v, 'a> {
    case: &'v Case<'a>,
    one: &'v Variation<'a>,
    trial: &'v Trial<'v>,
}

impl OtherSums for Varied<'_, '_> {
    fn sums(&self, at: &[Element]) -> Vec<u64> {
        self.one.sums(self.case, at)
    }

    fn price(&self, at: &[Element]) -> u64 {
        self.one.price(self.case, self.trial, at)
    }
}

/// Another product, then a bias or a factor: the first that gives D.
pub fn composed(case: &Case, trial: &Trial) -> Vec<Found> {
    let replay = case.replay;
    let own = replay
        .kernel
        .is_none_or(|kernel| kernel.values.is_neutral() && kernel.spec.epilogue.function.is_none());
    let floats = [Format::Fp32, Format::Bf16, Format::Fp16].contains(&replay.format());
    let fp32 = replay.arithmetic.accumulator == Format::Fp32;
    let simple = replay.problem.c.is_none() && replay.problem.selected.is_none();
    if !own || !floats || !fp32 || !simple || !case.is_whole() || case.is_rest {
        return Vec::new();
    }
    let Some(grid) = grid(case) else {
        return Vec::new();
    };
    let at: Vec<Element> = grid.iter().map(|(stored, _)| stored.at).collect();
    trial.test(TRIED, || {
        for one in variation::before_epilogues(case) {
            if !one.sums_in(Format::Fp32) {
                continue;
            }
            if !trial.affords(one.price(case, trial, &at)) {
                break;
            }
            if !is_likely(&grid, &one.sums(case, &at)) {
                continue;
            }
            let sums = Varied {
                case,
                one: &one,
                trial,
            };
            if let Some(found) = epilogue::epilogues_of(case, trial, &sums)
                .into_iter()
                .next()
            {
                let text = format!("{}; then {}", one.what(), found.text);
                return Ok(vec![Found::new(found.hypothesis, text)]);
            }
        }
        Ok(Vec::new())
    })
}

/// Elements of some rows and columns, with the ranges of numbers that round to them.
fn grid(case: &Case) -> Option<Vec<(Stored, [f64; 2])>> {
    let problem = &case.replay.problem;
    let (m, n) = (problem.m, problem.n);
    if m < GRID || n < GRID {
        return None;
    }
    let all = (0..GRID * GRID).map(|i| {
        let [row, column] = [i / GRID * m / GRID, i % GRID * n / GRID];
        let stored = case.stored([row, column]);
        Some((stored, epilogue::range(case.replay.format(), stored.given)?))
    });
    all.collect()
}

/// Whether one number for each column or row, added, or one factor of all can give these elements.
fn is_likely(grid: &[(Stored, [f64; 2])], sums: &[u64]) -> bool {
    let everything = [f64::NEG_INFINITY, f64::INFINITY];
    let number = |code: u64| f64::from(f32::from_bits(code as u32));
    let pairs = || {
        grid.iter()
            .zip(sums)
            .map(|((_, range), &sum)| (*range, number(sum)))
    };
    let bias = |line: &dyn Fn(usize) -> usize| {
        let mut common = [everything; GRID];
        for (i, (range, sum)) in pairs().enumerate() {
            let of = &mut common[line(i)];
            *of = meet(*of, range.map(|end| end - sum));
        }
        common.iter().all(|range| !is_empty(*range))
    };
    let factor = pairs().fold(everything, |common, (range, sum)| {
        meet(common, quotient(range, sum))
    });
    bias(&|i| i % GRID) || bias(&|i| i / GRID) || !is_empty(factor)
}

/// A D without negative numbers and with many zeros: whatever gives it before a ReLU.
pub fn with_relu(
    case: &Case,
    [computing, scheduling]: [&Trial; 2],
    whole: &dyn Fn(&Case, &[Trial; 2]) -> Vec<Found>,
) -> Vec<Found> {
    let replay = case.replay;
    let format = replay.format();
    let seen: Vec<u64> = computing.elements().map(|stored| stored.given).collect();
    let zeros = seen.iter().filter(|code| **code == 0).count();
    let negative = |code: &u64| code & format.sign_mask() != 0;
    if format.is_integer() || case.is_rest || 8 * zeros < seen.len() || seen.iter().any(negative) {
        return Vec::new();
    }
    // Padding is zero without a ReLU: the requested sums of some zeros are negative.
    let zeros = computing.elements().filter(|stored| stored.given == 0);
    let at: Vec<Element> = zeros.map(|stored| stored.at).take(ZEROS).collect();
    if !computing.affords(computing.price(&at)) {
        return Vec::new();
    }
    let below = replay
        .elements(&at)
        .iter()
        .filter(|code| negative(code))
        .count();
    if 4 * below < at.len() {
        return Vec::new();
    }
    let (mut spec, values) = match replay.kernel {
        Some(kernel) => (kernel.spec.clone(), kernel.values.clone()),
        None => (ScheduleSpec::plain(), Values::default()),
    };
    let function = spec.epilogue.function.replace(Function::Relu);
    let problem = &replay.problem;
    let fits = BoundSchedule::check_compatible(&spec, replay.arithmetic, problem, format);
    if function.is_some() || fits.is_err() || problem.scales.is_some() {
        return Vec::new();
    }
    let mut kernel = BoundSchedule::new(&spec, &values, problem);
    if let Some(own) = replay.kernel {
        kernel.place = own.place;
    }
    let mut inner = *case;
    inner.replay.kernel = Some(kernel);
    inner.is_rest = true;
    let all: Vec<Stored> = computing.elements().collect();
    let (different, equal) = all.split_at(computing.differing().count());
    let trials = [computing, scheduling].map(|trial| inner.trial(different, equal, trial.work()));
    if trials[0].fits_replay(&inner.replay) {
        // Something else damaged other elements than these.
        return vec![trials[0].found(Hypothesis::Relu, "ReLU is applied")];
    }
    let found = whole(&inner, &trials).into_iter().next();
    let relu = Overrides {
        activation: Some(ActivationChoice::Relu),
        ..Overrides::default()
    };
    let found = found.map(|found| {
        let ask = match found.ask {
            Ask::Nothing => Ask::Nothing,
            ask => Ask::Both(Box::new(ask), Box::new(Ask::Epilogue(Box::new(relu)))),
        };
        Found {
            text: format!(
                "ReLU is applied to another product. {}",
                crate::forms::capital(&found.text)
            ),
            ask,
            ..found
        }
    });
    found.into_iter().collect()
}
