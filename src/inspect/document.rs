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
    /// Of a `.npy` file none.
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
    pub descr: String,
    pub fortran_order: bool,
    /// What elements were read as; none if nothing says it.
    pub format: Option<Format>,
    pub shape: Vec<usize>,
    pub payload_sha256: String,
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
    pub min: Option<String>,
    pub max: Option<String>,
}
