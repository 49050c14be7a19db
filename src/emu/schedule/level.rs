//! One level of a reduction: who adds which products, and how the sums of all come together.

use serde::{Deserialize, Serialize};

use crate::num::Format;

/// Products divided among parts, and their sums brought together.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Level {
    pub parts: Parts,
    pub merge: Merge,
}

/// How a run of k (or of places of a main loop, zeros that fill tiles up included) is divided.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Parts {
    /// For a group: no split.
    Whole {},
    /// Consecutive slices.
    Slices {
        /// null leaves it to `--split-k`.
        count: Option<usize>,
        /// their lengths are multiples of so many k (absent: of `tile_k`), or of `wide` if that divides K, else `narrow`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grain: Option<Grain>,
        length: SliceLength,
        empty: Empty,
    },
    /// Grain g belongs to part g modulo `count`.
    Interleaved {
        /// null leaves it to `--split-k`.
        count: Option<usize>,
        /// absent means whole tiles.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grain: Option<Grain>,
        empty: Empty,
    },
    /// In `inner` only: consecutive blocks of this `length`. The accumulator is added to another and restarted
    /// (promotion).
    Blocks {
        length: usize,
        /// the first block's length.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        first: Option<usize>,
    },
    /// In `split` only: the leaves of a tree, at most `length` k each.
    Leaves { length: usize, cut: Cut },
    /// In `split` only: the k of each part as listed, `[[[0, 64], [192, 256]], [[64, 192]]]`. k in no part are missing
    /// from D.
    Ranges { parts: Vec<Vec<[usize; 2]>> },
    /// Stream-K, for a group of tiles of D: workers share its tiles times their tiles of K evenly; the first (total modulo
    /// `workers`) take one more.
    Shared {
        /// null leaves it to `--set workers`.
        workers: Option<usize>,
        /// each share is ceil(total / workers), rounded up to its multiple; the last workers have less, or nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grain: Option<usize>,
    },
    /// In `split` only: tiles of D that are not alike.
    Tiles {
        /// rows and columns of a tile of D.
        tile: [usize; 2],
        /// tiles are counted `along_rows` or `along_columns`.
        raster: Raster,
        /// the first `tiles` use the `parts` of the first group, and so on; null is the rest.
        groups: Vec<Group>,
    },
}

impl Parts {
    /// How many slices or interleaved parts, if those they are.
    pub(super) fn count_mut(&mut self) -> Option<&mut Option<usize>> {
        match self {
            Parts::Slices { count, .. } | Parts::Interleaved { count, .. } => Some(count),
            _ => None,
        }
    }
}

/// Some tiles of D, whose k are divided alike.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// How many; null is all that are left.
    pub tiles: Option<usize>,
    pub parts: Parts,
}

/// Neighbouring tiles of D are those of a row of tiles, or of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Raster {
    AlongRows,
    AlongColumns,
}

/// How K is cut into the leaves of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// In the middle (the first half is the shorter one), and its halves again, until none is longer than a leaf.
    Halves,
    /// Into whole leaves: K must be a multiple of one.
    Blocks,
    /// Into whole leaves while two are left; then one, or two halves of the rest (the first half is the longer one).
    BlocksThenHalves,
}

/// What the ends of parts are multiples of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Grain {
    K(usize),
    /// `wide` where that divides K, else `narrow`.
    ByK(GrainByK),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GrainByK {
    pub wide: usize,
    pub narrow: usize,
}

impl Grain {
    /// For so many k.
    pub fn of(self, k: usize) -> usize {
        match self {
            Grain::K(grain) => grain,
            Grain::ByK(GrainByK { wide, .. }) if k.is_multiple_of(wide) => wide,
            Grain::ByK(GrainByK { narrow, .. }) => narrow,
        }
    }
}

/// How long `count` slices of L k in grains of G are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SliceLength {
    /// `ceil(ceil(L/G) / count)` grains each; the last ones are shorter or empty.
    Ceil,
    /// `floor(floor(L/G) / count)` grains each; the last one takes everything that is left.
    Floor,
    /// `floor(L/G)` whole grains, the first ones with one more where that does not divide; the last one
    /// takes what is left of a grain.
    Balanced,
    /// `ceil(floor(L/count) / G)` grains each: the last k belong to no slice where those do not reach L.
    CeilOfFloor,
}

