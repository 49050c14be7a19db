//! The vocabulary of a schedule: everything about a kernel, beside its instruction, that decides a bit.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::level::is_default;
use super::{Level, Parts};
use crate::num::Format;
use crate::step::{Code, Constant, constants_of};

/// How a kernel chains an instruction over K, and what it does with the sums.
///
/// From the outside in: `split` divides K among parts; each part is a main loop over tiles (`tile_k`,
/// `residue`, `order`); `inner` divides the places of that loop further, level after level, down to chains of
/// instructions; sums come together level by level, and go through the `epilogue`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ScheduleSpec {
    /// k of a tile of the main loop; products of +0 and +0 fill a partial tile. Absent: no tiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tile_k: Option<usize>,
    /// Which tile of a part is the partial one.
    pub residue: Residue,
    /// Products that one instruction gets, where the unit adds more per step; the rest are zeros (`s1688` kernels on
    /// Hopper: 8 of 16).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instruction_k: Option<usize>,
    /// A permutation of each run of consecutive k.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Vec<usize>>,
    /// FP32 operands as sums of terms, and the products of terms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split_terms: Option<SplitTerms>,
    /// FP64 operands as so many `slices` of INT8; null leaves it to `--slices`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed_point: Option<FixedPoint>,
    /// Parts of K with main loops of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<Level>,
    /// Parts of a main loop, its padding included: warps, threads, promotion; the outer level first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inner: Vec<Level>,
    /// What shares a scale (`per`), which sum is scaled (`at`), and how (`multiply`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scales: Option<Scaling>,
    /// What is subtracted from integer sums, modulo 2^32.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zero_point: Option<ZeroPoint>,
    /// Whether C starts the first chain or is added to the finished sum.
    pub addend: AddendAt,
    /// What becomes of a finished sum.
    pub epilogue: Epilogue,
    /// D for K = 0: +0 with `zero`. Absent: refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_products: Option<WithoutProducts>,
    /// The f32 code of every NaN made outside the tensor core.
    pub nan: Code,
}

/// Which tile is the partial one, where a part is not a multiple of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Residue {
    /// The first; zeros follow its values (CUTLASS 2.x: the short instruction is inside that tile, after whole ones).
    First,
    /// The first; zeros precede its values (CuTe for sm80).
    FirstAligned,
    /// The last; zeros follow its values.
    Last,
}

/// Every operand as a sum of terms in a narrower format, and the products of terms that are added.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SplitTerms {
    /// Consecutive k that go through all products before the next ones do.
    pub every: usize,
    /// What terms are numbers of, and the instruction's operands: TF32 if absent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub format: TermFormat,
    /// How the high term is made of an operand.
    pub hi: TermRounding,
    /// How the middle term, where there are three, is made of what the high one leaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mid: Option<TermRounding>,
    /// How the low term is made of what the others leave.
    pub lo: TermRounding,
    /// What a term leaves is multiplied by two to this power. The accumulator of such products is divided by as much
    /// where products of higher terms follow: its exponent is lowered before the step aligns it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub scale: u32,
    /// Terms of A and B, in the order of their products.
    pub products: Vec<[Term; 2]>,
    /// What a NaN of the products before the last becomes; absent, it stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nan_before_last: Option<NanBecomes>,
}

/// What the terms of wide operands are numbers of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TermFormat {
    #[default]
    Tf32,
    Bf16,
}

impl TermFormat {
    pub fn format(self) -> Format {
        match self {
            TermFormat::Tf32 => Format::Tf32,
            TermFormat::Bf16 => Format::Bf16,
        }
    }
}

/// FP64 operands as integers on a grid of their row of A or column of B, in slices of 8 bits: signed bytes, the most
/// significant first. INT8 products of slices t and g - t are summed exactly for every diagonal g, from the last to 0,
/// and each sum enters D by `fma(alpha, sum, D)` in FP64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FixedPoint {
    /// How many; null leaves it to whoever runs it.
    pub slices: Option<usize>,
}

/// What becomes of a NaN in an accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NanBecomes {
    /// +0, so that an infinity times a low term of zero is forgotten.
    Zero,
}

/// A term of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Term {
    Hi,
    Mid,
    Lo,
}

