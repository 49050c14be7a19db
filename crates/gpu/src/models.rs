//! Which shader computes a model. Nothing else in this crate knows models.

use tcverify_emu::Arithmetic;
use tcverify_emu::step::{Fused, Step};

use super::plan::{FusedUnit, ShaderPlan};

/// The shader that computes a model, with its constants, if there is one.
pub fn shader(arithmetic: &Arithmetic) -> Option<ShaderPlan> {
    let formats = arithmetic.formats();
    match &arithmetic.step {
        Step::Fused(step) => ShaderPlan::fused(unit(step), formats),
        Step::FusedHalves(step) => ShaderPlan::halves(unit(&step.half), step.order()?, formats),
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
