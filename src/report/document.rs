//! The report as data. `docs/report-format.md` is its contract: field names and meanings here must
//! not change without a new schema number.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::{Comparison, Merged, Rule};
use crate::sample::{PublicDraw, Region, miss_probability, smallest_caught};
use tcverify_common::role::{ByRole, Role};
use tcverify_emu::{DeviceUse, Evidence};
use tcverify_io::escaped_json;
use tcverify_num::{Format, Rounding};

/// Value of the `schema` field.
pub const SCHEMA: &str = "tcverify.report/1";

/// Everything a check has to say. Holds no time, no host and nothing else that differs between two
/// runs on the same inputs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Report {
    pub schema: Cow<'static, str>,
    /// `name` and `version`.
    pub tool: Tool,
    /// `identical`: all of D. `identical_in_part`: all that was compared of a part. `different`.
    pub verdict: Verdict,
    /// The fields of the request, flat, without the layout of a kernel's words; null if a path is not UTF-8.
    pub request: Option<serde_json::Value>,
    /// The command that asks for the same; null if an array was in a program's memory.
    pub command: Option<String>,
    /// Of a product `model`, `chosen`, `schedule` and `product`; of an operation its variant.
    pub rule: Rule,
    /// Only in a report of `shard merge`: the parts, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<Merged>,
    /// Only with `--against` or `--seed-from`: the commitment that operands, model and D match, by `path`, `file_sha256`
    /// and `root` of D.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commitment: Option<Committed>,
    /// All arrays, the captured result last.
    pub inputs: ByRole<Input>,
    /// The D that the model computes.
    pub reproduced: Reproduced,
    /// What it was compared with, and the result.
    pub outcome: Outcome,
    /// What would give a D that differs. Empty if nothing does, for a D by its digest, or with `--no-causes`.
    pub causes: Vec<Cause>,
    /// Other arithmetics with the same bits. Absent for operations, if D differs, with `--no-ambiguity` or `--tree`, and
    /// in a merged report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ambiguity: Option<Ambiguity>,
    /// Only with `--engine gpu`, or where `auto` took one: the GPU that computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineUsed>,
    /// Where unexplained mismatches lie together; absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Place>,
    /// What was refuted, in words, where nothing gives D; absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Cow<'static, str>>,
    /// What was not decided, each with the reason; absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untried: Vec<Cow<'static, str>>,
}

impl Report {
    /// Which array the result is.
    pub fn result(&self) -> Role {
        match &self.rule {
            Rule::Product(_) => Role::D,
            Rule::Operation(_) => Role::Y,
        }
    }

    /// The comparison, if elements were compared.
    pub fn comparison(&self) -> Option<&Comparison> {
        match &self.outcome {
            Outcome::Elements { comparison, .. } => Some(comparison),
            Outcome::Digest { .. } => None,
        }
    }

    /// The report of a merge: its verdict is on all of D only if somebody vouches for every part.
    #[must_use]
    pub fn merged(mut self, merged: Merged) -> Report {
        if self.verdict == Verdict::Identical && !merged.trusted.is_empty() {
            self.verdict = Verdict::IdenticalInPart;
        }
        // Nobody knows here what computed the parts.
        self.engine = None;
        self.merged = Some(merged);
        self
    }
}

/// What D was compared with, and the result.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(
    tag = "judged_by",
    rename_all = "snake_case",
    try_from = "WrittenOutcome"
)]
pub enum Outcome {
    /// Every element, bit for bit, except what the policies accept.
    Elements {
        nan: Cow<'static, str>,
        zero: Cow<'static, str>,
        comparison: Box<Comparison>,
    },
    /// The digest of D's canonical payload alone.
    Digest { expected_payload_sha256: String },
}

/// The fields of all outcomes: a tagged enum would be read by way of numbers of 64 bits, and distances have more.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct WrittenOutcome {
    judged_by: String,
    nan: Option<Cow<'static, str>>,
    zero: Option<Cow<'static, str>>,
    comparison: Option<Box<Comparison>>,
    expected_payload_sha256: Option<String>,
}

impl TryFrom<WrittenOutcome> for Outcome {
    type Error = &'static str;

    fn try_from(written: WrittenOutcome) -> Result<Outcome, Self::Error> {
        match written {
            WrittenOutcome {
                judged_by,
                nan: Some(nan),
                zero: Some(zero),
                comparison: Some(comparison),
                expected_payload_sha256: None,
            } if judged_by == "elements" => Ok(Outcome::Elements {
                nan,
                zero,
                comparison,
            }),
            WrittenOutcome {
                judged_by,
                nan: None,
                zero: None,
                comparison: None,
                expected_payload_sha256: Some(expected_payload_sha256),
            } if judged_by == "digest" => Ok(Outcome::Digest {
                expected_payload_sha256,
            }),
            _ => Err(
                "an outcome must have `judged_by` elements, `nan`, `zero` and `comparison`, or `judged_by` digest \
                      and `expected_payload_sha256`",
            ),
        }
    }
}

