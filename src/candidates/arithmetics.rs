//! What could have computed a D, judged by formats alone.

use super::Guess;
use crate::emu::{Arithmetic, Catalogue, Evidence, Scale};
use crate::num::Format;

/// An arithmetic, and everything of the catalogue that computes so.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub arithmetic: Arithmetic,
    /// D is the result rounded to this format.
    pub convert_to: Option<Format>,
    pub names: Vec<Name>,
    /// The kernel around it, if one is supposed.
    pub schedule: Option<Guess>,
}

/// A rule of the catalogue by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    pub architecture: String,
    pub instruction: String,
    pub evidence: Evidence,
}

/// What a rule has to fit.
pub struct Conditions<'a> {
    pub a: &'a dyn Fn(Format) -> bool,
    pub b: &'a dyn Fn(Format) -> bool,
    pub c: &'a dyn Fn(Format) -> bool,
    /// Of D.
    pub d: &'a dyn Fn(Format) -> bool,
    /// Whether scales are given, and readable as these.
    pub scale: &'a dyn Fn(Option<Scale>) -> bool,
    pub k: usize,
}

/// Every arithmetic of the catalogue that fits, each once, in the catalogue's order.
pub fn candidates(catalogue: &Catalogue, conditions: &Conditions) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    for architecture in catalogue.architectures() {
        for instruction in &architecture.instructions {
            for rule in &instruction.rules {
                for &operands in &rule.operands {
                    let arithmetic = Arithmetic::of(rule, operands);
                    if !fits(&arithmetic, conditions) {
                        continue;
                    }
                    let name = Name {
                        architecture: architecture.name.clone(),
                        instruction: instruction.name.clone(),
                        evidence: rule.evidence,
                    };
                    for convert_to in results(&arithmetic, conditions) {
                        let same = found
                            .iter_mut()
                            .find(|c| c.arithmetic == arithmetic && c.convert_to == convert_to);
                        match same {
                            Some(candidate) => candidate.names.push(name.clone()),
                            None => found.push(Candidate {
                                arithmetic: arithmetic.clone(),
                                convert_to,
                                names: vec![name.clone()],
                                schedule: None,
                            }),
                        }
                    }
                }
            }
        }
    }
    found
}

fn fits(arithmetic: &Arithmetic, conditions: &Conditions) -> bool {
    (conditions.a)(arithmetic.a)
        && (conditions.b)(arithmetic.b)
        && (conditions.c)(arithmetic.addend())
        && (conditions.scale)(arithmetic.scale)
        && arithmetic
            .longest_k()
            .is_none_or(|most| conditions.k <= most)
}

/// The accumulator's own format, or one that FP32 is rounded to.
fn results(arithmetic: &Arithmetic, conditions: &Conditions) -> Vec<Option<Format>> {
    let rounded: &[Format] = match arithmetic.accumulator {
        Format::Fp32 => &[Format::Fp16, Format::Bf16],
        _ => &[],
    };
    let own = (conditions.d)(arithmetic.accumulator).then_some(None);
    let rounded = rounded.iter().filter(|&&format| (conditions.d)(format));
    own.into_iter().chain(rounded.map(|&f| Some(f))).collect()
}

impl Candidate {
    /// The same arithmetic under a schedule.
    pub fn under(&self, guess: Guess, result: Format) -> Candidate {
        Candidate {
            convert_to: (result != self.arithmetic.accumulator).then_some(result),
            schedule: Some(guess),
            ..self.clone()
        }
    }
}
