//! Which specs a kernel can follow at all.

use super::{
    AddendAt, Combine, Function, Grain, Level, Merge, Multiply, Parts, Per, Residue, ScaledAt,
    ScheduleSpec, SplitTerms, Start, Term, TermFormat, TermRounding, WithoutC,
};
use crate::num::Format;

/// Of a level, and of all together.
pub(super) const MAX_PARTS: usize = 1 << 20;

pub(super) fn sane(name: &str, value: usize) -> Result<(), String> {
    let fits = (1..=MAX_PARTS).contains(&value);
    fits.then_some(())
        .ok_or_else(|| format!("{name} is {value}; it must be 1 to {MAX_PARTS}"))
}

pub(super) fn multiple(name: &str, value: usize, of: &str, unit: usize) -> Result<(), String> {
    let fits = value.is_multiple_of(unit);
    fits.then_some(())
        .ok_or_else(|| format!("{name} is {value}; it must be a multiple of {of}, {unit}"))
}

pub(super) fn refused<T>(reason: &str) -> Result<T, String> {
    Err(reason.into())
}

impl ScheduleSpec {
    /// Refuses what no kernel can do.
    ///
    /// # Errors
    /// A sentence naming the constant.
    pub fn validate(&self) -> Result<(), String> {
        self.validate_fixed_point()?;
        self.validate_main_loop()?;
        self.validate_levels()?;
        self.validate_scales()?;
        self.validate_epilogue()?;
        if !Format::Fp32.unpack(self.nan.0).is_nan() || self.nan.0 > u32::MAX.into() {
            return Err(format!("nan {:x} is not a NaN of fp32", self.nan.0));
        }
        Ok(())
    }

    fn validate_fixed_point(&self) -> Result<(), String> {
        let Some(fixed) = self.fixed_point else {
            return Ok(());
        };
        if !fixed.slices.is_none_or(|slices| (2..=16).contains(&slices)) {
            return refused("fixed_point.slices must be 2 to 16 (kernels have 5 to 10)");
        }
        let alone = ScheduleSpec {
            fixed_point: None,
            addend: AddendAt::Start,
            ..self.clone()
        };
        if !alone.is_plain() || self.addend != AddendAt::Epilogue {
            return refused(
                "fixed_point adds integers exactly, in any order, and C at last: no tiles, parts, scales, zero points, \
                 bias or functions, and addend epilogue",
            );
        }
        Ok(())
    }

    fn validate_main_loop(&self) -> Result<(), String> {
        if let Some(tile) = self.tile_k {
            sane("tile_k", tile)?;
        }
        if let Some(of) = self.instruction_k {
            sane("instruction_k", of)?;
            if let Some(tile) = self.tile_k {
                multiple("tile_k", tile, "instruction_k", of)?;
            }
        }
        if let Some(order) = &self.order {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            if order.is_empty() || !sorted.into_iter().eq(0..order.len()) {
                return refused("order must list every number from 0 on once");
            }
            let tile = self.tiled("order")?;
            multiple("tile_k", tile, "the length of order", order.len())?;
        }
        if let Some(terms) = &self.split_terms {
            sane("split_terms.every", terms.every)?;
            validate_terms(terms)?;
            let tile = self.tiled("split_terms")?;
            multiple("tile_k", tile, "split_terms.every", terms.every)?;
            if let Some(of) = self.instruction_k {
                multiple("split_terms.every", terms.every, "instruction_k", of)?;
            }
            let whole = Level::promotion(terms.every).parts;
            let restarts = self.inner.last().is_some_and(|level| level.parts == whole);
            if terms.interrupts() && (!restarts || self.instruction_k.is_some()) {
                return refused(
                    "split_terms.scale and nan_before_last need an accumulator that restarts `every` so many k \
                     (inner blocks), and whole instructions",
                );
            }
        }
        Ok(())
    }

    fn validate_scales(&self) -> Result<(), String> {
        let Some(scales) = &self.scales else {
            return Ok(());
        };
        if self.is_in_place() {
            return refused(
                "scales with a split added in place: no source says when each slice is scaled",
            );
        }
        let fused = matches!(scales.multiply, Multiply::JointFma | Multiply::AThenBFma);
        let promotion = self.promotion();
        match scales.at {
            ScaledAt::Promotion => {
                let Some(promotion) = promotion else {
                    return refused(
                        "scales.at is promotion, but inner has no promoted level (blocks)",
                    );
                };
                if promotion.merge != Merge::serial(Start::Zero) {
                    return refused(
                        "scales.at is promotion, which needs sums that are added one by one from +0",
                    );
                }
                if scales.multiply == Multiply::Alpha {
                    return refused("scales.multiply is alpha, but scales.at is promotion");
                }
            }
            ScaledAt::Epilogue if fused => {
                return refused(
                    "scales.multiply fuses with a promotion, but scales.at is epilogue",
                );
            }
            ScaledAt::Parts | ScaledAt::Result if fused => {
                return refused(
                    "scales.multiply fuses with a promotion, but scales.at is parts or result",
                );
            }
            ScaledAt::Parts | ScaledAt::Result if scales.multiply == Multiply::Alpha => {
                return refused("scales.multiply is alpha, but scales.at is not epilogue");
            }
            ScaledAt::Parts | ScaledAt::Epilogue | ScaledAt::Result => {}
        }
        if scales.multiply == Multiply::Alpha && scales.per != Per::Tensor {
            return refused("scales.multiply is alpha: there is one scale of A and one of B");
        }
        let Per::Block { rows, columns, k } = scales.per else {
            return Ok(());
        };
        if rows == 0 || columns == 0 || k == 0 {
            return refused("scales: a block must have at least one row, column and k");
        }
        let promoted = promotion.filter(|_| scales.at == ScaledAt::Promotion);
        let Some(Parts::Blocks { length, first }) = promoted.map(|level| &level.parts) else {
            return refused("scales per block differ along k, so scales.at must be promotion");
        };
        let slices = match &self.split {
            None => true,
            Some(split) => whole_grains(&split.parts, self.tile_k, k),
        };
        let whole = k.is_multiple_of(*length)
            && first.is_none()
            && self.residue == Residue::Last
            && self.inner.len() == 1
            && slices;
        let ordered = self
            .order
            .as_ref()
            .is_none_or(|order| length.is_multiple_of(order.len()));
        if !whole || !ordered {
            return Err(format!(
                "scales per block of {k} k: a promoted sum must lie in one block (promote at a divisor of it, \
                 residue last, slices of whole blocks)"
            ));
        }
        Ok(())
    }

