//! Correctly rounded dot products.

use super::{Clues, Searched};
use crate::emu::step::ExactDot;
use crate::num::Rounding;

impl Searched for ExactDot {
    fn hypotheses(clues: &Clues) -> Vec<ExactDot> {
        let nan = clues.nan;
        [Rounding::NearestEven, Rounding::TowardZero]
            .map(|rounding| ExactDot { rounding, nan })
            .into()
    }
}
