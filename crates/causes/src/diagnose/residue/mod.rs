//! Two things at once: what gives most of D first, then what is left apart.
//!
//! What gives most is a replay of its own (`most`), whose mismatches are searched as any D's are. Or it changes finished
//! sums or their places (`codes`): then what is left is searched as if that had not happened.

mod codes;

pub use codes::of_codes;

use crate::diagnose::trial::{SPENT, Trial};
use crate::diagnose::variation::{self, Variation};
use crate::diagnose::whole::missing_products;
use crate::diagnose::{Case, Diagnosis, Finding, diagnose};
use crate::forms::grouped;

/// Fewer mismatches than this are explained by too much.
const FEW: u64 = 32;

/// The variation that gives most of D, with the causes and places of what it leaves.
///
/// # Errors
/// What gives most of the tested elements, where comparing all of D takes longer than the search may.
pub fn most(case: &Case, trial: &Trial) -> Option<Result<Diagnosis, String>> {
    let mismatches = case.comparison.mismatches;
    if !is_enough(case, trial) {
        return None;
    }
    // All of D is compared with the best of them, whose operands may become new matrices.
    let work = trial.work();
    let problem = &case.replay.problem;
    let matrices = (problem.batches() * (problem.m + problem.n) * problem.k) as u64;
    let price = case.price_of_product(case.replay.work()) + matrices;
    let affords = work.spend(price);
    let mut best: Option<(usize, Variation)> = None;
    let missing = missing_products::likely(case, trial).into_iter();
    let missing = missing.map(|one| variation::without(case, one.kind, one.what, one.range));
    for one in variation::common(case, trial).into_iter().chain(missing) {
        let given = trial.most(&|at| one.elements(case, at));
        let better = |given: usize| best.as_ref().is_none_or(|(most, _)| given > *most);
        if let Some(given) = given.filter(|given| better(*given)) {
            best = Some((given, one));
        }
    }
    let Some((given, first)) = best else {
        if affords {
            work.add(price);
        }
        return None;
    };
    if !affords {
        return Some(Err(format!(
            "{}: it gives {} of {} tested elements, and all of D was not compared with it ({SPENT})",
            first.what(),
            grouped(given as u64),
            grouped(trial.elements().count() as u64)
        )));
    }
    let first = first.materialised(case)?;
    first.with(case, |replay| {
        let left = case.differences(replay, case.given);
        let rest = left.comparison.mismatches;
        if rest == 0 {
            return Some(Ok(Diagnosis {
                findings: vec![Finding::of(first.all_of(case), mismatches, None)],
                ..Diagnosis::default()
            }));
        }
        if is_much(rest, mismatches) {
            return None;
        }
        let apart = diagnose(&Case {
            replay: *replay,
            comparison: &left.comparison,
            sample: &left.sample,
            work: for_rest(case, trial),
            is_rest: true,
            ..*case
        });
        let text = told(first.what(), left.comparison.elements, [0, rest]);
        let mut findings = vec![Finding::of(first.told(text), mismatches - rest, None)];
        findings.extend(apart.findings);
        Some(Ok(Diagnosis {
            findings,
            places: apart.places,
            tried: apart.tried,
            untried: apart.untried,
        }))
    })
}

/// Whether so many elements differ that two things may explain them.
fn is_enough(case: &Case, trial: &Trial) -> bool {
    case.comparison.mismatches >= FEW && case.is_whole() && !trial.is_weak() && !case.is_rest
}

/// What the search of a rest may spend: half of all at least, since what leaves it is certain.
fn for_rest(case: &Case, trial: &Trial) -> u64 {
    trial.work().left().max(case.work / 2)
}

/// A quarter may be another fault's; what is left of more is no small rest.
fn is_much(rest: u64, mismatches: u64) -> bool {
    4 * rest > mismatches
}

fn told(what: &str, elements: u64, [nearly, rest]: [u64; 2]) -> String {
    let are = |count: u64| if count == 1 { "is" } else { "are" };
    let nearly_given = match nearly {
        0 => String::new(),
        _ => format!(", and {} except for the last bits", grouped(nearly)),
    };
    let left = match rest {
        0 => String::new(),
        _ => format!("; {} {} left apart", grouped(rest), are(rest)),
    };
    format!(
        "{what}: it gives {} of {} elements, bit for bit{nearly_given}{left}",
        grouped(elements - nearly - rest),
        grouped(elements)
    )
}
