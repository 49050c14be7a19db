//! How much an agreement proves: which other arithmetics of the catalogue give the same bits here.

use std::cmp::Reverse;

use crate::candidates::{Candidate, Conditions, Name, candidates, cost};
use crate::check::{Naming, Part, Prepared};
use crate::deadline;
use crate::emu::schedule::BoundSchedule;
use crate::emu::{Catalogue, Element, Problem, Replay};
use crate::report::{Ambiguity, SameBits, Unit, Verdict};
use crate::sample::{Region, nearness};
use crate::tensor::Tensor;

/// Elements that are computed by others at the most, and at the least where that does not take too long.
const MOST: u64 = 256;
const LEAST: u64 = 4;

/// Most elements among which those are chosen.
const POOL: u64 = 1 << 14;

/// Seed of their choice, always the same: a report claims nothing about other elements.
const SEED: u64 = 0x7463_7665_7269_6679;

/// Multiply-adds of the exact engine that may always be spent, a few milliseconds; more than that, this part of
/// the check's own.
const ALWAYS: u64 = 1 << 18;
const PART: u64 = 32;

/// For fewer elements than the least, half of what may always be spent and this part: what takes longer is left.
const PART_FOR_FEW: u64 = 8;

/// What a report of this verdict states about other arithmetics, if anything.
pub fn ambiguity_of(
    prepared: &Prepared,
    verdict: Verdict,
    part: Option<&Part>,
) -> Option<Ambiguity> {
    // A report by tree may be merged of parts, and nobody has the operands of all of them.
    let wanted = prepared.request().ambiguity && prepared.request().naming == Naming::Payload;
    let agrees = verdict != Verdict::Different;
    // Without products every arithmetic gives the same bits.
    let multiplies = prepared.problem().k > 0;
    (wanted && agrees && multiplies).then(|| ambiguity(prepared, part))
}

/// Which other arithmetics give the bits that the judged one gives, on some elements of what was compared: a few
/// that refute most, then those that tell the most of the others.
fn ambiguity(prepared: &Prepared, part: Option<&Part>) -> Ambiguity {
    let own = prepared.replay();
    let (shared, mut others) = others(&own);
    let price = |other: &Candidate, at: &[Element]| {
        let fast = prepared.engines().computes(&other.arithmetic);
        cost::of_elements(at, &own.problem, fast)
    };
    let compared = part.map_or_else(|| Region::of(&own.shape()).len(), Part::elements);
    let spent = cost_of_replay(prepared, part);
    let of_one = own.problem.k as u64;
    let each = (others.len() as u64 * of_one).max(1);
    let all = others.len();
    let budget = ALWAYS + spent / PART;
    let least = if budget / each >= LEAST {
        LEAST
    } else {
        let few = ALWAYS / 2 + spent / PART_FOR_FEW;
        others.truncate((few / of_one.max(1)) as usize);
        (few / each).clamp(1, LEAST)
    };
    let some = |count: u64| match part {
        None => Region::of(&own.shape()).sample(count, SEED),
        Some(part) => some_of(part, count, SEED),
    };
    // The nearer a sum is to where its rounding turns over, the more it tells.
    let narrow = own.format().fraction_bits() < own.arithmetic.accumulator.fraction_bits();
    let mut pool = some(MOST.min(compared));
    let mut rest = pool.split_off(pool.len().min(least as usize));
    let first = pool;
    if narrow && !own.format().is_integer() {
        // Whole rows cost a vector kernel least.
        let each = own.problem.n as u64 * of_one;
        let fast = prepared.engines().computes(own.arithmetic);
        let each = cost::of_product(each, fast).max(1);
        let rows = (budget / 2 / each).min(POOL / (own.problem.n as u64).max(1));
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
        let each = same.iter().map(|other| price(other, lot));
        let each = each.sum::<u64>();
        // The first few are always computed.
        if count == 0 || examined > 0 && (same.is_empty() || each > left) {
            break;
        }
        left = left.saturating_sub(each);
        let lines = Lines::of(&own, lot);
        let problem = lines.as_ref().map_or(own.problem, Lines::problem);
        let places: Vec<Element> = match &lines {
            Some(_) => (0..lot.len()).map(Lines::place).collect(),
            None => lot.to_vec(),
        };
        let of_lot = Replay { problem, ..own }.elements(&places);
        same.retain(|other| {
            let replay = Replay {
                problem,
                arithmetic: &other.arithmetic,
                convert_to: other.convert_to,
                ..own
            };
            replay.elements(&places) == of_lot
        });
        examined += count;
    }
    let mut same: Vec<SameBits> = same.into_iter().map(named).collect();
    same.sort_by_key(|other| Reverse(other.evidence));
    Ambiguity {
        shared,
        elements: examined,
        others: others.len() as u64,
        left: (all - others.len()) as u64,
        same,
    }
}

