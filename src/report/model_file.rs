//! A file that describes what judges.

use serde::{Deserialize, Serialize};

use tcverify_emu::Evidence;

/// Somebody's file: of an architecture, a schedule or a variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    pub path: String,
    pub sha256: String,
    /// The evidence that the file claims itself.
    pub says: Evidence,
}
