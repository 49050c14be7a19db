//! Whether two plans are the same sum, whatever text they were planned from.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;

use super::{Arithmetic, Plan, Traversal};
use crate::IfKnown as _;
use crate::KernelError;
use crate::num::Format;

/// Most instructions of a sum that is written out.
const MAX_INSTRUCTIONS: usize = 1 << 22;

/// A sum by what it is made of; sums are numbered, so that equal numbers are equal sums.
#[derive(PartialEq, Eq, Hash)]
enum Node {
    Zero,
    /// By an instruction that adds the products of these k.
    Instruction(usize, Range<usize>),
    Add(usize, usize),
    /// None is D's format where it is not known.
    Rounded(usize, Option<Format>),
}

/// Numbers the sums of one plan, together with those of another.
struct Numbering<'a> {
    known: &'a RefCell<HashMap<Node, usize>>,
    /// D's format.
    result: Option<Format>,
}

impl Numbering<'_> {
    fn number(&self, node: Node) -> usize {
        let mut known = self.known.borrow_mut();
        let next = known.len();
        *known.entry(node).or_insert(next)
    }
}

impl Arithmetic for Numbering<'_> {
    type Number = usize;

    fn zero(&self) -> usize {
        self.number(Node::Zero)
    }

    fn instruction(&self, accumulator: usize, k: Range<usize>) -> usize {
        self.number(Node::Instruction(accumulator, k))
    }

    fn add(&self, a: usize, b: usize) -> usize {
        self.number(Node::Add(a, b))
    }

    fn rounded(&self, sum: usize, format: Option<Format>) -> usize {
        self.number(Node::Rounded(sum, format.or(self.result)))
    }
}

impl Plan {
    /// Whether the same products are added by the same instructions in the same order, with the same intermediate
    /// rounding. Not whether instructions of two names compute alike.
    ///
    /// # Errors
    /// If a sum is too long to be written out.
    pub fn is_equivalent_to(&self, other: &Plan) -> Result<bool, KernelError> {
        if self.order.is_some() || other.order.is_some() {
            return Ok(self.order == other.order);
        }
        let known = RefCell::default();
        let number = |plan: &Plan| {
            let instructions = |lane: &Traversal| lane.len().div_ceil(lane.instruction_k);
            let count: usize = plan.lanes().map(instructions).sum();
            if count > MAX_INSTRUCTIONS {
                return Err(KernelError::TooLarge {
                    shape: plan.shape,
                    sums: count,
                    most: MAX_INSTRUCTIONS,
                });
            }
            Ok(plan.evaluate(&Numbering {
                known: &known,
                result: plan.settings.result.value(),
            }))
        };
        Ok(number(self)? == number(other)?)
    }
}
