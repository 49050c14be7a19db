//! Tests of hypotheses against answers.

use std::cell::RefCell;

use serde_json::{Value, json};

use super::kinds;
use super::quick::{Quick, ZeroExponents};
use crate::emu::Arithmetic;
use crate::emu::step::{Code, Formats, Step};
use crate::suite::{INTEGER_K, K};
use crate::{Prepared, Suite};

/// An answer that a hypothesis does not give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    pub case: usize,
    pub expected: u64,
    pub answered: u64,
}

/// Families of many similar cases.
const MANY: [&str; 7] = [
    "distances",
    "excursions",
    "carries",
    "anything",
    "codes",
    "huge",
    "scaled",
];

/// Answers, and the cases in the order in which they refute hypotheses fastest.
pub struct Evidence<'a> {
    pub formats: Formats,
    answers: &'a [u64],
    pub(super) cases: Vec<Prepared>,
    /// Cases for a quick adder, where it can answer.
    quick: Vec<Option<Quick>>,
    /// Cases that have refuted something move forward.
    pub(super) order: RefCell<Vec<usize>>,
    /// Codes of NaN among the answers.
    pub nans: Vec<u64>,
}

impl<'a> Evidence<'a> {
    pub fn new(suite: &Suite, answers: &'a [u64]) -> Evidence<'a> {
        let (formats, cases) = prepare(suite);
        let n = cases.len();
        let quick = cases.iter().map(|case| Quick::new(formats, case));
        let quick = quick.collect();
        // A stride through the suite, as neighbours ask the same question.
        let stride = (n * 5 / 13..).find(|&s| gcd(s, n) == 1).unwrap_or(1);
        let strided = (0..n).map(|i| i * stride % n);
        // A search counts the first ones, each of which asks another question. The many similar ones refute what is
        // left.
        let many = |case: &usize| MANY.contains(&suite.cases[*case].family);
        let (last, mut order): (Vec<_>, Vec<_>) = strided.partition(many);
        order.extend(last);
        let mut nans: Vec<u64> = answers
            .iter()
            .copied()
            .filter(|&code| formats.accumulator.unpack(code).is_nan())
            .collect();
        nans.sort_unstable();
        nans.dedup();
        Evidence {
            formats,
            answers,
            cases,
            quick,
            order: RefCell::new(order),
            nans,
        }
    }

    /// A step with the formats of the cases.
    pub fn arithmetic(&self, step: Step) -> Arithmetic {
        let Formats {
            a,
            b,
            accumulator,
            scale,
            ..
        } = self.formats;
        Arithmetic {
            scale,
            ..Arithmetic::plain([a, b], accumulator, step)
        }
    }

    /// Whether the engine can run this step.
    pub fn possible(&self, step: &Step) -> bool {
        self.arithmetic(step.clone()).check().is_ok()
    }

    /// What a step answers to a case.
    pub fn answer(&self, step: &Step, case: usize) -> u64 {
        let quick = self.quick[case].as_ref();
        let code = quick.and_then(|quick| quick.answer(step));
        code.unwrap_or_else(|| self.cases[case].answer(self.formats, step))
    }

    /// If a step does not give the answer to a case: exponents of zeros with which it does not give it, either.
    /// `with` makes the step for an exponent, `zero` is that of `step`.
    fn refuted(
        &self,
        (zero, step): (i32, &Step),
        with: &dyn Fn(i32) -> Step,
        case: usize,
    ) -> Option<ZeroExponents> {
        let quick = self.quick[case].as_ref();
        let answer = quick.and_then(|quick| quick.answer_and_zeros(step));
        let (code, zeros) = answer.unwrap_or_else(|| {
            let exact = |step: &Step| self.cases[case].answer(self.formats, step);
            let code = exact(step);
            // If both ends agree, zeros take no part.
            let ends = [ZeroExponents::LOWEST, ZeroExponents::HIGHEST].map(with);
            if code != self.answers[case] && ends.iter().all(|end| exact(end) == code) {
                (code, ZeroExponents::ANY)
            } else {
                (code, ZeroExponents::only(zero))
            }
        });
        (code != self.answers[case]).then_some(zeros)
    }

    /// A step with an exponent of zeros that gives every answer: the one nearest to `likely` among those that show,
    /// else one below all.
    pub fn with_zeros(&self, likely: i32, with: &dyn Fn(i32) -> Step) -> Option<Step> {
        let lowest = with(ZeroExponents::LOWEST);
        if !self.possible(&lowest) {
            return None;
        }
        // A case in which zeros take no part often refutes all.
        let mut below = ZeroExponents::LOWEST - 1;
        let mut order = self.order.borrow_mut();
        for at in 0..order.len() {
            let refuted = self.refuted((ZeroExponents::LOWEST, &lowest), with, order[at]);
            let Some(zeros) = refuted else { continue };
            if zeros.to > below {
                below = zeros.to;
                order.swap(at, at / 2);
            }
            if below >= ZeroExponents::HIGHEST {
                return None;
            }
        }
        drop(order);
        let least = self.formats.accumulator.min_exponent() - 140;
        let mut left: Vec<i32> =
            (least.max(below.saturating_add(1))..=ZeroExponents::HIGHEST).collect();
        left.sort_by_key(|zero| zero.abs_diff(likely));
        if below < ZeroExponents::LOWEST {
            left.push(ZeroExponents::LOWEST);
        }
        while let Some(&zero) = left.first() {
            let step = with(zero);
            let mut order = self.order.borrow_mut();
            let refuted =
                |(at, case): (usize, &usize)| Some((at, self.refuted((zero, &step), with, *case)?));
            let Some((at, zeros)) = order.iter().enumerate().find_map(refuted) else {
                return Some(step);
            };
            order.swap(at, at / 2);
            left.retain(|zero| !zeros.contains(*zero));
        }
        None
    }

    pub(super) fn gives(&self, step: &Step, case: usize) -> bool {
        self.answer(step, case) == self.answers[case]
    }

    /// The number of the first `cases` answers that a step does not give, counted no further than one above `limit`.
    pub(super) fn count(&self, step: &Step, limit: usize, cases: usize) -> usize {
        let mut order = self.order.borrow_mut();
        let mut misses = 0;
        for i in 0..cases.min(order.len()) {
            let case = order[i];
            if !self.gives(step, case) {
                misses += 1;
                // Counts over a part of the cases must be over the same part each time.
                if limit == 0 {
                    order.swap(i, i / 2);
                }
                if misses > limit {
                    break;
                }
            }
        }
        misses
    }

    /// A case that refutes a step, if one does.
    pub fn first_miss(&self, step: &Step) -> Option<usize> {
        let mut order = self.order.borrow_mut();
        let missed = |&case: &usize| !self.gives(step, case);
        let at = order.iter().position(missed)?;
        let case = order[at];
        order.swap(at, at / 2);
        Some(case)
    }

    /// Whether a step gives every answer.
    pub fn fits(&self, step: &Step) -> bool {
        self.first_miss(step).is_none()
    }

    /// Whether a step gives every answer, by the exact engine alone.
    pub fn confirms(&self, step: &Step) -> bool {
        let mut answers = self.cases.iter().zip(self.answers);
        answers.all(|(case, answer)| case.answer(self.formats, step) == *answer)
    }

    /// All answers that a step does not give, by the exact engine.
    pub fn mismatches(&self, step: &Step) -> Vec<Mismatch> {
        let all = (0..self.cases.len()).map(|case| Mismatch {
            case,
            expected: self.cases[case].answer(self.formats, step),
            answered: self.answers[case],
        });
        all.filter(|m| m.expected != m.answered).collect()
    }

    /// The first of some steps that gives every answer.
    pub fn first_exact(&self, steps: impl IntoIterator<Item = Step>) -> Option<Step> {
        let exact = |step: &Step| self.possible(step) && self.fits(step);
        steps.into_iter().find(exact)
    }

    /// A step with another value of a constant (and of those that follow from it), if the engine can run it.
    pub fn with(&self, step: &Step, name: &str, value: &Value) -> Option<Step> {
        let mut changed = serde_json::to_value(step).expect("a step is plain data");
        let mut path = name.split('.');
        *path.try_fold(&mut changed, |at, key| at.get_mut(key))? = value.clone();
        let mut step: Step = serde_json::from_value(changed).ok()?;
        kinds::follow(&mut step, name);
        self.possible(&step).then_some(step)
    }

    /// The plausible values of a constant, even those that are impossible beside its other constants.
    pub fn values(&self, step: &Step, name: &str) -> Vec<Value> {
        let acc = self.formats.accumulator;
        let bare = name.rsplit('.').next().unwrap_or(name);
        let k = if acc.is_integer() { INTEGER_K } else { K };
        if let Some(values) = kinds::values(step, bare, k) {
            return values;
        }
        let numbers =
            |all: &mut dyn Iterator<Item = i64>| all.map(|n| json!(n)).collect::<Vec<_>>();
        match bare {
            "nan" | "operand" | "invalid" => {
                let quiet = acc.infinity(false).unwrap_or(0) | 1 << (acc.fraction_bits() - 1);
                let ones = acc.sign_mask() - 1;
                let mut codes = vec![quiet, ones, quiet | acc.sign_mask(), ones | acc.sign_mask()];
                codes.extend(&self.nans);
                codes.sort_unstable();
                codes.dedup();
                codes.into_iter().map(|c| json!(Code(c))).collect()
            }
            "alignment" => ["rz", "rne", "rna", "rd"].map(|r| json!(r)).into(),
            "rounding" | "closing" => ["rz", "rne"].map(|r| json!(r)).into(),
            "overflow" => ["wrap", "saturate"].map(|o| json!(o)).into(),
            "group" | "span" | "sums" => numbers(&mut (1..=K as i64 / 2)),
            "fraction_bits" | "sum_fraction_bits" | "result_fraction_bits" | "width" => {
                numbers(&mut (0..=64).chain([72, 80, 96]))
            }
            "addend_window" => [numbers(&mut (0..=80).chain([4096])), vec![Value::Null]].concat(),
            "sum_bits" => [numbers(&mut (1..=80)), vec![Value::Null]].concat(),
            "zero_exponent" => numbers(&mut (-4096..=20)),
            "precision" => numbers(&mut (1..=i64::from(acc.fraction_bits()) + 1)),
            "part" => numbers(&mut (1..=32)),
            "scaling" => ["lane_exponent", "mxfp4", "nvfp4"].map(|s| json!(s)).into(),
            "lanes" => numbers(&mut [4, 8].into_iter()),
            "addend" => ["value", "hidden_bit"].map(|a| json!(a)).into(),
            "pair" => ["tfr", "tfr-565bd0f1", "drl"].map(|p| json!(p)).into(),
            "sparse_mask" | "ieee_top" | "minus_zero" | "plus_zero" => {
                vec![json!(false), json!(true)]
            }
            "period" => numbers(&mut [2, 4, 8, 16, 32, 64].into_iter()),
            _ => Vec::new(),
        }
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The cases of a suite, ready to be replayed.
pub(super) fn prepare(suite: &Suite) -> (Formats, Vec<Prepared>) {
    let formats = suite.step_formats();
    let cases = suite.cases.iter();
    let prepared = cases.map(|case| Prepared::new(formats, case));
    (formats, prepared.collect())
}
