//! Which broken bit gives the very elements that came out wrong.

use std::ops::Range;

use rayon::prelude::*;

use super::elements::lane;
use super::fault::{Fault, Injector, Place, Stuck};
use super::faulty::{Chain, turns};
use crate::check::Prepared;
use crate::emu::Arithmetic;
use crate::emu::step::StepKind;
use crate::num::Format;
use crate::words::Word;

/// An element of D with the code that it came out with, wrong or right.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub at: [usize; 2],
    pub given: u64,
    pub wrong: bool,
}

/// When the broken bit acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acts {
    Always,
    /// In one step of an element that is wrong, in none of others.
    NowAndThen,
}

/// Every bit of a unit of this arithmetic that can be broken, stuck at 0 and at 1, or inverted.
pub fn hypotheses(arithmetic: &Arithmetic, inverted: bool) -> Vec<Fault> {
    let mut all = Vec::new();
    for (_, word, _) in Place::ALL {
        let place = Place::of_word(word).expect("listed");
        let paths = paths(arithmetic, place);
        for k in 0..paths {
            for bit in bits(arithmetic, place) {
                let kinds = match inverted {
                    true => [Stuck::Flip].as_slice(),
                    false => [Stuck::Zero, Stuck::One].as_slice(),
                };
                for &stuck in kinds {
                    all.push(Fault::always(place, bit, stuck, k));
                }
            }
        }
    }
    all
}

/// How many parts of this kind a unit has beside each other.
fn paths(arithmetic: &Arithmetic, place: Place) -> usize {
    let span = arithmetic.step.span();
    let unit = arithmetic.step.unit(arithmetic.formats());
    let rows = if span == 1 { turns(arithmetic) } else { 1 };
    match place {
        Place::Adder | Place::Rounding => 1,
        Place::Scale => arithmetic
            .scale
            .map_or(0, |scale| (span / scale.block).max(1)),
        Place::Aligner => rows * unit.aligners,
        Place::Operand | Place::Product => rows * unit.multipliers,
    }
}

/// The bits of numbers at a place; none where the step has no such place.
pub fn bits(arithmetic: &Arithmetic, place: Place) -> Range<u32> {
    let Arithmetic {
        a, b, accumulator, ..
    } = *arithmetic;
    let unit = arithmetic.step.unit(arithmetic.formats());
    match place {
        Place::Operand => a.ignored_bits()..a.width() + a.ignored_bits(),
        // UE4M3 ignores its top bit.
        Place::Scale => arithmetic.scale.map_or(0..0, |scale| {
            0..scale.format.exponent_bits() + scale.format.fraction_bits()
        }),
        Place::Product if unit.tells_products => {
            let largest = u128::from(largest(a)) * u128::from(largest(b));
            0..128 - largest.leading_zeros()
        }
        Place::Product => 0..0,
        Place::Aligner => 0..unit.aligned_bits,
        Place::Adder => 0..unit.sum_bits,
        Place::Rounding => unit.lowest_result_bit..8 * accumulator.bytes() as u32,
    }
}

/// The largest magnitude of a significand, or of an integer: bits above that of a product are of no number.
fn largest(format: Format) -> u64 {
    match (format.is_integer(), format.sign_mask()) {
        (false, _) => (2u64 << format.fraction_bits()) - 1,
        (true, 0) => format.max_code(),
        (true, smallest) => smallest,
    }
}

/// What fits wrong elements.
#[derive(Clone, Debug, Default)]
pub struct Broken {
    /// Equally good ones.
    pub fits: Vec<Fault>,
    pub acts: Option<Acts>,
    /// Wrong elements that they give.
    pub explained: usize,
}

/// Elements of products of one unit.
pub type Unit<'a> = Vec<(&'a Prepared, Vec<Seen>)>;

/// Elements by which most hypotheses are ruled out, and how many of them one must give.
const FIRST: usize = 4;
const ENOUGH: usize = 3;

