//! The vocabulary of a schedule: everything about a kernel, beside its instruction, that decides a bit.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::emu::step::{Code, Constant, constants_of};
use crate::num::Rounding;

/// How a kernel chains an instruction over K, and what it does with the sums.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// k of a tile of the main loop; a partial tile is filled up with zeros. Without one, a walk has
    /// no tiles and nothing is filled up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tile_k: Option<usize>,
    pub residue: Residue,
    /// In which order the k of every so many consecutive ones go through the instruction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Vec<usize>>,
    /// Products of parts of wide operands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<Passes>,
    pub split: Split,
    /// When the accumulator of the tensor core is added to one in f32 and restarted from zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promote: Option<Promote>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scales: Option<Scaling>,
    /// Where C comes in.
    pub addend: Addend,
    pub epilogue: Epilogue,
    /// The f32 code of every NaN that an operation outside the tensor core returns.
    pub nan: Code,
}

/// Which tile is the partial one, where K is no multiple of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Residue {
    /// The first; zeros follow its values.
    First,
    /// The first; zeros precede its values.
    FirstAligned,
    /// The last; zeros follow its values.
    Last,
}

/// Every operand as the sum of a big and a small part, and the products of parts that are added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Passes {
    /// Consecutive k that go through all products before the next ones do.
    pub every: usize,
    /// How the big part is made of an operand.
    pub big: PartRounding,
    /// How the small part is made of what the big one leaves, exactly.
    pub small: PartRounding,
    /// Parts of A and B, in the order of their products.
    pub products: Vec<[Piece; 2]>,
}

/// A part of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    Big,
    Small,
}

/// How an FP32 number becomes a TF32 one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartRounding {
    /// Toward zero.
    Rz,
    /// To nearest, ties away from zero.
    Rna,
}

impl PartRounding {
    pub fn rounding(self) -> Rounding {
        match self {
            PartRounding::Rz => Rounding::TowardZero,
            PartRounding::Rna => Rounding::NearestAway,
        }
    }
}

/// How K is divided among chains, and how their sums come together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Split {
    /// One chain.
    None {},
    /// Slices of whole tiles. The first goes through the epilogue; every later one is added to D as it
    /// was stored, in D's format.
    Serial {
        /// Null leaves it to whoever runs it.
        slices: Option<usize>,
    },
    /// Slices of whole tiles. Their sums are kept, then added up in f32 from +0 in the order of slices.
    Workspace {
        slices: Option<usize>,
        partials: Partials,
    },
    /// The warps of a block take stripes of K in turn; their sums are added in f32 in the order of
    /// warps, the first one as it is.
    Sliced { warps: usize, stripe: usize },
    /// Chunks that start at these k; their sums are added in f32 in the order of K, the first one as it
    /// is.
    Chunks { starts: Vec<usize> },
    /// Stream-K: so many workers share the tiles of D times tiles of K evenly, the first ones with one
    /// tile more where that does not divide. Chunks are added as under `chunks`.
    Stream {
        workers: Option<usize>,
        /// Rows and columns of a tile of D.
        tile: [usize; 2],
        /// Neighbouring tiles of D are those of a row of tiles, or of a column.
        raster: Raster,
    },
}

/// What partial sums are kept in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Partials {
    F32,
    /// D's format, rounded to nearest even.
    Result,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Raster {
    AlongRows,
    AlongColumns,
}

/// `main = main + accumulator`, rounded to f32.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Promote {
    /// k between two promotions; what is left at the end is promoted too.
    pub every: usize,
    /// k before the first one, where that is another number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<usize>,
}

/// Scales in f32 that kernels multiply sums with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scaling {
    pub per: Per,
    pub at: ScaledAt,
    pub multiply: Multiply,
}

/// What shares a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    Tensor,
    /// A row of A; a column of B.
    Row,
    /// So many rows of A and k; so many k and columns of B.
    Block {
        rows: usize,
        columns: usize,
        k: usize,
    },
}

/// Which sum is multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScaledAt {
    /// The accumulator, whenever it is promoted.
    Promotion,
    /// The finished sum.
    Epilogue,
}

/// In which order a sum and the scales of A and B are multiplied; every product is rounded to f32 unless
/// said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Multiply {
    /// `sum * (sA * sB)`.
    Joint,
    /// `fma(sum, sA * sB, main)`: only where sums are promoted.
    JointFma,
    /// `(sum * sA) * sB`.
    AThenB,
    /// `(sum * sB) * sA`.
    BThenA,
    /// `fma(sum * sA, sB, main)`: only where sums are promoted.
    AThenBFma,
}

/// Where C comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Addend {
    /// It is what the first accumulator starts from.
    Start,
    /// The epilogue adds it, times beta.
    Epilogue,
}

/// What becomes of a finished sum, each step rounded to f32 to nearest even: its scales; alpha and
/// beta*C; the bias; the conversion to D's format. FP8 results saturate (PTX `cvt.satfinite`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Epilogue {
    pub combine: Combine,
}

/// How alpha, the sum, beta and C come together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Combine {
    /// `fma(alpha, sum, beta*C)`.
    Fma,
    /// `alpha*sum + beta*C`, each product rounded.
    Separate,
}

impl Recipe {
    /// The chain that has no kernel around it: k ascending from C on.
    pub fn plain() -> Recipe {
        Recipe {
            tile_k: None,
            residue: Residue::Last,
            order: None,
            passes: None,
            split: Split::None {},
            promote: None,
            scales: None,
            addend: Addend::Start,
            epilogue: Epilogue {
                combine: Combine::Fma,
            },
            nan: Code(0x7fff_ffff),
        }
    }

    /// Whether this is the bare chain: no tiles, no split, no promotion, no epilogue.
    pub fn is_plain(&self) -> bool {
        *self == Recipe::plain()
    }

    /// The JSON that [`Recipe::sha256`] hashes: keys sorted, no spaces.
    pub fn canonical_json(&self) -> String {
        let value = serde_json::to_value(self).expect("a schedule is plain data");
        serde_json::to_string(&value).expect("a schedule is plain data")
    }

    /// SHA-256 of the canonical JSON: two schedules with the same digest compute the same bits.
    pub fn sha256(&self) -> String {
        crate::io::hex(&Sha256::digest(self.canonical_json()))
    }

    /// Every constant by name, in order of the JSON.
    pub fn constants(&self) -> Vec<Constant> {
        constants_of(&serde_json::to_value(self).expect("a schedule is plain data"))
    }
}
