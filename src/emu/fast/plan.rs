//! Which vector kernel computes a model, with its constants: plain data, which a step gives.

use super::chain::ChainPlan;
use super::group::GroupPlan;
use super::integers::IntegerPlan;
use super::pairs::PairsPlan;
use super::sums::SumPlan;

/// The vector kernel for a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Fused dot-adds: aligned, truncated, added as integers.
    Group(GroupPlan),
    /// IEEE fused multiply-adds.
    Chain(ChainPlan),
    /// IEEE sums in pairs, with flushing.
    Pairs(PairsPlan),
    /// Exact sums, rounded once.
    Sum(SumPlan),
    Integers(IntegerPlan),
}
