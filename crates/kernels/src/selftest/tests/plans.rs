//! A plan of every kernel, with constants of known units.

use tcverify_num::{Format, Formats, Rounding, Scale};

use crate::blocks::{BlockPlan, BlockStep};
use crate::chain::ChainPlan;
use crate::config::KernelConfig;
use crate::few::{CutRule, FewPlan};
use crate::group::{DotAdd, FloorPlan, FloorStep, GroupPlan, StickyPlan, StickyStep};
use crate::half::HalfPlan;
use crate::integers::IntegerPlan;
use crate::lanes::{LanePlan, LaneRule, LaneStep};
use crate::ordered::OrderedPlan;
use crate::pairs::PairsPlan;
use crate::rounded::{RoundedPlan, Toward};
use crate::slices::{Blocks, SlicePlan};
use crate::sums::{Scaled, SumPlan};

fn formats(operand: Format, accumulator: Format, scale: Option<Scale>) -> Formats {
    Formats {
        a: operand,
        b: operand,
        accumulator,
        addend: accumulator,
        scale,
    }
}

/// A plan that the kernel takes, and the formats of its products.
fn planned<P>(
    kind: fn(P) -> KernelConfig,
    plan: impl Fn(Formats) -> Option<P>,
    formats: Formats,
) -> (KernelConfig, Formats) {
    let plan = plan(formats).expect("the kernel has these constants");
    (kind(plan), formats)
}

const NAN: u64 = 0x7fc0_0000;

