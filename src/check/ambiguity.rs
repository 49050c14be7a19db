//! How much an agreement proves: which other arithmetics of the catalogue give the same bits here.

use std::cmp::Reverse;

use super::part::Part;
use super::prepare::Prepared;
use super::product::Naming;
use crate::candidates::{Candidate, Conditions, Name, candidates};
use crate::deadline;
use crate::emu::schedule::BoundSchedule;
use crate::emu::{Arithmetic, Catalogue, Element, Replay, accelerate};
use crate::report::{Ambiguity, SameBits, Unit, Verdict};
use crate::sample::{Region, nearness};

/// Elements that are computed by others at the most, and at the least.
const MOST: u64 = 256;
const LEAST: u64 = 4;

/// Most elements among which those are chosen.
const POOL: u64 = 1 << 14;

/// Seed of their choice, always the same: a report claims nothing about other elements.
const SEED: u64 = 0x7463_7665_7269_6679;

/// Multiply-adds of the exact engine that may always be spent, about two milliseconds; more than that, this part of
/// the check's own.
const ALWAYS: u64 = 1 << 16;
const PART: u64 = 32;

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

    /// Which other arithmetics give the bits that the judged one gives, on some elements of what was compared: a few
    /// that refute most, then those that tell the most of the others.
    fn ambiguity(&self, part: Option<&Part>) -> Ambiguity {
        let own = self.replay();
        let (shared, others) = self.others(&own);
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
        let budget = ALWAYS + spent / PART;
        let some = |count: u64| match part {
            None => Region::of(&own.shape()).sample(count, SEED),
            Some(part) => part.some(count, SEED),
        };
        // The nearer a sum is to where its rounding turns over, the more it tells.
        let narrow = own.format().fraction_bits() < own.arithmetic.accumulator.fraction_bits();
        let mut pool = some(MOST.min(compared));
        let mut rest = pool.split_off(pool.len().min(LEAST as usize));
        let first = pool;
        if narrow && !own.format().is_integer() {
            // Whole rows cost a vector kernel least.
            let each = cost(own.arithmetic, own.problem.n as u64, OF_ALL).max(1);
            let rows = (budget / 2 / each).min(POOL / own.problem.n as u64);
            let rows = (rows as usize).min(own.problem.m);
            let sums = Replay {
                convert_to: None,
                ..own
            };
            let codes = if part.is_none() && rows * own.problem.n > rest.len() {
                let middle = (own.problem.m - rows) / 2;
                rest = Region {
                    batches: 1,
                    rows: middle..middle + rows,
                    columns: 0..own.problem.n,
                }
                .elements()
                .collect();
                sums.part(
                    0,
                    middle..middle + rows,
                    0..own.problem.n,
                    &deadline::unheard,
                )
            } else {
                sums.elements(&rest)
            };
            let formats = [own.arithmetic.accumulator, own.format()];
            let mut by_nearness: Vec<(u64, Element)> = codes.into_iter().zip(rest).collect();
            by_nearness.sort_by_key(|(code, _)| Reverse(nearness(*code, formats)));
            rest = by_nearness.into_iter().map(|(_, at)| at).collect();
            rest.retain(|at| !first.contains(at));
            rest.truncate((MOST - LEAST) as usize);
        }
        let mut same: Vec<&Candidate> = others.iter().collect();
        let (mut examined, mut left) = (0, budget);
        let lots = std::iter::once(&first[..]).chain(rest.chunks(LEAST as usize));
        for lot in lots {
            let count = lot.len() as u64;
            let each = same
                .iter()
                .map(|other| cost(&other.arithmetic, count, ALONE));
            let each = each.sum::<u64>();
            // The first few are always computed.
            if count == 0 || examined > 0 && (same.is_empty() || each > left) {
                break;
            }
            left = left.saturating_sub(each);
            let of_lot = own.elements(lot);
            same.retain(|other| {
                let replay = Replay {
                    arithmetic: &other.arithmetic,
                    convert_to: other.convert_to,
                    ..own
                };
                replay.elements(lot) == of_lot
            });
            examined += count;
        }
        let mut same: Vec<SameBits> = same.into_iter().map(named).collect();
        same.sort_by_key(|other| Reverse(other.evidence));
        Ambiguity {
            shared,
            elements: examined,
            others: others.len() as u64,
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
