//! What D was compared with, and the result.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::Comparison;

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
