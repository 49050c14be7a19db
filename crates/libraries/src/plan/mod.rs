//! The order of the sums of one element of D: slices, chains, residues, merge.

mod equivalent;
mod evaluate;
mod sum;
mod traversal;

use serde::Serialize;

pub use evaluate::Arithmetic;
pub use sum::Sum;
pub use traversal::{Restart, Span, Traversal};

pub use crate::emu::schedule::{Residue, Start};

use crate::emu::schedule::ScheduleSpec;

use super::{Fact, Kept, Settings, Shape};

/// How a library's kernel sums one element of D. All elements of D are summed alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// The id of its family.
    pub family: &'static str,
    pub shape: Shape,
    /// What the kernel was planned from, each with how it is known.
    pub settings: Settings,
    /// k that slices are multiples of, the last one excepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grain: Option<usize>,
    /// k of a slice, the last one excepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk: Option<usize>,
    pub cut: Cut,
    /// The tile of the main loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tile: Option<Tile>,
    /// How lanes share a slice, the outer ones first; without any, a slice is one chain, or several that
    /// are added.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sharing: Vec<Sharing>,
    /// In the order in which they are numbered, which is that of `merge`.
    pub slices: Vec<Slice>,
    pub merge: Merge,
    /// k that the library leaves out, by a defect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<DroppedRemainder>,
    /// What the order rests on.
    pub facts: Vec<Fact>,
    /// Assumptions, one sentence each.
    pub assumed: Vec<String>,
    /// The whole order, where elements of D differ in it; then there are no slices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<ScheduleSpec>,
}

/// How K is cut into slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// There is one slice.
    Whole,
    /// Of one length except the last one, which is shorter.
    Even,
    /// Of one length, computed from `floor(K / slices)`: they may not reach K.
    RoundedDown,
    /// Of one length except the last one, which takes everything left.
    LastTakesRest,
    /// Grains dealt out in consecutive runs, the first ones one longer.
    Balanced,
    /// Grains dealt out in turn.
    Dealt,
    /// As the slices say, by no rule that has a name.
    Listed,
}

/// Lanes that share a slice (or another lane's part of it).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sharing {
    pub lanes: usize,
    /// k that are dealt out in turn; none is consecutive pieces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dealt: Option<usize>,
    pub join: Join,
}

/// How lanes add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// From left to right.
    Left(Start),
    /// [`Sum::Butterfly`].
    Butterfly,
}

/// k of a main-loop iteration, and which iteration is the partial one; zeros follow its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Tile {
    pub k: usize,
    pub residue: Residue,
}

/// One partial sum: lanes, and how they are added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Slice {
    pub lanes: Vec<Traversal>,
    pub join: Sum,
}

/// How the sums of slices meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Merge {
    pub order: MergeOrder,
    pub kept: Kept,
}

/// In which order the sums of slices are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeOrder {
    /// There is one slice.
    Alone,
    /// `((p0 + p1) + p2) + ...`.
    Ascending,
    /// `(((0 + p0) + p1) + p2) + ...`.
    AscendingFromZero,
    /// [`Sum::pairwise`].
    Pairwise,
    /// [`Sum::adjacent`].
    Adjacent,
    /// The second kernel of a dot product: 128 threads, then 32, then 4.
    DotBlocks,
}

/// The last k, missing from D.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DroppedRemainder {
    /// How many k are lost.
    pub count: usize,
    /// The first of them: D is the product over the k before it.
    pub first: usize,
}

impl Join {
    /// The additions of so many lanes.
    pub fn sum(self, lanes: usize) -> Sum {
        match self {
            Join::Left(from) => Sum::ascending(from, lanes),
            Join::Butterfly => Sum::Butterfly((0..lanes).map(Sum::Term).collect()),
        }
    }
}

impl Slice {
    /// One accumulator.
    pub fn chain(traversal: Traversal) -> Slice {
        Slice {
            lanes: vec![traversal],
            join: Sum::Term(0),
        }
    }

    /// Lanes and how they add up.
    pub fn shared(lanes: impl IntoIterator<Item = Traversal>, join: Join) -> Slice {
        let lanes: Vec<_> = lanes.into_iter().collect();
        Slice {
            join: join.sum(lanes.len()),
            lanes,
        }
    }
}

impl Merge {
    pub const ALONE: Merge = Merge::in_f32(MergeOrder::Alone);

    /// Sums that stay f32.
    pub const fn in_f32(order: MergeOrder) -> Merge {
        Merge {
            order,
            kept: Kept::F32,
        }
    }
}

impl MergeOrder {
    /// The additions of so many slices.
    pub fn sum(self, count: usize) -> Sum {
        match self {
            MergeOrder::Alone | MergeOrder::Ascending => Sum::ascending(Start::First, count),
            MergeOrder::AscendingFromZero => Sum::ascending(Start::Zero, count),
            MergeOrder::Pairwise => Sum::pairwise(count),
            MergeOrder::Adjacent => Sum::adjacent((0..count).map(Sum::Term).collect()),
            MergeOrder::DotBlocks => dot_blocks(count),
        }
    }
}

/// 128 threads add every 128th block from their own on; two foldings leave 32 sums, of which every fourth
/// are added, and then those four. What is missing is +0.
fn dot_blocks(count: usize) -> Sum {
    let thread = |t: usize| Sum::left(Start::First, (t..count).step_by(128).map(Sum::Term));
    let mut sums: Vec<Sum> = (0..128).map(thread).collect();
    let plus = |a: Sum, b: Sum| match (&a, &b) {
        (Sum::Zero, Sum::Zero) => Sum::Zero,
        // Adding +0 twice does what adding it once does.
        (Sum::Left { terms, .. }, Sum::Zero) if terms.last() == Some(&Sum::Zero) => a,
        _ => Sum::left(Start::First, [a, b]),
    };
    for half in [64, 32] {
        let upper = sums.split_off(half);
        sums = sums
            .into_iter()
            .zip(upper)
            .map(|(a, b)| plus(a, b))
            .collect();
    }
    let quarter = |j: usize| {
        let mut every = (j..32).step_by(4).map(|i| sums[i].clone());
        let first = every.next().expect("eight of them");
        every.fold(first, plus)
    };
    let quarters: Vec<Sum> = (0..4).map(quarter).collect();
    quarters.into_iter().reduce(plus).expect("four of them")
}

impl Plan {
    /// The accumulators of all slices.
    pub fn lanes(&self) -> impl Iterator<Item = &Traversal> {
        self.slices.iter().flat_map(|slice| &slice.lanes)
    }

    /// k that the sums take; less than K where the library loses some.
    pub fn covered(&self) -> usize {
        self.lanes().map(Traversal::len).sum()
    }

    /// Whether a tensor core computes it, or fused multiply-adds of single k.
    pub fn on_tensor_cores(&self) -> bool {
        self.lanes().any(|lane| lane.instruction_k > 1)
    }
}
