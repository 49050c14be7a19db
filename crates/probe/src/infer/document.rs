//! What answers say, as data. `docs/inferring.md` is its contract.

use serde::Serialize;
use serde_json::Value;

use super::{Contradicted, Coverage, Explained, coverage};
use crate::Suite;
use crate::emu::Arithmetic;
use crate::emu::step::Step;

/// Value of the `schema` field.
pub const INFERENCE: &str = "tcverify.inference/1";

/// Arithmetics that no hypothesis is of: a unit of one of them is unexplained, whatever its constants.
pub const NEVER_INFERRED: [&str; 5] = [
    "several accumulators, trees of pairs, and orders of k other than ascending (except groups of RDNA's units)",
    "scales applied in ways that docs/steps.md does not list (fused, block_dot, block_window, sticky_rne): \
     block sums scaled after rounding, blocks other than 16 or 32",
    "integer sums that saturate in any way but at 32 bits after each group of up to 256 consecutive k, or wrap \
     around at any width but 32 bits",
    "floating-point sums that wrap around or saturate, and shifters that ignore a part of the distance (except \
    Vortex's units)",
    "flushed subnormal operands or results, except the kinds that docs/steps.md lists",
];

/// What came of the search for a model that gives all answers.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Inference {
    pub schema: &'static str,
    /// Cases that were answered.
    pub cases: usize,
    /// Arithmetics that no hypothesis is of, in words.
    pub never_inferred: Vec<&'static str>,
    #[serde(flatten)]
    pub verdict: InferredVerdict,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum InferredVerdict {
    /// A model gives every answer.
    Explained {
        /// What the cases span.
        tested_on: Coverage,
        arithmetic: Box<Arithmetic>,
        /// Of the arithmetic, as in a report.
        model_sha256: String,
        constants: Vec<InferredConstant>,
        /// Steps of other kinds that give every answer too.
        also: Vec<Step>,
        /// Rules of the catalogue that give every answer.
        catalogue: Vec<KnownRule>,
    },
    /// None that was tried does.
    Unexplained {
        /// The one that gives most.
        best: Box<Arithmetic>,
        /// How many were tried.
        hypotheses: usize,
        /// Cases that refute them together.
        witnesses: Vec<Witness>,
        mismatches: Vec<Unexplained>,
    },
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct InferredConstant {
    pub name: String,
    pub value: Value,
    /// Whether every other value that was tried is refuted.
    pub determined: bool,
    /// Every value that gives all answers, runs as "first to last".
    pub allowed: String,
    pub refuted: Vec<Refuted>,
}

/// A value that an answer contradicts, and the first such case.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Refuted {
    pub value: Value,
    pub case: usize,
}

/// A rule of the catalogue that gives all answers.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct KnownRule {
    pub architecture: String,
    pub instruction: String,
    /// Whether its constants are those that were found.
    #[serde(rename = "same_constants")]
    pub same: bool,
}

/// A case, and how many hypotheses its answer refutes that none before does.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Witness {
    pub case: usize,
    pub refutes: usize,
}

/// An answer that the best model does not give; codes in hexadecimal.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Unexplained {
    pub case: usize,
    pub family: String,
    pub purpose: String,
    pub expected: String,
    pub answered: String,
}

impl Inference {
    /// A model was found; of the catalogue's these rules are it.
    pub fn explained(suite: &Suite, found: &Explained, catalogue: Vec<KnownRule>) -> Inference {
        let constants = found.constants.iter().map(|finding| InferredConstant {
            name: finding.name.clone(),
            value: finding.value.clone(),
            determined: finding.determined(),
            allowed: finding.allowed(),
            refuted: finding.refuted.clone(),
        });
        let verdict = InferredVerdict::Explained {
            tested_on: coverage(suite),
            arithmetic: Box::new(found.arithmetic.clone()),
            model_sha256: found.arithmetic.sha256(),
            constants: constants.collect(),
            also: found.also.clone(),
            catalogue,
        };
        Inference::of(suite, verdict)
    }

    /// None was.
    pub fn contradicted(suite: &Suite, best: &Contradicted) -> Inference {
        let hex = |code: u64| format!("{code:x}");
        let mismatches = best.cases.iter().map(|m| {
            let case = &suite.cases[m.case];
            Unexplained {
                case: m.case,
                family: case.family.to_owned(),
                purpose: case.purpose.clone(),
                expected: hex(m.expected),
                answered: hex(m.answered),
            }
        });
        let witnesses = best.witnesses.iter();
        let verdict = InferredVerdict::Unexplained {
            best: Box::new(best.arithmetic.clone()),
            hypotheses: best.hypotheses,
            witnesses: witnesses
                .map(|&(case, refutes)| Witness { case, refutes })
                .collect(),
            mismatches: mismatches.collect(),
        };
        Inference::of(suite, verdict)
    }

    fn of(suite: &Suite, verdict: InferredVerdict) -> Inference {
        Inference {
            schema: INFERENCE,
            cases: suite.cases.len(),
            never_inferred: NEVER_INFERRED.into(),
            verdict,
        }
    }
}
