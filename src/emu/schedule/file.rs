//! A spec with its name and its sources: the presets, and files that users write.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::ScheduleSpec;
use crate::common::printable_ends;
use crate::{Evidence, KnownBy, known_by, validate_known};

/// Value of the `schema` field of a schedule file.
pub const SCHEMA: &str = "tcverify.schedule/1";

/// A kernel's way over K, and how it is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    pub schema: String,
    /// What options and reports call it.
    pub name: String,
    /// For people.
    pub title: String,
    /// How the schedule as a whole is known.
    pub evidence: Evidence,
    /// Full citations by key.
    pub sources: BTreeMap<String, String>,
    /// Remarks for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// By constant, or by the group it is in: `split` stands for `split.merge.kind`, `*` for all others.
    pub known_by: BTreeMap<String, KnownBy>,
    /// Everything that decides a bit; reports have the SHA-256 of its canonical JSON (keys sorted, no spaces).
    pub spec: ScheduleSpec,
}

macro_rules! presets {
    ($($name:literal),* $(,)?) => {
        [$(include_str!(concat!("presets/", $name, ".json"))),*]
    };
}

const FILES: &[&str] = &presets![
    "plain",
    "batch-invariant",
    "cutlass-sm80",
    "cute-sm80",
    "cutlass-sm90",
    "cutlass-splitk-serial",
    "cutlass-splitk-universal",
    "cutlass-splitk-parallel",
    "cutlass-stream-k",
    "cutlass-3xtf32",
    "cutlass-3xtf32-staged",
    "cublas-sm80",
    "cublas-splitk-serial",
    "cublas-workspace",
    "cublas-workspace-f32",
    "cublas-sliced",
    "cublas-nvjet",
    "cublas-nvjet-splitk",
    "cublas-nvjet-dropped-remainder",
    "cublas-nvjet-fp8",
    "cublas-nvjet-fp8-splitk",
    "cublas-ada-fp8",
    "cublas-ada-fp8-serial",
    "cublas-ada-fp8-pairwise",
    "cublas-gemmsn",
    "cublas-magma",
    "cublas-gemv",
    "cublas-dot",
    "cutlass-fp8-promote",
    "deepgemm-sm90",
    "torch-scaled-mm-rowwise",
    "vllm-scaled-mm",
    "vllm-int8-azp",
    "vllm-int8-azp-token",
    "triton-kwidth8",
    "triton-fp8-block",
    "triton-tf32x3",
    "triton-tf32x3-second",
    "triton-tf32x3-third",
    "triton-bf16x3",
    "triton-bf16x6",
    "xla-bf16x9",
    "cutlass-bf16x9",
    "cutlass-bf16x9-4-bands",
    "cutlass-bf16x9-3-bands",
    "cublas-bf16x9",
    "cublasdx-fp64-slices",
    "cublas-fp64-slices",
    "rl-kernel-det-gemm",
    "rl-kernel-det-gemm-scalar",
    "sglang-tp-inv",
    "sglang-tp-inv-fp16",
    "sglang-tp-inv-fp32",
    "vllm-awq-gemm",
    "openblas-neoverse-n2",
    "openblas-neoverse-v1",
    "iree-bf16",
];

/// The schedules that come with the tool.
///
/// # Panics
/// If a built-in file is malformed, which a test rules out.
pub fn presets() -> &'static [Schedule] {
    static PRESETS: OnceLock<Vec<Schedule>> = OnceLock::new();
    PRESETS.get_or_init(|| {
        let read = |text: &&str| Schedule::from_json(text).expect("built-in schedule");
        FILES.iter().map(read).collect()
    })
}

/// A name that is not a schedule, and those that may be meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no schedule called {0:?}; {meant} ('tcverify schedules' describes all)", meant = meant(.0))]
pub struct UnknownSchedule(String);

/// The name that is hardly another, or those that contain it, or all.
fn meant(name: &str) -> String {
    let names = || presets().iter().map(|preset| preset.name.as_str());
    // What is much longer than a name is near to none, and comparing takes as long as it is.
    let distance = |near: &&str| strsim::damerau_levenshtein(near, name);
    let comparable = names().filter(|near| name.len() <= near.len() + 8);
    let mistyped = comparable.min_by_key(distance);
    let near: Vec<_> = match mistyped.filter(|near| distance(near) <= 2) {
        Some(near) => vec![near],
        None => names()
            .filter(|long| name.len() > 2 && long.contains(name))
            .collect(),
    };
    if near.is_empty() {
        format!("known are {}", names().collect::<Vec<_>>().join(", "))
    } else {
        format!("did you mean {}?", near.join(", "))
    }
}

impl Schedule {
    /// The preset of this name.
    ///
    /// # Errors
    /// The names there are.
    pub fn preset(name: &str) -> Result<&'static Schedule, UnknownSchedule> {
        let found = presets().iter().find(|schedule| schedule.name == name);
        found.ok_or_else(|| UnknownSchedule(name.to_owned()))
    }

    /// Reads a schedule file.
    ///
    /// # Errors
    /// A sentence on what is wrong, with its place in the JSON where that is known.
    pub fn from_json(text: &str) -> Result<Schedule, String> {
        let read = crate::common::words::from_json(text);
        let read = read.and_then(|schedule: Schedule| schedule.check().map(|()| schedule));
        // Both quote the file.
        read.map_err(|reason| printable_ends(&reason))
    }

    /// The schedule of somebody's file: its evidence is a claim, whatever the file says.
    #[must_use]
    pub fn claimed(mut self) -> Schedule {
        self.evidence = Evidence::Claimed;
        for known in self.known_by.values_mut() {
            known.evidence = Evidence::Claimed;
        }
        self
    }

    fn check(&self) -> Result<(), String> {
        if self.schema != SCHEMA {
            return Err(format!("schema is {:?}; expected {SCHEMA:?}", self.schema));
        }
        if self.name.is_empty() {
            return Err("it has no name".into());
        }
        self.spec.validate()?;
        let constants = self.spec.constants();
        validate_known(&self.known_by, &constants, &self.sources, "the spec")
    }

    /// How a constant is known: by its own entry, by that of a group it is in, or by the one for all.
    pub fn known_by(&self, constant: &str) -> Option<&KnownBy> {
        known_by(&self.known_by, constant)
    }
}