/// A plan of every kernel, and the formats of its products.
pub fn plans() -> Vec<(KernelConfig, Formats)> {
    const NEAREST: Rounding = Rounding::NearestEven;
    let chain = |format, accumulator, nan| {
        let plan = |formats| ChainPlan::new(formats, NEAREST, nan);
        planned(
            KernelConfig::Chain,
            plan,
            formats(format, accumulator, None),
        )
    };
    let pairs = |format, group| {
        let plan = |formats| PairsPlan::new(formats, group, 16, NEAREST, NAN);
        planned(
            KernelConfig::Pairs,
            plan,
            formats(format, Format::Fp32, None),
        )
    };
    let sum = |format, accumulator, group| {
        let plan = |formats| SumPlan::new(formats, group, NEAREST, NAN);
        planned(KernelConfig::Sum, plan, formats(format, accumulator, None))
    };
    let half = |accumulator| {
        let plan = |formats| Some(HalfPlan::new(formats, 16));
        planned(
            KernelConfig::Half,
            plan,
            formats(Format::Fp16, accumulator, None),
        )
    };
    let integers = |format, clamped| {
        let plan = |formats| IntegerPlan::new(formats, clamped);
        planned(
            KernelConfig::Integers,
            plan,
            formats(format, Format::Int32, None),
        )
    };
    let ue8m0 = Scale {
        format: Format::Ue8m0,
        block: 32,
    };
    let ue4m3 = Scale {
        format: Format::Ue4m3,
        block: 16,
    };
    let group_of = |operand, accumulator, fraction_bits, precision, rounding, halves: bool| {
        let dot_add = DotAdd {
            group: 16,
            fraction_bits,
            alignment: Rounding::TowardZero,
            zero_exponent: if accumulator == Format::Fp16 {
                -21
            } else {
                -132
            },
            precision,
            rounding,
            nan: 0x7fff,
        };
        let order = || halves.then(|| (0..32).collect());
        let plan = |formats| GroupPlan::new(dot_add, formats, order());
        planned(
            KernelConfig::Group,
            plan,
            formats(operand, accumulator, None),
        )
    };
    let groups = [false, true].into_iter().flat_map(|halves| {
        let fp32 = |operand, bits, precision| {
            let rounding = Rounding::TowardZero;
            group_of(operand, Format::Fp32, bits, precision, rounding, halves)
        };
        let fp16 = |operand, bits| group_of(operand, Format::Fp16, bits, 11, NEAREST, halves);
        [
            fp32(Format::Fp16, 25, 24),
            fp32(Format::Fp16, 25, 14),
            fp32(Format::Fp16, 13, 14),
            fp32(Format::E4m3, 13, 14),
            fp32(Format::E5m2, 13, 14),
            fp16(Format::Fp16, 25),
            fp16(Format::Fp16, 13),
            fp16(Format::E4m3, 13),
            fp16(Format::E5m2, 13),
        ]
    });
    let others = [
        chain(Format::Fp16, Format::Fp32, NAN),
        chain(Format::Fp64, Format::Fp64, 0x7ff8_0000_0000_0000),
        pairs(Format::Fp16, 4),
        pairs(Format::Bf16, 2),
        rounded(Format::Bf16, Toward::Odd, false, true),
        rounded(Format::Bf16, Toward::Nearest, true, true),
        rounded(Format::Bf16, Toward::Zero, true, false),
        rounded(Format::Fp16, Toward::Nearest, true, false),
        rounded(Format::Fp32, Toward::Nearest, false, false),
        scaled(Format::Fp32, 4, 3, false),
        scaled(Format::Fp32, 8, 0, true),
        scaled(Format::Fp16, 2, 15, false),
        scaled(Format::Fp16, 4, 0, true),
        sum(Format::Fp16, Format::Fp32, Some(4)),
        sum(Format::Fp16, Format::Fp32, None),
        sum(Format::Bf16, Format::Fp32, Some(4)),
        sum(Format::Bf16, Format::Fp32, None),
        sum(Format::Fp32, Format::Fp64, None),
        sum(Format::Fp64, Format::Fp64, None),
        ordered(Format::Bf16, vec![vec![1, 0]], true),
        ordered(Format::Bf16, vec![vec![0, 2, 4], vec![1, 3], vec![5]], true),
        ordered(Format::Fp16, vec![vec![1, 0]], false),
        few([Format::Fp16, Format::Fp32], 4, None, FLOORED),
        few([Format::Fp16; 2], 4, Some(-14), VANISHING),
        few([Format::Bf16; 2], 2, Some(-126), FLOORED),
        few([Format::Fp16, Format::Fp32], 2, None, COMPLEMENT),
        few([Format::Fp16; 2], 2, Some(-14), COMPLEMENT),
        few([Format::Bf16; 2], 2, None, FLUSHED),
        floor(Format::Bf16, 1),
        floor(Format::E4m3fnuz, 2),
        sticky(true),
        sticky(false),
        lanes(Format::E4m3, LaneRule::Tfr, None, 24),
        lanes(Format::E4m3, LaneRule::Tfr, Some(ue8m0), 24),
        lanes(Format::E5m2, LaneRule::TfrAligned, None, 24),
        lanes(Format::E4m3, LaneRule::Drl, None, 24),
        lanes(Format::E5m2, LaneRule::Drl, None, 24),
        lanes(Format::E2m1, LaneRule::Mxfp4, Some(ue8m0), 24),
        lanes(Format::E2m1, LaneRule::Nvfp4, Some(ue4m3), 24),
        block(ue8m0),
        block(ue4m3),
        half(Format::Fp16),
        half(Format::Fp32),
        integers(Format::Int8, Some(33)),
        integers(Format::Uint8, None),
        slices(Format::Bf16, Format::Fp32, &[0, 1, 2, 3]),
        slices(Format::Tf32, Format::Bf16, &[0, 1]),
        slices(Format::Fp16, Format::Fp32, &[2]),
        slices(Format::Fp16, Format::Fp16, &[3, 0]),
    ];
    groups.chain(others).collect()
}

/// Arm's BF16, FP16 and FP32.
fn rounded(format: Format, toward: Toward, fused: bool, flush: bool) -> (KernelConfig, Formats) {
    let plan = |formats: Formats| {
        let plan = RoundedPlan {
            a: formats.a,
            b: formats.b,
            accumulator: formats.accumulator,
            group: 2,
            fused,
            toward,
            flush,
            nan: NAN,
            payloads: false,
        };
        RoundedPlan::new(formats, plan)
    };
    planned(
        KernelConfig::Rounded,
        plan,
        formats(format, Format::Fp32, None),
    )
}

const FLOORED: CutRule = CutRule::Floored { vanishing_c: None };
const VANISHING: CutRule = CutRule::Floored {
    vanishing_c: Some(-14),
};
const COMPLEMENT: CutRule = CutRule::Complement { flush: false };
const FLUSHED: CutRule = CutRule::Complement { flush: true };

