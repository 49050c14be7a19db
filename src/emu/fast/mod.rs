//! The same steps, fast: packing, cache blocking, tiles over all cores, vector kernels. Bit-identical
//! to the exact engine, to which every tile or step goes whose preconditions fail.
//!
//! * [`plan`]: the kernel that a model has, and its constants for one.
//! * [`driver`]: how a product becomes tiles; [`tile`]: what a kernel offers it.
//! * [`group`]: fused dot-adds; [`blocks`]: of FP4 with scales. [`chain`], [`pairs`], [`half`]: IEEE operations. [`sums`]: exact sums. [`integers`].
//! * [`vector`]: the instructions; [`platform`] chooses among them, [`detect`] after a self-test.
//! * [`special`]: infinities and NaNs, which most kernels take for zeros.

mod blocks;
mod chain;
mod context;
mod decode;
mod dense;
mod detect;
mod driver;
mod group;
mod half;
mod integers;
mod pairs;
mod plan;
mod platform;
mod real;
mod selftest;
mod special;
mod sums;
#[cfg(test)]
mod tests;
mod tile;
mod vector;

use std::sync::atomic::{AtomicU64, Ordering};

pub use blocks::{BlockPlan, BlockStep};
pub use chain::ChainPlan;
pub use group::{DotAdd, FloorPlan, FloorStep, GroupPlan};
pub use half::HalfPlan;
pub use integers::IntegerPlan;
pub use pairs::PairsPlan;
pub use plan::Plan;
pub use platform::Platform;
pub(in crate::emu) use platform::Wide;
pub use sums::SumPlan;

use self::context::Context;
use super::{Arithmetic, Problem, Progress};
use crate::num::Format;

/// Computes the rows of D from `first_row` on by the kernel of a plan, as the exact engine's `fill`.
/// Returns how many multiply-adds fell to the exact engine.
pub fn fill(
    problem: &Problem,
    arithmetic: &Arithmetic,
    (plan, platform): (Plan, Platform),
    first_row: usize,
    out: &mut [u64],
    progress: Progress,
) -> u64 {
    let fallback = AtomicU64::new(0);
    let context = Context {
        problem,
        arithmetic,
        fallback: &fallback,
        progress,
    };
    match plan {
        Plan::Group(plan) => {
            let kernel = group::GroupKernel { plan, platform };
            driver::fill(context, &kernel, first_row, out);
        }
        Plan::Floor(plan) => {
            let kernel = group::FloorKernel::new(plan, platform);
            driver::fill(context, &kernel, first_row, out);
        }
        Plan::Block(plan) => {
            let kernel = blocks::BlockKernel::new(plan, platform);
            driver::fill(context, &kernel, first_row, out);
        }
        Plan::Half(plan) => {
            let kernel = half::HalfKernel { plan, platform };
            driver::fill(context, &kernel, first_row, out);
        }
        Plan::Chain(plan) if plan.accumulator == Format::Fp64 => {
            let kernel = chain::ChainKernel::<f64>::new(plan, platform);
            driver::fill(context, &kernel, first_row, out);
        }
        Plan::Chain(plan) => {
            let kernel = chain::ChainKernel::<f32>::new(plan, platform);
            driver::fill(context, &kernel, first_row, out);
        }
        Plan::Pairs(plan) => {
            let kernel = pairs::PairsKernel { plan, platform };
            driver::fill(context, &kernel, first_row, out);
        }
        Plan::Sum(plan) => match plan.group {
            Some(group) => {
                let kernel = sums::SumKernel::new(plan, group, platform);
                driver::fill(context, &kernel, first_row, out);
            }
            None => {
                let kernel = sums::DotKernel::new(plan, platform);
                driver::fill(context, &kernel, first_row, out);
            }
        },
        Plan::Integers(plan) => {
            let kernel = integers::IntegerKernel { plan, platform };
            driver::fill(context, &kernel, first_row, out);
        }
    }
    fallback.load(Ordering::Relaxed)
}
