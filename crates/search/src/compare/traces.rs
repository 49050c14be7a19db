//! One element as both sides compute it, laid side by side.

use crate::check::{CheckError, Prepared};
use crate::compare::document::{Parting, SideBySide, Sum};
use crate::compose::explanation;
use crate::explain::{Event, Explanation, Wish};
use crate::num::Number;

/// The longest K whose steps are shown side by side.
const MAX_K: usize = 1 << 20;

/// Sums that are shown of each side.
const SHOWN: usize = 8;

/// An intermediate sum.
struct Reached {
    what: String,
    number: Number,
}

/// How both sides compute an element; none if K is too long.
///
/// # Errors
/// If a file has changed.
pub fn side_by_side(
    left: &Prepared,
    right: &Prepared,
    index: &[usize],
) -> Result<Option<SideBySide>, CheckError> {
    if left.problem().k > MAX_K || right.problem().k > MAX_K {
        return Ok(None);
    }
    let explained = [left, right].map(|of| explanation(of, index, Wish::default()));
    let [left, right] = explained;
    let (left, right) = (left?, right?);
    let parting = parting(&left, &right);
    let common = |of: &Explanation, other: &Explanation| {
        let there = |k: usize| other.reached.is_empty() || after(other, k).is_some();
        reached(of, there)
    };
    let sums = [common(&left, &right), common(&right, &left)];
    let [one, other] = &sums;
    let equal = one.iter().zip(other);
    let equal = equal.take_while(|(a, b)| a.what == b.what && a.number.code == b.number.code);
    let equal = equal.count();
    // The last one that is equal, and those after it.
    let from = equal.saturating_sub(1);
    let shown = sums.each_ref().map(|sums| {
        let all = sums.len();
        let take = |at: usize| at >= from && (at < from + SHOWN || at + 1 == all);
        let picked = (0..all).filter(|at| take(*at));
        picked.map(|at| sums[at].shown()).collect()
    });
    Ok(Some(SideBySide {
        index: index.to_vec(),
        equal,
        count: [one.len(), other.len()],
        sums: shown,
        parting,
    }))
}

impl Reached {
    fn shown(&self) -> Sum {
        Sum {
            what: self.what.clone(),
            code: self.number.hex(),
            value: self.number.decimal(),
        }
    }
}

/// The sums of an element in the order in which they are computed; of a chain, those after numbers of products that are
/// `wanted`.
fn reached(explanation: &Explanation, wanted: impl Fn(usize) -> bool) -> Vec<Reached> {
    let mut all: Vec<Reached> = match &explanation.kernel {
        None => {
            let format = explanation.computed.format;
            let steps = explanation.reached.iter().filter(|(k, _)| wanted(*k));
            let sum = |&(k, code): &(usize, u64)| Reached {
                what: format!("k 0..{k}"),
                number: Number::new(format, code),
            };
            steps.map(sum).collect()
        }
        Some(trace) => {
            let mut slice = String::new();
            let events = trace.events.iter();
            events
                .filter_map(|event| of_event(event, &mut slice))
                .collect()
        }
    };
    all.extend(explanation.converted.map(rounded));
    all
}

fn of_event(event: &Event, slice: &mut String) -> Option<Reached> {
    match event {
        Event::Partial { index, count } => {
            *slice = format!("slice {index} of {count}, ");
            None
        }
        Event::Chain(chain) => Some(Reached {
            what: format!("{slice}{}", chain.products),
            number: chain.result,
        }),
        Event::Operation(operation) => Some(Reached {
            what: format!("{}, {}", operation.stage, operation.operation),
            number: operation.result,
        }),
        Event::Rounded { to, .. } => Some(rounded(*to)),
    }
}

fn rounded(number: Number) -> Reached {
    Reached {
        what: format!("rounded to {}", number.format),
        number,
    }
}

/// The sum after this many products, if a step of the chain ends there. Steps ascend.
fn after(explanation: &Explanation, products: usize) -> Option<u64> {
    let reached = &explanation.reached;
    let at = reached.binary_search_by_key(&products, |(k, _)| *k);
    Some(reached[at.ok()?].1)
}

/// Where two chains over the same steps part.
fn parting(left: &Explanation, right: &Explanation) -> Option<Parting> {
    let formats = [left, right].map(|of| of.computed.format);
    if formats[0] != formats[1] {
        return None;
    }
    let (products, codes) = left.reached.iter().find_map(|(k, code)| {
        let there = after(right, *k)?;
        (*code != there).then_some((*k, [*code, there]))
    })?;
    let numbers = codes.map(|code| Number::new(formats[0], code));
    Some(Parting {
        index: left.index.clone(),
        products,
        codes: numbers.map(|number| number.hex()),
        values: numbers.map(|number| number.decimal()),
    })
}
