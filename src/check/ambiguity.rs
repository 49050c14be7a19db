//! How much an agreement proves: which other arithmetics of the catalogue give the same bits here.

use std::cmp::Reverse;

use super::part::Part;
use super::prepare::Prepared;
use super::product::Naming;
use crate::candidates::{Candidate, Conditions, Name, candidates};
use crate::emu::schedule::BoundSchedule;
use crate::emu::{Arithmetic, Catalogue, Element, Replay, accelerate};
use crate::report::{Ambiguity, SameBits, Unit, Verdict};
use crate::sample::Region;

/// Elements that are computed by others at the most, and at the least where that does not take too long.
const MOST: u64 = 256;
const LEAST: u64 = 4;

/// Seed of their choice, always the same: a report claims nothing about other elements.
const SEED: u64 = 0x7463_7665_7269_6679;

/// Multiply-adds of the exact engine that may always be spent, about two milliseconds; more than that, this part of
/// the check's own.
const ALWAYS: u64 = 1 << 16;
const PART: u64 = 32;

/// For fewer elements than the least, half of what may always be spent and this part: what takes longer is left.
const PART_FOR_FEW: u64 = 4;

/// Multiply-adds that vector kernels do in the time of one of the exact engine, about: of all of D, and of elements
/// alone.
const OF_ALL: u64 = 256;
const ALONE: u64 = 16;

impl Prepared {
    /// What a report of this verdict states about other arithmetics, if anything.
    pub(super) fn ambiguity_of(&self, verdict: Verdict, part: Option<&Part>) -> Option<Ambiguity> {
        // A report by tree may be merged of parts, and nobody has the operands of all of them.
        let wanted = self.check.ambiguity && self.check.naming == Naming::Payload;
        let agrees = verdict != Verdict::Different;
        // Without products every arithmetic gives the same bits.
        let multiplies = self.problem().k > 0;
        (wanted && agrees && multiplies).then(|| self.ambiguity(part))
    }

    /// Which other arithmetics give the bits that the judged one gives, on some elements of what was
    /// compared.
    fn ambiguity(&self, part: Option<&Part>) -> Ambiguity {
        let own = self.replay();
        let (shared, mut others) = self.others(&own);
        let cost = |arithmetic: &Arithmetic, elements: u64, kernels: u64| {
            let work = elements.saturating_mul(own.problem.k as u64);
            match accelerate::plan(arithmetic) {
                Some(_) => work.div_ceil(kernels),
                None => work,
            }
        };
        let compared = part.map_or_else(|| Region::of(&own.shape()).len(), Part::elements);
        let kernels = if part.is_some_and(Part::is_drawn) {
            ALONE
        } else {
            OF_ALL
        };
        let spent = cost(own.arithmetic, compared, kernels);
        let each = others.iter().map(|other| cost(&other.arithmetic, 1, ALONE));
        let each: u64 = each.sum();
        let all = others.len();
        let affordable = (ALWAYS + spent / PART) / each.max(1);
        let count = if affordable >= LEAST {
            affordable.min(MOST)
        } else {
            let few = ALWAYS / 2 + spent / PART_FOR_FEW;
            cheapest(&mut others, few, |other| cost(&other.arithmetic, 1, ALONE));
            (few / each.max(1)).clamp(1, LEAST)
        };
        let count = count.min(compared);
        let looked_at = match part {
            None => Region::of(&own.shape()).sample(count, SEED),
            Some(part) => part.some(count, SEED),
        };
        let (first, rest) = looked_at.split_at(looked_at.len().min(LEAST as usize));
        let [of_first, of_rest] = [first, rest].map(|at| own.elements(at));
        let agrees = |other: &&Candidate| {
            let replay = Replay {
                arithmetic: &other.arithmetic,
                convert_to: other.convert_to,
                ..own
            };
            // Most differ at once.
            replay.elements(first) == of_first && replay.elements(rest) == of_rest
        };
        let mut same: Vec<SameBits> = others.iter().filter(agrees).map(named).collect();
        same.sort_by_key(|other| Reverse(other.evidence));
        Ambiguity {
            shared,
            elements: looked_at.len() as u64,
            others: others.len() as u64,
            left: (all - others.len()) as u64,
            same,
        }
    }

    /// The units that have the arithmetic that judged, and the catalogue's others for these operands and this D, each
    /// once.
    fn others(&self, own: &Replay) -> (Vec<Unit>, Vec<Candidate>) {
        let (problem, arithmetic) = (&own.problem, own.arithmetic);
        // An epilogue rounds whatever accumulator it is given.
        let wanted = match own.kernel {
            Some(_) => arithmetic.accumulator,
            None => own.format(),
        };
        let conditions = Conditions {
            blocks: false,
            a: &|format| format == arithmetic.a,
            b: &|format| format == arithmetic.b,
            c: &|format| {
                problem.c.is_none() || own.kernel.is_some() || format == arithmetic.addend()
            },
            d: &|format| format == wanted,
            scale: &|scale| scale == arithmetic.scale,
            k: problem.k,
        };
        let mut all = candidates(Catalogue::builtin(), &conditions);
        if let Some(kernel) = own.kernel {
            all.retain(|other| {
                let result = own.format();
                other.convert_to.is_none()
                    && BoundSchedule::check_compatible(
                        kernel.spec,
                        &other.arithmetic,
                        problem,
                        result,
                    )
                    .is_ok()
            });
            for other in &mut all {
                other.convert_to = own.convert_to;
            }
        }
        let judged = |other: &Candidate| {
            other.arithmetic == *arithmetic && other.convert_to == own.convert_to
        };
        let unit = |name: Name| Unit {
            architecture: name.architecture,
            instruction: name.instruction,
            evidence: name.evidence,
        };
        let (shared, others): (Vec<_>, Vec<_>) = all.into_iter().partition(judged);
        let shared = shared.into_iter().flat_map(|one| one.names);
        (shared.map(unit).collect(), others)
    }
}

/// Keeps those that cost least, as many as `most` pays for, in their order.
fn cheapest<T>(all: &mut Vec<T>, most: u64, cost: impl Fn(&T) -> u64) {
    let costs: Vec<u64> = all.iter().map(cost).collect();
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|&at| costs[at]);
    let mut spent = 0u64;
    let mut kept = vec![false; all.len()];
    for at in order {
        spent = spent.saturating_add(costs[at]);
        kept[at] = spent <= most;
    }
    let mut kept = kept.into_iter();
    all.retain(|_| kept.next() == Some(true));
}

/// Under its best-known name.
fn named(candidate: &Candidate) -> SameBits {
    // Of several that are known as well, the first.
    let names = candidate.names.iter().rev();
    let best = names.max_by_key(|name| name.evidence);
    let best = best.expect("a candidate has a name");
    SameBits {
        architecture: best.architecture.clone(),
        instruction: best.instruction.clone(),
        accumulator: candidate.arithmetic.accumulator,
        evidence: best.evidence,
        sha256: candidate.arithmetic.sha256(),
    }
}

impl Part {
    /// Some elements of it.
    fn some(&self, count: u64, seed: u64) -> Vec<Element> {
        match self.drawn() {
            None => self.region().sample(count, seed),
            Some(drawn) => {
                let step = (drawn.len() as u64 / count.max(1)).max(1) as usize;
                drawn
                    .into_iter()
                    .step_by(step)
                    .take(count as usize)
                    .collect()
            }
        }
    }
}
