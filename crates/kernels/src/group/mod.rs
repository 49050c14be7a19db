//! The kernel for fused dot-adds: terms aligned to a common grid, added as integers, rounded once.
//!
//! * [`plan`]: which constants it can take, and what it makes of them.
//! * [`pack`]: operands as floats and small exponents, with the range they span.
//! * [`tile`]: what a kernel gets.
//! * [`kernel`]: the arithmetic; its header explains why it is exact. [`align`]: its products. [`down`]: the same as a chain
//!   of FMAs that round down.
//! * `fused`: which of these loops runs a tile.
//! * [`floor`]: the same products with the end of CDNA 3; [`sticky`]: with that of Vortex.

mod align;
mod down;
mod floor;
mod fused;
mod kernel;
mod pack;
mod plan;
pub(super) mod sticky;
#[cfg(test)]
mod tests;
mod tile;

use std::ops::Range;

pub use floor::{FloorPlan, FloorStep};
pub use plan::{DotAdd, GroupPlan};
pub(super) use sticky::Ending;
pub use sticky::{StickyPlan, StickyStep};

use self::pack::{PackedA, Panel, ROWS, StripB, pack_a};
use self::tile::{Fused, RunTile, Tile};
use super::platform::Platform;
use super::tile::{MicroKernel, Operand, SpecialRule, StepFallback};
use super::vector::ACROSS;
use tcverify_num::{Format, Rounding, convert_exact, round_code};

/// The k of a panel: a strip of B of that depth stays close to the first-level cache, and accumulators
/// are read and written half as often as with half of it.
const DEPTH: usize = 256;

/// The k of a panel for few rows, so that rows of B are read in the order of the memory.
const SHALLOW: usize = 128;

/// The kernel of a plan, with the vectors of a platform.
pub struct GroupKernel<P> {
    pub plan: P,
    pub platform: Platform,
}

impl<P: Fused> MicroKernel for GroupKernel<P> {
    /// The bits of the f32 that means what an accumulator's code means.
    type State = i32;
    type Panel = Panel;
    type A = PackedA;
    type B = StripB;

    fn tile(&self) -> (usize, usize) {
        (ROWS, ACROSS * self.platform.lanes())
    }

    fn depth(&self) -> usize {
        DEPTH.next_multiple_of(self.plan.products().span())
    }

    fn shallow(&self) -> usize {
        SHALLOW.next_multiple_of(self.plan.products().span())
    }

    fn specials(&self) -> SpecialRule {
        self.plan.specials()
    }

    fn start(&self, code: u64) -> i32 {
        let format = self.plan.products().accumulator;
        if format == Format::Fp32 {
            return code as u32 as i32;
        }
        let state = convert_exact(format, code, Format::Fp32);
        state.expect("an f32 holds every accumulator of a plan") as u32 as i32
    }

    fn finish(&self, state: i32) -> Option<u64> {
        let GroupPlan {
            accumulator: to,
            nan,
            ..
        } = *self.plan.products();
        let code = u64::from(state as u32);
        Some(match to {
            Format::Fp32 if (state & i32::MAX) <= 0x7f80_0000 => code,
            Format::Fp16 => half_code(state).unwrap_or(nan),
            _ => round_code(Format::Fp32, code, to, Rounding::TowardZero, nan),
        })
    }

    /// Specials count as zeros on the way, and sums of integers are not NaNs.
    #[inline(always)]
    fn as_f32(state: i32) -> Option<u32> {
        Some(state as u32)
    }

    fn knows_zeros(&self) -> bool {
        !self.plan.products().minus_zero
    }

    fn panel(&self, k: Range<usize>) -> Panel {
        Panel::new(self.plan.products(), k.start, k.len())
    }

    fn pack_a(&self, panel: &Panel, operand: Operand, rows: Range<usize>) -> PackedA {
        pack_a(self.platform, self.plan.products(), operand, rows, panel)
    }

    fn room(&self) -> StripB {
        StripB::new(self.tile().1)
    }

    fn pack_b(&self, panel: &Panel, operand: Operand, columns: Range<usize>, b: &mut StripB) {
        b.fill(self.platform, self.plan.products(), operand, columns, panel);
    }

    fn run(
        &self,
        panel: &Panel,
        a: &PackedA,
        strip: usize,
        b: &StripB,
        state: &mut [i32],
        _: &dyn StepFallback,
    ) -> bool {
        let plan = &self.plan;
        if !plan.suits(a.ranges[strip], b.range, panel.padded()) {
            return false;
        }
        let mut tile = tile_of(self.platform, plan.products(), panel, a, strip, b, state);
        let mut run = RunTile {
            plan,
            tile: &mut tile,
        };
        let done = run.tile.nudged.is_some() && self.platform.fma_down(&mut run) == Some(true);
        done || self.platform.vectorized(run)
    }
}

/// What the kernel needs of a strip of rows and one of columns.
fn tile_of<'a>(
    platform: Platform,
    plan: &'a GroupPlan,
    panel: &Panel,
    a: &'a PackedA,
    strip: usize,
    b: &'a StripB,
    state: &'a mut [i32],
) -> Tile<'a> {
    let span = panel.padded() * ROWS;
    let nudged = a.nudged.get(strip).and_then(Option::as_ref);
    let nudged = nudged.zip(nudged.and_then(|_| b.nudged(platform, plan)));
    Tile {
        plan,
        checked: a.heavy[strip],
        groups: panel.padded() / plan.group,
        rows: a.rows(strip),
        a: &a.values[strip * span..][..span],
        fields: &a.fields[strip * span..][..span],
        row_shifts: &a.shifts[strip * ROWS..][..ROWS],
        b: &b.values,
        gaps: &b.gaps,
        column_shifts: &b.shifts,
        state,
        nudged,
    }
}

/// The FP16 code of an f32 that is one, or none for a NaN.
fn half_code(state: i32) -> Option<u64> {
    let magnitude = state & i32::MAX;
    let code = match magnitude >> 23 {
        // Multiples of the smallest subnormal.
        ..113 => (f32::from_bits(magnitude as u32) * 16_777_216.0) as u64,
        113..143 => (magnitude >> 13) as u64 - (112 << 10),
        _ if magnitude == 0x7f80_0000 => 0x7c00,
        _ => return None,
    };
    Some(code | if state < 0 { 0x8000 } else { 0 })
}

#[cfg(test)]
#[test]
fn half_codes_mean_what_they_meant() {
    for code in (0..=0x7c00).chain(0x8000..=0xfc00) {
        let state = convert_exact(Format::Fp16, code, Format::Fp32).expect("an f32 holds it");
        assert_eq!(half_code(state as u32 as i32), Some(code));
    }
    assert_eq!(half_code(0x7fc0_0000), None);
}
