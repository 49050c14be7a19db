//! Candidates whose sums go through an epilogue: its numbers are concluded from D, and then tested on D.

use std::borrow::Cow;

use super::run::Prepared;
use super::schedules::ScheduleContext;
use super::search::{Budget, KERNELS};
use crate::candidates::{Candidate, Guess};
use crate::check::Progress;
use crate::diagnose::{Ask, epilogue};
use crate::emu::schedule::{Overrides, Schedule};

/// Candidates whose epilogues are searched for, the commonest kernels first, and how many that are found.
const LOOKED_AT: usize = 160;
const FOUND: usize = 8;

/// Elements that an epilogue is concluded from, at most.
const ELEMENTS: u64 = 4096;

/// The epilogues that were found.
pub struct Epilogues {
    /// Those that a check can ask for.
    pub candidates: Vec<Candidate>,
    /// The others, and what is done with their sums.
    pub others: Vec<(Candidate, String)>,
    /// Candidates that were not looked at.
    pub left: usize,
}

impl Prepared {
    /// Epilogues of candidates: of models alone, then of those under schedules.
    pub(super) fn epilogues(
        &self,
        of: &ScheduleContext,
        mut all: Vec<&Candidate>,
        progress: &dyn Progress,
    ) -> Epilogues {
        // A kernel of a library says its epilogue itself.
        all.retain(|candidate| {
            candidate
                .schedule
                .as_ref()
                .is_none_or(|guess| guess.plan.is_none())
        });
        all.sort_by_key(|candidate| candidate.rank());
        let mut found = Epilogues {
            candidates: Vec::new(),
            others: Vec::new(),
            left: all.len(),
        };
        let mut budget = Budget::new(self.request.limits.budget / 2);
        for candidate in all.into_iter().take(LOOKED_AT) {
            let given = of.given(candidate);
            let elements = ELEMENTS.min(given.d.len() as u64);
            let cost = 2 * elements * given.problem.k as u64;
            let kernels = self.engine.computes(&candidate.arithmetic);
            let cost = cost.div_ceil(if kernels { KERNELS } else { 1 });
            let enough = found.candidates.len() + found.others.len() == FOUND;
            if enough || progress.interrupted() || !budget.spend(cost, progress) {
                break;
            }
            found.left -= 1;
            let replay = given.replay(candidate, self.engine);
            let Some(one) = epilogue(replay, given.d, u64::MAX) else {
                continue;
            };
            match &one.ask {
                Ask::Epilogue(epilogue) => found.candidates.extend(under(candidate, epilogue)),
                _ => found.others.push((candidate.clone(), one.text)),
            }
        }
        found
    }
}

/// The candidate with an epilogue.
fn under(candidate: &Candidate, epilogue: &Overrides) -> Option<Candidate> {
    let own = candidate.schedule.as_ref();
    let preset = match own {
        Some(guess) => guess.preset.clone(),
        None => Cow::Borrowed(Schedule::preset("plain").ok()?),
    };
    let overrides = Overrides {
        alpha: epilogue.alpha,
        beta: epilogue.beta,
        activation: epilogue.activation,
        ..own.map_or_else(Overrides::default, |guess| guess.overrides.clone())
    };
    let mut changed = preset.clone().into_owned();
    overrides.apply(&mut changed).ok()?;
    let guess = Guess {
        spec: changed.spec,
        rank: candidate.rank(),
        plan: None,
        preset,
        overrides,
    };
    Some(candidate.under(guess, candidate.result()))
}
