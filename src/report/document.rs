//! The report as data. `docs/report-format.md` is its contract: field names and meanings here must
//! not change without a new schema number.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Merged, Outcome, Scheduled};
use crate::emu::{Arithmetic, Choice, DeviceInfo, Evidence, GpuWork, Pattern};
use crate::num::{Format, Rounding};
use crate::role::{Role, fields_by_role};
use crate::sample::{PublicDraw, Region, miss_probability, smallest_caught};

/// Value of the `schema` field.
pub const SCHEMA: &str = "tcverify.report/1";

/// Everything a check has to say. Holds no time, no host and nothing else that differs between two
/// runs on the same inputs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Report {
    pub schema: Cow<'static, str>,
    pub tool: Tool,
    pub verdict: Verdict,
    /// What was asked, as the fields of a case; null if a path in it is not UTF-8.
    pub request: Option<serde_json::Value>,
    /// The command that asks for it; null if an array was in a program's memory.
    pub command: Option<String>,
    pub model: Model,
    /// Of a report that was put together from parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<Merged>,
    /// How the model was chosen, if nobody claimed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<Chosen>,
    /// Of the kernel around the instruction; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Scheduled>,
    pub product: Product,
    /// Of `--against` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commitment: Option<Committed>,
    pub inputs: Inputs,
    pub reproduced: Reproduced,
    pub outcome: Outcome,
    /// What would give a D that differs; empty if nothing is known to.
    pub causes: Vec<Cause>,
    /// Of a D that does not differ, but for `--no-discrimination` and `--tree`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discrimination: Option<Discrimination>,
    /// Of `--engine gpu` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineUsed>,
    /// What is known of places alone, where mismatches lie together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Place>,
    /// What was tried on this D and refuted, in words, where nothing gives it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Cow<'static, str>>,
    /// What was not tried, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untried: Vec<Cow<'static, str>>,
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

impl EngineUsed {
    pub fn gpu(info: &DeviceInfo, work: GpuWork) -> EngineUsed {
        EngineUsed {
            adapter: info.name.clone(),
            driver: info.driver.clone(),
            backend: info.backend.clone(),
            multiply_adds: work.multiply_adds,
            tiles: work.tiles,
            tiles_computed_twice: work.tiles_computed_twice,
        }
    }
}

/// How much an agreement proves: on some elements of what was compared, always the same ones, other
/// arithmetics of the catalogue for these operands were computed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Discrimination {
    /// How many elements were looked at.
    pub elements: u64,
    /// Units with the very arithmetic that judged, that one included: no data tell them apart.
    pub shared: Vec<Unit>,
    /// How many other arithmetics there are.
    pub others: u64,
    /// Those that give the same bits there, the best known first.
    pub same: Vec<Alike>,
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
pub struct Alike {
    pub architecture: String,
    pub instruction: String,
    pub accumulator: Format,
    pub evidence: Evidence,
    /// As `model.sha256`.
    pub sha256: String,
}

/// What would give this D: tested bit for bit on the elements that the sentence states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Cause {
    pub kind: String,
    pub sentence: String,
    /// Numbers of the sentence, as the kind says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<usize>,
    /// The mismatches it explains.
    pub mismatches: u64,
    /// Where they lie, if there are others.
    pub area: Option<CauseArea>,
    /// The command that tests it on all of D, where there is one.
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
            name: Cow::Borrowed(env!("CARGO_PKG_NAME")),
            version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        }
    }
}

/// The arithmetic that judged, and how it is known.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Model {
    pub architecture: String,
    pub title: String,
    pub instruction: String,
    /// How it is known; `claimed` if it is not the catalogue's.
    pub evidence: Evidence,
    /// The file that describes it, if it is not the catalogue's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<ModelFile>,
    pub note: Option<String>,
    pub summary: String,
    /// All that decides a bit; `sha256` is the digest of this object as canonical JSON.
    pub arithmetic: Arithmetic,
    pub sha256: String,
    pub constants: Vec<Constant>,
    /// Citations by the keys used in `constants`.
    pub sources: BTreeMap<String, String>,
}

/// A model that was chosen because it gives D: of those that do, the best known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Chosen {
    /// All that give it, as far as was searched.
    pub fits: Vec<String>,
    /// Models, alone and under schedules, that were tested; those that the budget had no room for.
    pub tested: usize,
    pub untested: usize,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Constant {
    pub name: String,
    pub value: serde_json::Value,
    pub evidence: Evidence,
    pub source: Vec<String>,
    pub note: Option<String>,
}

/// An architecture file of somebody's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    pub path: String,
    pub sha256: String,
    /// How it says itself that it is known.
    pub says: Evidence,
}

