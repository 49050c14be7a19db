//! Which vector kernel computes a model, with its constants: plain data, which a step gives.

use super::blocks::{BlockKernel, BlockPlan};
use super::chain::{Chain, ChainPlan};
use super::dense::DenseKernel;
use super::double_sums::DoubleDot;
use super::few::FewPlan;
use super::group::{FloorPlan, GroupKernel, GroupPlan, StickyPlan};
use super::half::HalfPlan;
use super::integers::{IntegerKernel, IntegerPlan};
use super::lanes::{LaneKernel, LanePlan};
use super::ordered::OrderedPlan;
use super::pairs::PairsPlan;
use super::platform::Platform;
use super::rounded::{Rounded, RoundedPlan};
use super::slices::{SliceKernel, SlicePlan};
use super::sums::{Dot, Sum, SumPlan};
use super::tile::MicroKernel;
use tcverify_num::Format;

/// The vector kernel for a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelConfig {
    /// Fused dot-adds: aligned, truncated, added as integers.
    Group(GroupPlan),
    /// Fused dot-adds, floored beside C (CDNA 3).
    Floor(FloorPlan),
    /// Fused dot-adds with a sticky bit, rounded to nearest (Vortex).
    Sticky(StickyPlan),
    /// Fused dot-adds of two or four products a lane (Vortex FP8 and FP4).
    Lanes(LanePlan),
    /// Block-scaled FP4.
    Block(BlockPlan),
    /// FP32 sums cut to FP16 (GPGPU-Sim).
    Half(HalfPlan),
    /// IEEE fused multiply-adds.
    Chain(ChainPlan),
    /// IEEE sums in pairs, with flushing.
    Pairs(PairsPlan),
    /// Rounded products and sums (Arm).
    Rounded(RoundedPlan),
    /// IEEE fused multiply-adds in an order of their own (processors).
    Ordered(OrderedPlan),
    /// A few products at a time, cut to a grid (RDNA).
    Few(FewPlan),
    /// Exact sums, rounded once.
    Sum(SumPlan),
    Integers(IntegerPlan),
    /// Slices of significands, rounded after sixteen products (Tenstorrent).
    Slices(SlicePlan),
}

/// Work that is generic over the kernel of a plan.
pub trait WithKernel {
    type Out;

    fn with<K: MicroKernel>(self, kernel: &K) -> Self::Out;
}

/// Does work with the kernel of a plan.
pub fn with_kernel<W: WithKernel>((plan, platform): (KernelConfig, Platform), work: W) -> W::Out {
    match plan {
        KernelConfig::Group(plan) => work.with(&GroupKernel { plan, platform }),
        KernelConfig::Floor(plan) => work.with(&GroupKernel { plan, platform }),
        KernelConfig::Sticky(plan) => work.with(&GroupKernel { plan, platform }),
        KernelConfig::Lanes(plan) => work.with(&LaneKernel { plan, platform }),
        KernelConfig::Block(plan) => work.with(&BlockKernel::new(plan, platform)),
        KernelConfig::Half(plan) => work.with(&DenseKernel { plan, platform }),
        KernelConfig::Chain(plan) if plan.accumulator == Format::Fp64 => {
            let plan = Chain::<f64>::new(plan);
            work.with(&DenseKernel { plan, platform })
        }
        KernelConfig::Chain(plan) => {
            let plan = Chain::<f32>::new(plan);
            work.with(&DenseKernel { plan, platform })
        }
        KernelConfig::Pairs(plan) => work.with(&DenseKernel { plan, platform }),
        KernelConfig::Rounded(plan) if plan.accumulator == Format::Fp64 => {
            let plan = Rounded::<f64>::new(plan);
            work.with(&DenseKernel { plan, platform })
        }
        KernelConfig::Rounded(plan) => {
            let plan = Rounded::<f32>::new(plan);
            work.with(&DenseKernel { plan, platform })
        }
        KernelConfig::Ordered(plan) => work.with(&DenseKernel { plan, platform }),
        KernelConfig::Few(plan) => work.with(&DenseKernel { plan, platform }),
        KernelConfig::Sum(plan) => match plan.group {
            Some(group) => {
                let plan = Sum { plan, group };
                work.with(&DenseKernel { plan, platform })
            }
            None if plan.accumulator == Format::Fp64 => {
                let plan = DoubleDot { plan };
                work.with(&DenseKernel { plan, platform })
            }
            None => {
                let plan = Dot { plan };
                work.with(&DenseKernel { plan, platform })
            }
        },
        KernelConfig::Integers(plan) => work.with(&IntegerKernel { plan, platform }),
        KernelConfig::Slices(plan) if plan.blocks.is_some_and(|blocks| blocks.added) => {
            work.with(&SliceKernel::<[i32; 3]>::new(plan, platform))
        }
        KernelConfig::Slices(plan) => work.with(&SliceKernel::<i32>::new(plan, platform)),
    }
}