    fn validate_epilogue(&self) -> Result<(), String> {
        match self.epilogue.function {
            Some(Function::Gelu | Function::Silu) => {
                return refused(
                    "epilogue.function: no source says how kernels compute gelu and silu (their exp and tanh); check \
                     the product before it, or use relu",
                );
            }
            Some(_) if self.is_in_place() => {
                return refused(
                    "epilogue.function with a split added in place: it would apply to each slice",
                );
            }
            _ => {}
        }
        if self.epilogue.bias.is_fused() {
            let scaled = self.scales.as_ref();
            let scaled = scaled.filter(|scales| scales.at == ScaledAt::Epilogue);
            if scaled.is_none() {
                return refused(
                    "epilogue.bias is fused with a scale, but no scale is in the epilogue",
                );
            }
            if scaled.is_some_and(|scales| scales.multiply == Multiply::Alpha) {
                return refused("epilogue.bias is fused with a scale, but the scales are alpha");
            }
        }
        if self.epilogue.combine == Combine::Separate
            && self.epilogue.without_c == WithoutC::AddZero
        {
            return refused(
                "epilogue.without_c is add_zero, which is an fma, but combine is separate",
            );
        }
        if self.zero_point.is_some() && (self.split.is_some() || !self.inner.is_empty()) {
            return refused("zero_point: integer sums must be one chain");
        }
        Ok(())
    }

    /// Whether slices are added to D as it is stored.
    pub fn is_in_place(&self) -> bool {
        let split = self.split.as_ref();
        split.is_some_and(|split| split.merge == Merge::InPlace {})
    }

    pub(super) fn tiled(&self, what: &str) -> Result<usize, String> {
        self.tile_k.ok_or_else(|| format!("{what} needs tile_k"))
    }
}

/// Terms that are of their format, and accumulators that are scaled downward.
fn validate_terms(terms: &SplitTerms) -> Result<(), String> {
    let most = if terms.mid.is_some() { 9 } else { 4 };
    if !(1..=most).contains(&terms.products.len()) {
        return Err(format!("split_terms.products must be 1 to {most} pairs"));
    }
    let roundings = [Some(terms.hi), terms.mid, Some(terms.lo)];
    let of_tf32 = |how: TermRounding| matches!(how, TermRounding::Rz | TermRounding::Rna);
    let of_format = |how| of_tf32(how) == (terms.format == TermFormat::Tf32);
    if !roundings.into_iter().flatten().all(of_format) {
        return refused(
            "split_terms: terms of tf32 are rounded by rz or rna, terms of bf16 by rne or rne_satfinite",
        );
    }
    if terms.mid.is_none() && terms.products.as_flattened().contains(&Term::Mid) {
        return refused("split_terms.products have mid, but no mid says how it is rounded");
    }
    if terms.scale > 16 {
        return refused("split_terms.scale must be 0 to 16");
    }
    let bands: Vec<u32> = terms
        .products
        .iter()
        .map(|&pair| terms.band(pair))
        .collect();
    if terms.scale > 0 && !bands.is_sorted_by(|x, y| x >= y) {
        return refused("split_terms.scale needs products of the lowest terms first");
    }
    Ok(())
}

/// Whether parts begin and end where blocks of k do.
fn whole_grains(parts: &Parts, tile_k: Option<usize>, k: usize) -> bool {
    let tile = tile_k.unwrap_or(1);
    match parts {
        Parts::Slices { grain, .. } => match grain {
            None => tile.is_multiple_of(k),
            Some(Grain::K(grain)) => grain.is_multiple_of(k),
            Some(Grain::ByK(grain)) => grain.narrow.is_multiple_of(k),
        },
        Parts::Tiles { groups, .. } => groups
            .iter()
            .all(|group| whole_grains(&group.parts, tile_k, k)),
        Parts::Whole {} => true,
        Parts::Shared { .. } => tile.is_multiple_of(k),
        Parts::Ranges { parts } => parts
            .iter()
            .all(|part| part.len() == 1 && part[0][0].is_multiple_of(k)),
        _ => false,
    }
}
