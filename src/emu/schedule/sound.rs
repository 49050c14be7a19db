//! Which recipes a kernel can follow at all.

use super::{Multiply, Per, Recipe, Residue, ScaledAt, Split};
use crate::num::Format;

impl Recipe {
    /// Refuses what no kernel can do.
    ///
    /// # Errors
    /// A sentence naming the constant.
    pub fn check(&self) -> Result<(), String> {
        const LARGEST: usize = 1 << 20;
        let sane = |name: &str, value: usize| {
            let fits = (1..=LARGEST).contains(&value);
            fits.then_some(())
                .ok_or_else(|| format!("{name} is {value}; it must be 1 to {LARGEST}"))
        };
        let multiple = |name: &str, value: usize, of: &str, unit: usize| {
            let fits = value.is_multiple_of(unit);
            fits.then_some(())
                .ok_or_else(|| format!("{name} is {value}; it must be a multiple of {of}, {unit}"))
        };
        if let Some(tile) = self.tile_k {
            sane("tile_k", tile)?;
        }
        if let Some(order) = &self.order {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            if order.is_empty() || !sorted.into_iter().eq(0..order.len()) {
                return Err("order must list every number from 0 on once".into());
            }
            multiple(
                "tile_k",
                self.tiled("order")?,
                "the length of order",
                order.len(),
            )?;
        }
        if let Some(passes) = &self.passes {
            sane("passes.every", passes.every)?;
            if !(1..=4).contains(&passes.products.len()) {
                return Err("passes.products must be 1 to 4 pairs".into());
            }
            multiple(
                "tile_k",
                self.tiled("passes")?,
                "passes.every",
                passes.every,
            )?;
        }
        match &self.split {
            Split::None {} => {}
            Split::Serial { slices } | Split::Workspace { slices, .. } => {
                if let Some(slices) = slices {
                    sane("split.slices", *slices)?;
                }
                self.tiled("a split")?;
            }
            Split::Sliced { warps, stripe } => {
                sane("split.warps", *warps)?;
                sane("split.stripe", *stripe)?;
                multiple("tile_k", self.tiled("a split")?, "split.stripe", *stripe)?;
            }
            Split::Chunks { starts } => {
                if starts.first() != Some(&0) || !starts.is_sorted_by(|a, b| a < b) {
                    return Err("split.starts must ascend from 0".into());
                }
                let tile = self.tiled("a split")?;
                for &start in starts {
                    multiple("split.starts", start, "tile_k", tile)?;
                }
            }
            Split::Stream { workers, tile, .. } => {
                if let Some(workers) = workers {
                    sane("split.workers", *workers)?;
                }
                sane("split.tile", tile[0])?;
                sane("split.tile", tile[1])?;
                self.tiled("a split")?;
            }
        }
        if let Some(promote) = &self.promote {
            sane("promote.every", promote.every)?;
            if let Some(first) = promote.first {
                sane("promote.first", first)?;
            }
            if let Some(passes) = &self.passes {
                multiple("promote.every", promote.every, "passes.every", passes.every)?;
                let first = promote.first.unwrap_or(passes.every);
                multiple("promote.first", first, "passes.every", passes.every)?;
            }
        }
        self.check_scales()?;
        if !Format::Fp32.unpack(self.nan.0).is_nan() || self.nan.0 > u32::MAX.into() {
            return Err(format!("nan {:x} is not a NaN of fp32", self.nan.0));
        }
        Ok(())
    }

    fn check_scales(&self) -> Result<(), String> {
        let Some(scales) = &self.scales else {
            return Ok(());
        };
        if matches!(self.split, Split::Serial { .. }) {
            return Err(
                "scales and a serial split: nobody has published which slice is scaled when".into(),
            );
        }
        let fused = matches!(scales.multiply, Multiply::JointFma | Multiply::AThenBFma);
        match scales.at {
            ScaledAt::Promotion if self.promote.is_none() => {
                return Err("scales.at is promotion, but there is no promote".into());
            }
            ScaledAt::Epilogue if fused => {
                return Err(
                    "scales.multiply fuses with a promotion, but scales.at is epilogue".into(),
                );
            }
            _ => {}
        }
        let Per::Block { rows, columns, k } = scales.per else {
            return Ok(());
        };
        if rows == 0 || columns == 0 || k == 0 {
            return Err("scales: a block has at least one row, column and k".into());
        }
        let Some(promote) = self
            .promote
            .as_ref()
            .filter(|_| scales.at == ScaledAt::Promotion)
        else {
            return Err("scales per block differ along k, so scales.at must be promotion".into());
        };
        let whole = k.is_multiple_of(promote.every)
            && promote.first.is_none()
            && self.residue == Residue::Last
            && (matches!(self.split, Split::None {}) || self.tile_k.unwrap_or(1).is_multiple_of(k));
        let ordered = self
            .order
            .as_ref()
            .is_none_or(|order| promote.every.is_multiple_of(order.len()));
        if !whole || !ordered || matches!(self.split, Split::Sliced { .. }) {
            return Err(format!(
                "scales per block of {k} k: a promoted sum must lie in one block (promote.every a divisor, \
                 residue last, slices of whole blocks)"
            ));
        }
        Ok(())
    }

    fn tiled(&self, what: &str) -> Result<usize, String> {
        self.tile_k.ok_or_else(|| format!("{what} needs tile_k"))
    }
}
