//! Where models meet vector kernels: which kernel computes a model, and the engine that this makes.

use tcverify_emu::Arithmetic;
use tcverify_emu::engine::{Engine, FastEngine, Promotion, Work};
use tcverify_emu::step::{
    Addend, BlockDot, ComplementDot, Direction, Dropping, Droppings, FlooredPairs, Fpmr, Fused,
    FusedFloor, FusedHalves, Groups, LaneScaling, OrderedFma, PairRule, PairwiseFlush, RoundedDot,
    Sliced, Step, StickyRne,
};
use tcverify_num::{Format, Formats, Rounding};
use tcverify_tensor::Vectors;

use super::selected::{self, Widened};
use super::{
    BlockPlan, BlockStep, Blocks, ChainPlan, CutRule, DotAdd, FewPlan, FloorPlan, FloorStep,
    GroupPlan, HalfPlan, IntegerPlan, KernelConfig, LanePlan, LaneRule, LaneStep, OrderedPlan,
    PairsPlan, Platform, RoundedPlan, Scaled, SlicePlan, StickyPlan, StickyStep, SumPlan, Toward,
};

/// The vector kernel that computes a model, with its constants, if there is one.
pub fn plan(arithmetic: &Arithmetic) -> Option<KernelConfig> {
    let formats = arithmetic.formats();
    match &arithmetic.step {
        // No kernel forgets what lies below a sum's leading bits.
        Step::Fused(step) if step.sum_bits.is_some() => None,
        Step::Fused(step) => {
            let plan = GroupPlan::new(dot_add(step), formats, None)?;
            Some(KernelConfig::Group(GroupPlan {
                minus_zero: step.minus_zero,
                ..plan
            }))
        }
        Step::FusedHalves(step) => halves(step, formats).map(KernelConfig::Group),
        Step::FmaChain(step) => {
            ChainPlan::new(formats, step.rounding, step.nan.0).map(KernelConfig::Chain)
        }
        Step::ExactSum(step) if step.plus_zero => None,
        Step::ExactSum(step) => SumPlan::new(formats, Some(step.group), step.rounding, step.nan.0)
            .map(KernelConfig::Sum),
        Step::ExactDot(step) => {
            SumPlan::new(formats, None, step.rounding, step.nan.0).map(KernelConfig::Sum)
        }
        Step::PairwiseFlush(step) => {
            let PairwiseFlush {
                span,
                group,
                rounding,
                nan,
            } = *step;
            PairsPlan::new(formats, group, span, rounding, nan.0).map(KernelConfig::Pairs)
        }
        Step::FusedFloor(step) => floor(step, formats).map(KernelConfig::Floor),
        Step::StickyRne(step) => sticky(step, formats),
        Step::BlockDot(step) => block(step, formats).map(KernelConfig::Block),
        Step::HalfChain(step) => Some(KernelConfig::Half(HalfPlan::new(formats, step.span))),
        Step::OrderedFma(step) => ordered(step, formats),
        Step::ComplementDot(step) => complement(step, formats).map(KernelConfig::Few),
        Step::FlooredPairs(step) => floored(step, formats).map(KernelConfig::Few),
        Step::RoundedDot(step) => rounded(step, formats),
        Step::Sliced(step) => slices(step, formats).map(KernelConfig::Slices),
        // Rarely used.
        Step::SlicedIntegers(_) => None,
        // The alternative of `block_dot`, rarely used.
        Step::BlockWindow(_) => None,
        Step::IntegerSum(step) => {
            IntegerPlan::new(formats, step.clamped_after()).map(KernelConfig::Integers)
        }
    }
}

/// The catalogue rounds to nearest, to odd and toward zero.
fn rounded(step: &RoundedDot, formats: Formats) -> Option<KernelConfig> {
    let fpmr = step.fpmr.unwrap_or_default();
    let (nan, plain) = (step.nan.0, fpmr == Fpmr::default());
    let toward = match step.rounding {
        Direction::NearestEven => Toward::Nearest,
        Direction::TowardZero => Toward::Zero,
        Direction::Odd => Toward::Odd,
        Direction::Up | Direction::Down => return None,
    };
    if step.with_c && (step.flush || toward != Toward::Nearest) || !step.with_c && !plain {
        return None;
    }
    if step.with_c && step.group == 1 && plain {
        let plan = ChainPlan::new(formats, Rounding::NearestEven, nan)?;
        return Some(KernelConfig::Chain(ChainPlan {
            payloads: step.payloads,
            ..plan
        }));
    }
    if step.with_c {
        let scaled = Scaled {
            lscale: fpmr.lscale,
            saturates: fpmr.osm,
        };
        let plan = SumPlan::scaled(formats, step.group, nan, scaled);
        return plan.filter(|_| !step.payloads).map(KernelConfig::Sum);
    }
    let plan = RoundedPlan {
        a: formats.a,
        b: formats.b,
        accumulator: formats.accumulator,
        group: step.group,
        fused: step.fused == 2,
        toward,
        flush: step.flush,
        nan,
        payloads: step.payloads,
    };
    let plan = RoundedPlan::new(formats, plan).filter(|_| step.fused <= 2);
    plan.map(KernelConfig::Rounded)
}

