//! What a D that differs may come from: hypotheses that are told only if they give the very bits of D on
//! every element they were tested on.
//!
//! First one computation for all of D (`computed`, `schedule`), replayed on a sample of elements that
//! differ and of elements that do not. If none fits, mismatches are put into groups (`group`), and each
//! group is asked for faults of its own (`local`). `explain` asks the same of one element (`single`).

mod addend;
mod alpha;
mod by_group;
mod case;
mod components;
mod computed;
mod element;
mod estimate;
mod group;
mod grouping;
mod hypothesis;
mod inputs;
mod lines;
mod local;
mod moved;
mod narrow;
mod nearby;
mod partial;
mod place;
mod schedule;
mod single;
mod stored;
mod trial;
mod whole;

pub use case::{Area, Case, Finding};
pub use element::{Change, Element};
pub use hypothesis::{Ask, Found, Hypothesis};
pub use single::{Chain, MAX_SEARCHED_K, Search, Single, runs};
pub use trial::WORK;

use by_group::by_group;
use case::capital;
use trial::{Stored, Trial, Work};
use whole::whole;

/// What was found, and what was not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagnosis {
    /// What explains most comes first.
    pub findings: Vec<Finding>,
    /// What was tried, for people; whether it fits or not.
    pub tried: Vec<&'static str>,
    /// Computations that the work allowed did not suffice for.
    pub skipped: usize,
}

/// Everything that fits; nothing if nothing does. The same for the same files.
pub fn diagnose(case: &Case) -> Diagnosis {
    let mismatches = case.comparison.mismatches;
    if mismatches == 0 {
        return Diagnosis::default();
    }
    let all = |found: Found| Finding {
        kind: found.hypothesis.name(),
        sentence: format!("{}.", capital(&found.text)),
        at: found.at,
        ask: found.ask,
        mismatches,
        place: None,
    };
    let seen = stored::specials(case).or_else(|| stored::all_alike(case));
    let alike = |found: &Found| found.hypothesis == Hypothesis::Constant;
    if let Some(found) = seen.as_ref().filter(|found| !alike(found)) {
        return Diagnosis {
            findings: vec![all(found.clone())],
            ..Diagnosis::default()
        };
    }
    let [computing, scheduling] = [WORK, WORK].map(Work::new);
    let controls = case.controls();
    let n = case.replay.problem.n;
    let differing = case.spread.different.iter();
    let different = differing.map(|seen| case.stored([seen.position / n, seen.position % n]));
    let different: Vec<Stored> = different.collect();
    let trials = [&computing, &scheduling].map(|work| case.trial(&different, &controls, work));
    if let Some(found) = seen {
        // Ones times ones are a test of whether all of K was summed.
        let lost = schedule::lost_tail(case, &trials[1]);
        let findings = lost.into_iter().chain([found]).map(all).collect();
        return Diagnosis {
            findings,
            ..Diagnosis::default()
        };
    }
    let mut findings: Vec<Finding> = whole(case, &trials).into_iter().map(all).collect();
    let mut tried = vec![computed::TRIED, schedule::TRIED, stored::TRIED];
    if findings.is_empty() {
        findings = by_group(case, &controls, [&computing, &scheduling], &mut tried);
    }
    Diagnosis {
        findings,
        tried,
        skipped: trials.iter().map(Trial::skipped).sum(),
    }
}
