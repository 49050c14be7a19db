//! The kernel for fused dot-adds: terms aligned to a common grid, added as integers, rounded once.
//!
//! * [`plan`]: which constants it can take, and what it makes of them.
//! * [`pack`]: operands as floats and small exponents, with the range they span.
//! * [`kernel`]: the arithmetic; its header explains why it is exact. [`align`]: its products.
//! * [`floor`]: the same products with the end of CDNA 3; [`sticky`]: with that of Vortex.

mod align;
mod floor;
mod kernel;
mod pack;
mod plan;
pub mod selftest;
pub(super) mod sticky;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub use floor::{FloorPlan, FloorStep};
pub use plan::{DotAdd, GroupPlan};
pub(super) use sticky::Ending;
pub use sticky::{StickyPlan, StickyStep};

use self::kernel::{Half2Tile, Tile};
use self::pack::{PackedA, Panel, ROWS, StripB, pack_a};
use super::platform::{Platform, Vectorized, WithHalf2};
use super::tile::{Operand, SpecialRule, StepFallback, TileKernel};
use super::vector::{ACROSS, Half2, Vector};
use tcverify_num::{Format, Rounding, convert_exact, round_code};

/// The k of a panel: a strip of B of that depth stays close to the first-level cache, and accumulators
/// are read and written half as often as with half of it.
const DEPTH: usize = 256;

/// The same for few rows, so that rows of B are read in the order of the memory.
const SHALLOW: usize = 128;

/// A plan of aligned products: kernels differ in what becomes of their sum.
pub trait Fused: Sync {
    fn products(&self) -> &GroupPlan;

    fn specials(&self) -> SpecialRule {
        let nan = self.products().nan;
        SpecialRule::Zeros { nan }
    }

    /// Whether the arithmetic is exact for strips whose numbers span so much, over `k`.
    fn suits(&self, a: pack::Range, b: pack::Range, k: usize) -> bool;

    /// Runs a tile. False if a precondition failed; then the state is as it was.
    ///
    /// # Safety
    /// The machine must have the features that `V` needs.
    unsafe fn run<V: Vector>(&self, tile: &mut Tile) -> bool;

    /// The same with two products a lane. False as well if the plan has no such products.
    ///
    /// # Safety
    /// The machine must have the features that `V` needs.
    #[inline(always)]
    unsafe fn run_half2<V: Half2>(&self, _: &mut Tile) -> bool {
        false
    }
}

/// The kernel of a plan, with the vectors of a platform.
pub struct GroupKernel<P> {
    pub plan: P,
    pub platform: Platform,
}

impl<P: Fused> TileKernel for GroupKernel<P> {
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
        pack_a(
            self.platform,
            self.plan.products(),
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
        b.fill(
            self.platform,
            self.plan.products(),
            operand,
            first,
            count,
            panel,
        );
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
        let mut tile = tile_of(plan.products(), panel, a, strip, b, state);
        if !plan.suits(a.ranges[strip], b.range, panel.padded()) {
            return false;
        }
        let mut run = RunTile {
            plan,
            tile: &mut tile,
        };
        let done = run.tile.half2.is_some() && self.platform.half2(&mut run) == Some(true);
        done || self.platform.vectorized(run)
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
        rows: a.rows(strip),
        a: &a.values[strip * span..][..span],
        fields: &a.fields[strip * span..][..span],
        row_shifts: &a.shifts[strip * ROWS..][..ROWS],
        b: &b.values,
        gaps: &b.gaps,
        column_shifts: &b.shifts,
        state,
        half2: a.half2_lifts[strip]
            .zip(b.half2_lift)
            .map(|(one, other)| Half2Tile {
                a: &a.half2[strip * span / 2..][..span / 2],
                b: &b.half2,
                lift: one + other,
            }),
    }
}

/// So that a register of it is in one cache line.
#[repr(align(64))]
pub(super) struct Aligned<T>(pub T);

/// A tile, for the vectors of a platform.
struct RunTile<'t, 'a, P> {
    plan: &'t P,
    tile: &'t mut Tile<'a>,
}

impl<P: Fused> Vectorized for RunTile<'_, '_, P> {
    type Output = bool;

    #[inline(always)]
    unsafe fn run<V: Vector>(self) -> bool {
        // SAFETY: the same promise.
        unsafe { self.plan.run::<V>(self.tile) }
    }
}

impl<P: Fused> WithHalf2 for &mut RunTile<'_, '_, P> {
    type Output = bool;

    #[inline(always)]
    unsafe fn run<V: Half2>(self) -> bool {
        // SAFETY: the same promise.
        unsafe { self.plan.run_half2::<V>(self.tile) }
    }
}

impl Fused for GroupPlan {
    fn products(&self) -> &GroupPlan {
        self
    }

    fn suits(&self, a: pack::Range, b: pack::Range, k: usize) -> bool {
        a.suits(b, self, k)
    }

    #[inline(always)]
    unsafe fn run<V: Vector>(&self, tile: &mut Tile) -> bool {
        // SAFETY: the same promise.
        unsafe { kernel::run::<V>(tile) }
    }

    #[inline(always)]
    unsafe fn run_half2<V: Half2>(&self, tile: &mut Tile) -> bool {
        // SAFETY: the same promise.
        unsafe { kernel::run_half2::<V>(tile) }
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
