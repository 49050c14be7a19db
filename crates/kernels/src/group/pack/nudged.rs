//! Packed operands once more, for chains of FMAs that round down (see `group/down`).

use crate::group::plan::{GroupPlan, ZERO};
use crate::platform::{Platform, WithFmaDown};
use crate::vector::FmaDown;
use tcverify_num::Format;

/// Positions of a strip, none of them zero. `E` holds an exponent, of an operand at its own scale: a signed byte, or the
/// four of a splat.
#[derive(Debug)]
pub struct Nudged<E> {
    /// `[position][line]`
    pub values: Vec<f32>,
    /// `[position][line]`
    pub exponents: Vec<E>,
    /// `[group][line]`: the sign of every position is a bit.
    pub signs: Vec<u32>,
}

impl Nudged<u32> {
    /// Rows of A, of so many floats a position. None if the plan or the machine has no such chains.
    pub fn rows(
        platform: Platform,
        plan: &GroupPlan,
        values: &[f32],
        line: usize,
    ) -> Option<Nudged<u32>> {
        plan.nudge?;
        platform.fma_down(Pack {
            values,
            line,
            group: plan.group,
            format: plan.a,
            moved: plan.down(),
            factor: 1.0,
            exponent: |e| splat(e),
        })
    }
}

impl Nudged<u8> {
    /// Columns of B, of so many floats a position. None if the plan or the machine has no such chains.
    pub fn columns(
        platform: Platform,
        plan: &GroupPlan,
        values: &[f32],
        line: usize,
    ) -> Option<Nudged<u8>> {
        let nudge = plan.nudge?;
        platform.fma_down(Pack {
            values,
            line,
            group: plan.group,
            format: plan.b,
            moved: 0,
            factor: 1.0 + 0.5f32.powi(nudge),
            exponent: |e| e as u8,
        })
    }
}

/// The low byte, in all four.
pub fn splat(byte: i32) -> u32 {
    u32::from(byte as u8) * 0x0101_0101
}

struct Pack<'a, X> {
    values: &'a [f32],
    line: usize,
    group: usize,
    format: Format,
    /// How many binades the values were moved down.
    moved: i32,
    factor: f32,
    exponent: X,
}

impl<E, X: Fn(i32) -> E> WithFmaDown for Pack<'_, X> {
    type Output = Nudged<E>;

    /// Plain Rust: compilers make vectors of it.
    #[inline(always)]
    unsafe fn run<V: FmaDown>(self) -> Nudged<E> {
        let Pack { factor, moved, .. } = self;
        let least = self.format.min_exponent();
        let number = |&value: &f32| {
            let bits = value.to_bits();
            // A zero becomes the smallest normal number, of its sign.
            let tiny = if bits << 1 == 0 {
                f32::MIN_POSITIVE.to_bits()
            } else {
                0
            };
            f32::from_bits((value * factor).to_bits() | tiny)
        };
        let exponent = |value: &f32| {
            let field = (value.to_bits() << 1 >> 24) as i32;
            let e = if field == 0 {
                ZERO
            } else {
                (field - 127 + moved).max(least)
            };
            (self.exponent)(e)
        };
        let mut signs = vec![0u32; self.values.len() / self.group];
        let groups = self.values.chunks_exact(self.group * self.line);
        for (group, signs) in groups.zip(signs.chunks_exact_mut(self.line)) {
            for (i, line) in group.chunks_exact(self.line).enumerate() {
                for (signs, value) in signs.iter_mut().zip(line) {
                    *signs |= value.to_bits() >> 31 << i;
                }
            }
        }
        Nudged {
            values: self.values.iter().map(number).collect(),
            exponents: self.values.iter().map(exponent).collect(),
            signs,
        }
    }
}
