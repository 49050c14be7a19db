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

/// The wires between the parts of a unit: what a part returns is what the next one takes. A simulated fault of
/// `screen` is the only datapath that changes a number. A verdict, an explanation or a search cannot pass one, because
/// [`Step`](super::Step) takes observers alone.
pub trait FaultInjector: TraceObserver {
    /// Whether it returns every number unchanged: exact sums need no wires then.
    fn is_sound(&self) -> bool {
        true
    }

    /// The magnitude of a product, from multiplier `k` of the step to the aligner.
    fn multiplied(&mut self, _k: usize, magnitude: u128) -> u128 {
        magnitude
    }

    /// A term of the sum, from its aligner to the adder, in units of the grid. Aligners are counted as products or, where
    /// several products are added before, as their sums; C's has no number.
    fn shifted(&mut self, _aligner: Option<usize>, kept: i128) -> i128 {
        kept
    }

    /// The sum, from the adder to the rounding, in units of the grid.
    fn added(&mut self, sum: i128) -> i128 {
        sum
    }

    /// The next accumulator, from the rounding to its register.
    fn rounded(&mut self, _format: Format, code: u64) -> u64 {
        code
    }
}

/// Observes nothing.
impl TraceObserver for () {}

/// The datapath of a sound unit, with an observer.
pub(super) struct NoFault<'a, O>(pub &'a mut O);

impl<O: TraceObserver> TraceObserver for NoFault<'_, O> {
    fn stage(&mut self, name: &'static str, k: impl FnOnce() -> Vec<usize>) {
        self.0.stage(name, k);
    }

    fn term(&mut self, term: impl FnOnce() -> TermTrace) {
        self.0.term(term);
    }

    fn aligned(&mut self, exponent: i32, grid: i32) {
        self.0.aligned(exponent, grid);
    }

    fn sum(&mut self, sum: i128, lsb: i32, sticky: bool) {
        self.0.sum(sum, lsb, sticky);
    }

    fn result(&mut self, format: Format, code: u64) {
        self.0.result(format, code);
    }
}

impl<O: TraceObserver> FaultInjector for NoFault<'_, O> {}

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
