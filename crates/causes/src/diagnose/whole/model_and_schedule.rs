//! Another model under another schedule.

use std::collections::BTreeMap;

use crate::candidates::{Candidate, Conditions, Guess, candidates, tells_zeros};
use crate::diagnose::trial::{SPENT, Tested, Trial, Work};
use crate::diagnose::whole::schedule::{multiplied, searched};
use crate::diagnose::{Ask, Case, Hypothesis};
use crate::emu::schedule::{AddendAt, BoundSchedule, Values};
use crate::emu::{Problem, Replay};
use crate::forms::InWords as _;

/// What reports call this test.
pub const TRIED: &str = "another model together with another schedule";

/// Most multiply-adds of this search.
pub const WORK: u64 = 1 << 22;

/// The first other arithmetic of the catalogue that gives D under a schedule that `identify` searches.
pub fn together(case: &Case, trial: &Trial, work: &Work) -> Tested {
    let own = &case.replay;
    let problem = own.problem;
    let arithmetic = own.arithmetic;
    if own.kernel.is_some_and(multiplied) || arithmetic.scale.is_some() {
        return Err("sums are multiplied by numbers of one kernel");
    }
    if trial.is_weak() {
        return Err("so few elements with so few bits fit by chance");
    }
    let all = candidates(
        case.catalogue,
        &Conditions {
            blocks: false,
            a: &|format| format == arithmetic.a,
            b: &|format| format == arithmetic.b,
            c: &|_| true,
            d: &|_| true,
            scale: &|scale| scale.is_none(),
            k: problem.k,
        },
    );
    let values = Values::default();
    let result = own.format();
    let zeros = tells_zeros(case.given);
    let mut others: Vec<&Candidate> = Vec::new();
    // Schedules depend on the number of products of a step alone.
    let mut lists: BTreeMap<usize, Vec<Guess>> = BTreeMap::new();
    for candidate in &all {
        let other = &candidate.arithmetic;
        let known = other == arithmetic || others.iter().any(|one| one.arithmetic == *other);
        if known || other.accumulator != arithmetic.accumulator {
            continue;
        }
        others.push(candidate);
        let list = lists.entry(other.step.span());
        list.or_insert_with(|| trial.listing(|afford| searched(own, other, zeros, afford)));
    }
    let guesses = |candidate: &Candidate| &lists[&candidate.arithmetic.step.span()];
    let pairs = others.into_iter();
    let pairs = pairs.flat_map(|other| guesses(other).iter().map(move |guess| (other, guess)));
    let mut pairs: Vec<(&Candidate, &Guess)> = pairs.collect();
    // The commonest kernels of all units first.
    pairs.sort_by_key(|(_, guess)| guess.rank);
    for (candidate, guess) in pairs {
        let of_c = problem.c.is_none_or(|c| {
            guess.spec.addend == AddendAt::Epilogue
                || c.tensor().format() == candidate.arithmetic.addend()
        });
        let product = Problem {
            c: problem
                .c
                .filter(|_| guess.spec.addend == AddendAt::Epilogue),
            ..problem
        };
        let fits =
            BoundSchedule::check_compatible(&guess.spec, &candidate.arithmetic, &product, result)
                .is_ok();
        if !of_c || !fits {
            continue;
        }
        if work.left() < problem.k as u64 {
            return Err(SPENT);
        }
        let replay = Replay {
            arithmetic: &candidate.arithmetic,
            convert_to: (result != candidate.arithmetic.accumulator).then_some(result),
            kernel: Some(BoundSchedule::new(&guess.spec, &values, &problem)),
            ..*own
        };
        if !trial.fits_replay(&replay) {
            continue;
        }
        let Some(name) = candidate.names.first() else {
            continue;
        };
        let what = format!(
            "Another unit with another schedule fits: {} {} (-> {}) and {guess} ({})",
            name.architecture,
            name.instruction,
            candidate.arithmetic.accumulator,
            guess.spec.in_words()
        );
        let model = Ask::Model {
            name: name.clone(),
            arithmetic: Box::new(candidate.arithmetic.clone()),
            convert_to: replay.convert_to,
        };
        let schedule = Ask::Schedule {
            preset: guess.preset.name.clone(),
            overrides: Box::new(guess.overrides.clone()),
        };
        let ask = Ask::Both(Box::new(model), Box::new(schedule));
        let found = trial.found(Hypothesis::OtherModelAndSchedule, what);
        return Ok(vec![found.asking(ask)]);
    }
    Ok(Vec::new())
}