/// The units that have the arithmetic that judged, and the catalogue's others for these operands and this D, each
/// once.
fn others(own: &Replay) -> (Vec<Unit>, Vec<Candidate>) {
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
        c: &|format| problem.c.is_none() || own.kernel.is_some() || format == arithmetic.addend(),
        d: &|format| format == wanted,
        scale: &|scale| scale == arithmetic.scale,
        k: problem.k,
    };
    let mut all = candidates(Catalogue::builtin(), &conditions);
    if let Some(kernel) = own.kernel {
        all.retain(|other| {
            let result = own.format();
            other.convert_to.is_none()
                && BoundSchedule::check_compatible(kernel.spec, &other.arithmetic, problem, result)
                    .is_ok()
        });
        for other in &mut all {
            other.convert_to = own.convert_to;
        }
    }
    let judged =
        |other: &Candidate| other.arithmetic == *arithmetic && other.convert_to == own.convert_to;
    let unit = |name: Name| Unit {
        architecture: name.architecture,
        instruction: name.instruction,
        evidence: name.evidence,
    };
    let (shared, others): (Vec<_>, Vec<_>) = all.into_iter().partition(judged);
    let shared = shared.into_iter().flat_map(|one| one.names);
    (shared.map(unit).collect(), others)
}

/// What a replay of what is compared costs, whichever engine computes: a report is the same by all.
pub fn cost_of_replay(prepared: &Prepared, part: Option<&Part>) -> u64 {
    let own = prepared.replay();
    let fast = prepared.engines().computes(own.arithmetic);
    match part {
        Some(part) if part.is_drawn() => part.elements() * own.problem.k as u64,
        Some(part) => cost::of_product(part.elements() * own.problem.k as u64, fast),
        None => cost::of_product(own.work(), fast),
    }
}

/// The rows of A and columns of B of some elements, brought together: in a wide operand a column lies scattered, and every
/// arithmetic reads it.
struct Lines {
    a: Tensor,
    b: Tensor,
    c: Option<Tensor>,
}

impl Lines {
    /// Not of a batch, scales, a compressed A, or a schedule, which computes an element by its place.
    fn of(own: &Replay, at: &[Element]) -> Option<Lines> {
        let problem = own.problem;
        let plain = problem.batches() == 1 && problem.scales.is_none();
        if !plain || problem.selected.is_some() || own.kernel.is_some() {
            return None;
        }
        let problem = problem.matrix(0);
        let rows: Vec<usize> = at.iter().map(|at| at.row).collect();
        let columns: Vec<usize> = at.iter().map(|at| at.column).collect();
        let c = problem.c.map(|c| c.gather(&rows));
        Some(Lines {
            a: problem.a.gather(&rows),
            b: problem.b.transposed().gather(&columns),
            c: c.map(|c| c.planes().transposed().gather(&columns)),
        })
    }

    fn problem(&self) -> Problem<'_> {
        let c = self.c.as_ref().map(|c| c.planes().transposed());
        let problem = Problem::with_any_k(self.a.planes(), self.b.planes().transposed(), c);
        problem.expect("lines of one product")
    }

    /// Where an element is among them.
    fn place(i: usize) -> Element {
        Element {
            batch: 0,
            row: i,
            column: i,
        }
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

/// Some elements of a part.
fn some_of(part: &Part, count: u64, seed: u64) -> Vec<Element> {
    match part.drawn() {
        None => part.region().sample(count, seed),
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
