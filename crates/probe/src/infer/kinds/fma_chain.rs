//! Chains of fused multiply-adds.

use super::{Clues, Searched};
use crate::emu::step::FmaChain;
use crate::num::Rounding;

impl Searched for FmaChain {
    fn hypotheses(clues: &Clues) -> Vec<FmaChain> {
        let nan = clues.nan;
        [Rounding::NearestEven, Rounding::TowardZero]
            .map(|rounding| FmaChain { rounding, nan })
            .into()
    }
}
