//! What a recipe makes of one K: which products go through the instruction, in which order, in how many
//! chains.
//!
//! A [`Slot`] is one place in the instruction's K: a k of the product, or a zero that fills a tile up.

use std::ops::Range;

use super::{Passes, Piece, Raster, Recipe, Residue, Split};

/// One product of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// None is a product of zeros.
    pub k: Option<usize>,
    /// The parts of A and of B that are multiplied; none is all of them.
    pub parts: Option<[Piece; 2]>,
}

/// The products of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Slots {
    /// These k, ascending.
    Range(Range<usize>),
    List(Vec<Slot>),
}

/// One accumulator of the tensor core from its start to where it is read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Chain {
    pub slots: Slots,
}

/// A sum of chains: one chain, or a main accumulator in f32 that several are promoted to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Partial {
    pub chains: Vec<Chain>,
    pub promoted: bool,
}

/// How one tile of D, or all of it, is computed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Walk {
    /// In the order in which they are added.
    pub partials: Vec<Partial>,
}

impl Piece {
    fn name(self) -> &'static str {
        match self {
            Piece::Big => "big",
            Piece::Small => "small",
        }
    }
}

impl Slot {
    fn of(k: usize) -> Slot {
        Slot {
            k: Some(k),
            parts: None,
        }
    }

    const ZERO: Slot = Slot {
        k: None,
        parts: None,
    };
}

