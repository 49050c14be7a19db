//! `tcverify.operation-commitment/1`: an operation between products, fixed by digests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CommitError, Hash};
use crate::io::printable;
use crate::num::Format;

/// Value of the `schema` field.
pub const OPERATION_COMMITMENT: &str = "tcverify.operation-commitment/1";

/// An operation between products with its arrays and its result, fixed by digests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OperationCommitment {
    pub schema: String,
    pub operation: String,
    /// Of the rule, as `operation.sha256` of a report.
    pub rule_sha256: Hash,
    /// Of the tensor core's arithmetic; null if there is none.
    pub model_sha256: Option<Hash>,
    /// What the request says besides: `eps`, `causal` ... by field.
    pub parameters: BTreeMap<String, Value>,
    /// Arrays by field; `y` is the result.
    pub arrays: BTreeMap<String, FixedArray>,
}

/// An array, wherever it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FixedArray {
    pub format: Format,
    pub shape: Vec<usize>,
    pub payload_sha256: Hash,
}

impl OperationCommitment {
    /// Reads a commitment.
    ///
    /// # Errors
    /// What is wrong with it, to be read after the file's name.
    pub fn parse(text: &[u8]) -> Result<OperationCommitment, CommitError> {
        let not = |why| CommitError::NotACommitment(Box::new(why));
        let schema: Value =
            serde_json::from_slice(text).map_err(|error| not(CommitError::Json(error)))?;
        if schema.get("schema").and_then(Value::as_str) != Some(OPERATION_COMMITMENT) {
            return Err(not(CommitError::Schema {
                expected: OPERATION_COMMITMENT,
            }));
        }
        serde_json::from_slice(text).map_err(|error| not(CommitError::Json(error)))
    }

    /// What another one has otherwise, as sentences.
    pub fn differences(&self, found: &OperationCommitment) -> Vec<String> {
        let mut differences = Vec::new();
        let mut compare = |what: String, here: Option<String>, committed: Option<String>| {
            if here != committed {
                let text = |said: Option<String>| {
                    said.map_or("nothing".into(), |said| printable(&said).to_string())
                };
                let (here, committed) = (text(here), text(committed));
                differences.push(format!(
                    "{what} is {here}, but the commitment has {committed}"
                ));
            }
        };
        compare(
            "the operation".into(),
            Some(found.operation.clone()),
            Some(self.operation.clone()),
        );
        compare(
            "the rule's SHA-256".into(),
            Some(found.rule_sha256.to_string()),
            Some(self.rule_sha256.to_string()),
        );
        let hash = |hash: &Option<Hash>| hash.map(|hash| hash.to_string());
        compare(
            "the model's SHA-256".into(),
            hash(&found.model_sha256),
            hash(&self.model_sha256),
        );
        let value = |of: &OperationCommitment, name: &String| {
            let value = of.parameters.get(name);
            value.map(Value::to_string)
        };
        for name in names(&self.parameters, &found.parameters) {
            let what = printable(name).to_string();
            compare(what, value(found, name), value(self, name));
        }
        let array = |of: &OperationCommitment, name: &String| {
            let array = of.arrays.get(name);
            array.map(|a| format!("{} {:?} {}", a.format, a.shape, a.payload_sha256))
        };
        for name in names(&self.arrays, &found.arrays) {
            let what = printable(name).to_string();
            compare(what, array(found, name), array(self, name));
        }
        differences
    }
}

/// The names of either.
fn names<'a, T>(
    one: &'a BTreeMap<String, T>,
    other: &'a BTreeMap<String, T>,
) -> impl Iterator<Item = &'a String> {
    let only = other.keys().filter(|name| !one.contains_key(*name));
    one.keys().chain(only)
}
