//! What an engine is. The exact engine is the specification; a fast one gives the same bits, or leaves a product, a tile
//! or a step to the exact one. No fast engine is named here: the caller of a replay, a check or a search hands them over.

mod available;
mod test_products;
pub(crate) mod work;

use std::fmt::Debug;

pub use available::{Engines, ExactAlone, OpenedDevice};
pub use test_products::{TestNumbers, TestProduct};
pub use work::{ExactEngine, Merging, Progress, Promotion, Specials, Work};

use super::{Arithmetic, Problem, exact};
use crate::tensor::Vectors;

/// The engine that computes. All give the same bits.
#[derive(Clone, Copy, Debug)]
pub enum Engine<'a> {
    /// The specification, in integers.
    Exact,
    /// A fast engine where it computes the model and can prove its bits, the exact engine elsewhere.
    With(&'a dyn FastEngine),
}

/// An engine that gives the bits of the exact one, faster, or says that it cannot.
pub trait FastEngine: Debug + Send + Sync {
    /// Whether it computes products of a model at all.
    fn computes(&self, arithmetic: &Arithmetic) -> bool;

    /// Computes the rows of D from `first_row` on, matrices of a batch one after another, that `out` has room for:
    /// codes of the accumulator's format. Returns how many multiply-adds the exact engine did; none if nothing was
    /// computed, as the product is too small, the engine fails its self-test, or the rows of a compressed A must be
    /// computed one by one.
    fn fill(
        &self,
        arithmetic: &Arithmetic,
        work: Work,
        first_row: usize,
        out: &mut [u64],
    ) -> Option<u64>;

    /// Whether [`FastEngine::promoted`] is worth a try.
    fn promotes(&self, _: &Arithmetic) -> bool {
        false
    }

    /// Sums of chains of a product of one matrix, in C order, and how many multiply-adds the exact engine did; none if
    /// it does not compute all chains in one go.
    fn promoted(&self, _: &Arithmetic, _: Work, _: Promotion) -> Option<(Vec<u32>, u64)> {
        None
    }

    /// The vectors of the f32 arithmetic between chains.
    fn vectors(&self) -> Vectors {
        Vectors::BASIC
    }

    /// Of a device, the engine for what is too small for it.
    fn on_cpu(&self) -> Option<Engine<'_>> {
        None
    }

    /// Of a device, what it has done so far.
    fn used(&self) -> Option<DeviceUse> {
        None
    }
}

/// What a device has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceUse {
    pub name: String,
    pub driver: String,
    /// Vulkan, Metal or Direct3D 12.
    pub backend: String,
    /// Multiply-adds that it computed.
    pub multiply_adds: u64,
    /// Tiles of D, or of a part of it.
    pub tiles: u64,
    /// Those that the CPU computed again.
    pub tiles_computed_twice: u64,
}

impl<'a> Engine<'a> {
    pub fn is_exact(self) -> bool {
        matches!(self, Engine::Exact)
    }

    /// Whether a fast engine computes products of a model.
    pub fn computes(self, arithmetic: &Arithmetic) -> bool {
        self.fast().is_some_and(|fast| fast.computes(arithmetic))
    }

    pub(super) fn fast(self) -> Option<&'a dyn FastEngine> {
        match self {
            Engine::Exact => None,
            Engine::With(fast) => Some(fast),
        }
    }

    /// The engine for what is too small for a device.
    pub(super) fn on_cpu(self) -> Engine<'a> {
        self.fast().and_then(FastEngine::on_cpu).unwrap_or(self)
    }

    /// The vectors of the f32 arithmetic between chains.
    pub fn vectors(self) -> Vectors {
        self.fast().map_or(Vectors::BASIC, FastEngine::vectors)
    }

    /// The chains over K, and nothing else: codes of the accumulator's format, in the rows from `first_row` on that `out`
    /// has room for. Returns how many multiply-adds fell to the exact engine.
    pub fn fill(
        self,
        arithmetic: &Arithmetic,
        problem: &Problem,
        first_row: usize,
        out: &mut [u64],
        progress: Progress,
    ) -> u64 {
        let work = arithmetic.work(problem, progress);
        let fast = self.fast();
        let computed = fast.and_then(|fast| fast.fill(arithmetic, work, first_row, out));
        computed.unwrap_or_else(|| {
            exact::fill(problem, arithmetic, first_row, out, progress);
            (out.len() * problem.k) as u64
        })
    }
}

impl Arithmetic {
    /// A product by this arithmetic, for a fast engine.
    pub(super) fn work<'w>(&'w self, problem: &'w Problem, progress: Progress<'w>) -> Work<'w> {
        Work {
            problem,
            formats: self.formats(),
            exact: self,
            progress,
        }
    }
}
