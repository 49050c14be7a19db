//! What many checks found, as one report. `docs/batch.md` is its contract.

mod case;
mod coverage;

use serde::{Deserialize, Serialize};

use super::view::grouped;
use super::{Chain, Tool, Verdict};

pub use case::{BatchCase, KeptCase, Summary};
pub use coverage::{Coverage, Covered, LeftOut};

/// Value of the `schema` field.
pub const BATCH: &str = "tcverify.batch/1";

/// Many checks. Holds nothing that differs between two runs on the same inputs.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Batch {
    pub schema: &'static str,
    pub tool: Tool,
    /// The worst of the cases.
    pub verdict: CaseVerdict,
    pub totals: Totals,
    /// What the cases were allowed to say; absent if that was everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policed>,
    /// How much of what ran the cases are, where who recorded them says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Covered>,
    /// Where arrays of cases are results of others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<Chain>,
    /// In the order of the manifest, or by name.
    pub cases: Vec<BatchCase>,
}

/// The policy that cases were judged under.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Policed {
    /// As it was called: `strict`, or a path.
    pub name: String,
    /// Of the policy as canonical JSON, with all that its file leaves out.
    pub sha256: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Totals {
    pub cases: u64,
    pub identical: u64,
    /// Those of which a part was compared, and that part was identical.
    pub identical_in_part: u64,
    pub different: u64,
    pub unjudged: u64,
}

/// From the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CaseVerdict {
    Identical,
    IdenticalInPart,
    Different,
    Unjudged,
}

impl CaseVerdict {
    pub(in crate::report) fn title(self) -> &'static str {
        match self {
            CaseVerdict::Identical => Verdict::Identical.title(),
            CaseVerdict::IdenticalInPart => Verdict::IdenticalInPart.title(),
            CaseVerdict::Different => Verdict::Different.title(),
            CaseVerdict::Unjudged => "Unjudged",
        }
    }

    pub(in crate::report) fn name(self) -> &'static str {
        match self {
            CaseVerdict::Identical => "identical",
            CaseVerdict::IdenticalInPart => "identical_in_part",
            CaseVerdict::Different => "different",
            CaseVerdict::Unjudged => "unjudged",
        }
    }
}

impl Batch {
    /// Of at least one case.
    pub fn of(cases: Vec<BatchCase>) -> Batch {
        let count = |verdict| cases.iter().filter(|case| case.verdict == verdict).count() as u64;
        Batch {
            schema: BATCH,
            tool: Tool::default(),
            verdict: cases
                .iter()
                .map(|case| case.verdict)
                .max()
                .unwrap_or(CaseVerdict::Unjudged),
            totals: Totals {
                cases: cases.len() as u64,
                identical: count(CaseVerdict::Identical),
                identical_in_part: count(CaseVerdict::IdenticalInPart),
                different: count(CaseVerdict::Different),
                unjudged: count(CaseVerdict::Unjudged),
            },
            policy: None,
            coverage: None,
            chain: Chain::of(&cases),
            cases,
        }
    }

    /// The totals as a sentence.
    pub(in crate::report) fn sentence(&self) -> String {
        let Totals {
            cases,
            identical,
            identical_in_part,
            different,
            unjudged,
        } = self.totals;
        let part = match identical_in_part {
            0 => String::new(),
            n => format!("{} identical in part, ", grouped(n)),
        };
        let covered = self
            .coverage
            .as_ref()
            .map(|covered| covered.sentence() + "; ");
        format!(
            "{}{} {}: {} identical, {part}{} different, {} could not be judged",
            covered.unwrap_or_default(),
            grouped(cases),
            if cases == 1 { "case" } else { "cases" },
            grouped(identical),
            grouped(different),
            grouped(unjudged)
        )
    }
}
