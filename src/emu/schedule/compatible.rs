//! Which products a schedule can be about.

use super::fixed_point;
use super::k_index::KIndices;
use super::traversal::{Chain, KTraversal, TileOfD};
use super::values::{ONE, scale_shapes};
use super::{
    AddendAt, BiasAdded, BoundSchedule, Grain, GrainByK, Level, Multiply, Parts, ScaledAt,
    ScheduleSpec, TermFormat, Values, ZeroPoint,
};
use crate::num::Format;
use crate::step::Step;
use crate::{Arithmetic, Problem, shape_text};

const NO_INTEGER_EPILOGUE: &str = "an f32 epilogue cannot give an int32 result; give `d_dtype`";

impl BoundSchedule<'_> {
    /// Refuses a product that the schedule cannot be about, or whose numbers are missing.
    ///
    /// # Errors
    /// A sentence that says why, and what to do.
    pub fn check(
        spec: &ScheduleSpec,
        values: &Values,
        arithmetic: &Arithmetic,
        problem: &Problem,
        result: Format,
    ) -> Result<(), String> {
        if let Some(scaling) = &spec.scales
            && !values.has_scales()
            && scaling.multiply != Multiply::Alpha
        {
            let [a, b] = scale_shapes(scaling.per, problem.m, problem.n, problem.k);
            if scaling.multiply == Multiply::BAlone {
                let b = shape_text(&b);
                return Err(format!(
                    "it multiplies sums by scales of B alone: give `weights` and `scale_b` ({b})"
                ));
            }
            return Err(format!(
                "it multiplies sums by scales: give `scale_a` ({}) and `scale_b` ({})",
                shape_text(&a),
                shape_text(&b)
            ));
        }
        let scaled = spec.scales.as_ref().filter(|_| values.has_scales());
        if values.alpha != ONE && scaled.is_some_and(|scaling| scaling.multiply == Multiply::Alpha)
        {
            return Err(
                "alpha is the product of the scales; give either alpha or the scales".into(),
            );
        }
        let late = |scaling: &super::Scaling| scaling.at == ScaledAt::Epilogue;
        if (spec.epilogue.bias == BiasAdded::FusedOrZero
            || spec.epilogue.bias == BiasAdded::Fused && values.has_bias())
            && scaled.is_some_and(late)
            && (values.alpha != ONE || problem.c.is_some())
        {
            return Err(
                "the bias is fused with the last scale, so alpha and C cannot be applied".into(),
            );
        }
        if values.scale_result.is_some() && spec.epilogue.result_scale.is_none() {
            return Err("it does not scale the result".into());
        }
        if let Some(zero_point) = spec.zero_point
            && !values.has_zero_point(zero_point)
        {
            return Err(match zero_point {
                ZeroPoint::PerTensor => {
                    "it subtracts A's zero point from the sums: give `azp_adj`, one int32 per column of D, and no \
                    `azp`"
                }
                ZeroPoint::PerRow => {
                    "it subtracts the zero points of A's rows from the sums: give `azp`, one int32 per row of D, and \
                     `azp_adj`, one per column"
                }
            }
            .into());
        }
        if spec.zero_point.is_none() && values.has_zero_points() {
            return Err("it subtracts no zero points (vllm-int8-azp does)".into());
        }
        if problem.k == 0 {
            if spec.without_products.is_none() {
                return Err("K is 0, and the schedule does not define D without products".into());
            }
            if problem.c.is_some() || values.has_bias() {
                return Err(
                    "K is 0, and it is not known how C and the bias are then applied".into(),
                );
            }
        }
        if spec.fixed_point.is_some() {
            if values.has_bias() {
                return Err("no source says where it adds a bias".into());
            }
            fixed_point::check(values, problem)?;
        }
        let finished = values.has_bias() || values.alpha != ONE;
        if result == Format::Int32 && finished {
            return Err(NO_INTEGER_EPILOGUE.into());
        }
        BoundSchedule::check_compatible(spec, arithmetic, problem, result)
    }

    /// Refuses a product that the schedule cannot be about.
    ///
    /// # Errors
    /// A sentence that says why.
    pub fn check_compatible(
        spec: &ScheduleSpec,
        arithmetic: &Arithmetic,
        problem: &Problem,
        result: Format,
    ) -> Result<(), String> {
        let accumulator = arithmetic.accumulator;
        if !matches!(accumulator, Format::Fp32 | Format::Int32) {
            return Err(format!(
                "schedules support fp32 and int32 accumulators, not {accumulator}"
            ));
        }
        if arithmetic.longest_k().is_some() {
            return Err(
                "this instruction's D cannot feed the C of the next one, so it cannot be chained over K".into(),
            );
        }
        // They are copied as words of at most 32 bits.
        if let Some(wide) = [arithmetic.a, arithmetic.b]
            .iter()
            .find(|of| of.bytes() > 4)
        {
            return Err(format!("schedules support no operands of {wide}"));
        }
        if accumulator == Format::Int32 {
            if spec.split.is_some() || !spec.inner.is_empty() {
                return Err(
                    "integer sums do not depend on the order (modulo 2^32); use a schedule without split and \
                     promotion"
                        .into(),
                );
            }
            let finished = spec.scales.is_some()
                || spec.zero_point.is_some()
                || spec.epilogue.function.is_some()
                || spec.addend == AddendAt::Epilogue && problem.c.is_some();
            if result == Format::Int32 && finished {
                return Err(NO_INTEGER_EPILOGUE.into());
            }
        } else if spec.zero_point.is_some() {
            return Err("only integer operands have zero points".into());
        }
        let operands = [arithmetic.a, arithmetic.b];
        if let Some(fixed) = spec.fixed_point {
            if result != Format::Fp64 || operands != [Format::Int8; 2] {
                return Err("it multiplies fp64 operands by int8 slices and gives fp64".into());
            }
            let Step::IntegerSum(step) = &arithmetic.step else {
                return Err("only units of whole integer sums multiply its slices".into());
            };
            if step.clamped_after().is_some() {
                return Err("its sums wrap; give an instruction without saturation".into());
            }
            if fixed.slices.is_none() {
                return Err("the number of slices is missing; give `slices` (5 to 10)".into());
            }
        }
        match spec.split_terms.as_ref().map(|terms| terms.format) {
            None if spec.fixed_point.is_some() => {}
            None => {
                let given = [problem.a, problem.b].map(|operand| operand.tensor().format());
                if let Some(wide) = operands
                    .iter()
                    .zip(given)
                    .find(|(of, given)| **of != *given)
                {
                    let (of, given) = wide;
                    return Err(format!(
                        "it multiplies {of} operands, but these are {given}"
                    ));
                }
            }
            Some(TermFormat::Tf32) => {
                let split = |format| matches!(format, Format::Tf32 | Format::Xf32);
                if !operands.into_iter().all(split) {
                    return Err("only tf32 operands can be split into high and low terms".into());
                }
            }
            Some(TermFormat::Bf16) => {
                let scaled = spec
                    .split_terms
                    .as_ref()
                    .is_some_and(|terms| terms.scale > 0);
                if scaled && !matches!(arithmetic.step, Step::Fused(_)) {
                    return Err(
                        "only the fused dot-add of NVIDIA's units has a factor of the accumulator"
                            .into(),
                    );
                }
                let given = [problem.a, problem.b].map(|operand| operand.tensor().format());
                if given != [Format::Fp32; 2] || operands != [Format::Bf16; 2] {
                    return Err(
                        "it multiplies bf16 terms of fp32 operands; give `dtype` fp32".into(),
                    );
                }
            }
        }
        whole_steps(spec, arithmetic.step.span())?;
        let traversals = traversals(spec, arithmetic, problem)?;
        if let Some(scale) = arithmetic.scale {
            let chains = traversals.iter().flat_map(|one| one.root.chains());
            let whole = |chain: &&Chain| matches!(&chain.indices, KIndices::Range(k) if k.start.is_multiple_of(scale.block));
            let tiles = spec
                .tile_k
                .is_none_or(|tile| tile.is_multiple_of(scale.block));
            if !tiles || !chains.into_iter().all(|chain| whole(&chain)) {
                return Err(format!(
                    "operands with one scale per {} k can be chained only in whole tiles and in ascending k",
                    scale.block
                ));
            }
        }
        Ok(())
    }
}

