//! An inferred model as an architecture file.

use std::collections::BTreeMap;

use super::{Explained, Finding, Refuted, text};
use crate::Suite;
use crate::emu::model::SCHEMA;
use crate::emu::{Architecture, Evidence, Instruction, KnownBy, Rule};

/// Names of the machine and its answers.
#[derive(Clone, Debug)]
pub struct Describe {
    pub name: String,
    /// A citation of the answers: file and digest.
    pub answers: String,
}

/// An architecture with one rule, each constant known by the cases that refute its other values.
pub fn architecture(suite: &Suite, found: &Explained, describe: &Describe) -> Architecture {
    let constants = found.constants.iter().map(|finding| {
        let evidence = if finding.determined() {
            Evidence::Captured
        } else {
            Evidence::Inferred
        };
        (
            finding.name.clone(),
            known(evidence, finding.rests_on(suite)),
        )
    });
    let mut known_by: BTreeMap<_, _> = constants.collect();
    if suite.scale.is_some() {
        let note = "the probes' own blocks: each block had its own scales".to_owned();
        known_by.insert("scale".to_owned(), known(Evidence::Captured, note));
    }
    let open: Vec<_> = found
        .constants
        .iter()
        .filter(|finding| !finding.determined())
        .map(|finding| format!("{}: {}", finding.name, finding.allowed()))
        .collect();
    let note = if open.is_empty() {
        "Every constant is determined by the probes.".to_owned()
    } else {
        format!(
            "Not determined; each of these values gives all answers: {}",
            open.join("; ")
        )
    };
    let also = found.also.iter().map(|step| {
        format!(
            "These also give all answers, but may differ elsewhere: {}",
            step.summary()
        )
    });
    let arithmetic = &found.arithmetic;
    let coverage = super::coverage(suite);
    Architecture {
        schema: SCHEMA.to_owned(),
        name: describe.name.clone(),
        title: format!("{} (inferred from probes)", describe.name),
        also: Vec::new(),
        gpus: Vec::new(),
        sources: BTreeMap::from([("answers".to_owned(), describe.answers.clone())]),
        notes: std::iter::once(format!(
            "Inferred by replaying {} directed probes. It gives every answer; another kind of unit would show only \
             where a probe tests for it. {}",
            suite.cases.len(),
            coverage.describe()
        ))
        .chain(also)
        .collect(),
        known_by: BTreeMap::new(),
        instructions: vec![Instruction {
            name: "inferred".to_owned(),
            about: "the unit that answered the probes".to_owned(),
            layout: None,
            choice: false,
            rules: vec![Rule {
                operands: vec![[arithmetic.a, arithmetic.b]],
                accumulator: arithmetic.accumulator,
                addend: arithmetic.addend,
                scale: arithmetic.scale,
                instruction_k: None,
                sparse: None,
                evidence: Evidence::Captured,
                note: Some(note),
                step: arithmetic.step.clone(),
                known_by,
            }],
        }],
    }
}

fn known(evidence: Evidence, note: String) -> KnownBy {
    KnownBy {
        evidence,
        source: vec!["answers".to_owned()],
        note: Some(note),
    }
}

impl Finding {
    /// The cases that refute other values of the constant, or the values that it can have.
    pub fn rests_on(&self, suite: &Suite) -> String {
        let mut nearest: Vec<&Refuted> = self.refuted.iter().collect();
        if let Some(value) = self.value.as_i64() {
            nearest.sort_by_key(|other| other.value.as_i64().map_or(0, |n| n.abs_diff(value)));
        }
        let shown = nearest.iter().take(4).map(|Refuted { value, case }| {
            let family = suite.cases[*case].family;
            format!("{} contradicts case {case} ({family})", text(value))
        });
        let shown: Vec<_> = shown.collect();
        let more = match nearest.len() - shown.len() {
            0 => String::new(),
            n => format!(", and {n} more values contradict a case"),
        };
        let refuted = if shown.is_empty() {
            "no value contradicts a case".to_owned()
        } else {
            format!("{}{more}", shown.join(", "))
        };
        match self.determined() {
            true if shown.is_empty() => "no other value fits the rest of the model".to_owned(),
            true => refuted,
            false => {
                let allowed = self.allowed();
                let run = if allowed.contains(" to ") {
                    " (of a run its ends and some between were tried)"
                } else {
                    ""
                };
                format!("not determined: {allowed} each give all answers{run}; {refuted}")
            }
        }
    }
}
