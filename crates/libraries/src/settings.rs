//! Everything about a kernel that a text can say and that a plan may need.

use std::fmt;

use serde::{Serialize, Serializer};

use super::cublaslt::is_digits;
use super::{Partition, Scheme, Sourced, Weights};
use crate::num::Format;
use crate::words::{Word as _, words};

/// Rows and columns of D, and k, as a row-major program sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Shape {
    pub m: usize,
    pub n: usize,
    pub k: usize,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.m, self.n, self.k)
    }
}

/// A compute capability, such as 9.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Capability {
    pub major: u32,
    pub minor: u32,
}

impl Capability {
    pub const fn new(major: u32, minor: u32) -> Capability {
        Capability { major, minor }
    }

    /// Of `sm_90`, `sm_90a`, `sm90` or `9.0`.
    pub fn parse(text: &str) -> Option<Capability> {
        let lower = text.trim().to_ascii_lowercase();
        if let Some((major, minor)) = lower.split_once('.') {
            return Some(Capability::new(number(major)?, number(minor)?));
        }
        let digits = lower.strip_prefix("sm")?.trim_start_matches('_');
        let digits = digits.trim_end_matches(['a', 'f']);
        let number = number(digits)?;
        (number >= 50).then(|| Capability::new(number / 10, number % 10))
    }

    /// `sm_80 or sm_86`.
    pub(super) fn any_of<'c>(all: impl IntoIterator<Item = &'c Capability>) -> String {
        let names: Vec<_> = all.into_iter().map(ToString::to_string).collect();
        names.join(" or ")
    }
}

fn number(text: &str) -> Option<u32> {
    let plain = text.len() <= 3 && is_digits(text);
    plain.then(|| text.parse().ok())?
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.major, self.minor)
    }
}

impl Serialize for Capability {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What a kernel computes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Compute {
    F32,
    /// FP32 operands rounded to TF32.
    Tf32,
    F16,
    F64,
    I32,
}

impl Compute {
    /// What keeps sums in this format.
    pub fn of_sums(format: Format) -> Option<Compute> {
        Some(match format {
            Format::Fp32 => Compute::F32,
            Format::Fp16 => Compute::F16,
            Format::Fp64 => Compute::F64,
            Format::Int32 => Compute::I32,
            _ => return None,
        })
    }
}

/// Which operands are transposed, as the library, which works column-major, sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Transposed {
    pub a: bool,
    pub b: bool,
}

impl Transposed {
    /// Whether k are neighbours in memory of one operand at least.
    pub fn contiguous_along_k(self) -> bool {
        self.a || !self.b
    }

    /// `tn`, `NNT`: the letters of A and B.
    pub fn parse(letters: &str) -> Option<Transposed> {
        let mut letters = letters.chars().map(|c| match c {
            't' | 'T' => Some(true),
            'n' | 'N' => Some(false),
            _ => None,
        });
        Some(Transposed {
            a: letters.next()??,
            b: letters.next()??,
        })
    }
}

/// Fields of Tensile's solutions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tensile {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth_u: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_split_u: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub global_split_u: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coalesced: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub single_buffer: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stagger_u: Option<u32>,
}

words! {
    /// How a GEMMDesc multiplies, by its names.
    pub enum Algorithm {
        /// Warps multiply
        MmaSync = "MMA_SYNC",
        /// Groups of warps multiply
        Wgmma = "WGMMA",
        /// Blackwell's tensor cores multiply
        Tcgen05Mma = "TCGEN05_MMA",
        /// Threads multiply
        ScalarFusedMultiplyAdd = "SCALAR_FUSED_MULTIPLY_ADD",
    }
}

impl Algorithm {
    /// As the catalogue calls it.
    pub fn instruction(self) -> &'static str {
        match self {
            Algorithm::MmaSync => "mma",
            Algorithm::Wgmma => "wgmma",
            Algorithm::Tcgen05Mma => "tcgen05",
            Algorithm::ScalarFusedMultiplyAdd => "ffma",
        }
    }

    pub fn is_matrix(self) -> bool {
        self != Algorithm::ScalarFusedMultiplyAdd
    }
}

