//! Findings on groups of mismatches, where no one computation gives all of D.

use crate::diagnose::groups::partition::groups;
use crate::diagnose::groups::{Group, Shape, Size};
use crate::diagnose::trial::{Stored, Work};
use crate::diagnose::whole::whole;
use crate::forms::capital;
use crate::report::{CauseArea, Place, Rect};

use crate::diagnose::groups::causes;
use crate::diagnose::groups::sentences;
use crate::diagnose::{Ask, Case, Finding, Found, Hypothesis, stored_codes};

/// Groups that are reported, the largest first.
const REPORTED: usize = 16;

/// The causes of every group of mismatches, and the places of groups without a known cause.
pub fn by_group(
    case: &Case,
    controls: &[Stored],
    [computing, scheduling]: [&Work; 2],
) -> (Vec<Finding>, Vec<Place>) {
    let Some(rects) = &case.sample.rects else {
        let found = everywhere(case);
        if found.is_none() {
            computing.ledger.refute(stored_codes::FLIPPED);
        }
        return (found.into_iter().collect(), Vec::new());
    };
    let size = case.size();
    let mut groups = groups(rects, size);
    // Where mismatches lie in a part of D says nothing about all of it.
    if !case.is_whole() {
        groups.retain(|group| group.shape == Shape::Element);
    }
    let only = groups.len() == 1 && groups[0].mismatches == case.comparison.mismatches;
    let (mut findings, mut places) = (Vec::new(), Vec::new());
    if case.is_narrow() && !only {
        findings.extend(lone(case, &mut groups, controls, [computing, scheduling]));
    }
    for group in groups.iter().take(REPORTED) {
        for part in causes::parts(case, group, (controls, only), [computing, scheduling]) {
            let of = &part.group;
            let all = of.mismatches == case.comparison.mismatches;
            if part.found.is_empty() {
                places.extend(placed(of, size, all));
            }
            for mut found in part.found {
                if !part.placed {
                    found.text = format!("{}: {}", sentences::place(of, size), found.text);
                }
                // A request changes all of D, but this cause holds for a part.
                found.ask = Ask::Nothing;
                let place = (!all).then(|| area(of));
                findings.push(Finding::of(found, of.mismatches, place));
            }
        }
    }
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.mismatches));
    (findings, places)
}

fn area(group: &Group) -> CauseArea {
    CauseArea {
        shape: group.shape.name().into(),
        rows: group.rows,
        columns: group.columns,
    }
}

fn placed(group: &Group, size: Size, only: bool) -> Option<Place> {
    sentences::alone(group, size, only).map(|text| Place {
        sentence: format!("{}.", capital(&text)),
        mismatches: group.mismatches,
        area: area(group),
    })
}

/// Where groups of mismatches lie, without a search for their causes.
pub fn places(rects: &[Rect], size: Size) -> Vec<Place> {
    let groups = groups(rects, size);
    let only = groups.len() == 1;
    let reported = groups.iter().take(REPORTED);
    reported
        .filter_map(|group| placed(group, size, only))
        .collect()
}

/// One computation that gives all single elements of a narrow D; they are then removed from the groups.
fn lone(
    case: &Case,
    groups: &mut Vec<Group>,
    controls: &[Stored],
    works: [&Work; 2],
) -> Option<Finding> {
    let is_lone = |group: &Group| group.shape == Shape::Element;
    let lone = || groups.iter().filter(|group| is_lone(group));
    let different = lone().flat_map(|group| group.sample(1));
    let different: Vec<Stored> = different.map(|at| case.stored(at)).collect();
    if different.is_empty() {
        return None;
    }
    let trials = works.map(|work| case.trial(&different, controls, work));
    let mut found = whole(case, &trials).into_iter().next()?;
    let bound = |side: fn(&Group) -> [usize; 2]| {
        let first = lone().map(|group| side(group)[0]).min().unwrap_or(0);
        [first, lone().map(|group| side(group)[1]).max().unwrap_or(0)]
    };
    let place = CauseArea {
        shape: Shape::Scattered.name().into(),
        rows: bound(|group| group.rows),
        columns: bound(|group| group.columns),
    };
    let count = different.len() as u64;
    groups.retain(|group| !is_lone(group));
    let elements = match count {
        1 => "One element".to_owned(),
        _ => format!("{count} elements"),
    };
    found.text = format!("{elements} elsewhere: {}", found.text);
    found.ask = Ask::Nothing;
    Some(Finding::of(found, count, Some(place)))
}

/// What all mismatches have in common, where they are too many and too scattered for groups.
fn everywhere(case: &Case) -> Option<Finding> {
    let seen = case.sample.different.iter();
    let pairs = seen.map(|seen| (case.seen(seen), seen.reproduced));
    let pairs: Vec<(Stored, u64)> = pairs.collect();
    let format = case.replay.format();
    let all = case.comparison.mismatches;
    // Where every element is off by as much, no rounding does it.
    if let Some(by) =
        stored_codes::off_by(format, &pairs).filter(|_| all == case.comparison.elements)
    {
        let text = stored_codes::of_distance(format, by, pairs.len());
        let found = Found::new(Hypothesis::OffByUlps, text).at([by.unsigned_abs() as usize]);
        return Some(Finding::of(found, all, None));
    }
    if let Some(text) = stored_codes::all_alike(format, &pairs) {
        let found = Found::new(Hypothesis::Unwritten, text);
        return Some(Finding::of(found, all, None));
    }
    let bit = stored_codes::flipped_bit(format, &pairs)?;
    let field = stored_codes::field(format, bit);
    let text = format!(
        "Only bit {bit} ({field}) differs, in all {} tested elements that differ",
        pairs.len()
    );
    let found = Found::new(Hypothesis::BitFlipped, text).at([bit as usize]);
    Some(Finding::of(found, all, None))
}