/// RDNA's.
fn few(
    [operand, accumulator]: [Format; 2],
    size: usize,
    least_leading: Option<i32>,
    rule: CutRule,
) -> (KernelConfig, Formats) {
    let plan = |formats: Formats| {
        let plan = FewPlan {
            a: formats.a,
            b: formats.b,
            accumulator: formats.accumulator,
            size,
            order: vec![0, 2, 1, 3],
            product_bits: 24,
            leading_bits: 26,
            least_leading,
            rule,
        };
        FewPlan::new(formats, plan)
    };
    let formats = formats(operand, accumulator, None);
    planned(KernelConfig::Few, plan, formats)
}

/// Processors' BF16 and FP16.
fn ordered(format: Format, chains: Vec<Vec<usize>>, flush: bool) -> (KernelConfig, Formats) {
    let plan = |formats: Formats| {
        let plan = OrderedPlan {
            a: formats.a,
            b: formats.b,
            from_zero: chains.len() > 1,
            chains: chains.clone(),
            flush,
        };
        OrderedPlan::new(formats, plan)
    };
    planned(
        KernelConfig::Ordered,
        plan,
        formats(format, Format::Fp32, None),
    )
}

/// Arm's FP8.
fn scaled(
    accumulator: Format,
    group: usize,
    lscale: u32,
    saturates: bool,
) -> (KernelConfig, Formats) {
    let scaled = Scaled { lscale, saturates };
    let nan = if accumulator == Format::Fp16 {
        0x7e00
    } else {
        NAN
    };
    let plan = |formats| SumPlan::scaled(formats, group, nan, scaled);
    planned(
        KernelConfig::Sum,
        plan,
        formats(Format::E5m2, accumulator, None),
    )
}

/// Vortex.
fn sticky(hidden_bit: bool) -> (KernelConfig, Formats) {
    let step = || StickyStep {
        group: 8,
        fraction_bits: 24,
        zero_exponent: -260,
        width: 30,
        hidden_bit,
        masks: false,
        nan: NAN,
    };
    let plan = |formats| StickyPlan::new(formats, step());
    planned(
        KernelConfig::Sticky,
        plan,
        formats(Format::Fp16, Format::Fp32, None),
    )
}

/// Vortex, with lanes of more than one product.
pub fn lanes(
    format: Format,
    rule: LaneRule,
    scale: Option<Scale>,
    fraction_bits: u32,
) -> (KernelConfig, Formats) {
    let step = || LaneStep {
        rule,
        lanes: 8,
        group: if format == Format::E2m1 { 32 } else { 16 },
        fraction_bits,
        zero_exponent: -260,
        width: 30,
        hidden_bit: matches!(rule, LaneRule::TfrAligned | LaneRule::Drl),
        masks: false,
        ieee_top: false,
        nan: NAN,
    };
    let plan = |formats| LanePlan::new(formats, step());
    planned(
        KernelConfig::Lanes,
        plan,
        formats(format, Format::Fp32, scale),
    )
}

/// CDNA 3.
fn floor(format: Format, sums: usize) -> (KernelConfig, Formats) {
    let step = || FloorStep {
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
    let plan = |formats| FloorPlan::new(formats, step());
    planned(
        KernelConfig::Floor,
        plan,
        formats(format, Format::Fp32, None),
    )
}

/// Wormhole.
fn slices(format: Format, accumulator: Format, phases: &[u32]) -> (KernelConfig, Formats) {
    let (fp16, fp32) = (format.exponent_bits() == 5, accumulator == Format::Fp32);
    let plan = |formats| {
        let plan = SlicePlan {
            a: format,
            b: format,
            accumulator,
            tile: 32,
            phases: phases.to_vec(),
            zero_exponent: (fp16 && fp32).then_some(-30),
            narrow_bits: if fp32 { 0 } else { 13 },
            minus_one: fp32.then_some(27),
            blocks: fp32.then_some(Blocks {
                k: 32,
                lost_bits: 13,
                added: fp16,
            }),
        };
        SlicePlan::new(formats, plan)
    };
    planned(
        KernelConfig::Slices,
        plan,
        formats(format, accumulator, None),
    )
}

/// Blackwell.
fn block(scale: Scale) -> (KernelConfig, Formats) {
    let step = || BlockStep {
        group: 64,
        part: 16,
        fraction_bits: 35,
        alignment: Rounding::TowardZero,
        zero_exponent: -139,
        precision: 24,
        rounding: Rounding::TowardZero,
        nan: 0x7fff_ffff,
    };
    let plan = |formats| BlockPlan::new(formats, step());
    planned(
        KernelConfig::Block,
        plan,
        formats(Format::E2m1, Format::Fp32, Some(scale)),
    )
}
