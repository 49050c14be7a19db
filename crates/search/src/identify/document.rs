//! What `identify` found, as data. `docs/identifying.md` is its contract.

use serde::Serialize;

use crate::emu::schedule::{Overrides, ScheduleSpec};
use crate::emu::{Arithmetic, Evidence};
use crate::num::Format;
use crate::report::{KernelDescription, Tool};

/// Value of the `schema` field.
pub const IDENTIFICATION: &str = "tcverify.identification/1";

/// Kinds of kernels that no search looks for.
pub const NEVER_SEARCHED: [&str; 7] = [
    "stream-K (check --set workers=N), unequal slices, and remainders of K dropped by kernels other than split nvjet",
    "orders of k within a tile or backwards, except Triton's",
    "epilogues (alpha, beta, a bias, an activation, scales of rows and columns) of rarer kernels, or if a candidate \
     gives D without one; unknown scales of results",
    "operands rounded to BF16 or FP16, or scaled by unknown numbers, before the product; 3xTF32 with its products in \
     other orders; emulated products in other tiles than 16, 32, 64 or 128 k or other slices than 5 to 10, and of FP32 if a \
     candidate gives D without",
    "promoted FP16 sums, and accumulators other than FP32 and INT32 under schedules",
    "blocks of K of tt-metal's kernels, unless --arch says wormhole or blackhole",
    "schedules on RDNA GPUs, and several accumulators on CPUs; LSCALE and OSM of Arm other than 0",
];

/// Everything an identification has to say. Holds nothing that differs between two runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Identification {
    pub schema: String,
    pub tool: Tool,
    /// Elements of D.
    pub elements: u64,
    pub sample: SampleSize,
    /// Elements of the sample that some candidate does not give: they alone tell candidates apart.
    pub telling: usize,
    /// The fewest elements that a candidate which does not fit does not give: of D, or of the sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest_other: Option<u64>,
    /// In multiply-adds.
    pub budget: u64,
    /// The only architectures that were examined, if not all were.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub architectures: Vec<String>,
    /// What a library says of its kernel: only what it leaves open was searched, and no model alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Models alone that were tested; those that the budget had no room for.
    pub plain: usize,
    pub untested: usize,
    /// If schedules were searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedules: Option<SchedulesSearched>,
    /// Kinds of kernels that no search looks for, in words.
    pub never_searched: Vec<String>,
    /// Those that give D, the commonest kernels first.
    pub fits: Vec<Fit>,
    /// Those that give D except what becomes of the finished sums, which no check can be asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub finished: Vec<Finished>,
    /// Operands on which two of `fits` differ.
    pub separations: Vec<Apart>,
    /// The rest, the nearest first.
    pub others: Vec<Other>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SampleSize {
    pub seed: u64,
    /// Elements every model was tested on, and the most any candidate was.
    pub first: usize,
    pub most: usize,
    /// Whether those elements come first whose sums are nearest to where D's rounding turns over.
    pub telling_first: bool,
}

/// How far the search of schedules went.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SchedulesSearched {
    /// Arithmetics under schedules that were tested; those that the budget had no room for.
    pub tested: usize,
    pub untested: usize,
    /// Elements that each was tested on first.
    pub first: usize,
}

/// A kernel's schedule by name.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct IdentifiedSchedule {
    pub name: String,
    pub title: String,
    pub evidence: Evidence,
    /// What takes the place of its constants, as fields of a request.
    pub overrides: Overrides,
    pub summary: String,
    pub sha256: String,
    pub spec: ScheduleSpec,
    /// k whose products it leaves out of D, as pairs of the first and the one behind the last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub omitted_k: Vec<[usize; 2]>,
    /// If it is not a preset but a library's kernel: what of it was stated, found, assumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelDescription>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Identified {
    pub arithmetic: Arithmetic,
    pub sha256: String,
    /// D is the result rounded to this format, to nearest even.
    pub rounded_to: Option<Format>,
    /// FP32 operands are rounded to the nearest TF32 first.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub nearest: bool,
    pub summary: String,
    pub names: Vec<Named>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<IdentifiedSchedule>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Named {
    pub architecture: String,
    pub instruction: String,
    pub evidence: Evidence,
    /// The command that checks all of D by it.
    pub command: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Fit {
    #[serde(flatten)]
    pub model: Identified,
    /// Elements of the sample that it was tested on.
    pub tested: usize,
    /// Whether it gives all of D, or was tested on the sample alone.
    pub in_full: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Finished {
    #[serde(flatten)]
    pub model: Identified,
    /// What becomes of the sums, and how much of D that gives.
    pub epilogue: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Other {
    #[serde(flatten)]
    pub model: Identified,
    pub tested: usize,
    pub agreed: usize,
    /// Of all of D, where the sample agreed and the whole was replayed.
    pub mismatches: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Apart {
    /// Positions in `fits`.
    pub between: [usize; 2],
    /// Whether the two read the files alike.
    pub comparable: bool,
    /// Absent if none were found.
    pub operands: Option<ApartOperands>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ApartOperands {
    /// Codes in hexadecimal, k ascending.
    pub a: Vec<String>,
    pub b: Vec<String>,
    pub c: String,
    pub results: [String; 2],
}

/// Fits that the text shows unless told otherwise.
pub const FITS_SHOWN: usize = 8;

impl std::fmt::Display for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.architecture, self.instruction)
    }
}

impl std::fmt::Display for IdentifiedSchedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // How the slices of a library's kernel meet is not an override.
        let settings = self.kernel.iter().flat_map(|kernel| &kernel.settings);
        let found = settings.filter(|setting| {
            let of_a_kernel = !["GPU", "operands", "D"].contains(&&*setting.name);
            of_a_kernel && setting.is_found(&setting.name)
        });
        let found: Vec<_> = found
            .map(|setting| format!("{} {}", setting.name, setting.value))
            .collect();
        match (found.is_empty(), self.overrides.is_empty()) {
            (false, _) => write!(f, "{} ({})", self.name, found.join(", ")),
            (true, false) => write!(f, "{} ({})", self.name, self.overrides),
            (true, true) => f.write_str(&self.name),
        }
    }
}

impl Identified {
    pub(super) fn result(&self) -> Format {
        self.rounded_to.unwrap_or(self.arithmetic.accumulator)
    }
}