/// How an FP32 number becomes a narrower one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TermRounding {
    /// Toward zero, to TF32.
    Rz,
    /// To nearest, ties away from zero, to TF32.
    Rna,
    /// To nearest even, to BF16.
    Rne,
    /// To nearest even, to BF16; infinities and what is too large become the largest finite number.
    RneSatfinite,
}

impl SplitTerms {
    /// How far a term is below the high one, counted in terms.
    pub fn depth(&self, term: Term) -> u32 {
        match term {
            Term::Hi => 0,
            Term::Mid => 1,
            Term::Lo => 1 + u32::from(self.mid.is_some()),
        }
    }

    /// Terms by which the accumulator of a product is below that of high terms.
    pub fn band(&self, [a, b]: [Term; 2]) -> u32 {
        self.depth(a) + self.depth(b)
    }

    /// Whether something happens to accumulators between products of terms.
    pub fn interrupts(&self) -> bool {
        self.scale != 0 || self.nan_before_last.is_some()
    }
}

/// Scales in f32 that kernels multiply sums with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Scaling {
    pub per: Per,
    pub at: ScaledAt,
    pub multiply: Multiply,
}

/// What shares a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// The whole operand.
    Tensor,
    /// A row of A; a column of B.
    Row,
    /// A row or column, or the whole operand if there is one number: for kernels that repeat a single scale.
    RowOrTensor,
    /// So many `rows` of A and `k`; so many `k` and `columns` of B.
    Block {
        rows: usize,
        columns: usize,
        k: usize,
    },
}

/// Which sum is multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ScaledAt {
    /// The accumulator, whenever it is promoted.
    Promotion,
    /// The sum of each part of the split, before parts are added.
    Parts,
    /// The finished sum.
    Epilogue,
    /// The finished sum, rounded to D's format before and after.
    Result,
}

/// In which order a sum and the scales of A and B are multiplied; every product is rounded to f32 unless
/// said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
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
    /// `sA * sB` is alpha: only of one scale each, in the epilogue. Without scales it is 1, or what is
    /// given.
    Alpha,
    /// `sum * sB`: A has no scales.
    BAlone,
}

/// Integers that are taken off an integer sum, modulo 2^32, before it becomes an f32: what the zero point
/// of A adds to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ZeroPoint {
    /// One for every column of D: `sum - column`.
    PerTensor,
    /// One for every row of D times one for every column: `sum - row * column`.
    PerRow,
}

/// Where C comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AddendAt {
    /// It is what the first accumulator starts from.
    Start,
    /// The epilogue adds it, times beta.
    Epilogue,
}

/// What becomes of a finished sum, each step rounded to f32 to nearest even: its scales; alpha and
/// beta*C; the bias; a function; the scale of the result; the conversion to D's format. FP8 results saturate
/// (PTX `cvt.satfinite`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Epilogue {
    /// How alpha, the sum, beta and C come together.
    pub combine: Combine,
    /// What alpha does where C is not given or beta is 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub without_c: WithoutC,
    /// How the bias is added.
    #[serde(default, skip_serializing_if = "is_default")]
    pub bias: BiasAdded,
    /// A function of every element; `gelu` and `silu`, whose computation is not published, are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<Function>,
    /// With `fp8`, FP8 results are multiplied by `--scale-result`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_scale: Option<ResultScale>,
}

/// How alpha, the sum, beta and C come together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Combine {
    /// `fma(alpha, sum, beta*C)`.
    Fma,
    /// `alpha*sum + beta*C`, each product rounded.
    Separate,
}

/// What alpha does where C is not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WithoutC {
    /// `alpha * sum`; nothing where alpha is 1.
    #[default]
    Multiply,
    /// C counts as +0: `fma(alpha, sum, +0)`. A -0 becomes +0.
    AddZero,
}

/// How the bias is added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BiasAdded {
    /// `x + bias`.
    #[default]
    Add,
    /// The last product with a scale and the sum are one fma: `fma(sum * sB, sA, bias)`.
    Fused,
    /// Fused, and a bias that is not given is +0: `fma(sum * sB, sA, +0)`, which makes +0 of a -0.
    FusedOrZero,
    /// `x + bias` where x is rounded to D's format before.
    AfterRounding,
}

