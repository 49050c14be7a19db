//! Cases whose arrays are results of other cases: a layer, step by step.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

use super::batch::{BatchCase, CaseVerdict};
use super::words::grouped;
use crate::io::escaped;

/// What is known of steps that follow from each other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Chain {
    /// An array of a case that is, by the SHA-256 of its payload, the captured result of another.
    pub links: Vec<Link>,
    /// Steps that are linked and identical, by name.
    pub identical: Vec<String>,
    /// Those that differ, and follow from no other that differs or could not be judged.
    pub first_different: Vec<String>,
    /// Others that differ: from captured arrays that a step before them did not give.
    pub different_after: Vec<String>,
    /// Cases without a verdict: whether they are steps is not known.
    pub unjudged: Vec<String>,
}

/// A result that is an operand.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Link {
    pub from: String,
    pub to: String,
    /// The operand's name.
    pub array: String,
}

/// SHA-256 of the payloads of a case.
struct Digests {
    /// By name.
    operands: Vec<(String, String)>,
    /// Of the captured result.
    result: Option<String>,
}

/// Arrays of a case, the captured result apart.
fn arrays(case: &BatchCase) -> Option<Digests> {
    let report: Value = serde_json::from_str(case.report.as_ref()?.get()).ok()?;
    let digest = |input: &Value| Some(input.get("payload_sha256")?.as_str()?.to_owned());
    let mut operands = Vec::new();
    let mut result = None;
    let mut add = |name: &str, input: &Value| match (name, digest(input)) {
        ("d" | "y", found) => result = found,
        (name, Some(found)) => operands.push((name.to_owned(), found)),
        _ => {}
    };
    match report.get("inputs")? {
        Value::Object(named) => named.iter().for_each(|(name, input)| add(name, input)),
        Value::Array(list) => {
            for input in list {
                add(input.get("name")?.as_str()?, input);
            }
        }
        _ => return None,
    }
    Some(Digests { operands, result })
}

impl Chain {
    /// The chain of some cases; none if no array of one is the result of another.
    pub(super) fn of(cases: &[BatchCase]) -> Option<Chain> {
        let known: Vec<_> = cases.iter().map(arrays).collect();
        let mut results: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (i, known) in known.iter().enumerate() {
            if let Some(Digests {
                result: Some(digest),
                ..
            }) = known
            {
                results.entry(digest).or_default().push(i);
            }
        }
        let mut before: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); cases.len()];
        let mut links = BTreeSet::new();
        for (to, known) in known.iter().enumerate() {
            for (array, digest) in known.iter().flat_map(|known| &known.operands) {
                for &from in results.get(digest.as_str()).into_iter().flatten() {
                    if from != to {
                        before[to].insert(from);
                        links.insert((from, to, array));
                    }
                }
            }
        }
        if links.is_empty() {
            return None;
        }
        let bad = |i: usize| cases[i].verdict > CaseVerdict::IdenticalInPart;
        let mut chain = Chain::default();
        for (i, case) in cases.iter().enumerate() {
            let linked = links.iter().any(|&(from, to, _)| from == i || to == i);
            let names = match case.verdict {
                CaseVerdict::Unjudged => &mut chain.unjudged,
                _ if !linked => continue,
                CaseVerdict::Different if follows(i, &before, &bad) => &mut chain.different_after,
                CaseVerdict::Different => &mut chain.first_different,
                _ => &mut chain.identical,
            };
            names.push(case.name.clone());
        }
        let name = |i: usize| cases[i].name.clone();
        let link = |(from, to, array): (usize, usize, &String)| Link {
            from: name(from),
            to: name(to),
            array: array.clone(),
        };
        chain.links = links.into_iter().map(link).collect();
        Some(chain)
    }

    /// The sentences that say it.
    pub fn sentences(&self) -> Vec<String> {
        let names = |names: &[String]| names.join(", ");
        let mut said = vec![format!(
            "{} arrays are results of other steps; {} linked {} identical",
            grouped(self.links.len() as u64),
            grouped(self.identical.len() as u64),
            if self.identical.len() == 1 {
                "step is"
            } else {
                "steps are"
            }
        )];
        if !self.first_different.is_empty() {
            said.push(format!("differs first: {}", names(&self.first_different)));
        }
        if !self.different_after.is_empty() {
            let after = names(&self.different_after);
            said.push(format!(
                "differs, too, after a step that differs or was not judged: {after}"
            ));
        }
        if !self.unjudged.is_empty() {
            said.push(format!("not judged: {}", names(&self.unjudged)));
        }
        said
    }

    pub(super) fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        for (i, sentence) in self.sentences().iter().enumerate() {
            let label = if i == 0 { "layer" } else { "" };
            writeln!(out, "  {label:9}  {}", escaped(sentence))?;
        }
        Ok(())
    }
}

/// Whether a case follows, step by step, from one that is bad.
fn follows(case: usize, before: &[BTreeSet<usize>], bad: &dyn Fn(usize) -> bool) -> bool {
    let mut seen = BTreeSet::from([case]);
    let mut open: Vec<usize> = before[case].iter().copied().collect();
    while let Some(next) = open.pop() {
        if seen.insert(next) {
            if bad(next) {
                return true;
            }
            open.extend(&before[next]);
        }
    }
    false
}
