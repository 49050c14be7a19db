//! What a spec makes of one K: which products go through the instruction, in which order, in how many
//! chains, and how their sums come together.
//!
//! A [`KIndex`] is one place of a main loop: a k of the product, or a zero that fills a tile up.

use std::ops::Range;

use super::divide::{Part, divide, omitted};
use super::{
    Group, Level, Merge, Order, Partials, Parts, Raster, Residue, ScaledAt, ScheduleSpec,
    SplitTerms, Start, Term,
};

/// One product of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KIndex {
    /// None is a product of zeros.
    pub k: Option<usize>,
    /// The terms of A and of B that are multiplied; none is all of them.
    pub terms: Option<[Term; 2]>,
}

/// The products of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KIndices {
    /// These k, ascending.
    Range(Range<usize>),
    List(Vec<KIndex>),
}

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
    /// All of D.
    pub const ONLY: TileOfD = TileOfD {
        at: [0, 0],
        count: [1, 1],
    };
}

impl Term {
    fn name(self) -> &'static str {
        match self {
            Term::Hi => "hi",
            Term::Lo => "lo",
        }
    }
}

impl KIndex {
    fn of(k: usize) -> KIndex {
        KIndex {
            k: Some(k),
            terms: None,
        }
    }

    const ZERO: KIndex = KIndex {
        k: None,
        terms: None,
    };
}

