//! One step in full: the events that the step reports, beside the exact values of its terms.

use serde::Serialize;

use super::Element;
use super::{Dyadic, Number, Value};
use crate::emu::step::{Carried, Source, TermTrace, TraceObserver};
use crate::num::Format;

/// A step.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Step {
    /// Counted from 1.
    pub step: usize,
    /// The first product and the one after the last.
    pub k: [usize; 2],
    /// C, or what the step before left; at the start of a block, as it was read back from memory.
    pub before: Number,
    /// Whether memory changed it.
    #[serde(skip)]
    pub reloaded: bool,
    pub products: Vec<Product>,
    /// What the unit does with them; empty for a plain exact sum.
    pub stages: Vec<Stage>,
    /// `before` and all products, added without any loss.
    pub exact_sum: Value,
    pub after: Number,
    /// `after` less `exact_sum`, where both are finite.
    pub lost: Option<Dyadic>,
    pub notes: Vec<String>,
    /// How many terms lost something to alignment, and the most that one lost.
    pub cut_terms: usize,
    pub largest_cut: Dyadic,
    /// What the last rounding did to the sum, where the step shows one.
    pub rounded_off: Option<Dyadic>,
    #[serde(skip)]
    pub events: Events,
}

/// What makes a step worth showing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// The accumulator becomes NaN or infinite in this step.
    pub special: bool,
    /// How many powers of two the result lies below the largest term.
    pub cancelled: i32,
}

/// Terms that are not zero add up to zero.
const TO_NOTHING: i32 = 10_000;

/// A product.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Product {
    pub k: usize,
    pub a: Number,
    pub b: Number,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scales: Option<[Number; 2]>,
    /// The product with its scales.
    pub exact: Value,
}

/// A part of a step; many have only one.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Stage {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub terms: Vec<Term>,
    /// The largest exponent among the terms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exponent: Option<i32>,
    /// Terms are cut to multiples of `2^grid`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grid: Option<i32>,
    /// The exact sum of what was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum: Option<Dyadic>,
    /// A bit below the sum remembers that something was lost.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sticky: bool,
    /// Numbers that the stage arrives at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<Number>,
    /// The products of the stage that is one operation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub k: Vec<usize>,
}

/// A term that is aligned.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Term {
    pub of: Of,
    pub exact: Dyadic,
    /// With which it competes.
    pub exponent: i32,
    pub kept: Dyadic,
    /// `exact` less `kept`.
    pub cut: Dyadic,
    /// Whether its exponent is the largest.
    pub sets_exponent: bool,
}

/// Where a term comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Of {
    Product(usize),
    /// The first and the one after the last.
    Products([usize; 2]),
    AllProducts,
    Addend,
    Missing,
}

impl Step {
    pub(super) fn shift(&mut self, steps: usize, k: usize) {
        self.step += steps;
        self.k.iter_mut().for_each(|at| *at += k);
        self.products.iter_mut().for_each(|product| product.k += k);
        for stage in &mut self.stages {
            stage.k.iter_mut().for_each(|at| *at += k);
            for term in &mut stage.terms {
                match &mut term.of {
                    Of::Product(at) => *at += k,
                    Of::Products(range) => range.iter_mut().for_each(|at| *at += k),
                    Of::AllProducts | Of::Addend | Of::Missing => {}
                }
            }
        }
    }
}

impl Element {
    /// Runs a step on what is carried into it and takes down what happens.
    pub fn trace(&self, step: usize, carried: &Carried) -> Step {
        let formats = self.formats();
        let mut entered = carried.clone();
        self.arithmetic
            .step
            .carry(formats, &mut entered, 0, &mut |c| c);
        let before = self.code(step, &entered);
        let reloaded = before != self.code(step, carried);
        let range = self.range(step);
        let mut watcher = Watcher {
            first: range.start,
            stages: Vec::new(),
        };
        // Of a chain in blocks, only the accumulator that the result is read from.
        let mut entered = self.start(before);
        self.advance(range.clone(), &mut entered, None, &mut watcher);
        let after = self.code(step + 1, &entered);
        let format_before = match step {
            0 => formats.addend,
            _ => formats.accumulator,
        };
        let before = Number::new(format_before, before);
        let after = Number::new(formats.accumulator, after);
        let products: Vec<_> = range.clone().map(|k| self.show(k)).collect();
        let exact_before = Value::of(before.format, before.code);
        let sum = |sum: Value, product: &Product| sum.plus(&product.exact);
        let exact_sum = products.iter().fold(exact_before.clone(), sum);
        let exact_after = Value::of(after.format, after.code);
        let stages = watcher.stages();

        let terms = || stages.iter().flat_map(|stage| &stage.terms);
        let cuts = || terms().filter(|term| !term.cut.is_zero());
        let sums = stages.last().and_then(|stage| stage.sum.as_ref());
        let rounded_off = sums.and_then(|sum| Some(exact_after.finite()?.minus(sum)));
        let leading = |value: &Value| value.finite().and_then(Dyadic::leading);
        let top = products.iter().map(|product| leading(&product.exact));
        let top = top.chain([leading(&exact_before)]).flatten().max();
        let cancelled = match (top, &exact_after) {
            (Some(top), Value::Finite(number)) => {
                number.leading().map_or(TO_NOTHING, |leading| top - leading)
            }
            _ => 0,
        };
        let events = Events {
            special: exact_after.finite().is_none() && exact_before.finite().is_some(),
            cancelled,
        };
        Step {
            step: step + 1,
            k: [range.start, range.end],
            notes: notes(&products, &exact_before, &exact_after),
            reloaded,
            cut_terms: cuts().count(),
            largest_cut: largest(cuts().map(|term| &term.cut)),
            rounded_off,
            lost: exact_after.minus(&exact_sum),
            before,
            products,
            exact_sum,
            after,
            events,
            stages,
        }
    }

