//! Which broken bit gives the very elements that came out wrong.

use super::fault::{Fault, Injector, Place, Stuck};
use super::faulty::Chain;
use crate::check::Prepared;
use crate::emu::Arithmetic;
use crate::emu::step::Step;
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

/// Every bit of a unit of this arithmetic that can be broken, stuck at 0 and at 1.
pub fn hypotheses(arithmetic: &Arithmetic) -> Vec<Fault> {
    let mut all = Vec::new();
    for (_, word, _) in Place::ALL {
        let place = Place::of_word(word).expect("listed");
        let paths = if place.has_k() { paths(arithmetic) } else { 1 };
        for k in 0..paths {
            for bit in bits(arithmetic, place) {
                for stuck in [Stuck::Zero, Stuck::One] {
                    all.push(Fault::always(place, bit, stuck, k));
                }
            }
        }
    }
    all
}

/// Products that a unit multiplies beside each other.
fn paths(arithmetic: &Arithmetic) -> usize {
    match &arithmetic.step {
        Step::FusedHalves(step) => step.half.group,
        step => step.span(),
    }
}

/// The bits of numbers at a place; none where the step has no such place.
pub fn bits(arithmetic: &Arithmetic, place: Place) -> Vec<u32> {
    let Arithmetic {
        a, b, accumulator, ..
    } = *arithmetic;
    let grid = match &arithmetic.step {
        Step::Fused(step) => Some(step.fraction_bits),
        Step::FusedHalves(step) => Some(step.half.fraction_bits),
        _ => None,
    };
    let integers = matches!(arithmetic.step, Step::IntegerSum(_));
    let significand = |format: Format| match format.is_integer() {
        true => format.width(),
        false => format.fraction_bits() + 1,
    };
    match place {
        Place::Operand => (a.ignored_bits()..a.width() + a.ignored_bits()).collect(),
        Place::Product if grid.is_some() || integers => {
            (0..significand(a) + significand(b)).collect()
        }
        // Products reach twice the grid's largest number.
        Place::Aligner => grid.map_or(Vec::new(), |bits| (0..bits + 2).collect()),
        Place::Adder if integers => (0..32).collect(),
        Place::Adder => grid.map_or(Vec::new(), |bits| (0..bits + 2).collect()),
        Place::Rounding => {
            let low = match &arithmetic.step {
                Step::Fused(step) => accumulator.fraction_bits() + 1 - step.precision,
                _ => 0,
            };
            (low..8 * accumulator.bytes() as u32).collect()
        }
        Place::Product => Vec::new(),
    }
}

/// The broken bits that fit all of these elements, of several products: each gives every wrong one, and
/// leaves the right ones as they are.
pub fn fitting(products: &[(&Prepared, Vec<Seen>)], acts: Acts) -> Vec<Fault> {
    let Some((first, _)) = products.first() else {
        return Vec::new();
    };
    let mut left = hypotheses(&first.model().arithmetic);
    for (prepared, seen) in products {
        let Some(mut chain) = Chain::of(prepared) else {
            return Vec::new();
        };
        // The wrong ones rule out the most.
        let mut seen = seen.clone();
        seen.sort_by_key(|seen| !seen.wrong);
        for Seen { at, given, wrong } in seen {
            left.retain(|fault| match acts {
                Acts::Always => chain.element(at, Injector::new(fault, 0)) == given,
                Acts::NowAndThen if !wrong => true,
                Acts::NowAndThen => {
                    let mut steps = 0..chain.steps();
                    steps.any(|step| chain.element(at, Injector::once(fault, step)) == given)
                }
            });
            if left.is_empty() {
                return left;
            }
        }
    }
    left
}
