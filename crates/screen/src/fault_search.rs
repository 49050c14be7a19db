//! Which broken bit, or lost number, gives the very elements that came out wrong.

use std::ops::Range;

use rayon::prelude::*;

use super::fault::{Fault, Injector, Place, Stuck};
use super::faulty_elements::{Chain, turns};
use super::unit::Unit;
use crate::check::Prepared;
use crate::emu::Arithmetic;
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
    /// In one or two steps of a wrong element, in none of the others.
    NowAndThen,
}

/// Every part of a unit of this arithmetic: its place, which of several it is, and the bits of its numbers.
fn parts(arithmetic: &Arithmetic) -> impl Iterator<Item = (Place, usize, Range<u32>)> {
    Place::ALL.iter().flat_map(|&(place, _, _)| {
        let bits = bits(arithmetic, place);
        (0..paths(arithmetic, place)).map(move |k| (place, k, bits.clone()))
    })
}

/// Every bit of a unit of this arithmetic that can be broken: stuck at 0 and at 1, and inverted; and every number that can be
/// lost.
pub fn hypotheses(arithmetic: &Arithmetic) -> Vec<Fault> {
    let mut all = Vec::new();
    for (place, k, bits) in parts(arithmetic) {
        if !bits.is_empty() {
            all.push(Fault::always(place, u128::MAX, Stuck::Zero, k));
        }
        for bit in bits {
            let kinds = Stuck::ALL.iter().map(|(stuck, _, _)| *stuck);
            all.extend(kinds.map(|stuck| Fault::always(place, 1 << bit, stuck, k)));
        }
    }
    all
}

/// The most neighbouring bits of a fault.
pub const NEIGHBOURS: u32 = 16;

/// Every run of 2 to 16 neighbouring bits that can be inverted together.
fn neighbours(arithmetic: &Arithmetic) -> Vec<Fault> {
    let mut all = Vec::new();
    for (place, k, bits) in parts(arithmetic) {
        for first in bits.clone() {
            let most = NEIGHBOURS.min(bits.end - first);
            let masks = (2..=most).map(|count| ((1u128 << count) - 1) << first);
            all.extend(masks.map(|mask| Fault::always(place, mask, Stuck::Flip, k)));
        }
    }
    all
}

/// How many parallel parts of this kind a unit has.
pub fn paths(arithmetic: &Arithmetic, place: Place) -> usize {
    let span = arithmetic.step.span();
    let unit = Unit::of(&arithmetic.step, arithmetic.formats());
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
    let unit = Unit::of(&arithmetic.step, arithmetic.formats());
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

/// The largest magnitude of a significand, or of an integer: no product has a bit above the product of two.
fn largest(format: Format) -> u64 {
    match (format.is_integer(), format.sign_mask()) {
        (false, _) => (2u64 << format.fraction_bits()) - 1,
        (true, 0) => format.max_code(),
        (true, smallest) => smallest,
    }
}

/// The faults that explain wrong elements best.
#[derive(Clone, Debug, Default)]
pub struct Broken {
    /// Equally good ones.
    pub fits: Vec<Fault>,
    pub acts: Option<Acts>,
    /// Wrong elements that they give.
    pub explained: usize,
    /// Whether faults could be injected into any of the products.
    pub tried: bool,
}

/// Elements of products of one unit.
pub type Products<'a> = Vec<(&'a Prepared, Vec<Seen>)>;

/// Number of elements that rule out most hypotheses, and how many of them a fault must give.
const FIRST: usize = 6;
const ENOUGH: usize = 4;

/// Elements of at most so many steps are also tried with two faulty steps.
const PAIRS: usize = 16;

/// The faults that give the most wrong elements: always, leaving right elements right; or now and then, in one step of
/// each element or in two.
pub fn broken(units: &[Products]) -> Broken {
    Broken {
        tried: units
            .iter()
            .flatten()
            .any(|(prepared, _)| Chain::of(prepared).is_some()),
        ..most(units)
    }
}

fn most(units: &[Products]) -> Broken {
    let total: usize = units.iter().map(|unit| wrong(unit).len()).sum();
    let of = |counted: fn(&Products) -> Vec<(Fault, usize)>, acts| {
        let mut scores: Vec<(Fault, usize)> = Vec::new();
        for (fault, count) in units.iter().flat_map(counted) {
            match scores.iter_mut().find(|(known, _)| *known == fault) {
                Some((_, sum)) => *sum += count,
                None => scores.push((fault, count)),
            }
        }
        best(scores, acts)
    };
    let best = of(|unit| always(unit, hypotheses), Acts::Always);
    if 10 * best.explained >= 9 * total {
        return best;
    }
    let rare = of(now_and_then, Acts::NowAndThen);
    let banded = banded(units, &rare);
    if banded.explained > rare.explained.max(best.explained) || 10 * banded.explained >= 9 * total {
        return banded;
    }
    let several = of(|unit| always(unit, neighbours), Acts::Always);
    if 10 * several.explained >= 9 * total {
        return several;
    }
    // Where both explain as much, a fault that always acts is the simpler explanation.
    if rare.explained > best.explained {
        rare
    } else {
        best
    }
}

/// For how many of the faults that act now and then a band of exponents is searched for.
const BANDED: usize = 16;

