//! Which specs a kernel can follow at all.

use super::{
    BiasAdded, Combine, Empty, Fold, Function, Grain, GrainByK, Group, Level, Merge, Multiply,
    Order, Partials, Parts, Per, Residue, ScaledAt, ScheduleSpec, SliceLength, Start, WithoutC,
};
use crate::num::Format;

const LARGEST: usize = 1 << 20;

/// Parts of all levels together.
const MOST_PARTS: usize = 1 << 20;

fn sane(name: &str, value: usize) -> Result<(), String> {
    let fits = (1..=LARGEST).contains(&value);
    fits.then_some(())
        .ok_or_else(|| format!("{name} is {value}; it must be 1 to {LARGEST}"))
}

fn multiple(name: &str, value: usize, of: &str, unit: usize) -> Result<(), String> {
    let fits = value.is_multiple_of(unit);
    fits.then_some(())
        .ok_or_else(|| format!("{name} is {value}; it must be a multiple of {of}, {unit}"))
}

fn refused<T>(reason: &str) -> Result<T, String> {
    Err(reason.into())
}

impl ScheduleSpec {
    /// Refuses what no kernel can do.
    ///
    /// # Errors
    /// A sentence naming the constant.
    pub fn validate(&self) -> Result<(), String> {
        self.validate_main_loop()?;
        self.validate_levels()?;
        self.validate_scales()?;
        self.validate_epilogue()?;
        if !Format::Fp32.unpack(self.nan.0).is_nan() || self.nan.0 > u32::MAX.into() {
            return Err(format!("nan {:x} is not a NaN of fp32", self.nan.0));
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
            if !(1..=4).contains(&terms.products.len()) {
                return refused("split_terms.products must be 1 to 4 pairs");
            }
            let tile = self.tiled("split_terms")?;
            multiple("tile_k", tile, "split_terms.every", terms.every)?;
            if let Some(of) = self.instruction_k {
                multiple("split_terms.every", terms.every, "instruction_k", of)?;
            }
        }
        Ok(())
    }

    fn validate_levels(&self) -> Result<(), String> {
        let mut counts = 1usize;
        let mut counted = |count: Option<usize>| {
            counts = counts.saturating_mul(count.unwrap_or(1));
        };
        if let Some(split) = &self.split {
            self.validate_split(&split.parts)?;
            counted(count(&split.parts));
            validate_merge("split", split)?;
        }
        if self.inner.len() > 4 {
            return refused("inner has more than 4 levels");
        }
        for level in &self.inner {
            self.validate_inner(level)?;
            counted(count(&level.parts));
            validate_merge("inner", level)?;
            match &level.merge {
                Merge::InPlace {} => {
                    return refused("inner: only a split is added to D in place");
                }
                Merge::Sum {
                    partials: Partials::Result,
                    ..
                } => return refused("inner: only a split keeps partial sums in D's format"),
                Merge::Sum { .. } => {}
            }
        }
        if counts > MOST_PARTS {
            return Err(format!(
                "split and inner make {counts} parts; no kernel has more than {MOST_PARTS}"
            ));
        }
        Ok(())
    }

    fn validate_split(&self, parts: &Parts) -> Result<(), String> {
        match parts {
            Parts::Whole {} => refused("split: K is not split; leave split out"),
            Parts::Blocks { .. } => {
                refused("split: blocks are promoted inside of a part; see inner")
            }
            Parts::Shared { .. } => {
                refused("split: workers share tiles of D; say which with kind tiles")
            }
            Parts::Tiles { tile, groups, .. } => {
                sane("split.parts.tile", tile[0])?;
                sane("split.parts.tile", tile[1])?;
                let last = groups.len().saturating_sub(1);
                for (i, Group { tiles, parts }) in groups.iter().enumerate() {
                    if tiles.is_none() != (i == last) {
                        return refused(
                            "split.parts.groups: all but the last group say how many tiles of D they have",
                        );
                    }
                    match parts {
                        Parts::Whole {} => {}
                        Parts::Shared { workers } => {
                            self.tiled("a split")?;
                            workers.map_or(Ok(()), |workers| {
                                sane("split.parts.groups.workers", workers)
                            })?;
                        }
                        Parts::Tiles { .. } => {
                            return refused("split.parts.groups: a group has no groups of its own");
                        }
                        parts => self.validate_split(parts)?,
                    }
                }
                match groups.is_empty() {
                    true => refused("split.parts.groups is empty"),
                    false => Ok(()),
                }
            }
            Parts::Ranges { parts } => validate_ranges(parts),
            parts => self.validate_counted("split", parts),
        }
    }

