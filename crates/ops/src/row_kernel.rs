//! The inputs of an operation on rows, and its plan before it is computed.

use std::collections::BTreeMap;
use std::ops::Range;

use super::float32::Arith;
use super::rule::Layout;
use crate::emu::{Arithmetic, Engine};
use crate::num::Format;
use crate::tensor::Tensor;

/// Numbers that an operation takes besides its arrays. What is absent is as the operation has it by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters {
    /// Of norms, an f32 code.
    pub eps: Option<u32>,
    /// Of attention: the factor of scores, an f32 code.
    pub softmax_scale: Option<u32>,
    pub causal: bool,
    pub layout: Option<Layout>,
    /// Neighbours are rotated, not halves.
    pub interleaved: bool,
    /// Elements that share a scale.
    pub group: Option<usize>,
    /// Rows of Q and keys of a block, instead of the rule's.
    pub tile: Option<[usize; 2]>,
    /// GPU as the request names it: it may choose the tile (attention).
    pub gpu: String,
    /// Which of the results.
    pub output: Option<String>,
}

/// What is wrong with arrays or parameters: the field, and a sentence that calls fields by their names in backticks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpError {
    pub field: &'static str,
    pub reason: String,
}

impl OpError {
    pub fn new(field: &'static str, reason: impl Into<String>) -> OpError {
        OpError {
            field,
            reason: reason.into(),
        }
    }
}

/// Arrays by name.
pub type Inputs<'a> = BTreeMap<&'static str, &'a Tensor>;

/// What a job computes with.
#[derive(Clone, Copy, Debug)]
pub struct ExecContext<'a> {
    /// The tensor core's arithmetic, of attention.
    pub arithmetic: Option<&'a Arithmetic>,
    pub engine: Engine<'static>,
}

/// Rows of a result, computed in any arithmetic.
pub(super) trait RowKernel: Sync {
    /// Some rows, counted on over all leading axes: codes of the result's format.
    fn compute<A: Arith>(&self, a: A, rows: Range<usize>, out: &mut [u32]);

    /// Where the rows end that are computed together with this one.
    fn end(&self, row: usize) -> usize {
        row + 1
    }

    /// Products of a row that the tensor core adds.
    fn products(&self) -> u64 {
        0
    }
}

/// What is computed, and its shape.
pub(super) struct Planned<K> {
    pub kernel: K,
    pub output: &'static str,
    pub format: Format,
    pub shape: Vec<usize>,
    /// One line about the rule and these shapes, for people.
    pub about: String,
}
