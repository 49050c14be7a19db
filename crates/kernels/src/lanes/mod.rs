//! Vortex's FP8 and FP4: two or four products become a lane first, and the lanes are aligned, added and
//! rounded as products of other formats are (`super::group::sticky`).
//!
//! * [`plan`]: which constants the kernel takes.
//! * [`pack`]: operands as floats, beside them the exponents with which they compete.
//! * [`kernel`]: the arithmetic; its header explains why it is exact.

mod kernel;
mod pack;
mod plan;

use std::ops::Range;

pub use plan::{LanePlan, LaneRule, LaneStep};

use self::kernel::Tile;
use self::pack::{Lines, ROWS};
use super::platform::Platform;
use super::tile::{MicroKernel, Operand, Panel, SpecialRule, StepFallback};
use super::vector::ACROSS;

/// The k of a panel, at least: numbers and exponents of a strip of B take 64 KiB.
const DEPTH: usize = 128;

/// The kernel of a plan, with the vectors of a platform.
pub struct LaneKernel {
    pub plan: LanePlan,
    pub platform: Platform,
}

impl MicroKernel for LaneKernel {
    /// The bits of an FP32.
    type State = i32;
    type Panel = Panel;
    type A = Lines;
    type B = Lines;

    fn tile(&self) -> (usize, usize) {
        (ROWS, ACROSS * self.platform.lanes())
    }

    fn depth(&self) -> usize {
        DEPTH.next_multiple_of(self.plan.group())
    }

    fn specials(&self) -> SpecialRule {
        self.plan.specials
    }

    fn start(&self, code: u64) -> i32 {
        code as u32 as i32
    }

    fn finish(&self, state: i32) -> Option<u64> {
        Some(u64::from(state as u32))
    }

    #[inline(always)]
    fn as_f32(state: i32) -> Option<u32> {
        Some(state as u32)
    }

    fn panel(&self, k: Range<usize>) -> Panel {
        Panel::filled(k, self.plan.group())
    }

    fn pack_a(&self, panel: &Panel, operand: Operand, rows: Range<usize>) -> Lines {
        pack::pack_a(self.platform, &self.plan, panel, operand, rows)
    }

    fn room(&self) -> Lines {
        Lines::default()
    }

    fn pack_b(&self, panel: &Panel, operand: Operand, columns: Range<usize>, b: &mut Lines) {
        let wide = self.tile().1;
        pack::pack_b(self.platform, &self.plan, panel, operand, columns, wide, b);
    }

    fn run(
        &self,
        panel: &Panel,
        a: &Lines,
        strip: usize,
        b: &Lines,
        state: &mut [i32],
        _: &dyn StepFallback,
    ) -> bool {
        let plan = &self.plan;
        if !plan.suits(a.scales_span[strip], b.scales_span[0]) {
            return false;
        }
        let size = panel.padded * ROWS;
        let lanes = size / plan.together();
        let rows = (a.special.len() - strip * ROWS).min(ROWS);
        self.platform.vectorized(Tile {
            plan,
            rows,
            positions: panel.padded,
            a: &a.values[strip * size..][..size],
            a_exponents: a.exponents.get(strip * size..).unwrap_or_default(),
            a_scales: a.scales.get(strip * lanes..).unwrap_or_default(),
            b,
            state,
        })
    }
}
