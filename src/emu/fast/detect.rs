//! Which platform computes: the fastest that computes what the portable one computes.

use std::sync::OnceLock;

use super::blocks::{BlockPlan, BlockStep};
use super::chain::ChainPlan;
use super::group::{self, FloorPlan, FloorStep, StickyPlan, StickyStep};
use super::half::HalfPlan;
use super::integers::IntegerPlan;
use super::lanes::{LanePlan, LaneRule, LaneStep};
use super::pairs::PairsPlan;
use super::plan::Plan;
use super::platform::Platform;
use super::selftest::{Product, products};
use super::sums::SumPlan;
use crate::emu::formats::{Formats, Scale};
use crate::num::{Format, Rounding};

impl Platform {
    /// The one to use: the fastest that agrees with the portable one on a self-test, or the one
    /// that `TCVERIFY_SIMD` names.
    ///
    /// # Errors
    /// If that names one that this machine lacks, or that fails the self-test.
    pub fn detect() -> Result<Platform, String> {
        static CHOICE: OnceLock<Result<Platform, String>> = OnceLock::new();
        CHOICE.get_or_init(choose).clone()
    }
}

/// Whether the platform computes what the portable kernels compute.
fn passes(platform: Platform) -> bool {
    let portable = Platform::available()[0];
    platform == portable
        || group::selftest::passes(platform)
            && plans()
                .into_iter()
                .all(|(plan, product)| agree(plan, product, [platform, portable]))
}

/// A plan of every kernel but the first, and of what products it is.
fn plans() -> Vec<(Plan, Product)> {
    let nan = 0x7fc0_0000;
    let product = |operand, addend| Product {
        operands: [operand; 2],
        addend,
        scale: None,
    };
    let chain = |format, accumulator, nan| {
        let plan = ChainPlan {
            a: format,
            b: format,
            accumulator,
            nan,
        };
        (Plan::Chain(plan), product(format, accumulator))
    };
    let pairs = |format, group| {
        let plan = PairsPlan {
            a: format,
            b: format,
            group,
            span: 16,
            nan,
        };
        (Plan::Pairs(plan), product(format, Format::Fp32))
    };
    let sum = |format, group| {
        let plan = SumPlan {
            a: format,
            b: format,
            group,
            nan,
        };
        (Plan::Sum(plan), product(format, Format::Fp32))
    };
    let floor = |format, sums| {
        let plan = Plan::Floor(floor_plan(format, sums));
        (plan, product(format, Format::Fp32))
    };
    let sticky = |hidden_bit| {
        let plan = Plan::Sticky(sticky_plan(hidden_bit));
        (plan, product(Format::Fp16, Format::Fp32))
    };
    let lanes = |format, rule, scale| {
        let mut product = product(format, Format::Fp32);
        product.scale = scale;
        (Plan::Lanes(lane_plan(format, rule, scale, 24)), product)
    };
    let block = |scale: Scale| {
        let mut product = product(Format::E2m1, Format::Fp32);
        product.scale = Some(scale);
        (Plan::Block(block_plan(scale)), product)
    };
    let half = |accumulator| {
        let plan = HalfPlan {
            span: 16,
            addend: accumulator,
            accumulator,
        };
        (Plan::Half(plan), product(Format::Fp16, accumulator))
    };
    let integers = |format, clamped| {
        let plan = IntegerPlan {
            a: format,
            b: format,
            clamped,
        };
        (Plan::Integers(plan), product(format, Format::Int32))
    };
    let ue8m0 = Scale {
        format: Format::Ue8m0,
        block: 32,
    };
    let ue4m3 = Scale {
        format: Format::Ue4m3,
        block: 16,
    };
    vec![
        chain(Format::Fp16, Format::Fp32, nan),
        chain(Format::Fp64, Format::Fp64, 0x7ff8_0000_0000_0000),
        pairs(Format::Fp16, 4),
        pairs(Format::Bf16, 2),
        sum(Format::Fp16, Some(4)),
        sum(Format::Fp16, None),
        sum(Format::Bf16, Some(4)),
        sum(Format::Bf16, None),
        floor(Format::Bf16, 1),
        floor(Format::E4m3fnuz, 2),
        sticky(true),
        sticky(false),
        lanes(Format::E4m3, LaneRule::Tfr, None),
        lanes(Format::E4m3, LaneRule::Tfr, Some(ue8m0)),
        lanes(Format::E5m2, LaneRule::TfrAligned, None),
        lanes(Format::E4m3, LaneRule::Drl, None),
        lanes(Format::E5m2, LaneRule::Drl, None),
        lanes(Format::E2m1, LaneRule::Mxfp4, Some(ue8m0)),
        lanes(Format::E2m1, LaneRule::Nvfp4, Some(ue4m3)),
        block(ue8m0),
        block(ue4m3),
        half(Format::Fp16),
        half(Format::Fp32),
        integers(Format::Int8, Some(33)),
        integers(Format::Uint8, None),
    ]
}

