//! Arm's register FPMR.

use serde::{Deserialize, Serialize};

use crate::num::Format;

/// Fields of Arm's register FPMR, which scale a sum of FP8 products and limit it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Fpmr {
    /// Products count times 2^-lscale.
    pub lscale: u32,
    /// Whether a finite sum that overflows gives the largest finite number instead of infinity.
    pub osm: bool,
}

impl Fpmr {
    /// Refuses an LSCALE beyond the bits that an instruction reads: seven, or four where the result is FP16.
    pub(super) fn check(self, accumulator: Format) -> Result<(), String> {
        let most = if accumulator == Format::Fp16 { 15 } else { 127 };
        match self.lscale {
            lscale if lscale <= most => Ok(()),
            lscale => Err(format!(
                "lscale is {lscale}; of {accumulator} results it must be 0 to {most}"
            )),
        }
    }
}
