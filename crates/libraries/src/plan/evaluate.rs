//! A plan, run by straight loops: it defines a plan's meaning, and schedules are tested against it.

use std::ops::Range;

use super::{Kept, Plan, Slice, Start, Traversal};
use crate::num::Format;

/// The arithmetic that a plan is run with.
pub trait Arithmetic {
    /// A sum in f32.
    type Number: Clone;

    fn zero(&self) -> Self::Number;
    /// One instruction: the products of these k, the rest zeros, added to an accumulator.
    fn instruction(&self, accumulator: Self::Number, k: Range<usize>) -> Self::Number;
    /// An addition in f32.
    fn add(&self, a: Self::Number, b: Self::Number) -> Self::Number;
    /// Rounded to this format, and back; none is D's.
    fn rounded(&self, sum: Self::Number, format: Option<Format>) -> Self::Number;
}

impl Plan {
    /// The finished sum, before scales and the conversion to D's format.
    pub fn evaluate<A: Arithmetic>(&self, arithmetic: &A) -> A::Number {
        let kept = self.merge.kept;
        let partial = |i: usize| {
            let sum = slice(&self.slices[i], arithmetic);
            match kept {
                Kept::Result => arithmetic.rounded(sum, None),
                Kept::As(format) => arithmetic.rounded(sum, Some(format)),
                Kept::Running if i == 0 => arithmetic.rounded(sum, None),
                Kept::F32 | Kept::Running => sum,
            }
        };
        let add = |a, b| {
            let sum = arithmetic.add(a, b);
            match kept {
                Kept::Running => arithmetic.rounded(sum, None),
                _ => sum,
            }
        };
        let order = self.merge.order.sum(self.slices.len());
        order.fold(&arithmetic.zero(), &partial, &add)
    }
}

fn slice<A: Arithmetic>(slice: &Slice, arithmetic: &A) -> A::Number {
    slice.join.fold(
        &arithmetic.zero(),
        &|lane| traversal(&slice.lanes[lane], arithmetic),
        &|a, b| arithmetic.add(a, b),
    )
}

fn traversal<A: Arithmetic>(traversal: &Traversal, arithmetic: &A) -> A::Number {
    let chain = |groups: Vec<Range<usize>>| {
        let groups = groups.into_iter();
        groups.fold(arithmetic.zero(), |sum, k| arithmetic.instruction(sum, k))
    };
    let sums = traversal.chains().into_iter().map(chain);
    let add = |a, b| arithmetic.add(a, b);
    match traversal.restart.map(|restart| restart.from) {
        Some(Start::Zero) => sums.fold(arithmetic.zero(), add),
        Some(Start::First) | None => sums.reduce(add).unwrap_or_else(|| arithmetic.zero()),
    }
}