/// How an empty part is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Empty {
    /// There is no such part.
    Skipped,
    /// Its sum is +0, and is added.
    Zero,
}

/// How the sums of parts come together.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Merge {
    /// They are kept, and added in f32.
    Sum {
        /// see the next table.
        order: Order,
        /// the `first` sum itself, or +0 (`zero`; with `serial` and `reverse`).
        start: Start,
        /// how sums of parts are kept: `f32` (absent), or in `split` rounded to D's format (`result`), `fp16` or `bf16`.
        #[serde(default, skip_serializing_if = "is_default")]
        partials: Partials,
        /// what every sum of them is rounded to, with the same values; with `serial` and `reverse` the first part, too.
        #[serde(default, skip_serializing_if = "is_default")]
        sums: Partials,
    },
    /// In `split` only: the first part goes through the epilogue into D; each later one is added by
    /// fma(alpha, sum, D), rounded to D's format every time.
    InPlace {},
}

/// In which order sums p0, p1, ... are added.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// `((p0 + p1) + p2) + ...`
    Serial,
    /// From the last one on.
    Reverse,
    /// With h = ceil(n/2) and x_i = p_i + p_(i+h) if i+h < n-1, else p_i:
    /// `((p_(n-1) + x_0) + x_1) + ... + x_(h-1)`.
    Pairwise,
    /// Neighbours: `(p0 + p1) + (p2 + p3)` and so on; one without a neighbour waits for the next round.
    Adjacent,
    /// The sum of the first floor(n/2), itself `halved`, plus that of the others.
    Halved,
    /// L is n, halved while it is even and more than 2: runs of L `serial`, their sums `adjacent`.
    RunsThenAdjacent,
    /// `x_i + x_(i+n/2)`, then halves of those, down to one: n a power of two, empty parts `zero`.
    Butterfly,
    /// Pairs of `how` and `to`, in turn, down to 1: `stride` adds `x_i + x_(i+to) + x_(i+2*to) + ...`; `halve` adds
    /// `x_i + x_(i+n/2)` until `to` are left; missing ones are +0.
    Folds(Vec<Fold>),
    /// For `ranges` only: for each pair `[i, j]` in turn `p_i = p_i + p_j`, until `p_0` alone is left.
    Listed(Vec<[usize; 2]>),
}

/// Fewer sums of many; ones that are missing count as +0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Fold {
    pub how: FoldKind,
    /// How many are left.
    pub to: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FoldKind {
    /// `x_i + x_(i+to) + x_(i+2*to) + ...`, left to right.
    Stride,
    /// `x_i + x_(i+n/2)` until so many are left.
    Halve,
}

/// What a sum of sums starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// The first one as it is.
    First,
    /// +0, to which the first one is added: -0 becomes +0.
    Zero,
}

/// What the sums of parts are kept in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Partials {
    /// As they are.
    #[default]
    F32,
    /// D's format, rounded to nearest even.
    Result,
    /// FP16, rounded to nearest even, whatever D's format is.
    Fp16,
    /// BF16, likewise.
    Bf16,
}

impl Partials {
    /// The format that sums of parts are rounded to before they are added.
    pub fn rounded_to(self, result: Format) -> Option<Format> {
        match self {
            Partials::F32 => None,
            Partials::Result => Some(result),
            Partials::Fp16 => Some(Format::Fp16),
            Partials::Bf16 => Some(Format::Bf16),
        }
    }
}

impl Merge {
    /// One after the other in f32.
    pub fn serial(start: Start) -> Merge {
        Merge::Sum {
            order: Order::Serial,
            start,
            partials: Partials::F32,
            sums: Partials::F32,
        }
    }

    /// Whether parts are kept, and added, in f32.
    pub fn in_f32(&self) -> bool {
        matches!(
            self,
            Merge::Sum {
                partials: Partials::F32,
                sums: Partials::F32,
                ..
            }
        )
    }
}

impl Level {
    /// The accumulator is added to one in f32, which starts from +0, after every so many k, and starts
    /// again.
    pub fn promotion(every: usize) -> Level {
        Level {
            parts: Parts::Blocks {
                length: every,
                first: None,
            },
            merge: Merge::serial(Start::Zero),
        }
    }

    pub fn is_promotion(&self) -> bool {
        matches!(self.parts, Parts::Blocks { .. })
    }
}

pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
