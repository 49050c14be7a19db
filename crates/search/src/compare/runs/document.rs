//! What `compare` found of two runs, as data. `docs/comparing.md` is its contract.

use serde::Serialize;

use crate::compare::document::{Compared, Differing};
use crate::report::Tool;

/// Value of the `schema` field.
pub const COMPARED_RUNS: &str = "tcverify.compared-runs/1";

/// Two runs, step by step. Holds nothing that differs between two comparisons of the same files.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ComparedRuns {
    pub schema: &'static str,
    pub tool: Tool,
    pub verdict: RunsVerdict,
    pub left: RunCompared,
    pub right: RunCompared,
    /// The position of the first step whose results differ.
    pub first: Option<usize>,
    /// Steps that both runs have, in the left one's order.
    pub steps: Vec<ComparedStep>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunsVerdict {
    /// All steps of both runs have the same bits.
    Equal,
    Different,
    /// No step is known to differ, but not all could be compared.
    Incomplete,
}

/// One of the two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct RunCompared {
    /// The manifest or folder.
    pub path: String,
    pub steps: usize,
    /// Products that ran and were not recorded.
    pub missed: u64,
    /// Steps that the other run has not.
    pub alone: Vec<String>,
}

/// A step of both runs.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ComparedStep {
    pub name: String,
    /// What the right run calls it, if that is another name.
    pub right_name: Option<String>,
    pub linked_by: LinkedBy,
    /// `product`, or the name of the operation.
    pub kind: String,
    pub result: StepResult,
    /// Operands of which the two runs do not hold the same, by their fields.
    pub differing_operands: Vec<String>,
    /// Other fields that the two cases do not have in common, such as `arch` and `eps`.
    pub differing_fields: Vec<String>,
    /// Which of the operands earlier steps made.
    pub from: Vec<String>,
    /// Which elements differ, if they were compared one by one.
    pub differences: Option<Differing>,
    /// Why something could not be compared.
    pub reason: Option<String>,
    /// What gives each result, if that was searched for.
    pub explanations: Option<Explanations>,
}

/// By what steps were linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LinkedBy {
    Name,
    /// They read the same operands.
    Operands,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StepResult {
    /// Both steps have the same bits.
    Equal,
    /// Other bits from the same operands.
    Begins,
    /// Other bits, and other operands.
    Inherits,
    Unknown,
}

/// What gives each of two results.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Explanations {
    Product(Box<Compared>),
    /// Variants of an operation that give the left result, and the right one.
    Variants([Vec<String>; 2]),
}

impl StepResult {
    pub fn differs(self) -> bool {
        matches!(self, StepResult::Begins | StepResult::Inherits)
    }

    pub fn begins(self) -> bool {
        self == StepResult::Begins
    }

    /// The word of documents.
    pub fn name(self) -> &'static str {
        match self {
            StepResult::Equal => "equal",
            StepResult::Begins => "begins",
            StepResult::Inherits => "inherits",
            StepResult::Unknown => "unknown",
        }
    }
}

impl RunsVerdict {
    /// Of these runs, whose common steps these are.
    pub fn of(runs: [&RunCompared; 2], steps: &[ComparedStep]) -> RunsVerdict {
        let alone = runs.iter().any(|run| !run.alone.is_empty());
        let missed = runs.iter().any(|run| run.missed > 0);
        let unknown = |step: &ComparedStep| step.result == StepResult::Unknown;
        if alone || steps.iter().any(|step| step.result.differs()) {
            RunsVerdict::Different
        } else if missed || steps.iter().any(unknown) {
            RunsVerdict::Incomplete
        } else {
            RunsVerdict::Equal
        }
    }
}

impl ComparedRuns {
    /// How many steps have this result.
    pub fn count(&self, result: StepResult) -> usize {
        let steps = self.steps.iter();
        steps.filter(|step| step.result == result).count()
    }
}