/// The GPU that computed, and how far it was checked. No bit of the result depends on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct EngineUsed {
    pub adapter: String,
    pub driver: String,
    /// Vulkan, Metal or Direct3D 12.
    pub backend: String,
    /// Multiply-adds that its shaders computed; the CPU computed the others.
    pub multiply_adds: u64,
    /// Tiles of 32 by 32 elements, of D or of parts of its sums.
    pub tiles: u64,
    /// Tiles that the CPU computed again, without a difference.
    pub tiles_computed_twice: u64,
}

impl From<DeviceUse> for EngineUsed {
    fn from(used: DeviceUse) -> EngineUsed {
        EngineUsed {
            adapter: used.name,
            driver: used.driver,
            backend: used.backend,
            multiply_adds: used.multiply_adds,
            tiles: used.tiles,
            tiles_computed_twice: used.tiles_computed_twice,
        }
    }
}

/// How much an agreement proves: on some elements of what was compared, always the same ones, other
/// arithmetics of the catalogue for these operands were computed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Ambiguity {
    /// How many elements were tried, always the same ones: at most 256; at least 4, or 1 where K is long for the size of D.
    pub elements: u64,
    /// All units with the arithmetic that judged, itself included: `architecture`, `instruction`, `evidence`. No data
    /// tell them apart.
    pub shared: Vec<Unit>,
    /// How many other arithmetics were tried, each counted once under all its names.
    pub others: u64,
    /// How many were not, because they take too long beside a replay of this size.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left: u64,
    /// Other arithmetics that give the same bits on these elements, best known first: `architecture`, `instruction`
    /// (the best known name), `accumulator`, `evidence`, `sha256` (as `rule.model.sha256`).
    pub same: Vec<SameBits>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A unit of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Unit {
    pub architecture: String,
    pub instruction: String,
    pub evidence: Evidence,
}

/// An arithmetic that gives the same bits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SameBits {
    pub architecture: String,
    pub instruction: String,
    pub accumulator: Format,
    pub evidence: Evidence,
    /// As `rule.model.sha256`.
    pub sha256: String,
}

/// What would give this D: tested bit for bit on the elements that the sentence states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Cause {
    /// What happened: a kind that docs/causes.md lists.
    pub kind: String,
    /// For people; its wording may change.
    pub sentence: String,
    /// Numbers of the sentence, as the kind says; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<usize>,
    /// How many it explains. The list begins with the cause of most.
    pub mismatches: u64,
    /// Null if it explains all. If not, the smallest rectangle around those it explains: `shape`, and first and one
    /// past the last of `rows` (counted on from matrix to matrix) and `columns`.
    pub area: Option<CauseArea>,
    /// The `tcverify check` that tests it on all of D.
    pub command: Option<String>,
}

/// Mismatches that lie together, of which nothing more is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Place {
    pub sentence: String,
    pub mismatches: u64,
    pub area: CauseArea,
}

/// The smallest rectangle around some mismatches: first, and one past the last; rows count on from matrix
/// to matrix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct CauseArea {
    pub shape: Cow<'static, str>,
    pub rows: [usize; 2],
    pub columns: [usize; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// All of D has the bits that were reproduced.
    Identical,
    /// The part of D that was compared has; or all of it, as parts say that nobody vouches for.
    IdenticalInPart,
    Different,
}

impl Verdict {
    /// As a heading has it.
    pub fn title(self) -> &'static str {
        match self {
            Verdict::Identical => "Identical",
            Verdict::IdenticalInPart => "Identical in part",
            Verdict::Different => "Different",
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Tool {
    pub name: Cow<'static, str>,
    pub version: Cow<'static, str>,
}

impl Default for Tool {
    fn default() -> Tool {
        Tool {
            name: Cow::Borrowed("tcverify"),
            version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        }
    }
}

/// The commitment that rule, arrays and result were found to be those of.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Committed {
    pub path: String,
    pub file_sha256: String,
    /// Of the Merkle tree over the result.
    pub root: String,
}

/// One file and the tensor read from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// As typed, with `#name` of an array in a container. Bytes that are not UTF-8 are replaced.
    pub path: String,
    /// Element type as in the `.npy` header (`<f2`), or `safetensors BF16`.
    pub descr: String,
    /// From the header; false for `.safetensors`.
    pub fortran_order: bool,
    /// What the elements were read as.
    pub format: Format,
    /// As stored, before transposition.
    pub shape: Vec<usize>,
    /// Of the file, or of the whole container.
    pub file_sha256: String,
    /// Of the canonical payload.
    pub payload_sha256: String,
    /// Only for TF32 and XF32: how many `elements` have non-zero low 13 bits, and their `treatment`: `truncate`,
    /// `exact`, `nearest`, or `parts` (a schedule multiplies big and small parts).
    pub tf32_low_bits: Option<LowBits>,
    /// Only where the result has a NaN or an infinity too many or too few; of a result only if it has no finite number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonfinite: Option<NonFinite>,
}

/// What an operand holds besides finite numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NonFinite {
    pub nan: u64,
    pub infinite: u64,
    /// Indices as stored, in C order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_nan: Option<Vec<usize>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_infinite: Option<Vec<usize>>,
}

