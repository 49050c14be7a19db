//! An element of several units, side by side: parts of K after which all of them have an accumulator, and the first
//! after which they differ.

use std::collections::BTreeSet;

use crate::explain::chain::{Entry, Wish};
use crate::explain::document::Explanation;
use crate::num::Value;

/// A part of K that every unit takes in whole steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The first product, and the one after the last.
    pub k: [usize; 2],
    /// Whether this is the first after which accumulators differ.
    pub parts: bool,
    /// Whether they do from here on.
    pub apart: bool,
}

/// Frames that are drawn, at most.
pub const MOST: usize = 16;

/// All frames of units without a schedule.
pub fn all(units: &[&Explanation]) -> Vec<Frame> {
    let Some((first, others)) = units.split_first() else {
        return Vec::new();
    };
    let at = |unit: &Explanation, k: usize| {
        let place = unit
            .reached
            .binary_search_by_key(&k, |(end, _)| *end)
            .ok()?;
        let accumulator = unit.model.arithmetic.accumulator;
        Some(Value::of(accumulator, unit.reached[place].1))
    };
    let mut frames: Vec<Frame> = Vec::new();
    let mut before = 0;
    for &(end, _) in &first.reached {
        let values: Option<Vec<Value>> = others.iter().map(|unit| at(unit, end)).collect();
        let Some(values) = values else {
            continue;
        };
        let own = at(first, end);
        let apart = values.iter().any(|value| Some(value) != own.as_ref());
        let already = frames.iter().any(|frame| frame.parts);
        frames.push(Frame {
            k: [before, end],
            parts: apart && !already,
            apart,
        });
        before = end;
    }
    frames
}

/// Those that are drawn: all of a few; of many the first and the last, those about the first that parts, and those in
/// which something happens to one of the units.
pub fn drawn(frames: &[Frame], units: &[&Explanation]) -> Vec<Frame> {
    if frames.len() <= MOST {
        return frames.to_vec();
    }
    let last = frames.len() - 1;
    let mut chosen = BTreeSet::from([0, last]);
    if let Some(parts) = frames.iter().position(|frame| frame.parts) {
        chosen.extend([parts.saturating_sub(1), parts, (parts + 1).min(last)]);
    }
    for unit in units {
        for step in unit.chain.iter().filter_map(Entry::step) {
            let place = frames.partition_point(|frame| frame.k[1] <= step.k[0]);
            if chosen.len() < MOST {
                chosen.insert(place.min(last));
            }
        }
    }
    chosen.into_iter().map(|place| frames[place]).collect()
}

/// The steps of each unit that are needed to draw these frames.
pub fn wishes(frames: &[Frame], units: &[&Explanation]) -> Vec<Wish> {
    let wish = |unit: &&Explanation| {
        let steps = unit.reached.iter().enumerate();
        let inside = steps.filter(|(_, (end, _))| {
            let place = frames.partition_point(|frame| frame.k[1] < *end);
            frames.get(place).is_some_and(|frame| frame.k[0] < *end)
        });
        Wish::These(inside.map(|(step, _)| step + 1).collect())
    };
    units.iter().map(wish).collect()
}
