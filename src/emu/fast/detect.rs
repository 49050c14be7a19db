//! Which platform computes: the fastest that computes what the portable one computes.

use std::sync::OnceLock;

use super::chain::{ChainKernel, ChainPlan};
use super::group::{self, FloorKernel, FloorPlan, FloorStep};
use super::half::{HalfKernel, HalfPlan};
use super::integers::{IntegerKernel, IntegerPlan};
use super::pairs::{PairsKernel, PairsPlan};
use super::platform::Platform;
use super::selftest::product;
use super::sums::{DotKernel, SumKernel, SumPlan};
use super::tile::TileKernel;
use crate::emu::formats::Formats;
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
    platform == portable || (group::selftest::passes(platform) && others_pass(platform, portable))
}

fn others_pass(platform: Platform, portable: Platform) -> bool {
    let chain = |format, accumulator, nan| ChainPlan {
        a: format,
        b: format,
        accumulator,
        nan,
    };
    let single = chain(Format::Fp16, Format::Fp32, 0x7fc0_0000);
    let double = chain(Format::Fp64, Format::Fp64, 0x7ff8_0000_0000_0000);
    let pairs = |format, group| PairsPlan {
        a: format,
        b: format,
        group,
        span: 16,
        nan: 0x7fc0_0000,
    };
    let integers = |format, clamped| IntegerPlan {
        a: format,
        b: format,
        clamped,
    };
    let formats = |format| ([format; 2], Format::Fp32);
    agree(
        formats(Format::Fp16),
        |p| ChainKernel::<f32>::new(single, p),
        platform,
        portable,
    ) && agree(
        ([Format::Fp64; 2], Format::Fp64),
        |p| ChainKernel::<f64>::new(double, p),
        platform,
        portable,
    ) && [(Format::Fp16, 4), (Format::Bf16, 2)]
        .into_iter()
        .all(|(format, group)| {
            let plan = pairs(format, group);
            agree(
                formats(format),
                |platform| PairsKernel { plan, platform },
                platform,
                portable,
            )
        })
        && [Format::Fp16, Format::Bf16].into_iter().all(|format| {
            let plan = SumPlan {
                a: format,
                b: format,
                group: None,
                nan: 0x7fc0_0000,
            };
            let sum = |platform| SumKernel::new(plan, 4, platform);
            let dot = |platform| DotKernel::new(plan, platform);
            agree(formats(format), sum, platform, portable)
                && agree(formats(format), dot, platform, portable)
        })
        && [(Format::Bf16, 1), (Format::E4m3fnuz, 2)]
            .into_iter()
            .all(|(format, sums)| {
                let floor = |platform| FloorKernel::new(floor_plan(format, sums), platform);
                agree(formats(format), floor, platform, portable)
            })
        && [Format::Fp16, Format::Fp32].into_iter().all(|accumulator| {
            let plan = HalfPlan {
                span: 16,
                addend: accumulator,
                accumulator,
            };
            let half = |platform| HalfKernel { plan, platform };
            agree(([Format::Fp16; 2], accumulator), half, platform, portable)
        })
        && [(Format::Int8, Some(33)), (Format::Uint8, None)]
            .into_iter()
            .all(|(format, clamped)| {
                let plan = integers(format, clamped);
                let formats = ([format; 2], Format::Int32);
                agree(
                    formats,
                    |platform| IntegerKernel { plan, platform },
                    platform,
                    portable,
                )
            })
}

/// CDNA 3.
fn floor_plan(format: Format, sums: usize) -> FloorPlan {
    let formats = Formats {
        a: format,
        b: format,
        accumulator: Format::Fp32,
        addend: Format::Fp32,
        scale: None,
    };
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
    FloorPlan::new(formats, step).expect("the kernel has these constants")
}

/// Whether a kernel gives the same bits on two platforms, wherever both give any.
fn agree<K: TileKernel>(
    (operands, addend): ([Format; 2], Format),
    kernel: impl Fn(Platform) -> K,
    one: Platform,
    other: Platform,
) -> bool {
    let c = [
        addend.max_finite(false),
        0,
        addend.max_finite(true),
        1,
        addend.sign_mask(),
    ];
    (0..3).all(|seed| {
        let of = |platform| product(&kernel(platform), operands, &c, seed);
        let differ = |(x, y): (Option<u64>, Option<u64>)| x.is_some() && y.is_some() && x != y;
        !of(one).into_iter().zip(of(other)).any(differ)
    })
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
