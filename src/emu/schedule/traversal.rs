//! What a spec makes of one K: which products go through the instruction, in which order, in how many
//! chains, and how their sums come together.

use std::cell::Cell;
use std::ops::Range;

use super::divide::{Part, divide, omitted, part};
use super::k_index::{KIndex, KIndices};
use super::{
    Group, Level, Merge, Order, Partials, Parts, Raster, Residue, ScaledAt, ScheduleSpec,
    SplitTerms, Start,
};

/// One accumulator of the tensor core from its start to where it is read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Chain {
    pub indices: KIndices,
}

/// A sum: of one chain, or of other sums.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    Chain(Chain),
    Sum(Sum),
}

/// Sums that come together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sum {
    pub role: Role,
    pub merge: Merge,
    /// At least one.
    pub parts: Vec<Node>,
}

/// What divided its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The split of K.
    Split,
    /// A level inside a part.
    Inner,
    /// Promotion, with scales if `scaled`.
    Promotion { scaled: bool },
}

/// How one tile of D, or all of it, is computed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KTraversal {
    pub root: Node,
    /// k that no part has: they are missing from D.
    pub omitted: Vec<Range<usize>>,
}

/// One of the tiles of D.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileOfD {
    /// Row and column of tiles.
    pub at: [usize; 2],
    /// Rows and columns of tiles of D.
    pub count: [usize; 2],
}

impl TileOfD {
    /// All of D as one tile.
    pub const ONLY: TileOfD = TileOfD {
        at: [0, 0],
        count: [1, 1],
    };

    /// Its number, as tiles are counted.
    fn index(self, raster: Raster) -> usize {
        let ([row, column], [rows, columns]) = (self.at, self.count);
        match raster {
            Raster::AlongRows => row * columns + column,
            Raster::AlongColumns => column * rows + row,
        }
    }

    /// The tile of this number.
    pub(super) fn nth(index: usize, count: [usize; 2], raster: Raster) -> TileOfD {
        let [rows, columns] = count;
        let at = match raster {
            Raster::AlongRows => [index / columns, index % columns],
            Raster::AlongColumns => [index % rows, index / rows],
        };
        TileOfD { at, count }
    }
}

impl Node {
    /// All chains, from left to right.
    pub fn chains(&self) -> Vec<&Chain> {
        match self {
            Node::Chain(chain) => vec![chain],
            Node::Sum(sum) => sum.parts.iter().flat_map(Node::chains).collect(),
        }
    }

    /// The most sums that are kept at once, all levels together; `early` is whether those that can be are
    /// added as soon as there are two.
    pub fn kept(&self, early: bool) -> usize {
        let Node::Sum(sum) = self else { return 1 };
        let inside = sum.parts.iter().map(|node| node.kept(early));
        let inside = inside.max().unwrap_or(1);
        match &sum.merge {
            Merge::Sum { order, .. } if !order.is_serial() => {
                let additions = order.additions(sum.parts.len());
                let chain = additions.critical_chain(sum.parts.len());
                let chain = chain.filter(|_| early && sum.merge.in_f32());
                inside + chain.map_or(additions.width, |chain| chain.kept())
            }
            _ => inside + 1,
        }
    }
}

/// The most zeros that fill parts up to whole tiles, since each is listed; no kernel has more.
const MOST_ZEROS: usize = 1 << 22;
/// The most sums of one K, with the zeros that fill instructions up: each is kept. No kernel has more.
const MOST_SUMS: usize = 1 << 22;

impl KTraversal {
    /// The traversal of `k` for a unit that adds `span` products in a step. Tiles of D differ only if
    /// the split says so.
    ///
    /// # Errors
    /// A constant that is still open, or does not fit this k.
    pub fn new(
        spec: &ScheduleSpec,
        k: usize,
        span: usize,
        tile: TileOfD,
    ) -> Result<KTraversal, String> {
        let main_loop = MainLoop {
            spec,
            k,
            span,
            left: Cell::new(MOST_SUMS),
        };
        let node = |part: Part| main_loop.node(&part);
        let Some(split) = &spec.split else {
            return Ok(KTraversal {
                root: node(part(0..k))?,
                omitted: Vec::new(),
            });
        };
        let parts = parts_of(spec, &split.parts, k, tile)?;
        if let Some(tile) = spec.tile_k {
            let filled = |part: &Part| {
                part.iter()
                    .map(ExactSizeIterator::len)
                    .sum::<usize>()
                    .next_multiple_of(tile)
            };
            let filled = parts.iter().map(filled).fold(0, usize::saturating_add);
            if filled.saturating_sub(k) > MOST_ZEROS {
                return Err(format!(
                    "{} parts of K are filled up to tiles of {tile} k; limit: {MOST_ZEROS} zeros",
                    parts.len()
                ));
            }
        }
        let omitted = omitted(&parts, k);
        let nodes: Result<Vec<Node>, String> = parts.into_iter().map(node).collect();
        Ok(KTraversal {
            root: brought_together(nodes?, Role::Split, &split.merge),
            omitted,
        })
    }