/// Exact sums of an instruction's products are none.
fn ordered(step: &OrderedFma, formats: Formats) -> Option<KernelConfig> {
    let plan = OrderedPlan {
        a: formats.a,
        b: formats.b,
        chains: step.chains.clone(),
        from_zero: step.starts_from_zero(),
        flush: step.flush,
    };
    let plan = OrderedPlan::new(formats, plan).filter(|_| !step.exact);
    plan.map(KernelConfig::Ordered)
}

/// Only results of the formats with an FP32's exponents are never subnormal where the kernel computes.
fn complement(step: &ComplementDot, formats: Formats) -> Option<FewPlan> {
    let flushes = step.flush_sums && formats.accumulator == Format::Fp16;
    let rule = CutRule::Complement {
        flush: step.flush_operands,
    };
    let bits = [step.product_bits, step.leading_bits];
    let plan = few(formats, &step.groups, bits, step.least_leading, rule);
    plan.filter(|_| !flushes)
}

fn floored(step: &FlooredPairs, formats: Formats) -> Option<FewPlan> {
    let rule = CutRule::Floored {
        vanishing_c: step.vanishing_c,
    };
    let bits = [step.product_bits, step.leading_bits];
    few(formats, &step.groups, bits, Some(step.least_leading), rule)
}

fn few(
    formats: Formats,
    groups: &Groups,
    [product_bits, leading_bits]: [u32; 2],
    least_leading: Option<i32>,
    rule: CutRule,
) -> Option<FewPlan> {
    let plan = FewPlan {
        a: formats.a,
        b: formats.b,
        accumulator: formats.accumulator,
        size: groups.size,
        order: groups.order.clone(),
        product_bits,
        leading_bits,
        least_leading,
        rule,
    };
    FewPlan::new(formats, plan)
}

fn dot_add(step: &Fused) -> DotAdd {
    DotAdd {
        group: step.group,
        fraction_bits: step.fraction_bits,
        alignment: step.alignment,
        zero_exponent: step.zero_exponent,
        precision: step.precision,
        rounding: step.rounding,
        nan: step.nan.0,
    }
}

fn halves(step: &FusedHalves, formats: Formats) -> Option<GroupPlan> {
    let order = step.order().filter(|_| step.half.sum_bits.is_none())?;
    GroupPlan::new(dot_add(&step.half), formats, Some(order))
}

fn floor(step: &FusedFloor, formats: Formats) -> Option<FloorPlan> {
    let step = FloorStep {
        group: step.group,
        sums: step.sums,
        fraction_bits: step.fraction_bits,
        sum_fraction_bits: step.sum_fraction_bits,
        addend_window: step.addend_window,
        zero_exponent: step.zero_exponent,
        result_fraction_bits: step.result_fraction_bits,
        rounding: step.rounding,
        nan: step.nan.0,
    };
    FloorPlan::new(formats, step)
}

fn sticky(step: &StickyRne, formats: Formats) -> Option<KernelConfig> {
    let (width, nan) = (step.accumulator_bits(), step.nan.0);
    let hidden_bit = step.addend == Addend::HiddenBit;
    // How products share a lane.
    let rule = match (step.pair, step.scaling) {
        (Some(PairRule::Tfr), _) => LaneRule::Tfr,
        (Some(PairRule::TfrAligned), _) => LaneRule::TfrAligned,
        (Some(PairRule::Drl), _) => LaneRule::Drl,
        (None, Some(LaneScaling::Nvfp4)) => LaneRule::Nvfp4,
        (None, Some(_)) => LaneRule::Mxfp4,
        (None, None) => {
            let step = StickyStep {
                group: step.group,
                fraction_bits: step.fraction_bits,
                zero_exponent: step.zero_exponent,
                width,
                hidden_bit,
                masks: step.sparse_mask,
                nan,
            };
            return StickyPlan::new(formats, step).map(KernelConfig::Sticky);
        }
    };
    let step = LaneStep {
        rule,
        lanes: step.lanes,
        group: step.group,
        fraction_bits: step.fraction_bits,
        zero_exponent: step.zero_exponent,
        width,
        hidden_bit,
        masks: step.sparse_mask,
        ieee_top: step.ieee_top,
        nan,
    };
    LanePlan::new(formats, step).map(KernelConfig::Lanes)
}

