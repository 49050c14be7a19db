//! The table of features that papers print, read off the answers to probes: nothing here looks at a
//! model's constants.
//!
//! Rows follow the conclusions of Fasi et al. (MIMS EPrint 2020.10, section 4) and Table III of the
//! Ten-Four paper, then what those leave out; of integers there is another table. A cell is `-` where the
//! formats cannot show it.

mod integers;
mod rows;

use std::collections::BTreeMap;

use serde::Serialize;

use super::Suite;
use super::builder::Tag;
use crate::emu::Evidence;
use crate::num::{Class, Format};

/// One row for one machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Feature {
    /// A short name that stays the same.
    pub key: &'static str,
    /// What the row is called.
    pub title: &'static str,
    pub value: String,
}

/// The features of whatever gave these answers to the suite's cases.
///
/// # Panics
/// If there is not one answer to each case.
pub fn features(suite: &Suite, answers: &[u64]) -> Vec<Feature> {
    assert_eq!(suite.cases.len(), answers.len());
    let answers = Answers { suite, answers };
    let rows: &[Row] = if suite.integers() {
        &integers::ROWS
    } else {
        &rows::ROWS
    };
    let read = |&(key, title, read): &Row| Feature {
        key,
        title,
        value: read(&answers).unwrap_or_else(|| "-".to_owned()),
    };
    rows.iter().map(read).collect()
}

// The table as data. `docs/features.md` is its contract.

/// Value of the `schema` field.
pub const FEATURES: &str = "tcverify.features/1";

/// The features that answers show.
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
    /// Of tcverify's model that answered, how it is known; null for a file of answers.
    pub model: Option<Evidence>,
    /// By key; null for what these formats cannot show.
    pub features: BTreeMap<&'static str, Option<String>>,
}

impl FeatureTable {
    /// Columns by name.
    pub fn of<'a>(
        suite: &Suite,
        columns: impl Iterator<Item = (&'a str, Option<Evidence>, &'a [Feature])>,
    ) -> FeatureTable {
        let machines = columns.map(|(name, model, features)| Measured {
            name: name.to_owned(),
            model,
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

/// Key and title of a row, and its function.
type Row = (&'static str, &'static str, fn(&Answers) -> Option<String>);

/// Answers by tag.
struct Answers<'a> {
    suite: &'a Suite,
    answers: &'a [u64],
}

impl Answers<'_> {
    fn format(&self) -> Format {
        self.suite.accumulator
    }

    fn get(&self, name: &'static str, x: i32, y: i32) -> Option<u64> {
        let case = self.suite.find(Tag(name, x, y))?;
        Some(self.answers[case])
    }

    /// The answer as a number, if it is finite and FP64 holds it.
    fn number(&self, name: &'static str, x: i32, y: i32) -> Option<f64> {
        value(self.format(), self.get(name, x, y)?)
    }

    /// All answers of a name, with the two numbers of their tags.
    fn all(&self, name: &'static str) -> Vec<(i32, i32, u64)> {
        let cases = self.suite.cases.iter().zip(self.answers);
        let tagged = cases.filter(|(case, _)| case.tag.0 == name);
        tagged
            .map(|(case, d)| (case.tag.1, case.tag.2, *d))
            .collect()
    }

    /// The exact sum of a tagged case, as near as FP64 gets.
    fn exact(&self, name: &'static str, x: i32, y: i32) -> Option<f64> {
        let case = &self.suite.cases[self.suite.find(Tag(name, x, y))?];
        // Neumaier's sum.
        let (mut sum, mut lost) = (value(self.format(), case.c)?, 0.0);
        for (a, b) in case.a.iter().zip(&case.b) {
            let term = value(self.suite.a, *a)? * value(self.suite.b, *b)?;
            let next = sum + term;
            let (large, small) = if sum.abs() >= term.abs() {
                (sum, term)
            } else {
                (term, sum)
            };
            lost += large - next + small;
            sum = next;
        }
        Some(sum + lost)
    }
}

fn value(format: Format, code: u64) -> Option<f64> {
    let n = format.unpack(code);
    if n.class != Class::Finite {
        return None;
    }
    let exponent = n.exponent - format.fraction_bits() as i32;
    // In two factors, as one alone may leave FP64's range.
    let scaled =
        n.significand as f64 * 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2);
    Some(if n.negative { -scaled } else { scaled })
}
