//! Which shader computes a model. Nothing else in this crate knows models.

use tcverify_emu::Arithmetic;
use tcverify_emu::step::{ComplementDot, FlooredPairs, Fused, FusedFloor, Step};

use super::plan::{CutRule, FewUnit, FloorUnit, FusedUnit, ShaderPlan};

/// The shader that computes a model, with its constants, if there is one.
pub fn shader(arithmetic: &Arithmetic) -> Option<ShaderPlan> {
    let formats = arithmetic.formats();
    match &arithmetic.step {
        Step::Fused(step) => ShaderPlan::fused(unit(step), formats),
        Step::FusedHalves(step) => ShaderPlan::halves(unit(&step.half), step.order()?, formats),
        Step::FusedFloor(step) => ShaderPlan::floor(floor(step), formats),
        Step::ComplementDot(step) => ShaderPlan::few(complement(step), &step.groups.order, formats),
        Step::FlooredPairs(step) => ShaderPlan::few(floored(step), &step.groups.order, formats),
        Step::IntegerSum(step) => ShaderPlan::integers(formats, step.clamped_after()),
        // The CPU computes them.
        _ => None,
    }
}

fn unit(step: &Fused) -> FusedUnit {
    FusedUnit {
        group: step.group,
        fraction_bits: step.fraction_bits,
        alignment: step.alignment,
        zero_exponent: step.zero_exponent,
        precision: step.precision,
        rounding: step.rounding,
        nan: step.nan.0,
        sum_bits: step.sum_bits,
        minus_zero: step.minus_zero,
    }
}

fn floor(step: &FusedFloor) -> FloorUnit {
    FloorUnit {
        group: step.group,
        sums: step.sums,
        fraction_bits: step.fraction_bits,
        sum_fraction_bits: step.sum_fraction_bits,
        addend_window: step.addend_window,
        zero_exponent: step.zero_exponent,
        result_fraction_bits: step.result_fraction_bits,
        rounding: step.rounding,
    }
}

fn complement(step: &ComplementDot) -> FewUnit {
    FewUnit {
        size: step.groups.size,
        product_bits: step.product_bits,
        leading_bits: step.leading_bits,
        least_leading: step.least_leading,
        rule: CutRule::Complement {
            flush_operands: step.flush_operands,
            flush_sums: step.flush_sums,
        },
    }
}

fn floored(step: &FlooredPairs) -> FewUnit {
    FewUnit {
        size: step.groups.size,
        product_bits: step.product_bits,
        leading_bits: step.leading_bits,
        least_leading: Some(step.least_leading),
        rule: CutRule::Floored {
            vanishing_c: step.vanishing_c,
        },
    }
}
