//! The table of features as data. `docs/probing.md` is its contract.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Feature;
use crate::num::Format;
use crate::probe::Suite;

/// Value of the `schema` field.
pub const FEATURES: &str = "tcverify.features/1";

/// What was measured.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FeatureTable {
    pub schema: &'static str,
    pub a: Format,
    pub b: Format,
    pub accumulator: Format,
    /// In the order in which they were named.
    pub machines: Vec<Measured>,
}

/// One column.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Measured {
    /// The architecture as it was named, or the file of the answers.
    pub name: String,
    /// By key; null for what these formats cannot show.
    pub features: BTreeMap<&'static str, Option<String>>,
}

impl FeatureTable {
    /// Columns by name.
    pub fn of<'a>(
        suite: &Suite,
        columns: impl Iterator<Item = (&'a str, &'a [Feature])>,
    ) -> FeatureTable {
        let machines = columns.map(|(name, features)| Measured {
            name: name.to_owned(),
            features: features
                .iter()
                .map(|feature| {
                    let shown = feature.value != "-";
                    (feature.key, shown.then(|| feature.value.clone()))
                })
                .collect(),
        });
        FeatureTable {
            schema: FEATURES,
            a: suite.a,
            b: suite.b,
            accumulator: suite.accumulator,
            machines: machines.collect(),
        }
    }
}
