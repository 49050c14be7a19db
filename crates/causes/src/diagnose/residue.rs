//! Two things at once: what gives most of D first, then what is left apart.

use crate::diagnose::trial::{SPENT, Trial};
use crate::diagnose::variation::{self, Variation};
use crate::diagnose::{Case, Diagnosis, Finding, diagnose};
use crate::report::{Comparator, grouped};

/// Fewer mismatches than this are explained by too much.
const FEW: u64 = 32;

/// The variation that gives most of D, with the causes and places of what it leaves.
///
/// # Errors
/// What gives most of the tested elements, where comparing all of D takes longer than the search may.
pub fn most(case: &Case, trial: &Trial) -> Option<Result<Diagnosis, String>> {
    let mismatches = case.comparison.mismatches;
    if mismatches < FEW || !case.is_whole() || trial.is_weak() || case.is_rest {
        return None;
    }
    // All of D is compared with the best of them, whose operands may become new matrices.
    let work = trial.work();
    let problem = &case.replay.problem;
    let matrices = (problem.batches() * (problem.m + problem.n) * problem.k) as u64;
    let price = case.price_of_product(case.replay.work()) + matrices;
    let affords = work.spend(price);
    let mut best: Option<(usize, Variation)> = None;
    for one in variation::common(case, trial) {
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
        let mut differ = Comparator::new(case.given, case.tolerance, 0);
        let done = replay.run(&crate::deadline::unheard, |band| {
            differ.compare(&band);
            Ok::<(), std::convert::Infallible>(())
        });
        let Ok(()) = done;
        let left = differ.conclude();
        let rest = left.comparison.mismatches;
        if rest == 0 {
            return Some(Ok(Diagnosis {
                findings: vec![Finding::of(first.all_of(case), mismatches, None)],
                ..Diagnosis::default()
            }));
        }
        // A quarter may be another fault's; what is left of more is no small rest.
        if 4 * rest > mismatches {
            return None;
        }
        let apart = diagnose(&Case {
            replay: *replay,
            comparison: &left.comparison,
            sample: &left.sample,
            work: work.left(),
            is_rest: true,
            ..*case
        });
        let text = format!(
            "{}: it gives {} of {} elements, bit for bit; {} {} left apart",
            first.what(),
            grouped(left.comparison.elements - rest),
            grouped(left.comparison.elements),
            grouped(rest),
            if rest == 1 { "is" } else { "are" }
        );
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