/// What was done about bits of FP32 registers that TF32 does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LowBits {
    /// Elements that had such bits.
    pub elements: usize,
    /// `truncate`, `exact`, `nearest`, or `parts` where a schedule takes operands apart.
    pub treatment: String,
}

/// The result that the rule gives.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Reproduced {
    /// Which of an operation's results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// D's format.
    pub format: Format,
    /// Batch, M, N.
    pub shape: Vec<usize>,
    /// Of the canonical payload of the reproduced D; null for a part or with `--tree`.
    pub payload_sha256: Option<String>,
    /// Only with `--tree` or in a merged report: `block_rows`, and the Merkle `root` of the reproduced D.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<ReproducedTree>,
    /// Null if D has the accumulator's format; else `from`, `to` and `rounding` of each finished element: `rne`, NaN
    /// becomes `7fff`; Tenstorrent's `rna`, NaN becomes infinity.
    pub conversion: Option<Conversion>,
    /// Only if a part of D was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sampled>,
}

/// The reproduced D by its Merkle tree, as a commitment has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ReproducedTree {
    pub block_rows: u64,
    pub root: String,
}

/// Which elements were reproduced, where it was not all of them, and what their agreement proves.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Sampled {
    /// Rows of the compared part of every matrix of D: first, and one past the last.
    pub rows: [usize; 2],
    /// Columns of the compared part of every matrix of D: first, and one past the last.
    pub columns: [usize; 2],
    /// Elements of that part (N).
    pub population: u64,
    /// Elements that were compared (n).
    pub elements: u64,
    /// Of the draw; null if the part was chosen.
    pub seed: Option<u64>,
    /// Only with `--seed-from`: `commitment_sha256`, `beacon`, and `draw_sha256`, whose first eight bytes are the seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed_from: Option<SeedFrom>,
    /// What the probabilities rest on; absent if the part was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assumes: Option<Cow<'static, str>>,
    /// Of the reproduced elements' codes in index order, little-endian.
    pub sha256: String,
    /// For `tampered` elements k = 1, 10, 100, ... the `probability` that a random sample misses all: C(N - k, n) /
    /// C(N, n). Empty if the part was chosen.
    pub missed: Vec<Missed>,
    /// The smallest k that is missed with at most 1 %; null if the part was chosen.
    pub caught_99_percent: Option<u64>,
}

/// A commitment and a public value that nobody could know before: their SHA-256 begins with the seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SeedFrom {
    /// Of the commitment's file.
    pub commitment_sha256: String,
    pub beacon: String,
    pub draw_sha256: String,
}

/// How elements were drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    pub seed: u64,
    from: Option<SeedFrom>,
}

impl Drawn {
    pub fn by_seed(seed: u64) -> Drawn {
        Drawn { seed, from: None }
    }

    pub fn by_beacon(commitment_sha256: &str, beacon: &str, draw: &PublicDraw) -> Drawn {
        Drawn {
            seed: draw.seed,
            from: Some(SeedFrom {
                commitment_sha256: commitment_sha256.to_owned(),
                beacon: beacon.to_owned(),
                draw_sha256: tcverify_io::hex(&draw.sha256),
            }),
        }
    }

    /// What odds rest on.
    fn assumes(&self, result: &str) -> Cow<'static, str> {
        match self.from {
            None => format!("nobody who could still change {result} knew the seed").into(),
            Some(_) => {
                "the commitment was published before anyone could know the beacon's value".into()
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Missed {
    pub tampered: u64,
    pub probability: f64,
}

impl Sampled {
    /// Figures for a sample of a region of what messages call `result`.
    pub fn of(
        (region, result): (&Region, &str),
        elements: u64,
        drawn: Option<Drawn>,
        sha256: String,
    ) -> Sampled {
        let seed = drawn.as_ref().map(|drawn| drawn.seed);
        let assumes = drawn.as_ref().map(|drawn| drawn.assumes(result));
        let population = region.len();
        let sizes = std::iter::successors(Some(1), |&k| (k < population).then_some(k * 10));
        let missed = sizes.take(7).map(|tampered| Missed {
            tampered,
            probability: miss_probability(population, elements, tampered),
        });
        Sampled {
            rows: [region.rows.start, region.rows.end],
            columns: [region.columns.start, region.columns.end],
            population,
            elements,
            seed,
            seed_from: drawn.and_then(|drawn| drawn.from),
            assumes,
            sha256,
            // A part that somebody chose is not a random sample.
            missed: match seed {
                Some(_) => missed.filter(|m| m.tampered <= population).collect(),
                None => Vec::new(),
            },
            caught_99_percent: seed.map(|_| smallest_caught(population, elements, 0.01)),
        }
    }
}

/// A rounding of the finished product from the accumulator's format to D's.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Conversion {
    pub from: Format,
    pub to: Format,
    pub rounding: Rounding,
}

/// Pretty-printed JSON, fields in the order of `docs/report-format.md`, a newline at the end.
///
/// # Errors
/// Those of the writer.
pub fn write_json(document: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let text = serde_json::to_string_pretty(document)?;
    writeln!(out, "{}", escaped_json(&text))
}