fn to_fp32(format: Format) -> Formats {
    Formats {
        a: format,
        b: format,
        accumulator: Format::Fp32,
        addend: Format::Fp32,
        scale: None,
    }
}

/// Vortex.
fn sticky_plan(hidden_bit: bool) -> StickyPlan {
    let step = StickyStep {
        group: 8,
        fraction_bits: 24,
        zero_exponent: -260,
        width: 30,
        hidden_bit,
        masks: false,
        nan: 0x7fc0_0000,
    };
    StickyPlan::new(to_fp32(Format::Fp16), step).expect("the kernel has these constants")
}

/// Vortex, with lanes of more than one product.
fn lane_plan(format: Format, rule: LaneRule, scale: Option<Scale>, fraction_bits: u32) -> LanePlan {
    let formats = Formats {
        scale,
        ..to_fp32(format)
    };
    let step = LaneStep {
        rule,
        lanes: 8,
        group: if format == Format::E2m1 { 32 } else { 16 },
        fraction_bits,
        width: 30,
        hidden_bit: matches!(rule, LaneRule::TfrAligned | LaneRule::Drl),
        masks: false,
        ieee_top: false,
        nan: 0x7fc0_0000,
    };
    LanePlan::new(formats, step).expect("the kernel has these constants")
}

/// CDNA 3.
fn floor_plan(format: Format, sums: usize) -> FloorPlan {
    let step = FloorStep {
        group: 8 * sums,
        sums,
        fraction_bits: 24,
        sum_fraction_bits: 32,
        addend_window: (sums == 2).then_some(25),
        zero_exponent: -126,
        result_fraction_bits: 31,
        rounding: Rounding::NearestEven,
        nan: 0x7fff_ffff,
    };
    FloorPlan::new(to_fp32(format), step).expect("the kernel has these constants")
}

/// Blackwell.
fn block_plan(scale: Scale) -> BlockPlan {
    let formats = Formats {
        scale: Some(scale),
        ..to_fp32(Format::E2m1)
    };
    let step = BlockStep {
        group: 64,
        part: 16,
        fraction_bits: 35,
        alignment: Rounding::TowardZero,
        zero_exponent: -139,
        precision: 24,
        rounding: Rounding::TowardZero,
        nan: 0x7fff_ffff,
    };
    BlockPlan::new(formats, step).expect("the kernel has these constants")
}

/// Whether a kernel gives the same bits on two platforms, wherever both give any.
fn agree(plan: Plan, product: Product, platforms: [Platform; 2]) -> bool {
    let [one, other] = platforms.map(|platform| products(plan.clone(), platform, product));
    let differ = |(x, y): (Option<u64>, Option<u64>)| x.is_some() && y.is_some() && x != y;
    !one.into_iter().zip(other).any(differ)
}

fn choose() -> Result<Platform, String> {
    let available = Platform::available();
    let Ok(name) = std::env::var(Platform::VARIABLE) else {
        let sound = available.into_iter().rev().find(|p| passes(*p));
        return sound.ok_or_else(|| "no kernel passes its self-test".to_owned());
    };
    let Some(named) = available.iter().find(|p| p.name() == name) else {
        let names: Vec<_> = available.iter().map(|p| p.name()).collect();
        return Err(format!(
            "{} is {name:?}; this machine has {}",
            Platform::VARIABLE,
            names.join(", ")
        ));
    };
    if passes(*named) {
        Ok(*named)
    } else {
        Err(format!(
            "the {name} kernel fails its self-test on this machine"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_answer_themselves() {
        let portable = Platform::available()[0];
        for (plan, product) in plans() {
            let codes = products(plan.clone(), portable, product);
            let own = codes.iter().flatten().count();
            assert!(8 * own > codes.len(), "{plan:?}: {own} of {}", codes.len());
        }
    }

    #[test]
    fn a_kernel_of_other_constants_fails() {
        let portable = Platform::available()[0];
        let of = |plan, product| products(plan, portable, product);
        for (plan, product) in plans() {
            let mut wrong = plan.clone();
            match &mut wrong {
                Plan::Block(plan) => plan.fraction_bits -= 8,
                Plan::Sum(plan) => plan.group = Some(plan.group.map_or(8, |group| group + 1)),
                Plan::Pairs(plan) => plan.group = 6 - plan.group,
                Plan::Lanes(lanes) => {
                    let [format, _] = product.operands;
                    *lanes = lane_plan(format, lanes.rule, product.scale, 23);
                }
                _ => continue,
            }
            assert_ne!(of(plan.clone(), product), of(wrong, product), "{plan:?}");
        }
    }

    #[test]
    fn every_platform_passes() {
        for platform in Platform::available() {
            assert!(passes(platform), "{}", platform.name());
        }
    }
}
