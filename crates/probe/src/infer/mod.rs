//! From answers to a model: hypotheses are steps of the known kinds, and a hypothesis is refuted by
//! one answer that it does not give.
//!
//! 1. `reading`: a few readings of the answers (which terms survive, how deep a term counts) and
//!    common constants make first hypotheses of every kind. For integers these are all that there are: sizes of
//!    groups, and whether sums wrap around or saturate.
//! 2. `grid`: all combinations of constants near what was read, each dropped at its first wrong answer.
//! 3. `search`: constants are changed one at a time as long as fewer answers contradict.
//! 4. A step that no answer contradicts is the model. Each constant is then varied on its own: it is
//!    determined only if every other value that is tried is contradicted, and by which case is kept.
//!
//! `evidence` tests hypotheses by `quick` adders where they can answer, else by the exact engine, which also confirms
//! what is found.
//!
//! The search is not complete: "no known kind explains this" means that no tested hypothesis does.

mod architecture;
mod coverage;
mod document;
mod evidence;
mod grid;
mod kinds;
mod quick;
mod reading;
mod search;

use serde_json::Value;

use super::Suite;
use crate::emu::step::{Constant, Step};
use crate::emu::{Arithmetic, Catalogue, Rule};

pub use architecture::{Describe, architecture};
pub use coverage::{Coverage, Sums, coverage};
pub use document::{
    INFERENCE, Inference, InferredConstant, InferredVerdict, KnownRule, NEVER_INFERRED, Refuted,
    Unexplained, Witness,
};
use evidence::Evidence;
pub use evidence::Mismatch;
use reading::Reading;

/// What the answers say.
#[derive(Clone, Debug)]
pub enum Verdict {
    Explained(Box<Explained>),
    Contradicted(Box<Contradicted>),
}

/// A model that gives every answer.
#[derive(Clone, Debug)]
pub struct Explained {
    pub arithmetic: Arithmetic,
    pub constants: Vec<Finding>,
    /// Steps of other kinds that give every answer too.
    pub also: Vec<Step>,
}

/// What the answers say of one constant, if the others are as found.
#[derive(Clone, Debug)]
pub struct Finding {
    pub name: String,
    pub value: Value,
    /// Other values that give every answer too; none if the constant is determined.
    pub others: Vec<Value>,
    pub refuted: Vec<Refuted>,
}

/// The best of the hypotheses, and the answers that it does not give.
#[derive(Clone, Debug)]
pub struct Contradicted {
    pub arithmetic: Arithmetic,
    /// The answers that it does not give.
    pub cases: Vec<Mismatch>,
    /// The number of hypotheses at which searches ended, this one included.
    pub hypotheses: usize,
    /// A few simple cases that together refute all hypotheses: each case, and how many it refutes that those before
    /// do not.
    pub witnesses: Vec<(usize, usize)>,
}

impl Finding {
    pub fn determined(&self) -> bool {
        self.others.is_empty()
    }

    /// Whether the answers allow this value.
    pub fn allows(&self, value: &Value) -> bool {
        self.value == *value || self.others.contains(value)
    }

