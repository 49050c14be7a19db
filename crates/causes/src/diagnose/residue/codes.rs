//! What gives most of D by changing finished sums or their places. What it leaves is searched as if that change had not
//! happened: an element that the change gives becomes the requested one, and another's stored element goes back to where
//! the change took it from.

use std::collections::HashMap;

use super::{for_rest, is_enough, is_much, told};
use crate::diagnose::trial::Trial;
use crate::diagnose::whole::permutation;
use crate::diagnose::{
    Ask, Case, Diagnosis, Finding, Found, Hypothesis, Mostly, diagnose, epilogue, variation,
};
use crate::emu::{Element, Replay};
use crate::num::{Format, Rounding, convert_exact, result_code};
use crate::report::SampledElement;
use crate::tensor::Tensor;

/// Most elements of D.
const LARGEST: usize = 1 << 20;

/// A change of finished sums or of their places that gives most of D, with the causes and places of what it leaves.
pub fn of_codes(case: &Case, trial: &Trial) -> Option<Diagnosis> {
    if !is_enough(case, trial) || case.given.len() > LARGEST {
        return None;
    }
    // All of D is computed twice, at most.
    let price = case.price_of_product(2 * case.replay.work()) + case.given.len() as u64;
    if !trial.work().spend(price) {
        return None;
    }
    let sources: [&dyn Fn() -> Option<Mostly>; 6] = [
        &|| narrowed(case, Format::Bf16),
        &|| narrowed(case, Format::Fp16),
        &|| permutation::mostly(case, trial, 0),
        &|| permutation::mostly(case, trial, 1),
        &|| ended(case, trial),
        &|| epilogue::mostly(case, trial),
    ];
    let mut all = sources.iter().filter_map(|source| source());
    all.find_map(|mostly| apart(case, trial, &mostly))
}

/// The best of the variations that are no replays.
fn ended(case: &Case, trial: &Trial) -> Option<Mostly> {
    let all = variation::ends(case).into_iter();
    let given = |one: &variation::Variation| trial.most(&|at| one.elements(case, at));
    let best = all.filter_map(|one| Some((given(&one)?, one)));
    let (_, one) = best.max_by_key(|(given, _)| *given)?;
    let at: Vec<Element> = (0..case.given.len()).map(|i| case.element(i)).collect();
    if !trial.affords(one.price(case, trial, &at)) {
        return None;
    }
    Some(Mostly {
        kind: one.kind(),
        what: one.what().to_owned(),
        codes: one.elements(case, &at),
        nearly: 0,
    })
}

/// FP32 results of which only a narrower format's bits are left.
fn narrowed(case: &Case, to: Format) -> Option<Mostly> {
    let wide = case.replay.format();
    if wide != Format::Fp32 {
        return None;
    }
    let number = |seen: &&SampledElement| {
        let code = result_code(wide, seen.reproduced, to, Rounding::NearestEven);
        convert_exact(to, code, wide) == Ok(seen.given)
    };
    let seen = &case.sample.different;
    if 4 * seen.iter().filter(number).count() < 3 * seen.len() {
        return None;
    }
    let narrow = Replay {
        convert_to: Some(to),
        ..case.replay
    };
    let rounded = narrow.collect(&|_| {});
    let planes = rounded.planes();
    let code = |i: usize| {
        let at = case.element(i);
        let code = planes.plane(at.batch).code(at.row, at.column);
        convert_exact(to, code, wide).unwrap_or_default()
    };
    Some(Mostly {
        kind: Hypothesis::RoundedNarrower,
        what: format!("results are rounded to {to} and stored as {wide}"),
        codes: (0..case.given.len()).map(code).collect(),
        nearly: 0,
    })
}

/// The finding that these codes give most of D, and those on the rest; none if they leave much.
fn apart(case: &Case, trial: &Trial, mostly: &Mostly) -> Option<Diagnosis> {
    let (mismatches, elements) = (case.comparison.mismatches, case.comparison.elements);
    let format = case.replay.format();
    let n = case.size().n;
    let given = |i: usize| case.stored([i / n, i % n]).given;
    let is_given = |i: &usize| case.tolerance.accepts(format, mostly.codes[*i], given(*i));
    let left: Vec<usize> = (0..mostly.codes.len()).filter(|i| !is_given(i)).collect();
    let rest = left.len() as u64;
    if is_much(rest, mismatches) {
        return None;
    }
    let text = told(&mostly.what, elements, [mostly.nearly, rest]);
    let first = Finding::of(Found::new(mostly.kind, text), mismatches - rest, None);
    if rest == 0 {
        return Some(Diagnosis {
            findings: vec![first],
            ..Diagnosis::default()
        });
    }
    let replayed = case.replay.collect(&|_| {});
    let planes = replayed.planes();
    let replayed = |i: usize| {
        let at = case.element(i);
        planes.plane(at.batch).code(at.row, at.column)
    };
    // Where each code comes from that stands in one place.
    let mut places: HashMap<u64, Option<usize>> = HashMap::new();
    for (i, code) in mostly.codes.iter().enumerate() {
        let place = places.entry(*code).or_insert(Some(i));
        *place = place.filter(|there| *there == i);
    }
    let mut codes: Vec<u64> = (0..mostly.codes.len()).map(replayed).collect();
    for &i in &left {
        let (code, flipped) = (given(i), given(i) ^ mostly.codes[i]);
        let back = match places.get(&code).copied().flatten() {
            // Whatever should be there: 2 and 0 are one bit apart, too.
            _ if code == 0 => code,
            _ if flipped.is_power_of_two() => replayed(i) ^ flipped,
            Some(there) => replayed(there),
            None => code,
        };
        // An element that only lacks the change is no damage.
        if back == codes[i] {
            return None;
        }
        codes[i] = back;
    }
    let unchanged = Tensor::from_codes(format, case.given.shape().to_vec(), &codes);
    let compared = case.differences(&case.replay, &unchanged);
    let apart = diagnose(&Case {
        given: &unchanged,
        comparison: &compared.comparison,
        sample: &compared.sample,
        work: for_rest(case, trial),
        is_rest: true,
        ..*case
    });
    let of_rest = apart.findings.into_iter().map(|finding| Finding {
        ask: Ask::Nothing,
        ..finding
    });
    Some(Diagnosis {
        findings: std::iter::once(first).chain(of_rest).collect(),
        places: apart.places,
        tried: apart.tried,
        untried: apart.untried,
    })
}
