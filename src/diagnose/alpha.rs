//! A sum that was multiplied with a number.

use super::estimate::value;
use super::schedule::PLAIN;
use super::trial::Trial;
use super::{Ask, Case, Found, Hypothesis};
use crate::emu::schedule::{Addend, Kernel, Overrides, ScheduleSpec, Values};
use crate::emu::{Element, Problem, Replay};
use crate::num::{F32, Format};

/// The number is concluded from D: it has to bring every sum within half a unit of D. Then it is tested
/// as a kernel's epilogue computes it, `alpha * sum + C`, bit for bit.
pub fn alpha(case: &Case, trial: &Trial) -> Vec<Found> {
    let replay = case.replay;
    let problem = replay.problem;
    let arithmetic = replay.arithmetic;
    if arithmetic.accumulator != Format::Fp32 {
        return Vec::new();
    }
    let spec = ScheduleSpec {
        addend: match problem.c {
            Some(_) => Addend::Epilogue,
            None => Addend::Start,
        },
        ..ScheduleSpec::plain()
    };
    let compatible = Kernel::check_compatible(&spec, arithmetic, &problem, replay.format());
    if spec.validate().is_err() || compatible.is_err() {
        return Vec::new();
    }
    let Some(range) = range(case, trial) else {
        return Vec::new();
    };
    for alpha in numbers(range) {
        let mut values = Values::default();
        values.alpha = alpha.to_bits();
        let kernel = Some(Kernel::new(&spec, &values, &problem));
        let scaled = Replay { kernel, ..replay };
        if alpha != 1.0 && trial.fits(&|at: &[Element]| scaled.elements(at)) {
            let words = trial.words();
            let text = format!("The sum of products is multiplied with {alpha} (alpha): {words}");
            let overrides = Overrides {
                alpha: Some(F32(alpha.to_bits())),
                beta: problem.c.map(|_| F32(1f32.to_bits())),
                ..Overrides::default()
            };
            let found = Found::new(Hypothesis::Alpha, text);
            let overrides = Box::new(overrides);
            let preset = PLAIN.to_owned();
            return vec![found.asking(Ask::Schedule { preset, overrides })];
        }
    }
    Vec::new()
}

/// Elements that the number is concluded from.
const TOLD: usize = 8;

/// Where the number must lie; floating point is good enough to guess it.
fn range(case: &Case, trial: &Trial) -> Option<[f64; 2]> {
    let replay = case.replay;
    let format = replay.format();
    let told: Vec<_> = trial.differing().take(TOLD).collect();
    let work = told.len() as u64 * replay.problem.k as u64;
    if told.len() < 2 || !trial.work().spend(work) {
        return None;
    }
    let bare = Replay {
        problem: Problem {
            c: None,
            ..replay.problem
        },
        convert_to: None,
        ..replay
    };
    let at: Vec<Element> = told.iter().map(|stored| stored.at).collect();
    let sums = bare.elements(&at);
    let mut range = [f64::NEG_INFINITY, f64::INFINITY];
    for (stored, sum) in told.iter().zip(sums) {
        let c = replay.problem.c.map_or(0.0, |c| {
            let code = c
                .plane(stored.at.batch)
                .code(stored.at.row, stored.at.column);
            value(c.tensor().format(), code)
        });
        let sum = value(Format::Fp32, sum);
        let given = value(format, stored.given);
        if !given.is_finite() || !sum.is_finite() || sum == 0.0 {
            return None;
        }
        // Half a unit in the last place of D, and what rounding the product and the sum to f32 may do.
        let unit = 0.5 * (-f64::from(format.fraction_bits())).exp2() + 4e-7;
        let slack = unit * given.abs() + 4e-7 * c.abs() + f64::MIN_POSITIVE;
        let ends = [(given - c - slack) / sum, (given - c + slack) / sum];
        range[0] = range[0].max(ends[0].min(ends[1]));
        range[1] = range[1].min(ends[0].max(ends[1]));
    }
    (range[0] <= range[1]).then_some(range)
}

/// Numbers in a range, the simple ones first.
fn numbers([low, high]: [f64; 2]) -> Vec<f32> {
    let middle = (low + high) / 2.0;
    let mut numbers: Vec<f32> = Vec::new();
    let mut add = |x: f64| {
        let x = x as f32;
        let inside = x.is_finite() && x != 0.0 && low <= f64::from(x) && f64::from(x) <= high;
        if inside && !numbers.contains(&x) {
            numbers.push(x);
        }
    };
    // Of zero there is no logarithm; below and above there are no numbers.
    let magnitude = middle.abs().log10().floor().clamp(-400.0, 400.0) as i32;
    for digits in 0..9 {
        let scale = 10f64.powi(digits - magnitude);
        add((middle * scale).round() / scale);
    }
    // 1/sqrt(d), as attention has it, and its double.
    let squared = (1.0 / (middle * middle)).round();
    add(middle.signum() / squared.sqrt());
    let nearest = middle as f32;
    for step in -3i32..=3 {
        add(f64::from(f32::from_bits(
            nearest.to_bits().wrapping_add_signed(step),
        )));
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simple_numbers_come_first() {
        assert_eq!(numbers([0.299_999, 0.300_001])[0], 0.3);
        assert_eq!(numbers([-2.001, -1.99])[0], -2.0);
        let third = 1.0 / 3.0;
        assert!(numbers([third - 1e-9, third + 1e-8]).contains(&(1.0 / 3.0)));
    }
}