    /// That of a K of 0.
    pub fn without_products() -> KTraversal {
        KTraversal {
            root: Node::Chain(Chain {
                indices: KIndices::Range(0..0),
            }),
            omitted: Vec::new(),
        }
    }

    /// Products for every element of D, those with zeros included.
    pub fn products(&self) -> usize {
        let chains = self.root.chains().into_iter();
        chains.map(|chain| chain.indices.len()).sum()
    }
}

/// Sums as the merge has them. A single sum that starts from itself needs no merge.
fn brought_together(mut parts: Vec<Node>, role: Role, merge: &Merge) -> Node {
    let kept = match merge {
        Merge::InPlace {} => true,
        Merge::Sum {
            start, partials, ..
        } => *start == Start::First && *partials == Partials::F32,
    };
    if parts.is_empty() {
        parts.push(KTraversal::without_products().root);
    }
    if parts.len() == 1 && kept && role != (Role::Promotion { scaled: true }) {
        return parts.remove(0);
    }
    let merge = match merge {
        // So that equal sums are equal.
        Merge::Sum {
            start,
            partials,
            sums,
            ..
        } if parts.len() == 1 => Merge::Sum {
            order: Order::Serial,
            start: *start,
            partials: *partials,
            sums: *sums,
        },
        merge => merge.clone(),
    };
    Node::Sum(Sum { role, merge, parts })
}

/// The parts of K for one tile of D.
fn parts_of(
    spec: &ScheduleSpec,
    parts: &Parts,
    k: usize,
    tile: TileOfD,
) -> Result<Vec<Part>, String> {
    let Parts::Tiles { raster, groups, .. } = parts else {
        return divide(parts, k, spec.tile_k);
    };
    let index = tile.index(*raster);
    let all = tile.count[0] * tile.count[1];
    let mut before = 0;
    for Group { tiles, parts } in groups {
        let count = tiles.unwrap_or(all).min(all - before);
        if index < before + count {
            return match parts {
                Parts::Shared { workers, grain } => {
                    let tile_k = spec.tile_k.unwrap_or(1);
                    shared([*workers, *grain], k, tile_k, index - before, count)
                }
                parts => divide(parts, k, spec.tile_k),
            };
        }
        before += count;
    }
    Err(format!(
        "the groups of the split have {before} tiles of D, but there are {all}"
    ))
}

/// The chunks of tile `index` of `count` ones of D that workers share.
fn shared(
    [workers, grain]: [Option<usize>; 2],
    k: usize,
    tile_k: usize,
    index: usize,
    count: usize,
) -> Result<Vec<Part>, String> {
    let workers = workers.ok_or("the number of workers (SMs) is missing; see `workers`")? as u128;
    let depth = k.div_ceil(tile_k) as u128;
    let all = count as u128 * depth;
    let (each, more) = match grain {
        None => (all / workers, all % workers),
        Some(grain) => (all.div_ceil(workers).next_multiple_of(grain as u128), 0),
    };
    // Where a worker's share starts.
    let start = |worker: u128| worker * each + worker.min(more);
    let (first, last) = (index as u128 * depth, (index as u128 + 1) * depth);
    let mut chunks = Vec::new();
    // None before this one has something of the tile: shares are `each` long, or one longer.
    let mut worker = first / (each + u128::from(more > 0)).max(1);
    let mut from = first;
    while from < last {
        let to = start(worker + 1).min(last);
        if to > from {
            let k_of = |tile: u128| ((tile - first) as usize * tile_k).min(k);
            chunks.push(part(k_of(from)..k_of(to)));
            from = to;
        }
        worker += 1;
    }
    Ok(chunks)
}

