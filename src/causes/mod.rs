//! What a D that differs may come from: guesses that are told only if they give the very bits of D
//! on every element they were tested on.
//!
//! Two kinds: where the mismatches lie (`place`), counted over all that was compared; and another
//! computation (`other`), replayed on at most 64 elements that differ and 64 that do not.

mod addend;
mod other;
mod place;
mod schedule;
mod trial;

use crate::emu::{Arithmetic, Catalogue, Replay};
use crate::identify::Name;
use crate::num::Format;
use crate::report::{Comparison, Spread};
use crate::tensor::Tensor;

pub use trial::WORK;

/// A comparison that found differences.
pub struct Case<'a> {
    /// What was computed.
    pub replay: Replay<'a>,
    pub given: &'a Tensor,
    pub comparison: &'a Comparison,
    pub spread: &'a Spread,
    /// Name of the architecture: its own rules are named first.
    pub architecture: &'a str,
    /// The chosen instruction's arithmetic for other formats of A and B, if it has any.
    pub rule: &'a dyn Fn([Format; 2]) -> Option<Arithmetic>,
    pub catalogue: &'a Catalogue,
}

/// A guess that fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub kind: &'static str,
    pub sentence: String,
    /// What to ask for to see all of D fit.
    pub change: Change,
}

/// How a check would have to be asked otherwise.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// There is no way to ask for it.
    None,
    /// The other way round than asked: A, B.
    Transposed([bool; 2]),
    /// B transposed times A transposed.
    Reversed,
    /// B times A.
    Exchanged,
    WithoutC,
    /// These options instead of the schedule's.
    Schedule(String),
    Formats([Format; 2]),
    Model {
        name: Name,
        arithmetic: Box<Arithmetic>,
        convert_to: Option<Format>,
    },
}

/// Everything that fits; nothing if nothing does. The same for the same files.
pub fn causes(case: &Case) -> Vec<Found> {
    if case.comparison.mismatches == 0 {
        return Vec::new();
    }
    // A flipped bit is so much likelier than a computation that happens to flip one.
    if let Some(flipped) = place::flipped_bit(case) {
        return vec![flipped];
    }
    // Under a schedule the operands have a place in it that other ones do not.
    if case.replay.kernel.is_none() {
        let found = other::computations(case);
        if !found.is_empty() {
            return found;
        }
    }
    let found = schedule::schedules(case);
    if !found.is_empty() {
        return found;
    }
    place::place(case).into_iter().collect()
}