    fn show(&self, k: usize) -> Product {
        let formats = self.formats();
        let scales = self.scales.as_ref().zip(formats.scale);
        Product {
            k,
            a: Number::new(formats.a, self.a[k]),
            b: Number::new(formats.b, self.b[k]),
            scales: scales.map(|(codes, scale)| {
                [0, 1].map(|side| Number::new(scale.format, codes[side][k].into()))
            }),
            exact: self.product(k),
        }
    }
}

/// The largest magnitude; zero of nothing.
pub(super) fn largest<'a>(all: impl Iterator<Item = &'a Dyadic>) -> Dyadic {
    let exceeding = |most: Dyadic, x: &Dyadic| if x.exceeds(&most) { x.abs() } else { most };
    all.fold(Dyadic::zero(), exceeding)
}

/// Which terms make a result that is not a number.
fn notes(products: &[Product], before: &Value, after: &Value) -> Vec<String> {
    let mut notes = Vec::new();
    if after.finite().is_some() {
        return notes;
    }
    const MAX_SHOWN: usize = 4;
    let kinds = [
        ("NaN", Value::Nan),
        ("+Inf", Value::Infinite { negative: false }),
        ("-Inf", Value::Infinite { negative: true }),
    ];
    for (name, kind) in kinds {
        let is = |value: &Value| *value == kind;
        let mut of: Vec<String> = Vec::new();
        if is(before) {
            of.push("the accumulator".into());
        }
        let from = products.iter().filter(|product| is(&product.exact));
        of.extend(from.map(|product| {
            let cause = match product.exact {
                Value::Nan if !product.has_nan() => " (infinity times zero)",
                _ => "",
            };
            format!("k {}{cause}", product.k)
        }));
        let more = of.len().saturating_sub(MAX_SHOWN);
        of.truncate(MAX_SHOWN);
        if !of.is_empty() {
            let more = match more {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            notes.push(format!("{name} from {}{more}", of.join(", ")));
        }
    }
    if notes.is_empty() {
        notes.push(match after {
            Value::Nan => "the unit reads an operand as infinite or NaN".into(),
            _ => "overflow: every term is finite".into(),
        });
    }
    notes
}

impl Product {
    fn has_nan(&self) -> bool {
        let scales = self.scales.iter().flatten();
        let mut all = [&self.a, &self.b].into_iter().chain(scales);
        all.any(|x| x.format.unpack(x.code).is_nan())
    }
}

/// Listens to a step, and counts k from the beginning of K.
struct Watcher {
    first: usize,
    stages: Vec<Stage>,
}

impl Watcher {
    fn last(&mut self) -> &mut Stage {
        if self.stages.is_empty() {
            self.stages.push(Stage::default());
        }
        self.stages.last_mut().expect("there is one")
    }

    /// What was heard, without stages that have no product, as an odd group's second half.
    fn stages(mut self) -> Vec<Stage> {
        let stages = &mut self.stages;
        stages.retain(|stage| !stage.terms.is_empty() || !stage.results.is_empty());
        for stage in stages {
            for term in &mut stage.terms {
                term.sets_exponent = stage.exponent == Some(term.exponent);
            }
            if !stage.terms.is_empty() {
                stage.k.clear();
            }
        }
        self.stages
    }
}

impl TraceObserver for Watcher {
    fn stage(&mut self, name: &'static str, k: impl FnOnce() -> Vec<usize>) {
        self.stages.push(Stage {
            name: Some(name),
            k: k().into_iter().map(|k| self.first + k).collect(),
            ..Stage::default()
        });
    }

    fn term(&mut self, seen: impl FnOnce() -> TermTrace) {
        let (seen, first) = (seen(), self.first);
        let stage = self.last();
        let place = |i: usize| stage.k.get(i).copied().unwrap_or(first + i);
        let exact = Dyadic::new(seen.negative, seen.magnitude, seen.lsb);
        let kept = Dyadic::from_int(seen.kept, seen.kept_lsb);
        stage.terms.push(Term {
            of: match seen.source {
                Source::Product(i) => Of::Product(place(i)),
                Source::Products { first: i, count } => {
                    Of::Products([place(i), place(i + count - 1) + 1])
                }
                Source::AllProducts => Of::AllProducts,
                Source::Addend => Of::Addend,
                Source::Missing => Of::Missing,
            },
            cut: exact.minus(&kept),
            exact,
            exponent: seen.exponent,
            kept,
            // Told once the stage is over.
            sets_exponent: false,
        });
    }

    fn aligned(&mut self, exponent: i32, grid: i32) {
        let stage = self.last();
        (stage.exponent, stage.grid) = (Some(exponent), Some(grid));
    }

    fn sum(&mut self, sum: i128, lsb: i32, sticky: bool) {
        let stage = self.last();
        (stage.sum, stage.sticky) = (Some(Dyadic::from_int(sum, lsb)), sticky);
    }

    fn result(&mut self, format: Format, code: u64) {
        self.last().results.push(Number::new(format, code));
    }
}
