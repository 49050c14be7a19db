//! A tile, and what a plan of aligned products makes of one.

use super::pack::{Exponents, Nudged, ROWS};
use super::plan::GroupPlan;
use crate::platform::{Vectorized, WithFmaDown};
use crate::tile::SpecialRule;
use crate::vector::{ACROSS, FmaDown, Vector, WIDEST};

/// What the kernel needs of a tile. Strips hold `groups * plan.group` positions.
pub struct Tile<'a> {
    pub plan: &'a GroupPlan,
    /// Whether sums may leave 32 bits.
    pub checked: bool,
    pub groups: usize,
    /// Rows that are computed; what else there is only fills the tile up.
    pub rows: usize,
    /// `[position][ROWS]`
    pub a: &'a [f32],
    pub fields: &'a [u32],
    pub row_shifts: &'a [i32],
    /// `[position][columns]`
    pub b: &'a [f32],
    pub gaps: &'a [u8],
    pub column_shifts: &'a [i32],
    /// `[ROWS][columns]`: the values of the accumulators, as bits of an f32, before and after.
    pub state: &'a mut [i32],
    /// The operands for chains that round down.
    pub nudged: Option<(&'a Nudged<u32>, &'a Nudged<u8>)>,
}

/// Panics if a tile does not have the size that its plan and the vectors need.
#[inline(always)]
pub fn assert_lengths<V: Vector>(tile: &Tile) {
    let plan = tile.plan;
    const { assert!(ACROSS * V::LANES <= WIDEST, "buffers hold the widest strip") };
    let columns = ACROSS * V::LANES;
    let positions = tile.groups * plan.group;
    assert!(tile.a.len() == positions * ROWS && tile.fields.len() == positions * ROWS);
    assert!(tile.b.len() == positions * columns && tile.gaps.len() == positions * columns);
    assert!(tile.state.len() == ROWS * columns && (1..=ROWS).contains(&tile.rows));
    assert!(tile.row_shifts.len() == ROWS && tile.column_shifts.len() == columns);
    assert!(plan.group.is_multiple_of(plan.part));
}

/// A plan of aligned products: kernels differ in what becomes of their sum.
pub trait Fused: Sync {
    fn products(&self) -> &GroupPlan;

    fn specials(&self) -> SpecialRule {
        let nan = self.products().nan;
        SpecialRule::Zeros { nan }
    }

    /// Whether the arithmetic is exact for strips whose numbers span so much, over `k`.
    fn suits(&self, a: Exponents, b: Exponents, k: usize) -> bool;

    /// Runs a tile. False if a precondition failed; then the state is as it was.
    ///
    /// # Safety
    /// The machine must have the features that `V` needs.
    unsafe fn run<V: Vector>(&self, tile: &mut Tile) -> bool;

    /// Runs a tile by chains that round down. False also if the plan has none.
    ///
    /// # Safety
    /// The machine must have the features that `V` needs.
    #[inline(always)]
    unsafe fn run_down<V: FmaDown>(&self, _: &mut Tile) -> bool {
        false
    }
}

/// A tile, for the vectors of a platform.
pub struct RunTile<'t, 'a, P> {
    pub plan: &'t P,
    pub tile: &'t mut Tile<'a>,
}

impl<P: Fused> Vectorized for RunTile<'_, '_, P> {
    type Output = bool;

    #[inline(always)]
    unsafe fn run<V: Vector>(self) -> bool {
        // SAFETY: the same promise.
        unsafe { self.plan.run::<V>(self.tile) }
    }
}

impl<P: Fused> WithFmaDown for &mut RunTile<'_, '_, P> {
    type Output = bool;

    #[inline(always)]
    unsafe fn run<V: FmaDown>(self) -> bool {
        // SAFETY: the same promise.
        unsafe { self.plan.run_down::<V>(self.tile) }
    }
}
