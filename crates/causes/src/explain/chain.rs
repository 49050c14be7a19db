//! Which steps are shown in full, and the summary of the others.

use std::collections::BTreeSet;

use serde::Serialize;

use super::Element;
use super::trace::{Events, Step, largest};
use super::{Dyadic, Number};
use crate::emu::step::Carried;

/// Which steps somebody wants to see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Wish {
    /// Those where something happens.
    #[default]
    Notable,
    All,
    /// These, counted from 1, and those where something happens.
    These(BTreeSet<usize>),
}

/// A part of the chain of steps.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum Entry {
    Step {
        /// Why it is shown, where not all are.
        why: Vec<&'static str>,
        #[serde(flatten)]
        step: Box<Step>,
    },
    Folded(Folded),
}

/// Consecutive steps that are not shown.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Folded {
    /// First and last, counted from 1.
    pub steps: [usize; 2],
    /// The first product and the one after the last.
    pub k: [usize; 2],
    /// Terms that lost something to alignment, and the most that one lost.
    pub cut_terms: usize,
    pub largest_cut: Dyadic,
    /// Steps whose result is not the exact sum of accumulator and products, and the most that one
    /// is off.
    pub inexact_steps: usize,
    pub largest_loss: Dyadic,
    /// Steps whose accumulator is not a number, before and after.
    pub special_steps: usize,
    pub after: Number,
}

impl Entry {
    /// The step, if it is shown.
    pub fn step(&self) -> Option<&Step> {
        match self {
            Entry::Step { step, .. } => Some(step),
            Entry::Folded(_) => None,
        }
    }

    /// Counts steps and k from others on: those of the chains and products before.
    pub fn shift(&mut self, steps: usize, k: usize) {
        match self {
            Entry::Step { step, .. } => step.shift(steps, k),
            Entry::Folded(folded) => {
                folded.steps.iter_mut().for_each(|step| *step += steps);
                folded.k.iter_mut().for_each(|at| *at += k);
            }
        }
    }
}

/// What is remembered of a step.
struct Summary {
    cut_terms: usize,
    largest_cut: Dyadic,
    lost: Option<Dyadic>,
    events: Events,
}

/// Chains no longer than this are shown in full.
const FEW_STEPS: usize = 4;
const SMALL_K: usize = 32;

/// How far below the largest term a result lies after strong cancellation, in powers of two.
const STRONG: i32 = 8;

/// How many steps of a kind are shown.
const OF_A_KIND: usize = 3;

/// The chain of an element.
pub fn chain(element: &Element, accumulators: &[Carried], wish: &Wish) -> Vec<Entry> {
    let steps = element.steps();
    let summaries: Vec<Summary> = (0..steps)
        .map(|step| {
            let step = element.trace(step, &accumulators[step]);
            Summary {
                cut_terms: step.cut_terms,
                largest_cut: step.largest_cut,
                lost: step.lost,
                events: step.events,
            }
        })
        .collect();
    let everything = *wish == Wish::All || steps <= FEW_STEPS || element.k() <= SMALL_K;
    let mut why = vec![Vec::new(); steps];
    if !everything {
        notable(&summaries, &mut why);
    }
    // Also where all steps are shown: a long one is shortened unless it is requested.
    match wish {
        Wish::All => why.iter_mut().for_each(|why| why.push("asked for")),
        Wish::These(wanted) => {
            let inside = wanted.iter().filter(|&&step| (1..=steps).contains(&step));
            inside.for_each(|step| why[step - 1].push("asked for"));
        }
        Wish::Notable => {}
    }

    let mut entries = Vec::new();
    let mut step = 0;
    while step < steps {
        if everything || !why[step].is_empty() {
            entries.push(Entry::Step {
                why: std::mem::take(&mut why[step]),
                step: Box::new(element.trace(step, &accumulators[step])),
            });
            step += 1;
            continue;
        }
        let shown = (step..steps).find(|&step| !why[step].is_empty());
        let end = shown.unwrap_or(steps);
        entries.push(fold(element, accumulators, &summaries, step..end));
        step = end;
    }
    entries
}

fn notable(summaries: &[Summary], why: &mut [Vec<&'static str>]) {
    why[0].push("first");
    let last = why.len() - 1;
    why[last].push("last");

    let special = (0..why.len()).filter(|&step| summaries[step].events.special);
    for step in special.take(OF_A_KIND) {
        why[step].push("no longer a number");
    }

    let mut cancelling: Vec<_> = (0..why.len())
        .filter(|&step| summaries[step].events.cancelled >= STRONG)
        .collect();
    // The strongest first; of equals the earliest.
    cancelling.sort_by_key(|&step| -summaries[step].events.cancelled);
    for &step in cancelling.iter().take(OF_A_KIND) {
        why[step].push("strong cancellation");
    }

    let mut most: Option<(usize, &Dyadic)> = None;
    for (step, summary) in summaries.iter().enumerate() {
        let Some(lost) = summary.lost.as_ref().filter(|lost| !lost.is_zero()) else {
            continue;
        };
        if most.is_none_or(|(_, largest)| lost.exceeds(largest)) {
            most = Some((step, lost));
        }
    }
    if let Some((step, _)) = most {
        why[step].push("largest loss");
    }
}

fn fold(
    element: &Element,
    accumulators: &[Carried],
    summaries: &[Summary],
    steps: std::ops::Range<usize>,
) -> Entry {
    let summaries = &summaries[steps.clone()];
    let lost = || summaries.iter().filter_map(|summary| summary.lost.as_ref());
    Entry::Folded(Folded {
        steps: [steps.start + 1, steps.end],
        k: [
            element.range(steps.start).start,
            element.range(steps.end - 1).end,
        ],
        cut_terms: summaries.iter().map(|summary| summary.cut_terms).sum(),
        largest_cut: largest(summaries.iter().map(|summary| &summary.largest_cut)),
        inexact_steps: lost().filter(|lost| !lost.is_zero()).count(),
        largest_loss: largest(lost()),
        special_steps: summaries.iter().filter(|s| s.lost.is_none()).count(),
        after: Number::new(
            element.formats().accumulator,
            element.code(steps.end, &accumulators[steps.end]),
        ),
    })
}
