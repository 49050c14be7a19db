//! The kernel for fused dot-adds: terms aligned to a common grid, added as integers, rounded once.
//!
//! * [`plan`]: which constants it can take, and what it makes of them.
//! * [`pack`]: operands as floats and small exponents, with the range they span.
//! * [`kernel`]: the arithmetic; its header explains why it is exact.
//! * [`floor`]: the same products with the end of CDNA 3.

mod floor;
mod kernel;
mod pack;
mod plan;
pub mod selftest;

use std::ops::Range;

pub use floor::{FloorKernel, FloorPlan, FloorStep};
pub use plan::{DotAdd, GroupPlan};

use self::kernel::Tile;
use self::pack::{PackedA, Panel, ROWS, StripB, pack_a};
use super::platform::{Platform, Vectorized};
use super::tile::{Operand, SpecialRule, StepFallback, TileKernel};
use super::vector::{ACROSS, Vector};
use crate::num::{Format, Rounding, convert_exact, round_code};

/// The k of a panel: a strip of B of that depth stays in the first-level cache or close to it.
const DEPTH: usize = 128;

/// The kernel of a plan, with the vectors of a platform.
pub struct GroupKernel {
    pub plan: GroupPlan,
    pub platform: Platform,
}

impl TileKernel for GroupKernel {
    /// The bits of the f32 that means what an accumulator's code means.
    type State = i32;
    type Panel = Panel;
    type A = PackedA;
    type B = StripB;

    fn tile(&self) -> (usize, usize) {
        (ROWS, ACROSS * self.platform.lanes())
    }

    fn depth(&self) -> usize {
        DEPTH.next_multiple_of(self.plan.span())
    }

    fn specials(&self) -> SpecialRule {
        SpecialRule::Zeros { nan: self.plan.nan }
    }

    fn start(&self, code: u64) -> i32 {
        if self.plan.accumulator == Format::Fp32 {
            return code as u32 as i32;
        }
        let state = convert_exact(self.plan.accumulator, code, Format::Fp32);
        state.expect("an f32 holds every accumulator of a plan") as u32 as i32
    }

    fn finish(&self, state: i32) -> Option<u64> {
        let (to, nan) = (self.plan.accumulator, self.plan.nan);
        let code = u64::from(state as u32);
        Some(match to {
            Format::Fp32 if (state & i32::MAX) <= 0x7f80_0000 => code,
            Format::Fp16 => half_code(state).unwrap_or(nan),
            _ => round_code(Format::Fp32, code, to, Rounding::TowardZero, nan),
        })
    }

    fn panel(&self, k: Range<usize>) -> Panel {
        Panel::new(&self.plan, k.start, k.len())
    }

    fn pack_a(&self, panel: &Panel, operand: Operand, rows: Range<usize>) -> PackedA {
        pack_a(
            self.platform,
            &self.plan,
            operand,
            rows.start,
            rows.len(),
            panel,
        )
    }

    fn room(&self) -> StripB {
        StripB::new(self.tile().1)
    }

    fn pack_b(&self, panel: &Panel, operand: Operand, columns: Range<usize>, b: &mut StripB) {
        let (first, count) = (columns.start, columns.len());
        b.fill(self.platform, &self.plan, operand, first, count, panel);
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
        let mut tile = tile_of(plan, panel, a, strip, b, state);
        a.ranges[strip].suits(b.range, plan, panel.padded())
            && self.platform.vectorized(RunTile(&mut tile))
    }
}

/// What the kernel needs of a strip of rows and one of columns.
fn tile_of<'a>(
    plan: &'a GroupPlan,
    panel: &Panel,
    a: &'a PackedA,
    strip: usize,
    b: &'a StripB,
    state: &'a mut [i32],
) -> Tile<'a> {
    let span = panel.padded() * ROWS;
    Tile {
        plan,
        checked: a.heavy[strip],
        groups: panel.padded() / plan.group,
        a: &a.values[strip * span..][..span],
        fields: &a.fields[strip * span..][..span],
        row_shifts: &a.shifts[strip * ROWS..][..ROWS],
        b: &b.values,
        gaps: &b.gaps,
        column_shifts: &b.shifts,
        state,
    }
}

/// A tile, for the vectors of a platform.
struct RunTile<'t, 'a>(&'t mut Tile<'a>);

impl Vectorized for RunTile<'_, '_> {
    type Output = bool;

    #[inline(always)]
    unsafe fn run<V: Vector>(self) -> bool {
        // SAFETY: the same promise.
        unsafe { kernel::run::<V>(self.0) }
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
