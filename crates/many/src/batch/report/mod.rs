//! What many checks found, as one report. `docs/batch.md` is its contract.

mod case;
mod chain;
mod coverage;
mod expected;
mod view;

use std::io::{self, Write};

use serde::Serialize;

use crate::batch::escaping::EscapedJson;
use crate::policy::Policed;
use crate::report::Tool;

pub use case::{BatchCase, CaseVerdict, KeptCase, Summary};
pub use chain::{Chain, Link};
pub use coverage::{Coverage, Covered, LeftOut};
pub use expected::{Baseline, Known};

/// Value of the `schema` field.
pub const BATCH: &str = "tcverify.batch/1";

/// Many checks. Holds nothing that differs between two runs on the same inputs.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Batch {
    pub schema: &'static str,
    /// `name` and `version`.
    pub tool: Tool,
    /// The worst of the cases.
    pub verdict: CaseVerdict,
    /// `cases`, and counts of each verdict.
    pub totals: Totals,
    /// Only with `--policy`: `name` (`strict` or the path as typed), and `sha256` of the whole policy, defaults included,
    /// as canonical JSON (keys sorted, no spaces).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policed>,
    /// Only if the manifest has it: `judged`, and the manifest's `seen`, `recorded` and `left_out`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Covered>,
    /// Only with `--baseline`: `path` as typed, `sha256`, and the names of cases that are `gone`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    /// Only if arrays of cases are results of other cases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<Chain>,
    /// In the order of the manifest, or by name.
    pub cases: Vec<BatchCase>,
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

impl Batch {
    /// Of at least one case.
    pub fn of(cases: Vec<BatchCase>) -> Batch {
        let count = |verdict| cases.iter().filter(|case| case.verdict == verdict).count() as u64;
        let worst = cases.iter().map(|case| case.verdict).max();
        Batch {
            schema: BATCH,
            tool: Tool::default(),
            verdict: worst.unwrap_or(CaseVerdict::Unjudged),
            totals: Totals {
                cases: cases.len() as u64,
                identical: count(CaseVerdict::Identical),
                identical_in_part: count(CaseVerdict::IdenticalInPart),
                different: count(CaseVerdict::Different),
                unjudged: count(CaseVerdict::Unjudged),
            },
            policy: None,
            coverage: None,
            baseline: None,
            chain: Chain::of(&cases),
            cases,
        }
    }

    /// Makes the verdict that on a recording. `products` are the cases, in their order, that are products.
    pub fn cover(&mut self, coverage: Coverage, products: &[bool]) {
        let cases = products.iter().filter(|product| **product).count();
        let judged = self.cases.iter().zip(products);
        let judged =
            judged.filter(|(case, product)| **product && case.verdict != CaseVerdict::Unjudged);
        let Coverage {
            seen,
            recorded,
            left_out,
        } = coverage;
        let covered = Covered {
            judged: judged.count() as u64,
            seen,
            recorded,
            left_out,
            absent: recorded.saturating_sub(cases as u64),
        };
        if !covered.is_whole() {
            self.verdict = self.verdict.max(CaseVerdict::IdenticalInPart);
        }
        self.coverage = Some(covered);
    }

    /// Products that ran, are not a case, and nobody asked to pass over.
    pub fn missed(&self) -> u64 {
        self.coverage.as_ref().map_or(0, Covered::missed)
    }

    /// Pretty-printed JSON as `write_json` has it, case by case.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut escaped = EscapedJson::of(out);
        serde_json::to_writer_pretty(&mut escaped, self)?;
        escaped.write_all(b"\n")?;
        escaped.flush()
    }
}