/// One cut of K, as a GEMMDesc has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct KCut {
    /// k of a part; of a tile, where tiles are dealt out.
    pub span: usize,
    /// None is consecutive parts (CONTIGUOUS).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dealt: Option<Dealt>,
    /// Parts are added in pairs of neighbours (PAIRWISE_TREE), not one after another.
    pub tree: bool,
    /// What a finished part is written at.
    pub partial: Format,
    /// What the running sum of parts is kept in.
    pub merge: Format,
}

/// Tiles dealt out (STRIDED): tile t has the label `t % period`, and goes to part `label / divisor % count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Dealt {
    pub count: usize,
    /// In tiles; none is `count`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<usize>,
    pub divisor: usize,
}

impl fmt::Display for KCut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.dealt {
            None => write!(f, "every {} k", self.span)?,
            Some(Dealt {
                count,
                period,
                divisor,
            }) => {
                write!(f, "tiles of {} k dealt to {count}", self.span)?;
                if let Some(period) = period {
                    write!(f, " by label / {divisor}, labels of {period} tiles")?;
                }
            }
        }
        f.write_str(if self.tree { ", added in pairs" } else { "" })
    }
}

words! {
    /// Whose Marlin.
    pub enum Generation {
        /// IST-DASLab's
        Original = "original",
        /// vLLM's, since 2025
        Vllm = "vllm",
    }
}

/// What a text says of a Marlin kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Marlin {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<Generation>,
    /// k and columns of a tile, and threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tile: Option<[usize; 3]>,
    /// k of a group; inside none, a column has one scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<Option<usize>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<Weights>,
}

impl fmt::Display for Marlin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words: Vec<String> = Vec::new();
        words.extend(self.generation.map(|of| of.word().to_owned()));
        words.extend(self.weights.map(|weights| weights.word().to_owned()));
        words.extend(self.group.map(|group| match group {
            Some(k) => format!("a scale for {k} k"),
            None => "a scale a column".to_owned(),
        }));
        words.extend(
            self.tile
                .map(|[k, n, threads]| format!("tiles {k}x{n}, {threads} threads")),
        );
        f.write_str(&words.join(", "))
    }
}

/// What is known of a kernel; what is absent is not stated.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Settings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub algo: Option<Sourced<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capability: Option<Sourced<Capability>>,
    /// The oldest GPU that runs it: the one that it was built for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest: Option<Sourced<Capability>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operands: Option<Sourced<[Format; 2]>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub addend: Option<Sourced<Format>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Sourced<Format>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compute: Option<Sourced<Compute>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transposed: Option<Sourced<Transposed>>,
    /// Rows and columns, column-major.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tile: Option<Sourced<[u32; 2]>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tile_k: Option<Sourced<usize>>,
    /// Stages of the library's table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stages: Option<Sourced<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction_k: Option<Sourced<usize>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split_k: Option<Sourced<usize>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheme: Option<Sourced<Scheme>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<Sourced<Partition>>,
    /// Warps that share the tiles of K.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sliced: Option<Sourced<usize>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom: Option<Sourced<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fast_accumulation: Option<Sourced<bool>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epilogue: Option<Sourced<String>>,
    /// What shares a scale, where that is not a whole tensor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_mode: Option<Sourced<String>>,
    /// Bytes that the launch was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Sourced<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiprocessors: Option<Sourced<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tensile: Option<Sourced<Tensile>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marlin: Option<Sourced<Marlin>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<Sourced<Algorithm>>,
    /// The outermost first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cuts: Option<Sourced<Vec<KCut>>>,
}

/// What the sums of slices are kept in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kept {
    F32,
    /// Each is rounded to D's format, then they are added in f32.
    Result,
    /// Each is rounded to this format, then they are added in f32.
    As(Format),
    /// The running sum is rounded to D's format after every slice.
    Running,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_said_in_several_ways() {
        for text in ["sm_90", "sm_90a", "SM90", "9.0", "sm90a"] {
            assert_eq!(
                Capability::parse(text),
                Some(Capability::new(9, 0)),
                "{text}"
            );
        }
        assert_eq!(Capability::parse("sm_120"), Some(Capability::new(12, 0)));
        assert_eq!(Capability::parse("10.3"), Some(Capability::new(10, 3)));
        for text in ["90", "sm_", "sm_9", "9.", "h100", "9.0.1", "sm_99999999999"] {
            assert_eq!(Capability::parse(text), None, "{text}");
        }
    }
}
