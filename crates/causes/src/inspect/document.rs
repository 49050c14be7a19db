//! What files hold, as data. `docs/inputs.md` is its contract.

use serde::Serialize;

use crate::num::Format;
use crate::report::Tool;

/// Value of the `schema` field.
pub const INSPECTION: &str = "tcverify.inspection/1";

/// Everything that `inspect` has to say.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Inspection {
    pub schema: &'static str,
    pub tool: Tool,
    pub files: Vec<File>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct File {
    pub path: String,
    pub file_sha256: String,
    pub arrays: Vec<Array>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Array {
    /// Null in a `.npy` file.
    pub name: Option<String>,
    #[serde(flatten)]
    pub found: Found,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Found {
    Read(Box<Read>),
    NotRead { error: String },
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Read {
    /// Element type as in the header.
    pub descr: String,
    /// From the header.
    pub fortran_order: bool,
    /// What elements were read as; null if nothing says it.
    pub format: Option<Format>,
    /// As stored.
    pub shape: Vec<usize>,
    /// Of the canonical payload.
    pub payload_sha256: String,
    /// Null without a format.
    pub counts: Option<Counts>,
}

/// Elements of each kind, and the extremes of the numbers.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Counts {
    pub nan: u64,
    pub infinite: u64,
    pub zero: u64,
    pub subnormal: u64,
    /// The shortest decimal; null if no element is a number.
    pub min: Option<String>,
    /// Likewise.
    pub max: Option<String>,
}
