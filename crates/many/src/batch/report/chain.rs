//! Cases whose arrays are results of other cases: a layer, step by step.

use std::collections::HashMap;

use serde::Serialize;

use super::case::{BatchCase, CaseVerdict};

/// What is known of steps that follow from each other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Chain {
    /// An array of a case that is, by the SHA-256 of its payload, the captured result of another.
    pub links: Vec<Link>,
    /// Steps that are linked and identical, by name.
    pub identical: Vec<String>,
    /// Those of which a part was compared, and is identical.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub identical_in_part: Vec<String>,
    /// Those that differ, and follow from no other that differs or could not be judged.
    pub first_different: Vec<String>,
    /// Others that differ: from captured arrays that a step before them did not give.
    pub different_after: Vec<String>,
    /// Cases without a verdict: whether they are steps is not known.
    pub unjudged: Vec<String>,
}

/// A result that is an operand.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Link {
    pub from: String,
    pub to: String,
    /// The operand's name.
    pub array: String,
}

impl Chain {
    /// The chain of some cases; none if no array of one is the result of another. Of cases that have the same
    /// result the first is meant.
    pub(super) fn of(cases: &[BatchCase]) -> Option<Chain> {
        let mut results: HashMap<[u8; 32], [Option<usize>; 2]> = HashMap::new();
        for (i, case) in cases.iter().enumerate() {
            if let Some(digest) = case.arrays.result {
                match results.entry(digest).or_default() {
                    [first @ None, _] | [_, first @ None] => *first = Some(i),
                    _ => {}
                }
            }
        }
        let mut links = Vec::new();
        for (to, case) in cases.iter().enumerate() {
            for (array, digest) in &case.arrays.operands {
                let makers = results.get(digest).copied().unwrap_or_default();
                // A case does not precede itself.
                let from = makers.into_iter().flatten().find(|&from| from != to);
                links.extend(from.map(|from| (from, to, array)));
            }
        }
        if links.is_empty() {
            return None;
        }
        links.sort_unstable();
        links.dedup();
        let bad = |i: usize| cases[i].verdict > CaseVerdict::IdenticalInPart;
        let mut linked = vec![false; cases.len()];
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); cases.len()];
        for &(from, to, _) in &links {
            linked[from] = true;
            linked[to] = true;
            next[from].push(to);
        }
        let follows = follow(&next, &bad);
        let mut chain = Chain::default();
        for (i, case) in cases.iter().enumerate() {
            let names = match case.verdict {
                CaseVerdict::Unjudged => &mut chain.unjudged,
                _ if !linked[i] => continue,
                CaseVerdict::Different if follows[i] => &mut chain.different_after,
                CaseVerdict::Different => &mut chain.first_different,
                CaseVerdict::IdenticalInPart => &mut chain.identical_in_part,
                CaseVerdict::Identical => &mut chain.identical,
            };
            names.push(case.name.clone());
        }
        let name = |i: usize| cases[i].name.clone();
        let link = |(from, to, array): (usize, usize, &String)| Link {
            from: name(from),
            to: name(to),
            array: array.clone(),
        };
        chain.links = links.into_iter().map(link).collect();
        Some(chain)
    }
}

/// Which cases follow, step by step, from another one that is bad. `next` are the steps after each.
fn follow(next: &[Vec<usize>], bad: &dyn Fn(usize) -> bool) -> Vec<bool> {
    // Two bad cases that lead to a case are enough to know of one that is not the case itself.
    let mut origins: Vec<[Option<usize>; 2]> = vec![[None; 2]; next.len()];
    let mut open: Vec<(usize, usize)> = (0..next.len())
        .filter(|&i| bad(i))
        .map(|i| (i, i))
        .collect();
    while let Some((case, origin)) = open.pop() {
        for &to in &next[case] {
            let known = &mut origins[to];
            if to == origin || known.contains(&Some(origin)) {
                continue;
            }
            if let Some(place) = known.iter_mut().find(|place| place.is_none()) {
                *place = Some(origin);
                open.push((to, origin));
            }
        }
    }
    origins.iter().map(|[first, _]| first.is_some()).collect()
}
