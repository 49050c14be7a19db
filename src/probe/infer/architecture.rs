//! What was inferred, as an architecture file.

use std::collections::BTreeMap;

use super::{Explained, Finding, text};
use crate::emu::model::SCHEMA;
use crate::emu::{Architecture, Evidence, Instruction, KnownBy, Rule};
use crate::probe::Suite;

/// What people call the machine and its answers.
#[derive(Clone, Debug)]
pub struct Describe {
    pub name: String,
    /// A citation of the answers: file and digest.
    pub answers: String,
}

/// An architecture with one rule, each constant known by the cases that refute its other values.
pub fn architecture(suite: &Suite, found: &Explained, describe: &Describe) -> Architecture {
    let mut known_by: BTreeMap<_, _> = found
        .constants
        .iter()
        .map(|finding| (finding.name.clone(), known(suite, finding)))
        .collect();
    if suite.scale.is_some() {
        let note = "the probes' own blocks: each block had its own scales".to_owned();
        let scale = KnownBy {
            evidence: Evidence::Captured,
            source: vec!["answers".to_owned()],
            note: Some(note),
        };
        known_by.insert("scale".to_owned(), scale);
    }
    let open: Vec<_> = found
        .constants
        .iter()
        .filter(|finding| !finding.determined())
        .map(|finding| format!("{}: {}", finding.name, finding.allowed()))
        .collect();
    let note = match open.is_empty() {
        true => "Every constant is determined by the probes.".to_owned(),
        false => format!(
            "Not determined; each of these values gives all answers: {}",
            open.join("; ")
        ),
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
            coverage.in_words()
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

fn known(suite: &Suite, finding: &Finding) -> KnownBy {
    KnownBy {
        evidence: match finding.determined() {
            true => Evidence::Captured,
            false => Evidence::Inferred,
        },
        source: vec!["answers".to_owned()],
        note: Some(rests_on(suite, finding)),
    }
}

/// On which cases a constant rests, in words.
pub(super) fn rests_on(suite: &Suite, finding: &Finding) -> String {
    let case = |(value, case): &(serde_json::Value, usize)| {
        format!(
            "{} contradicts case {case} ({})",
            text(value),
            suite.cases[*case].family
        )
    };
    let mut nearest: Vec<_> = finding.refuted.iter().collect();
    if let Some(value) = finding.value.as_i64() {
        nearest.sort_by_key(|(other, _)| other.as_i64().map_or(0, |n| n.abs_diff(value)));
    }
    let shown: Vec<_> = nearest.iter().take(4).map(|entry| case(entry)).collect();
    let more = nearest.len().saturating_sub(shown.len());
    let more = match more {
        0 => String::new(),
        n => format!(", and {n} more values contradict a case"),
    };
    let refuted = match shown.is_empty() {
        true => "no value contradicts a case".to_owned(),
        false => format!("{}{more}", shown.join(", ")),
    };
    match finding.determined() {
        true if shown.is_empty() => "no other value fits the rest of the model".to_owned(),
        true => refuted,
        false => format!(
            "not determined: {} each give all answers; {refuted}",
            finding.allowed()
        ),
    }
}

impl Finding {
    /// On which cases the constant rests, or what else it can be.
    pub fn rests_on(&self, suite: &Suite) -> String {
        rests_on(suite, self)
    }
}
