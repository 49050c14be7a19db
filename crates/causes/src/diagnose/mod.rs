//! Finds causes of a D that differs: hypotheses that are reported only if they give exactly the bits of D on every
//! tested element. The work is bounded and counted, so that a report is the same everywhere. It changes no verdict.
//!
//! The search first tries a single computation for all of D (`whole`), on a sample of differing and equal elements. If
//! none fits, it puts the mismatches into groups and searches each for its own fault (`groups`). `explain` does the
//! same for one element (`element`).
//!
//! * `variation`: the request with one thing done otherwise; `epilogue`: what follows the sums.
//! * `residue`: two things at once; `flipped_bits`, `stored_codes`: what one wrong operand, and the codes of D, show.
//! * `case`, `trial`, `hypothesis`: what is searched, on which elements, and what may be found.

mod case;
mod defects;
mod element;
mod epilogue;
mod estimate;
mod flipped_bits;
mod groups;
mod hypothesis;
mod residue;
mod stored_codes;
mod trial;
mod variation;
mod whole;

pub use case::{Case, Finding};
pub use defects::known;
pub use element::chain::{Chain, MAX_SEARCHED_K, Search, Single, runs};
pub use element::{Change, Element};
pub use groups::Size;
pub use groups::findings::places;
use hypothesis::Mostly;
pub use hypothesis::{Ask, Found, Hypothesis, Setting, is_fault};
pub use trial::WORK;

use std::rc::Rc;

use crate::emu::engine::ExactAlone;
use crate::emu::{Catalogue, Replay};
use crate::report::{Comparison, MismatchSample, Place, Tolerance};
use crate::tensor::Tensor;
use groups::findings::by_group;
use trial::{Stored, Work};
use whole::whole;

/// What was found, and what was not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagnosis {
    /// What explains most comes first.
    pub findings: Vec<Finding>,
    /// Groups of mismatches of which only the place is known, the largest first.
    pub places: Vec<Place>,
    /// What was tried on this D and refuted, for people.
    pub tried: Vec<&'static str>,
    /// What was not decided, each with the reason: it was not tried, or the search gave up.
    pub untried: Vec<String>,
}

/// An epilogue that makes a D of the finished sums of a replay. The search may take `work` multiply-adds.
pub fn epilogue(replay: Replay, given: &Tensor, work: u64) -> Option<Found> {
    let comparison = Comparison {
        elements: given.len() as u64,
        ..Comparison::default()
    };
    let case = Case {
        replay,
        given,
        tolerance: Tolerance::default(),
        comparison: &comparison,
        sample: &MismatchSample::default(),
        architecture: "",
        rule: &|_| None,
        catalogue: Catalogue::builtin(),
        engines: &ExactAlone,
        work,
        is_rest: false,
    };
    let work = Work::new(work);
    let trial = case.trial(&[], &[], &work);
    epilogue::epilogues(&case, &trial).into_iter().next()
}

/// Everything that fits. It depends on the files alone.
pub fn diagnose(case: &Case) -> Diagnosis {
    let mismatches = case.comparison.mismatches;
    if mismatches == 0 {
        return Diagnosis::default();
    }
    if case.replay.problem.k == 0 {
        // No operand, order or factor changes what nothing is computed from.
        let why = "causes, because K is 0: this D was never written, or holds other data";
        return Diagnosis {
            untried: vec![why.into()],
            ..Diagnosis::default()
        };
    }
    let all = |found: Found| Finding::of(found, mismatches, None);
    let only = |findings| Diagnosis {
        findings,
        ..Diagnosis::default()
    };
    let seen = stored_codes::specials(case).or_else(|| stored_codes::constant(case));
    let constant = |found: &Found| found.hypothesis == Hypothesis::Constant;
    if let Some(found) = seen.as_ref().filter(|found| !constant(found)) {
        return only(vec![all(found.clone())]);
    }
    let ledger = Rc::default();
    // Of five parts two are for computations, and one each for schedules, for both together, and for two
    // things at once and groups of mismatches.
    let part = case.work / 4;
    let [computing, scheduling] = [2 * part, part].map(|most| Work::with_ledger(most, &ledger));
    let controls = case.controls();
    let different: Vec<Stored> = case.sample.different.iter().map(|s| case.seen(s)).collect();
    let trials = [&computing, &scheduling].map(|work| case.trial(&different, &controls, work));
    if let Some(found) = seen {
        // Ones times ones, as tests of a kernel have them, show whether all of K was summed.
        let lost = whole::schedule::dropped_remainder(case, &trials[1]);
        return only(lost.into_iter().chain([found]).map(all).collect());
    }
    ledger.refute(stored_codes::SPECIALS);
    if whole::emulated::is_apart(&case.replay) {
        let found = whole::emulated::emulations(case, &trials[0]);
        ledger.leave("all other causes", "the schedule takes operands apart");
        let (tried, untried) = ledger.outcome();
        return Diagnosis {
            findings: found.into_iter().map(all).collect(),
            tried,
            untried,
            ..Diagnosis::default()
        };
    }
    if case.replay.problem.selected.is_some() {
        let found = variation::of_compressed(case, &trials[0]);
        let rects = case.sample.rects.as_deref().filter(|_| found.is_empty());
        ledger.leave("all other causes", "A is compressed");
        let (tried, untried) = ledger.outcome();
        return Diagnosis {
            findings: found.into_iter().map(all).collect(),
            places: rects.map_or_else(Vec::new, |rects| {
                groups::findings::places(rects, case.size())
            }),
            tried,
            untried,
        };
    }
    let findings: Vec<Finding> = whole(case, &trials).into_iter().map(all).collect();
    if let Some(first) = findings.first() {
        // It was tested on some elements: what it leaves of all is another fault's.
        let apart = residue::most(case, &trials[0]);
        return match apart {
            Some(Ok(apart))
                if apart.findings[0].kind == first.kind
                    && apart.findings[0].mismatches < mismatches =>
            {
                apart
            }
            _ => {
                computing.add(part);
                let apart = residue::of_codes(case, &trials[0]);
                let apart = apart.filter(|apart| {
                    let known = &apart.findings[0];
                    known.kind == first.kind && known.mismatches < mismatches
                });
                apart.unwrap_or_else(|| only(findings))
            }
        };
    }
    let mut nearly = None;
    // All of D is compared with what gives most of it.
    computing.add(part);
    match residue::most(case, &trials[0]) {
        Some(Ok(apart)) => return apart,
        Some(Err(why)) => nearly = Some(why),
        None => {}
    }
    computing.add(part);
    if let Some(apart) = residue::of_codes(case, &trials[0]) {
        return apart;
    }
    computing.add(part / 4);
    scheduling.add(part / 4);
    let (findings, places) = by_group(case, &controls, [&computing, &scheduling]);
    let (tried, mut untried) = ledger.outcome();
    untried.extend(nearly);
    Diagnosis {
        findings,
        places,
        tried,
        untried,
    }
}
