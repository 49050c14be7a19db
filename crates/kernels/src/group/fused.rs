//! Which loop runs a tile of fused dot-adds: floats and integers, or FMAs that round down.

use super::pack::Exponents;
use super::plan::GroupPlan;
use super::tile::{Fused, Tile};
use super::{down, kernel};
use crate::vector::{FmaDown, Vector};

impl Fused for GroupPlan {
    fn products(&self) -> &GroupPlan {
        self
    }

    fn suits(&self, a: Exponents, b: Exponents, k: usize) -> bool {
        a.suits(b, self, k)
    }

    #[inline(always)]
    unsafe fn run<V: Vector>(&self, tile: &mut Tile) -> bool {
        // SAFETY: the same promise.
        unsafe { kernel::run::<V>(tile) }
    }

    #[inline(always)]
    unsafe fn run_down<V: FmaDown>(&self, tile: &mut Tile) -> bool {
        // SAFETY: the same promise.
        unsafe { down::run::<V>(tile) }
    }
}
