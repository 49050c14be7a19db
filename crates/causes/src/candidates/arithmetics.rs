//! Arithmetics of the catalogue that could have computed a D, judged by formats and K alone.

use super::Guess;
use crate::emu::schedule::{BoundSchedule, Values};
use crate::emu::step::{Blocks, Reload, ThroughMemory};
use crate::emu::{Arithmetic, Catalogue, Engine, Evidence, Problem, Replay, Scale};
use crate::num::Format;

/// An arithmetic, and the rules of the catalogue that have it.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub arithmetic: Arithmetic,
    /// D is the result rounded to this format.
    pub convert_to: Option<Format>,
    /// FP32 operands are rounded to the nearest TF32 before the unit ignores their low bits.
    pub nearest: bool,
    pub names: Vec<Name>,
    /// The schedule of the kernel around it, if one is tried.
    pub schedule: Option<Guess>,
}

/// A rule of the catalogue by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    pub architecture: String,
    pub instruction: String,
    pub evidence: Evidence,
}

/// What a rule must fit.
pub struct Conditions<'a> {
    pub a: &'a dyn Fn(Format) -> bool,
    pub b: &'a dyn Fn(Format) -> bool,
    pub c: &'a dyn Fn(Format) -> bool,
    /// Whether D may have a format.
    pub d: &'a dyn Fn(Format) -> bool,
    /// Whether scales are given, and readable as these.
    pub scale: &'a dyn Fn(Option<Scale>) -> bool,
    pub k: usize,
    /// Whether kernels that take K in blocks are meant, too.
    pub blocks: bool,
}

/// Every arithmetic of the catalogue that fits, each once, in the catalogue's order.
pub fn candidates(catalogue: &Catalogue, conditions: &Conditions) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    for (architecture, instruction, rule) in catalogue.rules() {
        for &operands in &rule.operands {
            let arithmetic = Arithmetic::of(rule, operands);
            let whole = rule
                .least_k()
                .is_none_or(|k| conditions.k.is_multiple_of(k));
            if !whole || !fits(&arithmetic, conditions) {
                continue;
            }
            let name = Name {
                architecture: architecture.name.clone(),
                instruction: instruction.name.clone(),
                evidence: rule.evidence,
            };
            for arithmetic in in_blocks(arithmetic, conditions) {
                for convert_to in results(&arithmetic, conditions) {
                    add(&mut found, &arithmetic, convert_to, &name);
                }
            }
        }
    }
    found
}

/// Adds a name to its candidate, which is made if it is new.
fn add(found: &mut Vec<Candidate>, arithmetic: &Arithmetic, to: Option<Format>, name: &Name) {
    let mut known = found.iter_mut();
    match known.find(|c| c.arithmetic == *arithmetic && c.convert_to == to) {
        Some(candidate) => candidate.names.push(name.clone()),
        None => found.push(Candidate {
            arithmetic: arithmetic.clone(),
            convert_to: to,
            nearest: false,
            names: vec![name.clone()],
            schedule: None,
        }),
    }
}

/// The arithmetic, and the same in every number of blocks that kernels may take K in and that can change a bit.
fn in_blocks(arithmetic: Arithmetic, conditions: &Conditions) -> Vec<Arithmetic> {
    let mut all = vec![arithmetic];
    let step = &all[0].step;
    if !matches!(step.through_memory(), ThroughMemory::Blocks(_)) {
        return all;
    }
    let tiles = conditions.k.div_ceil(step.span());
    let widths = (1..=tiles / 2).filter(|width| conditions.blocks && tiles.is_multiple_of(*width));
    let mut more = Vec::new();
    for width in widths {
        for (l1_acc, reload) in [
            (true, Reload::Exact),
            (true, Reload::Tf32),
            (true, Reload::Bf16),
            (false, Reload::Tf32),
            (false, Reload::Bf16),
        ] {
            // Two blocks are never added in memory.
            if l1_acc && tiles / width == 2 {
                continue;
            }
            let mut other = all[0].clone();
            other.step.set_blocks(Blocks {
                k: step.span() * width,
                l1_acc,
                reload,
            });
            more.extend(Some(other).filter(|other| other.check().is_ok()));
        }
    }
    all.extend(more);
    all
}

fn fits(arithmetic: &Arithmetic, conditions: &Conditions) -> bool {
    (conditions.a)(arithmetic.a)
        && (conditions.b)(arithmetic.b)
        && (conditions.c)(arithmetic.addend())
        && (conditions.scale)(arithmetic.scale)
        && !arithmetic.step.is_part_of(conditions.k)
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
    let known = |format| arithmetic.step.rounds_results(format).is_some();
    let rounded = rounded
        .iter()
        .filter(|&&format| (conditions.d)(format) && known(format));
    own.into_iter().chain(rounded.map(|&f| Some(f))).collect()
}

impl Candidate {
    /// D's format.
    pub fn result(&self) -> Format {
        self.convert_to.unwrap_or(self.arithmetic.accumulator)
    }

    /// The formats in which it reads A and B.
    pub fn reads(&self) -> [Format; 2] {
        let unit = [self.arithmetic.a, self.arithmetic.b];
        let guess = self.schedule.as_ref();
        guess.map_or(unit, |guess| unit.map(|format| guess.spec.read_as(format)))
    }

    /// Whether it has the same arithmetic, on operands that are read alike.
    pub fn is_like(&self, other: &Candidate) -> bool {
        self.arithmetic == other.arithmetic && self.nearest == other.nearest
    }

    /// How far down the list its schedule is; 0 of a model alone.
    pub fn rank(&self) -> usize {
        self.schedule.as_ref().map_or(0, |guess| guess.rank)
    }

    /// The replay of a problem in its formats; `values` are what a schedule works with beside it.
    pub fn replay<'a>(
        &'a self,
        problem: Problem<'a>,
        values: &'a Values,
        engine: Engine<'a>,
    ) -> Replay<'a> {
        let guess = self.schedule.as_ref();
        Replay {
            problem,
            arithmetic: &self.arithmetic,
            convert_to: self.convert_to,
            engine,
            kernel: guess.map(|guess| BoundSchedule::new(&guess.spec, values, &problem)),
        }
    }

    /// The candidate of this arithmetic under a schedule.
    pub fn under(&self, guess: Guess, result: Format) -> Candidate {
        Candidate {
            convert_to: (result != self.arithmetic.accumulator).then_some(result),
            schedule: Some(guess),
            ..self.clone()
        }
    }
}
