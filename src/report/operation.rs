//! The report on an operation between products, as data; its forms.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Cause, Constant, Input, ModelFile, Outcome, Sampled, Tool, Verdict};
use crate::emu::Evidence;
use crate::num::Format;

/// Value of the `schema` field.
pub const OPERATION_REPORT: &str = "tcverify.operation-report/1";

/// Everything a check of an operation has to say. Holds nothing that differs between two runs on the same inputs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OperationReport {
    pub schema: Cow<'static, str>,
    pub tool: Tool,
    pub verdict: Verdict,
    /// What was asked, as the fields of a case; null if a path in it is not UTF-8.
    pub request: Option<serde_json::Value>,
    /// The command that asks for it; null if an array was in a program's memory.
    pub command: Option<String>,
    pub operation: Operated,
    /// The commitment that drew the sample, which arrays, rule and result were found to be those of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commitment: Option<CommittedOperation>,
    /// In the order of the request's fields, the captured result last.
    pub inputs: Vec<NamedInput>,
    pub reproduced: ReproducedResult,
    pub outcome: Outcome,
    /// Variants that give a result that differs.
    pub causes: Vec<Cause>,
    /// What was tried where none does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Cow<'static, str>>,
}

/// The rule that judged, and how it is known.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Operated {
    pub name: String,
    pub variant: String,
    pub title: String,
    pub library: String,
    pub versions: String,
    /// Of the whole, the tensor core's rule included; `claimed` of a file.
    pub evidence: Evidence,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<ModelFile>,
    /// What the rule makes of these shapes.
    pub about: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multiplied_by: Option<MultipliedBy>,
    /// All that decides a bit; `sha256` is the digest of this object as canonical JSON.
    pub rule: serde_json::Value,
    pub sha256: String,
    pub constants: Vec<Constant>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    pub sources: BTreeMap<String, String>,
}

/// The tensor core's part in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MultipliedBy {
    pub architecture: String,
    pub instruction: String,
    pub evidence: Evidence,
    pub summary: String,
    pub sha256: String,
}

/// An array by the name of its field.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct NamedInput {
    pub name: String,
    #[serde(flatten)]
    pub input: Input,
}

/// The result that the rule gives.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReproducedResult {
    /// Which of the operation's results.
    pub output: String,
    pub format: Format,
    pub shape: Vec<usize>,
    /// Of all of it; absent if a part was computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_sha256: Option<String>,
    /// The part that was compared, if not all of it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sampled>,
}

/// A commitment to an operation, its arrays and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CommittedOperation {
    pub path: String,
    pub file_sha256: String,
}