    /// The value and all others that the answers allow, runs of integers as `-300 to -126`.
    pub fn allowed(&self) -> String {
        let mut integers: Vec<i64> = Vec::new();
        let mut texts = Vec::new();
        for value in self.others.iter().chain([&self.value]) {
            match value.as_i64() {
                Some(integer) => integers.push(integer),
                None => texts.push(text(value)),
            }
        }
        integers.sort_unstable();
        let runs =
            integers
                .chunk_by(|x, y| x + 1 == *y)
                .map(|run| match (run.first(), run.last()) {
                    (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
                    _ => run.first().map_or(String::new(), i64::to_string),
                });
        runs.chain(texts).collect::<Vec<_>>().join(", ")
    }
}

/// A constant's value without the quotes of JSON.
pub fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The model behind these answers to the suite's cases, one each.
///
/// # Errors
/// If an answer is not a code of the accumulator's format, their number is not the suite's, or no kind of step is known
/// for the formats.
pub fn infer(suite: &Suite, answers: &[u64]) -> Result<Verdict, String> {
    if answers.len() != suite.cases.len() {
        return Err(format!(
            "{} answers for {} cases",
            answers.len(),
            suite.cases.len()
        ));
    }
    let foreign = |&d: &u64| d > suite.accumulator.max_code();
    if let Some(bad) = answers.iter().position(foreign) {
        return Err(format!(
            "answer {bad} is not a code of {}",
            suite.accumulator
        ));
    }
    let evidence = Evidence::new(suite, answers);
    let reading = (!suite.integers()).then(|| Reading::new(suite, answers, &evidence.nans));
    let starts = reading::starts(suite, reading.as_ref());
    if !starts.iter().flatten().any(|step| evidence.possible(step)) {
        return Err(format!(
            "no known kind of step computes {}, so there is nothing to infer",
            suite.formats()
        ));
    }
    let of_kind = |kind: &Vec<Step>| evidence.first_exact(kind.iter().cloned());
    let mut exact: Vec<Step> = starts.iter().filter_map(of_kind).collect();
    if let (true, Some(reading)) = (exact.is_empty(), &reading) {
        exact.extend(grid::search(suite, &evidence, reading, &starts));
    }
    exact.retain(|step| evidence.confirms(step));
    if exact.is_empty() {
        let mut ends = evidence.best(&starts);
        if !evidence.confirms(&ends[0]) {
            return Ok(Verdict::Contradicted(Box::new(Contradicted {
                cases: evidence.mismatches(&ends[0]),
                hypotheses: ends.len(),
                witnesses: evidence.witnesses(suite, &ends),
                arithmetic: evidence.arithmetic(ends.swap_remove(0)),
            })));
        }
        exact.push(ends.swap_remove(0));
    }
    let step = exact.remove(0);
    Ok(Verdict::Explained(Box::new(Explained {
        constants: findings(&evidence, &step),
        arithmetic: evidence.arithmetic(step),
        also: exact,
    })))
}

fn findings(evidence: &Evidence, step: &Step) -> Vec<Finding> {
    let find = |constant: Constant| {
        let values = evidence.values(step, &constant.name);
        let mut finding = Finding {
            name: constant.name,
            value: constant.value,
            others: Vec::new(),
            refuted: Vec::new(),
        };
        let integer = finding.value.as_i64();
        if let Some(value) = integer {
            finding.try_integers(evidence, step, value, &values);
        }
        for value in values {
            if integer.is_none() || value.as_i64().is_none() {
                finding.try_value(evidence, step, value);
            }
        }
        finding
    };
    step.constants().into_iter().map(find).collect()
}

impl Finding {
    /// Tests another value, and notes whether the answers allow it.
    fn try_value(&mut self, evidence: &Evidence, step: &Step, value: Value) {
        if value == self.value {
            return;
        }
        let Some(candidate) = evidence.with(step, &self.name, &value) else {
            return;
        };
        match evidence.first_miss(&candidate) {
            None => self.others.push(value),
            Some(case) => self.refuted.push(Refuted { value, case }),
        }
    }

    /// The search assumes that the integers that give all answers are one run about the value found, and finds its
    /// ends by halving. It also tests values outside: all of up to 1,000 values, else those near the run and some
    /// further away.
    fn try_integers(&mut self, evidence: &Evidence, step: &Step, value: i64, values: &[Value]) {
        let with = |n: i64| evidence.with(step, &self.name, &Value::from(n));
        let mut possible: Vec<i64> = values.iter().filter_map(Value::as_i64).collect();
        possible.push(value);
        possible.sort_unstable();
        possible.dedup();
        if possible.len() < 1000 {
            possible.retain(|&n| n == value || with(n).is_some());
        }
        let holds = |n: i64| with(n).is_some_and(|step| evidence.fits(&step));
        let at = possible.partition_point(|&n| n < value);
        let first = end(|back| holds(possible[at - back]), at);
        let last = end(|on| holds(possible[at + on]), possible.len() - 1 - at);
        let run = at - first..=at + last;
        for (i, &n) in possible.iter().enumerate() {
            let distance = i.abs_diff(*run.start()).min(i.abs_diff(*run.end()));
            if n == value {
            } else if run.contains(&i) {
                self.others.push(Value::from(n));
            } else if possible.len() < 1000 || distance <= 40 || distance % 61 == 0 {
                self.try_value(evidence, step, Value::from(n));
            }
        }
    }
}

/// The largest number up to `most` for which `holds`, if it holds up to some number and not beyond.
fn end(holds: impl Fn(usize) -> bool, most: usize) -> usize {
    if most == 0 || holds(most) {
        return most;
    }
    // The next value usually decides.
    let (mut good, mut bad) = (0, most);
    let mut stride = 1;
    while good + stride < bad {
        if holds(good + stride) {
            good += stride;
            stride *= 2;
        } else {
            bad = good + stride;
        }
        if bad - good <= stride {
            break;
        }
    }
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if holds(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    good
}

/// The rules of the catalogue for these formats that give every answer.
pub fn known(suite: &Suite, answers: &[u64], found: &Arithmetic) -> Vec<KnownRule> {
    let evidence = Evidence::new(suite, answers);
    let fits = |rule: &Rule| {
        // Probes have a C of D's format.
        rule.scale == suite.scale
            && rule.addend.is_none()
            && rule.accumulator == suite.accumulator
            && rule.operands.contains(&[suite.a, suite.b])
            && evidence.fits(&rule.step)
    };
    let fitting = Catalogue::builtin()
        .rules()
        .filter(|(_, _, rule)| fits(rule));
    let named = fitting.map(|(architecture, instruction, rule)| KnownRule {
        architecture: architecture.name.clone(),
        instruction: instruction.name.clone(),
        same: rule.step == found.step,
    });
    named.collect()
}
