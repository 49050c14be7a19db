//! The trait of a kind of step.

use std::ops::Range;

use super::blocks::{Blocked, Blocks};
use super::fpmr::Fpmr;
use super::trace::TraceObserver;
use crate::num::{ExactSum, Format, Formats, Rounding, Unpacked, result_code};

/// A kind of step: consumes up to `span` products and an accumulator, gives the next accumulator.
pub trait StepKind {
    /// How many products one step takes.
    fn span(&self) -> usize;

    /// Adds at most `span` products to `c`; missing ones are zero products. `observer` receives what
    /// happens on the way.
    fn add(&self, products: Products, c: u64, observer: &mut impl TraceObserver) -> u64
    where
        Self: Sized;

    /// One line for people: kind and meaning.
    fn summary(&self) -> String;

    /// Refuses constants that no machine has and that the step could not compute exactly.
    ///
    /// # Errors
    /// A sentence naming the constant.
    fn check(&self, formats: Formats) -> Result<(), String>;

    /// Whether operands and accumulator are integers; otherwise they are floats.
    fn takes_integers(&self) -> bool {
        false
    }

    /// Whether C may have another format than D.
    fn takes_other_addends(&self) -> bool {
        false
    }

    fn scaling(&self) -> ScaleUse {
        ScaleUse::None
    }

    /// Whether a chain is rounded on its way, so that it can be read and taken up again anywhere
    /// between two steps.
    fn rounds(&self) -> bool {
        true
    }

    /// Whether steps of zero products alone can change what a step has returned: -0 becomes +0 in most cases.
    fn notices_zeros(&self, _formats: Formats) -> bool {
        true
    }

    /// The presets of kernels for such units, where those of GPUs' libraries are none.
    fn own_schedules(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// Whether the accumulator's format must be given: units that have several, none of them the usual one.
    fn needs_accumulator(&self) -> bool {
        false
    }

    /// Whether such a step is only one of several instructions that a product of this K takes.
    fn is_part_of(&self, _k: usize) -> bool {
        false
    }

    /// How accumulators go through memory between blocks of K.
    fn through_memory(&self) -> ThroughMemory {
        ThroughMemory::Never
    }

    /// Sets these blocks, where accumulators go through memory.
    fn set_blocks(&mut self, _blocks: Blocks) {}

    /// Whether its instruction adds whole steps only: a K that ends within one is no product of it.
    fn takes_whole_steps(&self) -> bool {
        false
    }

    /// What the instruction reads of Arm's register FPMR, if it does.
    fn fpmr(&self) -> Option<Fpmr> {
        None
    }

    /// Sets these fields, where it reads them.
    fn set_fpmr(&mut self, _fpmr: Fpmr) {}

    /// The fault that units of this kind are known for.
    fn known_fault(&self) -> Option<&dyn KnownFault> {
        None
    }

    /// How a finished sum is rounded to another format of D; none if that is unknown.
    fn rounds_results(&self, _to: Format) -> Option<Rounding> {
        Some(Rounding::NearestEven)
    }

    /// A finished sum as D has it, in such a format.
    fn converted(&self, from: Format, code: u64, to: Format) -> u64 {
        result_code(from, code, to, Rounding::NearestEven)
    }

    /// What a chain carries before its first step.
    fn start(&self, _formats: Formats, c: u64) -> Carried {
        Carried::Code(c)
    }

    /// Takes what [`StepKind::start`] of the same step gave over `count` products, which `add` adds to an accumulator. Where
    /// nothing is rounded on the way there is none.
    fn carry(
        &self,
        _formats: Formats,
        carried: &mut Carried,
        _count: usize,
        add: &mut dyn FnMut(u64) -> u64,
    ) {
        match carried {
            Carried::Code(c) => *c = add(*c),
            Carried::Exact(_) => {}
            Carried::Blocks(_) => unreachable!("carried by another kind of step"),
        }
    }

    /// [`StepKind::add`] to what [`StepKind::start`] of the same step gave.
    fn run(&self, products: Products, carried: &mut Carried, observer: &mut impl TraceObserver)
    where
        Self: Sized,
    {
        let count = products.a.len();
        let mut add = |c| self.add(products, c, observer);
        self.carry(products.formats, carried, count, &mut add);
    }

    /// The chain's result, a code of the accumulator's format.
    fn finish(&self, _formats: Formats, carried: &Carried) -> u64 {
        match carried {
            Carried::Code(code) => *code,
            Carried::Exact(_) | Carried::Blocks(_) => {
                unreachable!("carried by another kind of step")
            }
        }
    }
}

/// How accumulators go through memory between blocks of K.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThroughMemory {
    /// No kernel does that.
    Never,
    /// Kernels do, and nobody knows how.
    Unknown,
    /// As the blocks say; without any it is one chain.
    Blocks(Option<Blocks>),
}

/// A fault that units are known for: one of a step's sums comes out far too large.
pub trait KnownFault {
    /// The sum that it strikes becomes `-2^bits` units.
    fn bits(&self) -> u32;

    /// The sums of a step in their order: phase and products, counted within the step.
    fn sums(&self) -> Vec<(usize, Range<usize>)>;

    /// [`StepKind::add`], where it strikes the sum with this number.
    fn add_struck(&self, products: Products, c: u64, sum: usize) -> u64;
}

/// What a step does with scales of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScaleUse {
    /// It has none.
    None,
    /// They are powers of two and only move the exponents of operands.
    MoveExponents,
    /// It is given them with the operands.
    Given,
}

/// What is carried from step to step.
#[derive(Clone, Debug)]
pub enum Carried {
    /// A number of the accumulator's format.
    Code(u64),
    /// A sum that nothing has rounded yet.
    Exact(ExactSum),
    /// An accumulator that goes through memory on its way.
    Blocks(Blocked),
}

/// Codes of the scales of some operands: one an operand, or none at all.
pub type Scales<'a> = Option<[&'a [u8]; 2]>;

/// The operands of one step.
#[derive(Clone, Copy, Debug)]
pub struct Products<'a> {
    pub formats: Formats,
    pub a: &'a [Unpacked],
    pub b: &'a [Unpacked],
    /// Where they do more than move exponents.
    pub scales: Scales<'a>,
}