/// What happens to the k of one part.
struct MainLoop<'a> {
    spec: &'a ScheduleSpec,
    k: usize,
    span: usize,
    /// Sums and filling zeros that may still be made.
    left: Cell<usize>,
}

impl MainLoop<'_> {
    fn node(&self, part: &[Range<usize>]) -> Result<Node, String> {
        self.inner(self.tiles(part), &self.spec.inner, false)
    }

    fn spend(&self, count: usize) -> Result<(), String> {
        let left = self.left.get().checked_sub(count).ok_or_else(|| {
            let k = self.k;
            format!(
                "K={k} is added up in too many parts; limit: {MOST_SUMS} sums and filling zeros"
            )
        })?;
        self.left.set(left);
        Ok(())
    }

    /// The k of a part, tile after tile, filled up and in order.
    fn tiles(&self, part: &[Range<usize>]) -> KIndices {
        let spec = self.spec;
        let length: usize = part.iter().map(ExactSizeIterator::len).sum();
        let tile = spec.tile_k.unwrap_or(1);
        let residue = length % tile;
        if residue == 0 && spec.order.is_none() {
            return match part {
                [] => KIndices::Range(0..0),
                [range] => KIndices::Range(range.clone()),
                ranges => {
                    KIndices::List(ranges.iter().cloned().flatten().map(KIndex::of).collect())
                }
            };
        }
        let missing = length.next_multiple_of(tile) - length;
        let mut indices: Vec<KIndex> = part.iter().cloned().flatten().map(KIndex::of).collect();
        let at = match spec.residue {
            Residue::Last => length,
            Residue::First => residue,
            Residue::FirstAligned => 0,
        };
        indices.splice(at..at, std::iter::repeat_n(KIndex::ZERO, missing));
        if let Some(order) = &spec.order {
            let groups = indices.chunks(order.len());
            indices = groups
                .flat_map(|group| order.iter().map(|&i| group[i]))
                .collect();
        }
        KIndices::List(indices)
    }

    fn inner(&self, indices: KIndices, levels: &[Level], promoted: bool) -> Result<Node, String> {
        let Some((level, inside)) = levels.split_first() else {
            let indices = self.chain(indices)?;
            return Ok(Node::Chain(Chain { indices }));
        };
        let first = level.is_promotion() && !promoted;
        let role = if level.is_promotion() {
            let at = self.spec.scales.as_ref().map(|scaling| scaling.at);
            let scaled = first && at == Some(ScaledAt::Promotion);
            Role::Promotion { scaled }
        } else {
            Role::Inner
        };
        let parts = divide(&level.parts, indices.len(), self.spec.tile_k)?;
        self.spend(parts.len())?;
        let nodes = parts
            .iter()
            .map(|part| self.inner(indices.gathered(part), inside, promoted || first));
        let nodes: Result<Vec<Node>, String> = nodes.collect();
        Ok(brought_together(nodes?, role, &level.merge))
    }

    /// Products of terms, and instructions that are filled up.
    fn chain(&self, indices: KIndices) -> Result<KIndices, String> {
        let indices = match &self.spec.split_terms {
            None => indices,
            Some(terms) => expand(&indices, terms),
        };
        match self.spec.instruction_k {
            Some(of) if of < self.span => {
                self.spend((indices.len() / of).saturating_mul(self.span - of))?;
                let mut all = Vec::new();
                for start in (0..indices.len()).step_by(of) {
                    let end = (start + of).min(indices.len());
                    all.extend((start..end).map(|i| indices.get(i)));
                    if end < indices.len() {
                        let filled = all.len().next_multiple_of(self.span);
                        all.resize(filled, KIndex::ZERO);
                    }
                }
                Ok(KIndices::List(all).simplified())
            }
            _ => Ok(indices),
        }
    }
}

fn expand(indices: &KIndices, terms: &SplitTerms) -> KIndices {
    let mut all = Vec::with_capacity(indices.len() * terms.products.len());
    for start in (0..indices.len()).step_by(terms.every) {
        for &pair in &terms.products {
            let group = start..(start + terms.every).min(indices.len());
            all.extend(group.map(|i| KIndex {
                terms: Some(pair),
                ..indices.get(i)
            }));
        }
    }
    KIndices::List(all)
}