impl Slots {
    pub fn len(&self) -> usize {
        match self {
            Slots::Range(range) => range.len(),
            Slots::List(slots) => slots.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn get(&self, i: usize) -> Slot {
        match self {
            Slots::Range(range) => Slot::of(range.start + i),
            Slots::List(slots) => slots[i],
        }
    }

    /// The first k of the product among them.
    pub fn first_k(&self) -> Option<usize> {
        (0..self.len()).find_map(|i| self.get(i).k)
    }

    /// Ranges stay ranges.
    fn cut(&self, at: Range<usize>) -> Slots {
        match self {
            Slots::Range(range) => Slots::Range(range.start + at.start..range.start + at.end),
            Slots::List(slots) => Slots::List(slots[at].to_vec()),
        }
    }

    /// A list that is a range becomes one.
    fn simplified(self) -> Slots {
        let Slots::List(slots) = &self else {
            return self;
        };
        let first = slots.first().and_then(|slot| slot.k);
        let Some(first) = first else { return self };
        let plain = |(i, slot): (usize, &Slot)| *slot == Slot::of(first + i);
        match slots.iter().enumerate().all(plain) {
            true => Slots::Range(first..first + slots.len()),
            false => self,
        }
    }

    /// `k 0..64, 96..128, 2 zeros`: for people.
    pub fn describe(&self) -> String {
        let mut runs: Vec<(Slot, usize, usize)> = Vec::new();
        for i in 0..self.len() {
            let slot = self.get(i);
            if let Some((first, count, step)) = runs.last_mut()
                && first.parts == slot.parts
            {
                let next = first.k.map(|k| k + *count);
                if first.k.is_none() && slot.k.is_none() || next.is_some() && slot.k == next {
                    *count += 1;
                    continue;
                }
                *step += 1;
            }
            runs.push((slot, 1, 0));
        }
        let text = |&(slot, count, _): &(Slot, usize, usize)| {
            let parts = slot.parts.map_or(String::new(), |[a, b]| {
                format!("{}*{} ", a.name(), b.name())
            });
            match slot.k {
                None if count == 1 => format!("{parts}a zero"),
                None => format!("{parts}{count} zeros"),
                Some(k) if count == 1 => format!("{parts}{k}"),
                Some(k) => format!("{parts}{k}..{}", k + count),
            }
        };
        let shown: Vec<_> = runs.iter().take(8).map(text).collect();
        let more = match runs.len() {
            0..=8 => "",
            _ => ", ...",
        };
        format!("k {}{more}", shown.join(", "))
    }
}

impl Walk {
    /// The walk over `k`, which must be at least 1. For stream-K: of the tile of D at `tile` (row and
    /// column of tiles, of so many tiles in all).
    ///
    /// # Errors
    /// What the recipe leaves open and has to be said.
    pub fn new(recipe: &Recipe, k: usize, tile: ([usize; 2], [usize; 2])) -> Result<Walk, String> {
        let pieces = match &recipe.split {
            Split::None {} | Split::Sliced { .. } => std::iter::once(0..k).collect(),
            Split::Serial { slices } | Split::Workspace { slices, .. } => {
                let slices =
                    slices.ok_or("the number of slices of K is not said; see --split-k")?;
                let tiles = k.div_ceil(recipe.tile_k.unwrap_or(1));
                let length = tiles.div_ceil(slices) * recipe.tile_k.unwrap_or(1);
                let slice = |i: usize| (i * length).min(k)..((i + 1) * length).min(k);
                (0..slices).map(slice).collect()
            }
            Split::Chunks { starts } => {
                let ends = starts.iter().skip(1).copied().chain([usize::MAX]);
                let chunks = starts
                    .iter()
                    .zip(ends)
                    .map(|(&start, end)| start..end.min(k));
                chunks.filter(|chunk| chunk.start < k).collect()
            }
            Split::Stream { .. } => stream(recipe, k, tile)?,
        };
        let mut partials = Vec::new();
        for piece in pieces {
            let slots = tiles(recipe, piece);
            let stripes = match recipe.split {
                Split::Sliced { warps, stripe } => stripes(&slots, warps, stripe),
                _ => vec![slots],
            };
            partials.extend(stripes.into_iter().map(|slots| partial(recipe, slots)));
        }
        Ok(Walk { partials })
    }

    /// Whether it is one chain over all of K, as the instruction alone would have it.
    pub fn is_one_range(&self) -> bool {
        let [partial] = self.partials.as_slice() else {
            return false;
        };
        matches!(
            partial.chains.as_slice(),
            [Chain {
                slots: Slots::Range(_)
            }]
        ) && !partial.promoted
    }

    /// Products for every element of D, those with zeros included.
    pub fn products(&self) -> usize {
        let chains = self.partials.iter().flat_map(|partial| &partial.chains);
        chains.map(|chain| chain.slots.len()).sum()
    }
}

/// The chunks of one tile of D.
fn stream(
    recipe: &Recipe,
    k: usize,
    (at, count): ([usize; 2], [usize; 2]),
) -> Result<Vec<Range<usize>>, String> {
    let Split::Stream {
        workers, raster, ..
    } = recipe.split
    else {
        unreachable!("called for stream-K");
    };
    let workers = workers.ok_or("the number of workers (SMs) is not said; see --workers")? as u128;
    let tile_k = recipe.tile_k.unwrap_or(1);
    let depth = k.div_ceil(tile_k) as u128;
    let index = match raster {
        Raster::AlongRows => at[0] * count[1] + at[1],
        Raster::AlongColumns => at[1] * count[0] + at[0],
    };
    let all = count[0] as u128 * count[1] as u128 * depth;
    let (each, more) = (all / workers, all % workers);
    // Where a worker's share starts.
    let start = |worker: u128| worker * each + worker.min(more);
    let (first, last) = (index as u128 * depth, (index as u128 + 1) * depth);
    let mut chunks = Vec::new();
    // The last worker that starts at or before the tile does.
    let mut worker = match each {
        0 => first.min(workers),
        _ => (first / (each + 1)).min(workers),
    };
    while worker < workers && start(worker + 1) <= first {
        worker += 1;
    }
    let mut from = first;
    while from < last {
        let to = start(worker + 1).min(last);
        if to > from {
            let k_of = |tile: u128| ((tile - first) as usize * tile_k).min(k);
            chunks.push(k_of(from)..k_of(to));
            from = to;
        }
        worker += 1;
    }
    Ok(chunks)
}

/// The k of a slice, tile after tile, filled up and in order.
fn tiles(recipe: &Recipe, k: Range<usize>) -> Slots {
    let Some(tile) = recipe.tile_k else {
        return Slots::Range(k);
    };
    let residue = k.len() % tile;
    if residue == 0 && recipe.order.is_none() {
        return Slots::Range(k);
    }
    let zeros = |count: usize| std::iter::repeat_n(Slot::ZERO, count);
    let missing = if residue == 0 { 0 } else { tile - residue };
    let of = |k: Range<usize>| k.map(Slot::of);
    let first = k.start + residue;
    let slots: Vec<Slot> = match recipe.residue {
        Residue::Last => of(k).chain(zeros(missing)).collect(),
        Residue::First => of(k.start..first)
            .chain(zeros(missing))
            .chain(of(first..k.end))
            .collect(),
        Residue::FirstAligned => zeros(missing).chain(of(k)).collect(),
    };
    let Some(order) = &recipe.order else {
        return Slots::List(slots);
    };
    let ordered = slots
        .chunks(order.len())
        .flat_map(|group| order.iter().map(|&i| group[i]));
    Slots::List(ordered.collect())
}

/// What each warp takes of the stripes that come round in turn.
fn stripes(slots: &Slots, warps: usize, stripe: usize) -> Vec<Slots> {
    let of = |warp: usize| {
        let starts = (warp * stripe..slots.len()).step_by(warps * stripe);
        let mine = starts.flat_map(|start| start..(start + stripe).min(slots.len()));
        Slots::List(mine.map(|i| slots.get(i)).collect()).simplified()
    };
    (0..warps).map(of).collect()
}

fn partial(recipe: &Recipe, slots: Slots) -> Partial {
    let chain = |slots: Slots| Chain {
        slots: match &recipe.passes {
            None => slots,
            Some(passes) => expand(&slots, passes),
        },
    };
    let Some(promote) = &recipe.promote else {
        return Partial {
            chains: vec![chain(slots)],
            promoted: false,
        };
    };
    let mut chains = Vec::new();
    let mut start = 0;
    while start < slots.len() {
        let length = match promote.first {
            Some(first) if start == 0 => first,
            _ => promote.every,
        };
        let end = (start + length).min(slots.len());
        chains.push(chain(slots.cut(start..end).simplified()));
        start = end;
    }
    Partial {
        chains,
        promoted: true,
    }
}

fn expand(slots: &Slots, passes: &Passes) -> Slots {
    let mut all = Vec::with_capacity(slots.len() * passes.products.len());
    for start in (0..slots.len()).step_by(passes.every) {
        for &parts in &passes.products {
            let group = start..(start + passes.every).min(slots.len());
            all.extend(group.map(|i| Slot {
                parts: Some(parts),
                ..slots.get(i)
            }));
        }
    }
    Slots::List(all)
}
