//! A step seen from inside while it runs. An explanation observes the very run that computes; there is no second
//! arithmetic to keep in step.

use crate::num::Format;

/// Receives what happens in a step. Observers that do nothing cost nothing.
pub trait TraceObserver {
    /// What follows belongs to a part of the step. `k` are its products, counted within the step:
    /// a [`Source::Product`] is a position among them.
    fn stage(&mut self, _name: &'static str, _k: impl FnOnce() -> Vec<usize>) {}

    /// A term of the sum.
    fn term(&mut self, _term: impl FnOnce() -> TermTrace) {}

    /// The largest exponent, and the exponent of the grid that terms are cut to.
    fn aligned(&mut self, _exponent: i32, _grid: i32) {}

    /// The sum of the kept terms: `sum * 2^lsb`; `sticky` if something below it was lost.
    fn sum(&mut self, _sum: i128, _lsb: i32, _sticky: bool) {}

    /// A number that the step arrives at.
    fn result(&mut self, _format: Format, _code: u64) {}
}

/// Observes nothing.
impl TraceObserver for () {}

/// Where a term comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A product of the stage.
    Product(usize),
    /// Several consecutive products of the stage, already added.
    Products { first: usize, count: usize },
    /// All products of the step, already added.
    AllProducts,
    /// C, or the accumulator.
    Addend,
    /// Products that are missing in a group that is not full: they count as zeros.
    Missing,
}

/// A term: `(-1)^negative * magnitude * 2^lsb`, which competes with `exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TermTrace {
    pub source: Source,
    pub negative: bool,
    pub magnitude: u128,
    pub lsb: i32,
    pub exponent: i32,
    /// What is left of it: `kept * 2^kept_lsb`.
    pub kept: i128,
    pub kept_lsb: i32,
}