/// The broken bits that give the most wrong elements: always, which has to leave right what is right; or now
/// and then, in one step of each.
pub fn broken(units: &[Unit]) -> Broken {
    let total: usize = units.iter().map(|unit| wrong(unit).count()).sum();
    let mut scores: Vec<(Fault, usize)> = Vec::new();
    for unit in units {
        let count = wrong(unit).count();
        for fault in always(unit) {
            add(&mut scores, fault, count);
        }
    }
    let best = best(scores, Acts::Always);
    if best.explained == total || units.is_empty() {
        return best;
    }
    let mut scores = Vec::new();
    for unit in units {
        for (fault, count) in now_and_then(unit) {
            add(&mut scores, fault, count);
        }
    }
    let rare = self::best(scores, Acts::NowAndThen);
    // What acts always is the simpler story where both tell as much.
    let found = if rare.explained > best.explained {
        rare
    } else {
        best
    };
    match 10 * found.explained >= 9 * total {
        true => found,
        false => Broken::default(),
    }
}

fn add(scores: &mut Vec<(Fault, usize)>, fault: Fault, count: usize) {
    match scores.iter_mut().find(|(known, _)| *known == fault) {
        Some((_, sum)) => *sum += count,
        None => scores.push((fault, count)),
    }
}

fn best(scores: Vec<(Fault, usize)>, acts: Acts) -> Broken {
    let explained = scores.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let fits = scores.into_iter().filter(|(_, count)| *count == explained);
    Broken {
        fits: fits.map(|(fault, _)| fault).collect(),
        acts: Some(acts),
        explained,
    }
}

fn wrong<'a>(unit: &'a Unit<'a>) -> impl Iterator<Item = (&'a Prepared, Seen)> {
    let all = unit
        .iter()
        .flat_map(|(prepared, seen)| seen.iter().map(|s| (*prepared, *s)));
    all.filter(|(_, seen)| seen.wrong)
}

/// Those that give every wrong element of a unit, and leave the right ones of the lane as they are.
fn always(unit: &Unit) -> Vec<Fault> {
    let Some((first, seen)) = unit.first() else {
        return Vec::new();
    };
    let mut left = hypotheses(&first.model().arithmetic, false);
    let at = seen.iter().find(|seen| seen.wrong).map(|seen| seen.at);
    let its_lane = at.map(|[row, column]| lane(row, column));
    for (prepared, seen) in unit {
        let Some(mut chain) = Chain::of(prepared) else {
            return Vec::new();
        };
        // The wrong ones rule out the most.
        let in_lane = |seen: &&Seen| Some(lane(seen.at[0], seen.at[1])) == its_lane;
        let mut seen: Vec<_> = seen.iter().filter(in_lane).collect();
        seen.sort_by_key(|seen| !seen.wrong);
        for Seen { at, given, .. } in seen {
            left.retain(|fault| chain.element(*at, Injector::new(fault, 0)) == *given);
        }
    }
    left
}

/// Those that give most wrong elements of a unit if they act in one step of each, and how many.
fn now_and_then(unit: &Unit) -> Vec<(Fault, usize)> {
    let Some((first, _)) = unit.first() else {
        return Vec::new();
    };
    let elements: Vec<_> = wrong(unit).collect();
    let gives = |chain: &mut Chain, fault: &Fault, seen: &Seen| {
        let mut steps = 0..chain.steps();
        steps.any(|step| chain.element(seen.at, Injector::once(fault, step)) == seen.given)
    };
    let counted = |fault: &Fault, elements: &[(&Prepared, Seen)]| {
        let given = elements.iter().filter(|(prepared, seen)| {
            Chain::of(prepared).is_some_and(|mut chain| gives(&mut chain, fault, seen))
        });
        given.count()
    };
    let all = hypotheses(&first.model().arithmetic, true);
    let few = &elements[..elements.len().min(FIRST)];
    let enough = few.len().min(ENOUGH);
    let likely = all
        .into_par_iter()
        .filter(|fault| counted(fault, few) >= enough);
    likely
        .map(|fault| (fault, counted(&fault, &elements)))
        .collect()
}
