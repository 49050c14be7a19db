//! Whether two plans are one sum, whatever words they were planned from.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;

use super::{Arithmetic, Plan, Traversal};
use crate::kernel::IfSaid as _;
use crate::kernel::KernelError;
use crate::num::Format;

/// Most instructions of a sum that is written out.
const MAX_INSTRUCTIONS: usize = 1 << 22;

/// Sums by what they are made of: one number is one sum.
#[derive(Default)]
struct Sums(RefCell<HashMap<Made, usize>>);

#[derive(PartialEq, Eq, Hash)]
enum Made {
    Zero,
    /// By an instruction that adds the products of these k.
    Instruction(usize, Range<usize>),
    Add(usize, usize),
    /// None is D's format, of which nobody said which it is.
    Rounded(usize, Option<Format>),
}

struct Of<'a> {
    sums: &'a Sums,
    result: Option<Format>,
}

impl Of<'_> {
    fn number(&self, made: Made) -> usize {
        let mut known = self.sums.0.borrow_mut();
        let next = known.len();
        *known.entry(made).or_insert(next)
    }
}

impl Arithmetic for Of<'_> {
    type Number = usize;

    fn zero(&self) -> usize {
        self.number(Made::Zero)
    }

    fn instruction(&self, accumulator: usize, k: Range<usize>) -> usize {
        self.number(Made::Instruction(accumulator, k))
    }

    fn add(&self, a: usize, b: usize) -> usize {
        self.number(Made::Add(a, b))
    }

    fn rounded(&self, sum: usize, format: Option<Format>) -> usize {
        self.number(Made::Rounded(sum, format.or(self.result)))
    }
}

impl Plan {
    /// Whether the same products are added by the same instructions in the same order, and rounded alike on the
    /// way. Not whether instructions of two names compute alike.
    ///
    /// # Errors
    /// If a sum is too long to be written out.
    pub fn is_one_sum_with(&self, other: &Plan) -> Result<bool, KernelError> {
        let sums = Sums::default();
        let of = |plan: &Plan| {
            let instructions = |lane: &Traversal| lane.len().div_ceil(lane.instruction_k);
            let count: usize = plan.lanes().map(instructions).sum();
            if count > MAX_INSTRUCTIONS {
                return Err(KernelError::TooLarge {
                    shape: plan.shape,
                    sums: count,
                    most: MAX_INSTRUCTIONS,
                });
            }
            let result = plan.settings.result.value();
            Ok(plan.evaluate(&Of {
                sums: &sums,
                result,
            }))
        };
        Ok(of(self)? == of(other)?)
    }
}
