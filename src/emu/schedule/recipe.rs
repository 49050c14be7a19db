//! The vocabulary of a schedule: everything about a kernel, beside its instruction, that decides a bit.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::emu::step::{Code, Constant, constants_of};
use crate::num::{Format, Rounding};

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
