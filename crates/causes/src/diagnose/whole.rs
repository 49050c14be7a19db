//! One computation that explains all of D.

use super::trial::{Trial, Work, first_of};
use super::{
    Case, Found, Hypothesis, composed, computed, emulated, epilogue, matrices, missing, moved,
    narrow, partial, permuted, schedule, together, variation,
};
use crate::emu::schedule::BoundSchedule;

/// One computation that gives all elements of a trial. The two trials have the same elements, and different work.
pub fn whole(case: &Case, [computing, scheduling]: &[Trial; 2]) -> Vec<Found> {
    // A few mismatches of few bits are most likely another order of additions.
    if computing.is_weak() {
        let mut found = schedule::schedules(case, scheduling);
        found.extend(computed::computations(case, computing));
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
        &|| computing.test(matrices::EQUALS_C, || matrices::equals_c(case, computing)),
        &|| variation::settings(case, computing),
        &|| emulated::of_fp64(case, scheduling),
        &|| computed::computations(case, computing),
        &|| computing.test(variation::FORMATS, || variation::narrower(case, computing)),
        &|| variation::variations(case, computing),
        &|| {
            if is_inner {
                Vec::new()
            } else {
                epilogue::epilogues(case, computing)
            }
        },
        &|| composed::with_relu(case, [computing, scheduling], &whole),
        &|| computing.test("a bias of integers", || epilogue::integers(case, computing)),
        &|| schedule::schedules(case, scheduling),
        &|| emulated::emulations(case, scheduling),
        &|| {
            computing.test(partial::TRIED, || {
                partial::dropped_remainder(case, computing)
            })
        },
        &|| moved(case, computing),
        &|| computing.test(missing::TRIED, || missing::missing(case, computing)),
        &|| computing.test(matrices::TRIED, || matrices::matrices(case, computing)),
        &|| variation::kernels(case, computing),
        &|| {
            computing.test(narrow::TRIED, || {
                Ok(narrow::narrow(case, computing, scheduling))
            })
        },
        &|| composed::composed(case, computing),
        &|| {
            let work =
                Work::with_ledger(together::WORK.min(case.work / 4), &computing.work().ledger);
            let trial = scheduling.over(&work);
            trial.test(together::TRIED, || together::together(case, &trial, &work))
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
            found = trial.test(permuted::TRIED[side], || {
                let found = permuted::permuted(case, trial, side);
                match found {
                    // A search by some elements is still possible.
                    Err(_) => moved::moved(case, trial, side),
                    found => found,
                }
            });
        }
    }
    found
}
