//! Chains that stopped before the end of K.

use crate::diagnose::element::chain::stops;
use crate::diagnose::trial::{SPENT, Tested, Trial};
use crate::diagnose::whole::schedule::may_lose;
use crate::diagnose::{Case, Element, Hypothesis, MAX_SEARCHED_K};
use crate::emu::Replay;

/// What reports call this test.
pub const TRIED: &str = "chains that stopped early";

/// Most lengths of the chain that are tested on all elements.
const TESTED: usize = 8;

/// The number of products after which the chains of all elements of a trial stopped.
fn stopped(case: &Case, trial: &Trial) -> Result<Option<usize>, &'static str> {
    let replay = case.replay;
    let problem = replay.problem;
    let arithmetic = replay.arithmetic;
    if replay.kernel.is_some() || arithmetic.scale.is_some() {
        return Err("there is a schedule, or scales");
    }
    if problem.k > MAX_SEARCHED_K {
        return Err("K is too long");
    }
    let Some(first) = trial.differing().next() else {
        return Ok(None);
    };
    if !trial.affords(problem.k as u64 * arithmetic.step.span() as u64) {
        return Err(SPENT);
    }
    let element = Element::of(&replay, &first.at);
    let accumulators = element.accumulators();
    let gives = |code: u64| replay.convert(code) == first.given;
    let mut counts = stops(&element, &accumulators, &gives);
    counts.retain(|&count| count > 0);
    // The longest chain is the likeliest.
    counts.reverse();
    let fitting = counts.into_iter().take(TESTED).find(|&count| {
        let cut = Replay {
            problem: problem.part_k(0..count),
            ..replay
        };
        trial.fits_replay(&cut)
    });
    Ok(fitting)
}

/// The last products are missing from all of D.
pub fn dropped_remainder(case: &Case, trial: &Trial) -> Tested {
    let Some(count) = stopped(case, trial)? else {
        return Ok(Vec::new());
    };
    let k = case.replay.problem.k;
    let lost = k - count;
    let known = if may_lose(k, lost) {
        " (cuBLAS's split nvjet kernels, ALGO 66, are known to drop such a remainder of K)"
    } else {
        ""
    };
    let what = format!(
        "The last {lost} of {k} products are missing from every element: D is the sum of the first {count}{known}"
    );
    Ok(vec![
        trial.found(Hypothesis::DroppedRemainder, what).at([count]),
    ])
}

/// The chains of some elements stopped early.
pub fn stopped_early(case: &Case, trial: &Trial) -> Tested {
    let Some(count) = stopped(case, trial)? else {
        return Ok(Vec::new());
    };
    let k = case.replay.problem.k;
    let what = format!(
        "the products of k {count} to {} are missing, as if the loop over K had stopped early",
        k - 1
    );
    Ok(vec![
        trial.found(Hypothesis::StoppedEarly, what).at([count]),
    ])
}
