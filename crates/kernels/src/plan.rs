//! Which vector kernel computes a model, with its constants: plain data, which a step gives.

use super::blocks::BlockPlan;
use super::chain::ChainPlan;
use super::group::{FloorPlan, GroupPlan, StickyPlan};
use super::half::HalfPlan;
use super::integers::IntegerPlan;
use super::lanes::LanePlan;
use super::pairs::PairsPlan;
use super::slices::SlicePlan;
use super::sums::SumPlan;

/// The vector kernel for a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Fused dot-adds: aligned, truncated, added as integers.
    Group(GroupPlan),
    /// The same, floored beside C (CDNA 3).
    Floor(FloorPlan),
    /// The same with a sticky bit, rounded to nearest (Vortex).
    Sticky(StickyPlan),
    /// The same for two or four products a lane (Vortex FP8 and FP4).
    Lanes(LanePlan),
    /// Block-scaled FP4.
    Block(BlockPlan),
    /// FP32 sums cut to FP16 (GPGPU-Sim).
    Half(HalfPlan),
    /// IEEE fused multiply-adds.
    Chain(ChainPlan),
    /// IEEE sums in pairs, with flushing.
    Pairs(PairsPlan),
    /// Exact sums, rounded once.
    Sum(SumPlan),
    Integers(IntegerPlan),
    /// Slices of significands, rounded after sixteen products (Tenstorrent).
    Slices(SlicePlan),
}