/// Slices, groups and roundings must be Tenstorrent's.
fn slices(step: &Sliced, formats: Formats) -> Option<SlicePlan> {
    let rounding = Droppings {
        product: Dropping::NearestAway,
        sum: Dropping::NearestUp,
        addend: Dropping::NearestAway,
        result: Dropping::NearestAway,
    };
    let sizes = (step.group, step.groups, step.a_slice, step.b_slice);
    if sizes != (8, 2, 7, 5) || step.rounding != rounding {
        return None;
    }
    let blocks = step.blocks.map(|blocks| Blocks {
        k: blocks.k,
        lost_bits: blocks.reload.cuts(formats.accumulator),
        added: blocks.l1_acc,
    });
    let plan = SlicePlan {
        a: formats.a,
        b: formats.b,
        accumulator: formats.accumulator,
        tile: step.tile,
        phases: step.phases.clone(),
        zero_exponent: step.zero_exponent,
        narrow_bits: step.narrow_bits,
        minus_one: step.minus_one,
        blocks,
    };
    SlicePlan::new(formats, plan)
}

fn block(step: &BlockDot, formats: Formats) -> Option<BlockPlan> {
    let step = BlockStep {
        group: step.group,
        part: step.part,
        fraction_bits: step.fraction_bits,
        alignment: step.alignment,
        zero_exponent: step.zero_exponent,
        precision: step.precision,
        rounding: step.rounding,
        nan: step.nan.0,
    };
    BlockPlan::new(formats, step)
}

/// The model of steps that are so many times as long, for products with zeros between those of this one. None if the order
/// of a step's products counts, or zeros do.
fn widened(arithmetic: &Arithmetic, times: usize) -> Option<Widened> {
    let (mut first, mut zero_exponent) = (None, None);
    let mut step = arithmetic.step.clone();
    match &mut step {
        Step::Fused(step) => {
            step.group *= times;
            zero_exponent = Some(step.zero_exponent);
        }
        Step::FusedHalves(step) => {
            first = Some((step.period, step.first.clone()));
            zero_exponent = Some(step.half.zero_exponent);
            let all = step.first.iter().flat_map(|k| k * times..(k + 1) * times);
            step.first = all.collect();
            step.span *= times;
            step.period *= times;
            step.half.group *= times;
        }
        Step::IntegerSum(step) => step.group *= times,
        _ => return None,
    }
    let wide = Arithmetic {
        step,
        instruction_k: None,
        ..arithmetic.clone()
    };
    wide.check().ok()?;
    Some(Widened {
        arithmetic: wide,
        span: arithmetic.step.span(),
        first,
        zero_exponent,
    })
}

impl Platform {
    /// The vector kernel of a model on the fastest platform, or on the one that `TCVERIFY_SIMD` names.
    ///
    /// # Errors
    /// If that names one that this machine lacks, or whose kernel fails its self-test.
    pub fn detect_for(arithmetic: &Arithmetic) -> Result<Platform, String> {
        let platform = Platform::detect()?;
        match plan(arithmetic) {
            Some(plan) => platform.vouched(&plan, arithmetic.formats()),
            None => Ok(platform),
        }
    }

    /// The engine that computes with this platform's kernels.
    pub fn engine(self) -> Engine<'static> {
        Engine::With(self.forever())
    }
}

impl FastEngine for Platform {
    fn computes(&self, arithmetic: &Arithmetic) -> bool {
        plan(arithmetic).is_some()
    }

    fn fill(
        &self,
        arithmetic: &Arithmetic,
        work: Work,
        first_row: usize,
        out: &mut [u64],
    ) -> Option<u64> {
        if work.problem.selected.is_none() {
            return super::fill(work, (plan(arithmetic)?, *self), first_row, out);
        }
        let (k, all) = (work.problem.k, work.problem.b.rows());
        let ends_within = |whole: usize| !k.is_multiple_of(whole);
        let filled_up = arithmetic.instruction_k.is_some_and(ends_within);
        if filled_up || work.problem.scales.is_some() || k == 0 || !all.is_multiple_of(k) {
            return None;
        }
        let widened = widened(arithmetic, all / k)?;
        let plan = plan(&widened.arithmetic)?;
        selected::fill(work, (&widened, plan, *self), first_row, out)
    }

    fn promotes(&self, arithmetic: &Arithmetic) -> bool {
        use KernelConfig::{Floor, Group, Lanes, Sticky};

        let plan = plan(arithmetic);
        matches!(plan, Some(Group(_) | Floor(_) | Sticky(_) | Lanes(_)))
    }

    fn promoted(
        &self,
        arithmetic: &Arithmetic,
        work: Work,
        promotion: Promotion,
    ) -> Option<(Vec<u32>, u64)> {
        super::promoted(work, (plan(arithmetic)?, *self), promotion)
    }

    fn vectors(&self) -> Vectors {
        self.compiled()
    }
}
