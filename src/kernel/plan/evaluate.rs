//! A plan, run by straight loops: what its schedule is tested against, and a plan's meaning in code.

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
    /// Rounded to D's format, and back.
    fn through_result(&self, sum: Self::Number) -> Self::Number;
    /// Rounded to this format, and back.
    fn through(&self, sum: Self::Number, format: Format) -> Self::Number;
}

impl Plan {
    /// The finished sum, before scales and the conversion to D's format.
    pub fn evaluate<A: Arithmetic>(&self, arithmetic: &A) -> A::Number {
        let kept = self.merge.kept;
        let mut partial = |i: usize| {
            let sum = slice(&self.slices[i], arithmetic);
            match kept {
                Kept::Result => arithmetic.through_result(sum),
                Kept::As(format) => arithmetic.through(sum, format),
                Kept::Running if i == 0 => arithmetic.through_result(sum),
                Kept::F32 | Kept::Running => sum,
            }
        };
        let mut add = |a, b| {
            let sum = arithmetic.add(a, b);
            match kept {
                Kept::Running => arithmetic.through_result(sum),
                _ => sum,
            }
        };
        let order = self.merge.order.sum(self.slices.len());
        order.fold(&arithmetic.zero(), &mut partial, &mut add)
    }
}

fn slice<A: Arithmetic>(slice: &Slice, arithmetic: &A) -> A::Number {
    slice.join.fold(
        &arithmetic.zero(),
        &mut |lane| traversal(&slice.lanes[lane], arithmetic),
        &mut |a, b| arithmetic.add(a, b),
    )
}

fn traversal<A: Arithmetic>(traversal: &Traversal, arithmetic: &A) -> A::Number {
    let chain = |groups: Vec<Range<usize>>| {
        let mut accumulator = arithmetic.zero();
        for k in groups {
            accumulator = arithmetic.instruction(accumulator, k);
        }
        accumulator
    };
    let from = traversal
        .restart
        .map_or(Start::First, |restart| restart.from);
    let mut total = match from {
        Start::Zero => Some(arithmetic.zero()),
        Start::First => None,
    };
    for groups in traversal.chains() {
        let sum = chain(groups);
        total = Some(match total {
            None => sum,
            Some(total) => arithmetic.add(total, sum),
        });
    }
    total.unwrap_or_else(|| arithmetic.zero())
}