impl Model {
    /// A rule of the catalogue's, or of a file's, by path and SHA-256.
    pub fn of(choice: &Choice, file: Option<(String, String)>) -> Model {
        let (architecture, rule) = (choice.architecture, choice.rule);
        let constants: Vec<_> = choice
            .arithmetic
            .constants()
            .into_iter()
            .map(|constant| {
                let known = architecture
                    .known_by(rule, &constant.name)
                    .expect("checked when the architecture was read");
                Constant {
                    name: constant.name,
                    value: constant.value,
                    evidence: known.evidence,
                    source: known.source.clone(),
                    note: known.note.clone(),
                }
            })
            .collect();
        let sparse = choice.sparse();
        let mut constants: Vec<Constant> = constants;
        constants.extend(sparse.map(|sparse| Constant {
            name: "sparse".into(),
            value: sparse.pattern.name().into(),
            evidence: sparse.evidence,
            source: sparse.source.clone(),
            note: sparse.note.clone(),
        }));
        let known = sparse.map_or(rule.evidence, |sparse| rule.evidence.min(sparse.evidence));
        let cited = |key: &&String| constants.iter().any(|c| c.source.contains(key));
        let sources = architecture.sources.iter().filter(|(key, _)| cited(key));
        Model {
            architecture: architecture.name.clone(),
            title: architecture.title.clone(),
            instruction: choice.instruction.name.clone(),
            evidence: match file {
                Some(_) => Evidence::Claimed,
                None => known,
            },
            file: file.map(|(path, sha256)| ModelFile {
                path,
                sha256,
                says: known,
            }),
            note: rule.note.clone(),
            summary: choice.arithmetic.step.summary(),
            arithmetic: choice.arithmetic.clone(),
            sha256: choice.arithmetic.sha256(),
            sources: sources.map(|(k, v)| (k.clone(), v.clone())).collect(),
            constants,
        }
    }
}

/// The commitment that operands, model and D were found to be those of.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Committed {
    pub path: String,
    pub file_sha256: String,
    /// Of the Merkle tree over D.
    pub root: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Product {
    pub batch: Vec<usize>,
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub transpose_a: bool,
    pub transpose_b: bool,
    /// Of a compressed A: how many elements are kept of how many neighbours. K then counts the kept ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sparse: Option<Pattern>,
}

fields_by_role! {
    /// The arrays of a product.
    pub struct Inputs: Input, roles: Role::PRODUCT;
}

impl Inputs {
    /// All that there are, each by its symbol, D last.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &Input)> {
        self.iter().map(|(role, input)| (role.symbol(), input))
    }
}

/// One file and the tensor read from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Input {
    pub path: String,
    pub descr: String,
    pub fortran_order: bool,
    pub format: Format,
    pub shape: Vec<usize>,
    pub file_sha256: String,
    pub payload_sha256: String,
    /// TF32 operands alone.
    pub tf32_low_bits: Option<LowBits>,
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

/// The D that the model computes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Reproduced {
    pub format: Format,
    pub shape: Vec<usize>,
    /// Absent if only a sample was reproduced, or a tree stands in for it.
    pub payload_sha256: Option<String>,
    /// Of `--tree` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<ReproducedTree>,
    pub conversion: Option<Conversion>,
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
    /// First and one past the last, in every matrix of the batch.
    pub rows: [usize; 2],
    pub columns: [usize; 2],
    /// Elements of that part of D.
    pub population: u64,
    /// Those that were reproduced and compared.
    pub elements: u64,
    /// Of the draw; null if the whole part was compared.
    pub seed: Option<u64>,
    /// What the seed was made of, if it was not simply chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed_from: Option<SeedFrom>,
    /// What the figures below rest on; absent if the whole part was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assumes: Option<Cow<'static, str>>,
    /// SHA-256 of the reproduced elements' codes in index order, little-endian.
    pub sha256: String,
    /// How likely the draw misses a tampering of so many elements of the population; nothing of a part
    /// that was chosen.
    pub missed: Vec<Missed>,
    /// The smallest tampering that it misses with a probability of at most 1 %; null of a part that was
    /// chosen.
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
                draw_sha256: crate::io::hex(&draw.sha256),
            }),
        }
    }

    /// Whether somebody chose the seed.
    pub fn is_chosen(&self) -> bool {
        self.from.is_none()
    }

    /// What odds rest on.
    fn assumes(&self) -> &'static str {
        match self.from {
            None => "nobody who could still change D knew the seed",
            Some(_) => "the commitment was published before anybody could know the beacon's value",
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
    /// `rows 0 to 63, columns 0 to 63`: of which part.
    pub(super) fn place(&self) -> String {
        let ([top, bottom], [left, right]) = (self.rows, self.columns);
        format!(
            "rows {top} to {}, columns {left} to {}",
            bottom - 1,
            right - 1
        )
    }

    /// Figures for a sample of a region.
    pub fn of(region: &Region, elements: u64, drawn: Option<Drawn>, sha256: String) -> Sampled {
        let seed = drawn.as_ref().map(|drawn| drawn.seed);
        let assumes = drawn.as_ref().map(|drawn| drawn.assumes().into());
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
            // Whoever chose the part knew what lies in it.
            missed: match seed {
                Some(_) => missed.filter(|m| m.tampered <= population).collect(),
                None => Vec::new(),
            },
            caught_99_percent: seed.map(|_| smallest_caught(population, elements, 0.01)),
        }
    }

    /// The same of what is no D; whether somebody chose the seed.
    pub fn of_a_result(self, chosen: bool) -> Sampled {
        let assumes = match chosen {
            true => Some("nobody who could still change the result knew the seed".into()),
            false => self.assumes,
        };
        Sampled { assumes, ..self }
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