impl BiasAdded {
    /// Whether a product with a scale and the bias are rounded once.
    pub fn is_fused(self) -> bool {
        matches!(self, BiasAdded::Fused | BiasAdded::FusedOrZero)
    }
}

/// A function of every element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Function {
    /// PTX `max.f32` with +0: a NaN becomes +0.
    Relu,
    /// PTX `max.NaN.f32` with +0: a NaN stays one.
    ReluNan,
    /// Refused: its computation is not published.
    Gelu,
    /// Refused likewise.
    Silu,
}

/// What a scale of the result does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ResultScale {
    /// FP8 results are multiplied by it, rounded to f32; others ignore it.
    Fp8,
}

/// What D is where K is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WithoutProducts {
    /// +0, whatever alpha and the scales are: it is filled in, nothing is computed.
    Zero,
}

impl ScheduleSpec {
    /// The chain that has no kernel around it: k ascending from C on.
    pub fn plain() -> ScheduleSpec {
        ScheduleSpec {
            tile_k: None,
            residue: Residue::Last,
            instruction_k: None,
            order: None,
            split_terms: None,
            fixed_point: None,
            split: None,
            inner: Vec::new(),
            scales: None,
            zero_point: None,
            addend: AddendAt::Start,
            epilogue: Epilogue {
                combine: Combine::Fma,
                without_c: WithoutC::Multiply,
                bias: BiasAdded::Add,
                function: None,
                result_scale: None,
            },
            without_products: None,
            nan: Code(0x7fff_ffff),
        }
    }

    /// Where operands are taken apart: their format, and that of the terms, which the instruction multiplies.
    pub fn emulates(&self) -> Option<[Format; 2]> {
        match (&self.split_terms, self.fixed_point) {
            (_, Some(_)) => Some([Format::Fp64, Format::Int8]),
            (Some(terms), _) => Some([Format::Fp32, terms.format.format()]),
            (None, None) => None,
        }
    }

    /// The format that operands are read in, where the instruction multiplies `unit`.
    pub fn read_as(&self, unit: Format) -> Format {
        match self.emulates() {
            // Operands of TF32 are FP32 in their files.
            Some([wide, narrow]) if narrow != Format::Tf32 => wide,
            _ => unit,
        }
    }

    /// Whether this is the bare chain: no tiles, no split, no promotion, no epilogue.
    pub fn is_plain(&self) -> bool {
        *self == ScheduleSpec::plain()
    }

    /// The JSON that [`ScheduleSpec::sha256`] hashes: keys sorted, no spaces.
    pub fn canonical_json(&self) -> String {
        let value = serde_json::to_value(self).expect("a schedule is plain data");
        serde_json::to_string(&value).expect("a schedule is plain data")
    }

    /// SHA-256 of the canonical JSON: two schedules with the same digest compute the same bits.
    pub fn sha256(&self) -> String {
        crate::common::hex(&Sha256::digest(self.canonical_json()))
    }

    /// Every constant by name, in order of the JSON.
    pub fn constants(&self) -> Vec<Constant> {
        constants_of(&serde_json::to_value(self).expect("a schedule is plain data"))
    }

    /// The level whose accumulators are promoted: the outermost one of blocks.
    pub fn promotion(&self) -> Option<&Level> {
        self.inner.iter().find(|level| level.is_promotion())
    }

    /// Promotes every so many k, or never.
    pub fn set_promotion(&mut self, every: Option<usize>) {
        let promoted = self.inner.iter_mut().find(|level| level.is_promotion());
        match (every, promoted) {
            (None, _) => self.inner.retain(|level| !level.is_promotion()),
            (Some(every), None) => self.inner.push(Level::promotion(every)),
            // How it is added stays.
            (Some(every), Some(level)) => level.parts = Level::promotion(every).parts,
        }
    }

    /// The number of slices or interleaved parts of the split, which may be open.
    pub fn split_count(&mut self) -> Option<&mut Option<usize>> {
        self.split.as_mut()?.parts.count_mut()
    }

    /// The workers of stream-K.
    pub fn workers(&mut self) -> Option<&mut Option<usize>> {
        let Parts::Tiles { groups, .. } = &mut self.split.as_mut()?.parts else {
            return None;
        };
        groups.iter_mut().find_map(|group| match &mut group.parts {
            Parts::Shared { workers, .. } => Some(workers),
            _ => None,
        })
    }
}