    fn validate_counted(&self, name: &str, parts: &Parts) -> Result<(), String> {
        let (Parts::Slices {
            count: parts,
            grain,
            ..
        }
        | Parts::Interleaved {
            count: parts,
            grain,
            ..
        }) = parts
        else {
            unreachable!("slices and grains have counts");
        };
        if let Some(count) = parts {
            sane(&format!("{name}.parts.count"), *count)?;
        }
        match grain {
            None => self.tiled("a split").map(drop),
            Some(Grain::K(grain)) => sane(&format!("{name}.parts.grain"), *grain),
            Some(Grain::ByK(GrainByK { wide, narrow })) => {
                sane(&format!("{name}.parts.grain.wide"), *wide)?;
                sane(&format!("{name}.parts.grain.narrow"), *narrow)?;
                multiple(
                    &format!("{name}.parts.grain.wide"),
                    *wide,
                    &format!("{name}.parts.grain.narrow"),
                    *narrow,
                )
            }
        }
    }

    fn validate_inner(&self, level: &Level) -> Result<(), String> {
        match &level.parts {
            Parts::Slices {
                length: SliceLength::CeilOfFloor,
                ..
            } => refused("inner: threads leave no k out; ceil_of_floor is for a split"),
            parts @ (Parts::Slices { .. } | Parts::Interleaved { .. }) => {
                if count(parts).is_none() {
                    return refused("inner: the number of parts is not said");
                }
                self.validate_counted("inner", parts)?;
                match (parts, self.tile_k) {
                    (
                        Parts::Interleaved {
                            grain: Some(Grain::K(grain)),
                            ..
                        },
                        Some(tile),
                    ) => multiple("tile_k", tile, "inner.parts.grain", *grain),
                    _ => Ok(()),
                }
            }
            Parts::Blocks { length, first } => {
                sane("inner.parts.length", *length)?;
                if let Some(first) = first {
                    sane("inner.parts.first", *first)?;
                }
                let Some(terms) = &self.split_terms else {
                    return Ok(());
                };
                multiple(
                    "inner.parts.length",
                    *length,
                    "split_terms.every",
                    terms.every,
                )?;
                let first = first.unwrap_or(terms.every);
                multiple("inner.parts.first", first, "split_terms.every", terms.every)
            }
            _ => refused("inner: its parts are slices, interleaved or blocks"),
        }
    }