/// The traversal of one tile of D of every group.
fn traversals(
    spec: &ScheduleSpec,
    arithmetic: &Arithmetic,
    problem: &Problem,
) -> Result<Vec<KTraversal>, String> {
    let new = |tile| KTraversal::new(spec, problem.k, arithmetic.step.span(), tile);
    let Some(Parts::Tiles {
        tile,
        raster,
        groups,
    }) = spec.split.as_ref().map(|split| &split.parts)
    else {
        return Ok(vec![new(TileOfD::ONLY)?]);
    };
    let count = [problem.m.div_ceil(tile[0]), problem.n.div_ceil(tile[1])];
    let all = count[0].saturating_mul(count[1]);
    let mut index = 0;
    let mut found = Vec::new();
    for group in groups {
        if index < all {
            found.push(new(TileOfD::nth(index, count, *raster))?);
        }
        index = index.saturating_add(group.tiles.unwrap_or(all));
    }
    Ok(found)
}

/// Refuses lengths that would cut an instruction short.
fn whole_steps(spec: &ScheduleSpec, span: usize) -> Result<(), String> {
    // What the kernel gives the unit at once.
    let of = spec.instruction_k.map_or(span, |of| of.min(span));
    if let Some(own) = spec.instruction_k
        && own > span
        && !own.is_multiple_of(span)
    {
        return Err(format!(
            "instruction_k is {own}, but one step of the instruction takes {span} products"
        ));
    }
    let whole = |name: &str, length: usize| {
        length.is_multiple_of(of).then_some(()).ok_or_else(|| {
            format!("{name} is {length}, but one step of the instruction takes {of} products")
        })
    };
    spec.tile_k.map_or(Ok(()), |tile| whole("tile_k", tile))?;
    if let Some(terms) = &spec.split_terms {
        whole("split_terms.every", terms.every)?;
    }
    let levels = spec.split.iter().map(|level| ("split", level));
    let levels = levels.chain(spec.inner.iter().map(|level| ("inner", level)));
    for (name, Level { parts, .. }) in levels {
        match parts {
            // Slices of K have instructions of their own; those inside of a part share its main loop.
            Parts::Slices { .. } if name == "split" => {}
            Parts::Slices { grain, .. } | Parts::Interleaved { grain, .. } => match grain {
                None => {}
                Some(Grain::K(grain)) => whole(&format!("{name}.parts.grain"), *grain)?,
                Some(Grain::ByK(GrainByK { narrow, .. })) => {
                    whole(&format!("{name}.parts.grain.narrow"), *narrow)?;
                }
            },
            // Leaves have instructions of their own.
            Parts::Leaves { .. } => {}
            Parts::Blocks { length, first } => {
                whole("inner.parts.length", *length)?;
                first.map_or(Ok(()), |first| whole("inner.parts.first", first))?;
            }
            _ => {}
        }
    }
    Ok(())
}
