//! Which splits and levels a kernel can have.

use super::validate::{MAX_PARTS, multiple, refused, sane};
use super::{
    Empty, Fold, Grain, GrainByK, Group, Level, Merge, Order, Parts, ScheduleSpec, SliceLength,
    Start,
};

impl ScheduleSpec {
    pub(super) fn validate_levels(&self) -> Result<(), String> {
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
                merge if !merge.in_f32() => {
                    return refused(
                        "inner: only a split can keep partial sums in a format other than f32",
                    );
                }
                Merge::Sum { .. } => {}
            }
        }
        if counts > MAX_PARTS {
            return Err(format!(
                "split and inner make {counts} parts; limit: {MAX_PARTS}"
            ));
        }
        Ok(())
    }

    fn validate_split(&self, parts: &Parts) -> Result<(), String> {
        match parts {
            Parts::Whole {} => refused("split: K is not split; omit split"),
            Parts::Blocks { .. } => refused("split: blocks are promoted inside a part; use inner"),
            Parts::Shared { .. } => {
                refused("split: workers share tiles of D; choose them with kind tiles")
            }
            Parts::Tiles { tile, groups, .. } => {
                sane("split.parts.tile", tile[0])?;
                sane("split.parts.tile", tile[1])?;
                let last = groups.len().saturating_sub(1);
                for (i, Group { tiles, parts }) in groups.iter().enumerate() {
                    if tiles.is_none() != (i == last) {
                        return refused(
                            "split.parts.groups: every group but the last must give its number of tiles of D",
                        );
                    }
                    match parts {
                        Parts::Whole {} => {}
                        Parts::Shared { workers, grain } => {
                            self.tiled("a split")?;
                            grain
                                .map_or(Ok(()), |grain| sane("split.parts.groups.grain", grain))?;
                            workers.map_or(Ok(()), |workers| {
                                sane("split.parts.groups.workers", workers)
                            })?;
                        }
                        Parts::Tiles { .. } => {
                            return refused("split.parts.groups: a group cannot contain groups");
                        }
                        parts => self.validate_split(parts)?,
                    }
                }
                if groups.is_empty() {
                    refused("split.parts.groups is empty")
                } else {
                    Ok(())
                }
            }
            Parts::Leaves { length, .. } => sane("split.parts.length", *length),
            Parts::Ranges { parts } => validate_ranges(parts),
            Parts::Slices { count, grain, .. } | Parts::Interleaved { count, grain, .. } => {
                self.validate_counted("split", *count, *grain)
            }
        }
    }

    fn validate_counted(
        &self,
        name: &str,
        count: Option<usize>,
        grain: Option<Grain>,
    ) -> Result<(), String> {
        if let Some(count) = count {
            sane(&format!("{name}.parts.count"), count)?;
        }
        let of_grain = format!("{name}.parts.grain");
        match grain {
            None => self.tiled("a split").map(drop),
            Some(Grain::K(grain)) => sane(&of_grain, grain),
            Some(Grain::ByK(GrainByK { wide, narrow })) => {
                let [of_wide, of_narrow] =
                    ["wide", "narrow"].map(|key| format!("{of_grain}.{key}"));
                sane(&of_wide, wide)?;
                sane(&of_narrow, narrow)?;
                multiple(&of_wide, wide, &of_narrow, narrow)
            }
        }
    }

    fn validate_inner(&self, level: &Level) -> Result<(), String> {
        match &level.parts {
            Parts::Slices {
                length: SliceLength::CeilOfFloor,
                ..
            } => refused("inner: threads cannot omit k; ceil_of_floor is only for a split"),
            parts @ (Parts::Slices { count, grain, .. }
            | Parts::Interleaved { count, grain, .. }) => {
                if count.is_none() {
                    return refused("inner: the number of parts is missing");
                }
                self.validate_counted("inner", *count, *grain)?;
                match (parts, grain, self.tile_k) {
                    (Parts::Interleaved { .. }, Some(Grain::K(grain)), Some(tile)) => {
                        multiple("tile_k", tile, "inner.parts.grain", *grain)
                    }
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
            _ => refused("inner: its parts must be slices, interleaved or blocks"),
        }
    }
}

fn count(parts: &Parts) -> Option<usize> {
    match parts {
        Parts::Slices { count, .. } | Parts::Interleaved { count, .. } => *count,
        _ => None,
    }
}

fn validate_ranges(parts: &[Vec<[usize; 2]>]) -> Result<(), String> {
    if parts.is_empty() || parts.len() > MAX_PARTS {
        return Err(format!("split.parts.parts must be 1 to {MAX_PARTS} parts"));
    }
    let mut all: Vec<[usize; 2]> = parts.iter().flatten().copied().collect();
    if let Some([start, end]) = all.iter().find(|[start, end]| start >= end) {
        return Err(format!(
            "split.parts.parts: [{start}, {end}] is empty; give the first k and the one after the last"
        ));
    }
    all.sort_unstable();
    if let Some(pair) = all.windows(2).find(|pair| pair[0][1] > pair[1][0]) {
        return Err(format!("split.parts.parts: k {} appears twice", pair[1][0]));
    }
    Ok(())
}

fn validate_merge(name: &str, level: &Level) -> Result<(), String> {
    let Merge::Sum { order, start, .. } = &level.merge else {
        return Ok(());
    };
    if *start == Start::Zero && !matches!(order, Order::Serial | Order::Reverse) {
        return Err(format!(
            "{name}.merge.start is zero, but only sums added one by one can start from +0"
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
                    "{name}.merge.order is butterfly, which needs a power of two of slices or interleaved parts \
                     (empty ones are zero)"
                ));
            }
        }
        Order::Listed(pairs) => {
            let Parts::Ranges { parts } = &level.parts else {
                return Err(format!(
                    "{name}.merge.order is listed, which is only for ranges"
                ));
            };
            // What was added to another sum is gone.
            let mut left = vec![true; parts.len()];
            let adds = |&[to, from]: &[usize; 2]| {
                let there = to != from && from != 0;
                let there = there && [to, from].iter().all(|&i| left.get(i) == Some(&true));
                if there {
                    left[from] = false;
                }
                there
            };
            if pairs.len() + 1 != parts.len() || !pairs.iter().all(adds) {
                return Err(format!(
                    "{name}.merge.order: listed pairs [i, j] must add every sum but the first to another one exactly \
                    once"
                ));
            }
        }
        Order::Folds(folds) => {
            let to: Vec<usize> = folds.iter().map(|fold: &Fold| fold.to).collect();
            if !(2..=8).contains(&to.len()) || to.last() != Some(&1) {
                return Err(format!(
                    "{name}.merge.order: give 2 to 8 folds, the last one to 1"
                ));
            }
            if to.contains(&0) || to.iter().any(|&to| to > 4096) {
                return Err(format!(
                    "{name}.merge.order: a fold must leave 1 to 4096 sums"
                ));
            }
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many parts and no more.
    #[test]
    fn as_many_ranges_as_parts() {
        let mut parts: Vec<_> = (0..MAX_PARTS).map(|i| vec![[i, i + 1]]).collect();
        assert_eq!(validate_ranges(&parts), Ok(()));
        parts.push(vec![[MAX_PARTS, MAX_PARTS + 1]]);
        let refused = validate_ranges(&parts).expect_err("one more");
        assert!(refused.contains("1 to 1048576 parts"), "{refused}");
    }
}
