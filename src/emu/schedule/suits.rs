//! Which products a schedule can be about.

use super::values::{ONE, scale_shapes};
use super::walk::{Chain, Slots, Walk};
use super::{Addend, Kernel, Recipe, Split, Values};
use crate::emu::{Arithmetic, Problem, shape_text};
use crate::num::Format;

const NO_INTEGER_EPILOGUE: &str = "an epilogue in f32 has no int32 result; say --d-dtype";

impl Kernel<'_> {
    /// Refuses a product that the schedule cannot be about, or whose numbers are missing.
    ///
    /// # Errors
    /// A sentence that says why, and what to do.
    pub fn check(
        recipe: &Recipe,
        values: &Values,
        arithmetic: &Arithmetic,
        problem: &Problem,
        result: Format,
    ) -> Result<(), String> {
        if let Some(scaling) = &recipe.scales
            && !values.has_scales()
        {
            let [a, b] = scale_shapes(scaling.per, problem.m, problem.n, problem.k);
            return Err(format!(
                "it multiplies sums with scales: pass --scale-a ({}) and --scale-b ({})",
                shape_text(&a),
                shape_text(&b)
            ));
        }
        let finished = values.has_bias() || values.alpha != ONE;
        if result == Format::Int32 && finished {
            return Err(NO_INTEGER_EPILOGUE.into());
        }
        Kernel::suits(recipe, arithmetic, problem, result)
    }

    /// Refuses a product that the schedule cannot be about.
    ///
    /// # Errors
    /// A sentence that says why.
    pub fn suits(
        recipe: &Recipe,
        arithmetic: &Arithmetic,
        problem: &Problem,
        result: Format,
    ) -> Result<(), String> {
        let accumulator = arithmetic.accumulator;
        if !matches!(accumulator, Format::Fp32 | Format::Int32) {
            return Err(format!(
                "schedules are known for fp32 and int32 accumulators; this one is {accumulator}"
            ));
        }
        if arithmetic.longest_k().is_some() {
            return Err(
                "this instruction's D is no C of the next, so nothing is chained over K".into(),
            );
        }
        let bare = matches!(recipe.split, Split::None {}) && recipe.promote.is_none();
        if accumulator == Format::Int32 {
            if !bare {
                return Err(
                    "integers add up to the same whatever the order (modulo 2^32); take a schedule without \
                     split and promotion"
                        .into(),
                );
            }
            let finished =
                recipe.scales.is_some() || recipe.addend == Addend::Epilogue && problem.c.is_some();
            if result == Format::Int32 && finished {
                return Err("an epilogue in f32 has no int32 result; say --d-dtype".into());
            }
        }
        if recipe.passes.is_some() {
            let split = |format| matches!(format, Format::Tf32 | Format::Xf32);
            if !split(arithmetic.a) || !split(arithmetic.b) {
                return Err("products of big and small parts are made of tf32 operands".into());
            }
        }
        let span = arithmetic.step.span();
        let lengths = [
            ("tile_k", recipe.tile_k),
            (
                "passes.every",
                recipe.passes.as_ref().map(|passes| passes.every),
            ),
            (
                "promote.every",
                recipe.promote.as_ref().map(|promote| promote.every),
            ),
            (
                "promote.first",
                recipe.promote.as_ref().and_then(|promote| promote.first),
            ),
            (
                "split.stripe",
                match recipe.split {
                    Split::Sliced { stripe, .. } => Some(stripe),
                    _ => None,
                },
            ),
        ];
        for (name, length) in lengths {
            if let Some(length) = length
                && !length.is_multiple_of(span)
            {
                return Err(format!(
                    "{name} is {length}, but one step of the instruction takes {span} products"
                ));
            }
        }
        // Every tile of D is walked alike but for stream-K, whose chunks are whole tiles of K.
        let walk = Walk::new(recipe, problem.k, ([0, 0], [1, 1]))?;
        if let Some(scale) = arithmetic.scale {
            let chains = walk.partials.iter().flat_map(|partial| &partial.chains);
            let whole = |chain: &Chain| matches!(&chain.slots, Slots::Range(k) if k.start.is_multiple_of(scale.block));
            let tiles = recipe
                .tile_k
                .is_none_or(|tile| tile.is_multiple_of(scale.block));
            if !tiles || !chains.into_iter().all(whole) {
                return Err(format!(
                    "operands with a scale for every {} k are only chained in whole tiles and in the order of K",
                    scale.block
                ));
            }
        }
        Ok(())
    }
}
