//! The formats that a model works in.

use serde::{Deserialize, Serialize};

use crate::Format;

/// Scales of the operands: one for every so many consecutive k of a row of A and of a column of B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Scale {
    pub format: Format,
    /// Operands that share one.
    pub block: usize,
}

impl std::fmt::Display for Scale {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} per {}", self.format, self.block)
    }
}

/// The formats a step works in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formats {
    pub a: Format,
    pub b: Format,
    /// The format of the result.
    pub accumulator: Format,
    /// The format of C.
    pub addend: Format,
    /// The operands' scales.
    pub scale: Option<Scale>,
}
