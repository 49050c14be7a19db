//! Tenstorrent's matrix unit on integers: phases multiply some bits of the magnitudes, and sums saturate.
//!
//! The instruction is MVMUL of integers. `tile` and `phases` are as in `sliced`; `group` products are added to c at once. Phases 0 and 1 take A's
//! bits from `a_split` on, 2 and 3 those below. Even phases take B's bits from `b_split` on, odd ones those below. Slices stay in place. Sums
//! are exact, clamped to ±(2^31 - 1) after each group.
//!
//! *Example* (`a_split` 4, `b_split` 5, `phases` is `[0]`). 100 · 40 counts 96 · 32, and the result is 3072.

use serde::{Deserialize, Serialize};

use super::checks::{check_group, check_integers};
use super::kind::{Products, StepKind, ThroughMemory};
use super::sliced::{check_phases, listed};
use super::trace::TraceObserver;
use crate::num::{Format, Formats, Unpacked};

/// Constants of a sum of products of slices. This file begins with its rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SlicedIntegers {
    /// Products that are added to C at once.
    pub group: usize,
    /// Products that every phase goes over before the next one begins.
    pub tile: usize,
    /// The phases, in their order: 0 to 3.
    pub phases: Vec<u32>,
    /// The lowest bit of A's upper slice.
    pub a_split: u32,
    /// The lowest bit of B's upper slice.
    pub b_split: u32,
}

impl StepKind for SlicedIntegers {
    fn span(&self) -> usize {
        self.tile
    }

    fn add(&self, Products { a, b, .. }: Products, c: u64, _: &mut impl TraceObserver) -> u64 {
        let mut sum = Format::Int32.integer(c);
        for &phase in &self.phases {
            for first in (0..self.tile).step_by(self.group) {
                for k in first..a.len().min(first + self.group) {
                    sum += self.product(a[k], b[k], phase);
                }
                sum = self.close(sum);
            }
        }
        u64::from(sum as i32 as u32)
    }

    fn summary(&self) -> String {
        format!(
            "exact sums of {} products of integers and C, phase {} over {} products each, clamped to 31 bits and a sign",
            self.group,
            listed(&self.phases),
            self.tile
        )
    }

    fn check(&self, formats: Formats) -> Result<(), String> {
        check_group(self.group)?;
        if self.tile == 0 || self.tile > 1024 || !self.tile.is_multiple_of(self.group) {
            return Err("tile must be a multiple of group, at most 1024".into());
        }
        check_phases(&self.phases)?;
        if self.a_split > 8 || self.b_split > 8 {
            return Err("a_split and b_split must be at most 8".into());
        }
        check_integers(formats)
    }

    fn takes_integers(&self) -> bool {
        true
    }

    fn notices_zeros(&self, _: Formats) -> bool {
        false
    }

    fn through_memory(&self) -> ThroughMemory {
        ThroughMemory::Unknown
    }

    fn own_schedules(&self) -> Option<&'static [&'static str]> {
        Some(&[])
    }
}

impl SlicedIntegers {
    /// What a phase multiplies of two operands.
    pub fn product(&self, a: Unpacked, b: Unpacked, phase: u32) -> i64 {
        slice(a, self.a_split, phase >= 2) * slice(b, self.b_split, phase % 2 == 1)
    }

    /// Clamps a sum.
    pub fn close(&self, sum: i64) -> i64 {
        let most = i64::from(i32::MAX);
        sum.clamp(-most, most)
    }
}

/// An integer of some of the bits.
fn slice(x: Unpacked, split: u32, low: bool) -> i64 {
    let low_bits = (1u64 << split) - 1;
    let kept = if low {
        x.significand & low_bits
    } else {
        x.significand & !low_bits
    };
    if x.negative {
        -(kept as i64)
    } else {
        kept as i64
    }
}
