//! First hypotheses: a few readings of the answers, combined by each kind of step with constants that units have.

use super::reading::Reading;
use crate::emu::step::{Clues, Code, Formats, ScaleUse, Step, StepKind};
use crate::probe::Suite;

/// Starts by kind, simpler kinds first; of integers nothing has to be read.
pub fn all(suite: &Suite, reading: Option<&Reading>) -> Vec<Vec<Step>> {
    let clues = Clues {
        formats: Formats {
            a: suite.a,
            b: suite.b,
            accumulator: suite.accumulator,
            addend: suite.accumulator,
            scale: suite.scale,
        },
        k: suite.k,
        groups: reading.map_or(&[0][..], |reading| &reading.groups),
        depths: reading.map_or(&[][..], |reading| &reading.depths),
        precisions: reading.map_or(&[][..], |reading| &reading.precisions),
        zero_exponent: reading.map_or(0, |reading| reading.zero_exponent),
        minus_zero: reading.is_some_and(|reading| reading.minus_zero),
        infinities: reading.is_some_and(|reading| reading.infinities),
        nan: reading.map_or(Code(0), |reading| reading.nan),
        nans: reading.and_then(|reading| reading.nans),
    };
    let possible = |step: &Step| {
        step.takes_integers() == suite.integers()
            && (suite.scale.is_none() || step.scaling() != ScaleUse::None)
    };
    let mut all = Step::hypotheses(&clues);
    for kind in &mut all {
        kind.retain(possible);
    }
    all.retain(|kind| !kind.is_empty());
    all
}
