//! A kernel whose way over K gives D.

use super::trial::Trial;
use super::{Case, Change, Found};
use crate::emu::schedule::{Kernel, Values};
use crate::emu::{Element, Replay};
use crate::identify::guesses;

/// The first schedule that fits, of the same arithmetic; the bare chain first. Not for sums that are
/// multiplied with other numbers, which belong to one schedule.
pub fn schedules(case: &Case) -> Vec<Found> {
    let Some(mut trial) = Trial::of(case) else {
        return Vec::new();
    };
    let replay = case.replay;
    let multiplied = |kernel: Kernel| !kernel.values.is_neutral() || kernel.values.has_scales();
    if replay.kernel.is_some_and(multiplied) {
        return Vec::new();
    }
    let found = |what: String, trial: &Trial, options: String| {
        vec![Found {
            kind: "other_schedule",
            sentence: format!("{what}: {}.", trial.words()),
            change: Change::Schedule(options),
        }]
    };
    if replay.kernel.is_some() {
        let bare = Replay {
            kernel: None,
            ..replay
        };
        let readable = replay
            .problem
            .c
            .is_none_or(|c| c.tensor().format() == replay.arithmetic.addend());
        if readable && trial.fits(&|at: &[Element]| bare.elements(at)) {
            return found(
                "One chain over all of K, without a schedule".into(),
                &trial,
                String::new(),
            );
        }
    }
    let values = Values::default();
    for guess in guesses(replay.arithmetic, &replay.problem, replay.format(), None) {
        let kernel = Kernel::new(&guess.spec, &values, &replay.problem);
        let scheduled = Replay {
            kernel: Some(kernel),
            ..replay
        };
        if trial.fits(&|at: &[Element]| scheduled.elements(at)) {
            let what = format!(
                "A kernel that chains the instruction otherwise ({}: {})",
                guess.preset.name,
                guess.spec.summary()
            );
            return found(what, &trial, guess.options);
        }
    }
    Vec::new()
}
