//! The parts of a commitment: a schedule, an operand, a result.

use std::marker::PhantomData;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::{Along, CommitError, Lines};
use crate::emu::schedule::{ScheduleSpec, Values};
use crate::io::printable;
use crate::io::tree::{Hash, Rows};
use crate::num::Format;
use crate::role::{ByRole, Role};

/// A kernel's schedule and its factors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CommittedSchedule {
    /// Of the spec, as `schedule.sha256` of a report.
    pub sha256: Hash,
    /// Codes of f32, as in a report; of FP64 operands codes of FP64.
    pub alpha: String,
    pub beta: String,
    /// What results are multiplied by before they are rounded to a narrow format; absent without one.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub scale_result: Option<String>,
}

impl CommittedSchedule {
    /// Of a kernel's spec and numbers.
    pub fn of(spec: &ScheduleSpec, values: &Values) -> CommittedSchedule {
        let factor = |code| format!("{code:08x}");
        let [alpha, beta] = match values.wide {
            Some(codes) => codes.map(|code| format!("{code:016x}")),
            None => [values.alpha, values.beta].map(factor),
        };
        CommittedSchedule {
            sha256: Hash::parse(&spec.sha256()).expect("a SHA-256"),
            alpha,
            beta,
            scale_result: values.scale_result.map(factor),
        }
    }
}

/// A field that is left out or has a value, and is never null.
pub(super) fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// Arrays by role, each once.
pub(super) fn each_once<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<ByRole<T>, D::Error> {
    struct Once<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Once<T> {
        type Value = ByRole<T>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object of arrays")
        }

        fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<ByRole<T>, M::Error> {
            let mut all = ByRole::new();
            while let Some((role, value)) = map.next_entry::<Role, T>()? {
                if all.insert(role, value).is_some() {
                    return Err(M::Error::duplicate_field(role.field()));
                }
            }
            Ok(all)
        }
    }

    from.deserialize_map(Once(PhantomData))
}

/// An operand, wherever it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CommittedInput {
    pub format: Format,
    /// As stored, before any transposition.
    pub shape: Vec<usize>,
    /// How it is cut.
    pub lines: Along,
    /// Of the tree over its lines.
    pub root: Hash,
}

impl CommittedInput {
    /// How it is cut.
    ///
    /// # Errors
    /// If nothing of that shape can be cut so.
    pub fn lines(&self) -> Result<Lines, CommitError> {
        Lines::new(self.format, self.shape.clone(), self.lines)
    }
}

/// The result, cut into blocks of rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CommittedResult {
    pub format: Format,
    pub shape: Vec<usize>,
    pub block_rows: u64,
    pub root: Hash,
}

impl CommittedResult {
    /// How it is cut.
    ///
    /// # Errors
    /// If no result can be of that shape.
    pub fn rows(&self) -> Result<Rows, CommitError> {
        Ok(Rows::new(self.format, self.shape.clone(), self.block_rows)?)
    }
}

pub(super) fn schedule_text(schedule: Option<&CommittedSchedule>) -> String {
    let Some(schedule) = schedule else {
        return "one chain over k".to_owned();
    };
    let CommittedSchedule {
        sha256,
        alpha,
        beta,
        scale_result,
    } = schedule;
    let factor = |code: &str| printable(code);
    let of_result = match scale_result {
        Some(code) => format!("{} as the result's scale", factor(code)),
        None => "no scale of the result".to_owned(),
    };
    format!(
        "{sha256} with alpha {}, beta {} and {of_result}",
        factor(alpha),
        factor(beta)
    )
}