    fn validate_scales(&self) -> Result<(), String> {
        let Some(scales) = &self.scales else {
            return Ok(());
        };
        if self.is_in_place() {
            return refused(
                "scales and a split added up in place: nobody has published which slice is scaled when",
            );
        }
        let fused = matches!(scales.multiply, Multiply::JointFma | Multiply::AThenBFma);
        let promotion = self.promotion();
        match scales.at {
            ScaledAt::Promotion => {
                let Some(promotion) = promotion else {
                    return refused(
                        "scales.at is promotion, but no level of inner is promoted (blocks)",
                    );
                };
                if promotion.merge != Merge::serial(Start::Zero) {
                    return refused(
                        "scales.at is promotion: sums are scaled where they are added one by one to +0",
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
            ScaledAt::Epilogue => {}
        }
        if scales.multiply == Multiply::Alpha && scales.per != Per::Tensor {
            return refused("scales.multiply is alpha: there is one scale of A and one of B");
        }
        let Per::Block { rows, columns, k } = scales.per else {
            return Ok(());
        };
        if rows == 0 || columns == 0 || k == 0 {
            return refused("scales: a block has at least one row, column and k");
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
                "scales per block of {k} k: a promoted sum must lie in one block (promoted every divisor of \
                 it, residue last, slices of whole blocks)"
            ));
        }
        Ok(())
    }

    fn validate_epilogue(&self) -> Result<(), String> {
        match self.epilogue.function {
            Some(Function::Gelu | Function::Silu) => {
                return refused(
                    "epilogue.function: how kernels compute gelu and silu (their exp and tanh) is not \
                     published; check the product before it, or take relu",
                );
            }
            Some(_) if self.is_in_place() => {
                return refused(
                    "epilogue.function with a split added up in place: each slice would go through it",
                );
            }
            _ => {}
        }
        if self.epilogue.bias == BiasAdded::Fused {
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
            return refused("zero_point: integer sums are of one chain");
        }
        Ok(())
    }

    /// Whether slices are added to D as it is stored.
    pub fn is_in_place(&self) -> bool {
        matches!(
            &self.split,
            Some(Level {
                merge: Merge::InPlace {},
                ..
            })
        )
    }

    fn tiled(&self, what: &str) -> Result<usize, String> {
        self.tile_k.ok_or_else(|| format!("{what} needs tile_k"))
    }
}

fn count(parts: &Parts) -> Option<usize> {
    match parts {
        Parts::Slices { count, .. } | Parts::Interleaved { count, .. } => *count,
        _ => None,
    }
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

fn validate_ranges(parts: &[Vec<[usize; 2]>]) -> Result<(), String> {
    if parts.is_empty() || parts.len() > LARGEST {
        return Err(format!("split.parts.parts must be 1 to {LARGEST} parts"));
    }
    let mut all: Vec<[usize; 2]> = parts.iter().flatten().copied().collect();
    if let Some([start, end]) = all.iter().find(|[start, end]| start >= end) {
        return Err(format!(
            "split.parts.parts: [{start}, {end}] has no k; write the first and the one behind the last"
        ));
    }
    all.sort_unstable();
    if let Some(pair) = all.windows(2).find(|pair| pair[0][1] > pair[1][0]) {
        return Err(format!(
            "split.parts.parts: k {} is in it twice",
            pair[1][0]
        ));
    }
    Ok(())
}

fn validate_merge(name: &str, level: &Level) -> Result<(), String> {
    let Merge::Sum { order, start, .. } = &level.merge else {
        return Ok(());
    };
    if *start == Start::Zero && !matches!(order, Order::Serial | Order::Reverse) {
        return Err(format!(
            "{name}.merge.start is zero, but only sums added one by one start from +0"
        ));
    }
    match order {
        Order::Butterfly => {
            let even = count(&level.parts).is_none_or(usize::is_power_of_two);
            let lanes = match &level.parts {
                Parts::Slices { empty, .. } | Parts::Interleaved { empty, .. } => {
                    *empty == Empty::Zero
                }
                _ => false,
            };
            if !even || !lanes {
                return Err(format!(
                    "{name}.merge.order is butterfly: of a power of two of slices or interleaved parts, \
                     empty ones as zero"
                ));
            }
        }
        Order::Folds(folds) => {
            let to: Vec<usize> = folds.iter().map(|fold: &Fold| fold.to).collect();
            if !(2..=8).contains(&to.len()) || to.last() != Some(&1) {
                return Err(format!(
                    "{name}.merge.order: 2 to 8 folds, the last one to 1"
                ));
            }
            if to.contains(&0) || to.iter().any(|&to| to > 4096) {
                return Err(format!("{name}.merge.order: a fold leaves 1 to 4096 sums"));
            }
        }
        _ => {}
    }
    Ok(())
}
