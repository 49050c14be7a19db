//! One computation that explains all of D.

pub mod batch_matrices;
pub mod computation;
pub mod emulated;
pub mod missing_products;
pub mod model_and_schedule;
pub mod moved_lines;
pub mod narrower_format;
pub mod permutation;
pub mod product_and_epilogue;
pub mod schedule;
pub mod unfinished_chains;

use crate::diagnose::trial::{Trial, Work, first_of};
use crate::diagnose::{Case, Found, Hypothesis, epilogue, variation};
use crate::emu::schedule::BoundSchedule;

/// One computation that gives all elements of a trial. The two trials have the same elements, and different work.
pub fn whole(case: &Case, [computing, scheduling]: &[Trial; 2]) -> Vec<Found> {
    // A few mismatches of few bits are most likely another order of additions.
    if computing.is_weak() {
        let mut found = schedule::schedules(case, scheduling);
        found.extend(computation::computations(case, computing));
        return found;
    }
    // In a wide D, one element fits too many computations by chance, and another computation changes more than one.
    if computing.differing().nth(1).is_none() {
        let what = "other computations of all of D";
        computing.work().ledger.leave(what, "one element differs");
        return Vec::new();
    }
    // Behind a ReLU that the request does not name, epilogues were tried before.
    let function = |kernel: BoundSchedule| kernel.spec.epilogue.function.is_some();
    let is_inner = case.is_rest && case.replay.kernel.is_some_and(function);
    let found = first_of(&[
        &|| {
            computing.test(batch_matrices::EQUALS_C, || {
                batch_matrices::equals_c(case, computing)
            })
        },
        &|| variation::settings(case, computing),
        &|| emulated::of_fp64(case, scheduling),
        &|| computation::computations(case, computing),
        &|| computing.test(variation::FORMATS, || variation::narrower(case, computing)),
        &|| variation::variations(case, computing),
        &|| {
            if is_inner {
                Vec::new()
            } else {
                epilogue::epilogues(case, computing)
            }
        },
        &|| product_and_epilogue::with_relu(case, [computing, scheduling], &whole),
        &|| computing.test("a bias of integers", || epilogue::integers(case, computing)),
        &|| schedule::schedules(case, scheduling),
        &|| emulated::emulations(case, scheduling),
        &|| {
            computing.test(unfinished_chains::TRIED, || {
                unfinished_chains::dropped_remainder(case, computing)
            })
        },
        &|| moved(case, computing),
        &|| {
            computing.test(missing_products::TRIED, || {
                missing_products::missing(case, computing)
            })
        },
        &|| {
            computing.test(batch_matrices::TRIED, || {
                batch_matrices::matrices(case, computing)
            })
        },
        &|| variation::kernels(case, computing),
        &|| {
            computing.test(narrower_format::TRIED, || {
                Ok(narrower_format::narrow(case, computing, scheduling))
            })
        },
        &|| product_and_epilogue::composed(case, computing),
        &|| {
            let work = Work::with_ledger(
                model_and_schedule::WORK.min(case.work / 4),
                &computing.work().ledger,
            );
            let trial = scheduling.over(&work);
            trial.test(model_and_schedule::TRIED, || {
                model_and_schedule::together(case, &trial, &work)
            })
        },
    ]);
    // Some units flush what others do not: that is the cause, whatever its unit is called.
    let flushed = match found.first().map(|found| found.hypothesis) {
        Some(Hypothesis::OtherModel) => variation::flushing(case, computing),
        _ => None,
    };
    flushed.into_iter().chain(found).collect()
}

/// Misplaced rows or columns.
fn moved(case: &Case, trial: &Trial) -> Vec<Found> {
    let mut found = Vec::new();
    for side in [0, 1] {
        if found.is_empty() {
            found = trial.test(permutation::TRIED[side], || {
                let found = permutation::permuted(case, trial, side);
                match found {
                    // A search by some elements is still possible.
                    Err(_) => moved_lines::moved(case, trial, side),
                    found => found,
                }
            });
        }
    }
    found
}