impl KIndices {
    pub fn len(&self) -> usize {
        match self {
            KIndices::Range(range) => range.len(),
            KIndices::List(indices) => indices.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn get(&self, i: usize) -> KIndex {
        match self {
            KIndices::Range(range) => KIndex::of(range.start + i),
            KIndices::List(indices) => indices[i],
        }
    }

    /// The first k of the product among them.
    pub fn first_k(&self) -> Option<usize> {
        (0..self.len()).find_map(|i| self.get(i).k)
    }

    /// Some of them; what is a range becomes one.
    fn gathered(&self, at: &[Range<usize>]) -> KIndices {
        match (self, at) {
            (_, []) => KIndices::Range(0..0),
            (KIndices::Range(range), [at]) => {
                KIndices::Range(range.start + at.start..range.start + at.end)
            }
            _ => {
                let all = at.iter().cloned().flatten().map(|i| self.get(i));
                KIndices::List(all.collect()).simplified()
            }
        }
    }

    /// A list that is a range becomes one.
    fn simplified(self) -> KIndices {
        let KIndices::List(indices) = &self else {
            return self;
        };
        let first = indices.first().and_then(|index| index.k);
        let Some(first) = first else { return self };
        let plain = |(i, index): (usize, &KIndex)| *index == KIndex::of(first + i);
        match indices.iter().enumerate().all(plain) {
            true => KIndices::Range(first..first + indices.len()),
            false => self,
        }
    }

    /// `k 0..64, 96..128, 2 zeros`: for people.
    pub fn describe(&self) -> String {
        let mut runs: Vec<(KIndex, usize, usize)> = Vec::new();
        for i in 0..self.len() {
            let index = self.get(i);
            if let Some((first, count, step)) = runs.last_mut()
                && first.terms == index.terms
            {
                let next = first.k.map(|k| k + *count);
                if first.k.is_none() && index.k.is_none() || next.is_some() && index.k == next {
                    *count += 1;
                    continue;
                }
                *step += 1;
            }
            runs.push((index, 1, 0));
        }
        let text = |&(index, count, _): &(KIndex, usize, usize)| {
            let terms = index.terms.map_or(String::new(), |[a, b]| {
                format!("{}*{} ", a.name(), b.name())
            });
            match index.k {
                None if count == 1 => format!("{terms}a zero"),
                None => format!("{terms}{count} zeros"),
                Some(k) if count == 1 => format!("{terms}{k}"),
                Some(k) => format!("{terms}{k}..{}", k + count),
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

impl Node {
    /// All chains, from left to right.
    pub fn chains(&self) -> Vec<&Chain> {
        match self {
            Node::Chain(chain) => vec![chain],
            Node::Sum(sum) => sum.parts.iter().flat_map(Node::chains).collect(),
        }
    }

    /// The most sums that are kept at once, all levels together.
    pub fn kept(&self) -> usize {
        let Node::Sum(sum) = self else { return 1 };
        let inside = sum.parts.iter().map(Node::kept).max().unwrap_or(1);
        match &sum.merge {
            Merge::Sum { order, .. } if !order.is_serial() => {
                inside + order.additions(sum.parts.len()).width
            }
            _ => inside + 1,
        }
    }
}

impl KTraversal {
    /// The traversal of `k` for a unit that adds `span` products in a step. Tiles of D differ only if
    /// the split says so.
    ///
    /// # Errors
    /// What the spec leaves open and has to be said, or cannot be for this k.
    pub fn new(
        spec: &ScheduleSpec,
        k: usize,
        span: usize,
        tile: TileOfD,
    ) -> Result<KTraversal, String> {
        let node = |part: Part| MainLoop { spec, span }.node(&part);
        let Some(split) = &spec.split else {
            return Ok(KTraversal {
                root: node(vec![0..k])?,
                omitted: Vec::new(),
            });
        };
        let parts = parts_of(spec, &split.parts, k, tile)?;
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

    /// Whether it is one chain over all of K, as the instruction alone would have it.
    pub fn is_one_range(&self) -> bool {
        matches!(
            &self.root,
            Node::Chain(Chain {
                indices: KIndices::Range(_)
            })
        )
    }

    /// Products for every element of D, those with zeros included.
    pub fn products(&self) -> usize {
        let chains = self.root.chains().into_iter();
        chains.map(|chain| chain.indices.len()).sum()
    }
}

/// Sums as the merge has them. One alone, from itself on, is what it is.
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
            start, partials, ..
        } if parts.len() == 1 => Merge::Sum {
            order: Order::Serial,
            start: *start,
            partials: *partials,
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
    let index = match raster {
        Raster::AlongRows => tile.at[0] * tile.count[1] + tile.at[1],
        Raster::AlongColumns => tile.at[1] * tile.count[0] + tile.at[0],
    };
    let all = tile.count[0] * tile.count[1];
    let mut before = 0;
    for Group { tiles, parts } in groups {
        let count = tiles.unwrap_or(all).min(all - before);
        if index < before + count {
            return match parts {
                Parts::Shared { workers } => {
                    shared(*workers, k, spec.tile_k.unwrap_or(1), index - before, count)
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
    workers: Option<usize>,
    k: usize,
    tile_k: usize,
    index: usize,
    count: usize,
) -> Result<Vec<Part>, String> {
    let workers = workers.ok_or("the number of workers (SMs) is not said; see `workers`")? as u128;
    let depth = k.div_ceil(tile_k) as u128;
    let all = count as u128 * depth;
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
            chunks.push(vec![k_of(from)..k_of(to)]);
            from = to;
        }
        worker += 1;
    }
    Ok(chunks)
}

/// What happens to the k of one part.
struct MainLoop<'a> {
    spec: &'a ScheduleSpec,
    span: usize,
}

impl MainLoop<'_> {
    fn node(&self, part: &[Range<usize>]) -> Result<Node, String> {
        self.inner(self.tiles(part), &self.spec.inner, false)
    }

    /// The k of a part, tile after tile, filled up and in order.
    fn tiles(&self, part: &[Range<usize>]) -> KIndices {
        let spec = self.spec;
        let length: usize = part.iter().map(ExactSizeIterator::len).sum();
        let residue = spec.tile_k.map_or(0, |tile| length % tile);
        if residue == 0 && spec.order.is_none() {
            return match part {
                [] => KIndices::Range(0..0),
                [range] => KIndices::Range(range.clone()),
                ranges => {
                    KIndices::List(ranges.iter().cloned().flatten().map(KIndex::of).collect())
                }
            };
        }
        let missing = match (residue, spec.tile_k) {
            (0, _) | (_, None) => 0,
            (_, Some(tile)) => tile - residue,
        };
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
            return Ok(Node::Chain(Chain {
                indices: self.chain(indices),
            }));
        };
        let first = level.is_promotion() && !promoted;
        let role = match level.is_promotion() {
            true => {
                let at = self.spec.scales.as_ref().map(|scaling| scaling.at);
                let scaled = first && at == Some(ScaledAt::Promotion);
                Role::Promotion { scaled }
            }
            false => Role::Inner,
        };
        let parts = divide(&level.parts, indices.len(), self.spec.tile_k)?;
        let nodes = parts
            .iter()
            .map(|part| self.inner(indices.gathered(part), inside, promoted || first));
        let nodes: Result<Vec<Node>, String> = nodes.collect();
        Ok(brought_together(nodes?, role, &level.merge))
    }

    /// Products of terms, and instructions that are filled up.
    fn chain(&self, indices: KIndices) -> KIndices {
        let indices = match &self.spec.split_terms {
            None => indices,
            Some(terms) => expand(&indices, terms),
        };
        match self.spec.instruction_k {
            Some(of) if of < self.span => {
                let mut all = Vec::new();
                for start in (0..indices.len()).step_by(of) {
                    let end = (start + of).min(indices.len());
                    all.extend((start..end).map(|i| indices.get(i)));
                    if end < indices.len() {
                        let filled = all.len().next_multiple_of(self.span);
                        all.resize(filled, KIndex::ZERO);
                    }
                }
                KIndices::List(all).simplified()
            }
            _ => indices,
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