/// Of faults that act now and then, those that always act where the exponent of an operand lies in a band, and leave right
/// elements right. The band is that of the steps which alone give an element.
fn banded(units: &[Products], rare: &Broken) -> Broken {
    let mut scores = Vec::new();
    for fault in rare.fits.iter().take(BANDED) {
        let fields: Vec<u32> = units.iter().flat_map(|unit| fields(unit, fault)).collect();
        let (Some(low), Some(high)) = (fields.iter().min(), fields.iter().max()) else {
            continue;
        };
        let fault = Fault {
            exponents: Some([*low, *high]),
            ..*fault
        };
        let gives = |(prepared, seen): &(&Prepared, Vec<Seen>)| {
            let mut chain = Chain::of(prepared)?;
            let mut given =
                |seen: &Seen| chain.element(seen.at, Injector::new(&fault, 0)) == seen.given;
            let mut count = 0;
            for seen in seen {
                match (seen.wrong, given(seen)) {
                    (true, given) => count += usize::from(given),
                    (false, true) => {}
                    (false, false) => return None,
                }
            }
            Some(count)
        };
        let all: Option<Vec<usize>> = units.iter().flatten().map(gives).collect();
        if let Some(counts) = all {
            scores.push((fault, counts.iter().sum()));
        }
    }
    best(scores, Acts::Always)
}

/// Exponents at steps of which exactly one gives a wrong element.
fn fields(unit: &Products, fault: &Fault) -> Vec<u32> {
    let mut fields = Vec::new();
    for (prepared, seen) in unit {
        let Some(mut chain) = Chain::of(prepared) else {
            continue;
        };
        for seen in seen.iter().filter(|seen| seen.wrong) {
            let mut gives = (0..chain.steps()).filter(|&step| {
                chain.element(seen.at, Injector::only(fault, [step; 2])) == seen.given
            });
            if let (Some(step), None) = (gives.next(), gives.next()) {
                fields.push(chain.exponent(seen.at[0], step, fault));
            }
        }
    }
    fields
}

fn best(scores: Vec<(Fault, usize)>, acts: Acts) -> Broken {
    let explained = scores.iter().map(|(_, count)| *count).max().unwrap_or(0);
    if explained == 0 {
        return Broken::default();
    }
    let fits = scores.into_iter().filter(|(_, count)| *count == explained);
    Broken {
        fits: fits.map(|(fault, _)| fault).collect(),
        acts: Some(acts),
        explained,
        tried: true,
    }
}

fn wrong<'a>(unit: &'a Products<'a>) -> Vec<(&'a Prepared, Seen)> {
    let all = unit
        .iter()
        .flat_map(|(prepared, seen)| seen.iter().map(|s| (*prepared, *s)));
    all.filter(|(_, seen)| seen.wrong).collect()
}

/// The faults that a few elements make likely, and how many wrong elements each gives. `given`: whether a fault gives an element;
/// `refuted`: whether a right element excludes it.
fn counted(
    unit: &Products,
    of: fn(&Arithmetic) -> Vec<Fault>,
    given: impl Fn(&mut Chain, &Fault, &Seen) -> bool + Sync,
    refuted: impl Fn(&Fault) -> bool + Sync,
) -> Vec<(Fault, usize)> {
    let Some((first, _)) = unit.first() else {
        return Vec::new();
    };
    let elements = wrong(unit);
    let count = |fault: &Fault, elements: &[(&Prepared, Seen)]| {
        // Elements of a product follow one another, so that its operands are taken apart once.
        let mut count = 0;
        for of_product in elements.chunk_by(|(x, _), (y, _)| std::ptr::eq(*x, *y)) {
            let Some(mut chain) = Chain::of(of_product[0].0) else {
                continue;
            };
            let given = of_product
                .iter()
                .filter(|(_, seen)| given(&mut chain, fault, seen));
            count += given.count();
        }
        count
    };
    let stride = elements.len().div_ceil(FIRST).max(1);
    let few: Vec<_> = elements.iter().step_by(stride).copied().collect();
    let enough = few.len().min(ENOUGH);
    let likely = of(&first.model().arithmetic)
        .into_par_iter()
        .filter(|fault| {
            // Most give none.
            let start = few.len().min(3);
            count(fault, &few[..start]) > 0 && count(fault, &few) >= enough
        });
    likely
        .filter(|fault| !refuted(fault))
        .map(|fault| (fault, count(&fault, &elements)))
        .collect()
}

/// The faults that act always and leave the right elements of a unit as they are.
fn always(unit: &Products, of: fn(&Arithmetic) -> Vec<Fault>) -> Vec<(Fault, usize)> {
    let given = |chain: &mut Chain, fault: &Fault, seen: &Seen| {
        chain.element(seen.at, Injector::new(fault, 0)) == seen.given
    };
    counted(unit, of, given, |fault| {
        unit.iter().any(|(prepared, seen)| {
            let Some(mut chain) = Chain::of(prepared) else {
                return true;
            };
            let mut right = seen.iter().filter(|seen| !seen.wrong);
            right.any(|seen| !given(&mut chain, fault, seen))
        })
    })
}

/// The faults that act in one step of an element, or in two.
fn now_and_then(unit: &Products) -> Vec<(Fault, usize)> {
    let given = |chain: &mut Chain, fault: &Fault, seen: &Seen| {
        let steps = chain.steps();
        let last = |first: usize| if steps <= PAIRS { steps } else { first + 1 };
        let mut pairs = (0..steps).flat_map(|one| (one..last(one)).map(move |two| [one, two]));
        pairs.any(|steps| chain.element(seen.at, Injector::only(fault, steps)) == seen.given)
    };
    counted(unit, hypotheses, given, |_| false)
}
