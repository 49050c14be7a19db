//! Dot products with a sticky bit.

use super::{Clues, Searched};
use crate::emu::step::{Addend, LaneScaling, PairRule, StickyRne};
use crate::num::Format;

impl Searched for StickyRne {
    fn hypotheses(clues: &Clues) -> Vec<StickyRne> {
        /// Below every term, for units whose zeros never count.
        const ZERO_LANE: i32 = -260;
        let a = clues.formats.a;
        let scaling = clues.formats.scale.map(|scale| match (scale.format, a) {
            (Format::Ue4m3, _) => LaneScaling::Nvfp4,
            (_, Format::E2m1) => LaneScaling::Mxfp4,
            _ => LaneScaling::LaneExponent,
        });
        let group = |lanes: usize| match a {
            Format::E2m1 => 4 * lanes,
            Format::Tf32 => lanes / 2,
            _ if a.bytes() == 1 => 2 * lanes,
            _ => lanes,
        };
        let pairs: &[Option<PairRule>] = match a.bytes() {
            1 if a == Format::E2m1 => &[None],
            1 => &[
                Some(PairRule::Tfr),
                Some(PairRule::TfrAligned),
                Some(PairRule::Drl),
            ],
            _ => &[None],
        };
        let mut all = Vec::new();
        for lanes in [4, 8] {
            for &fraction_bits in clues.depths.iter().filter(|&&depth| depth >= 23) {
                for &pair in pairs {
                    for addend in [Addend::Value, Addend::HiddenBit] {
                        for flags in 0..8 {
                            all.push(StickyRne {
                                lanes,
                                group: group(lanes),
                                width: fraction_bits + 1 + flags / 4,
                                fraction_bits,
                                zero_exponent: ZERO_LANE,
                                addend,
                                pair,
                                scaling,
                                sparse_mask: flags & 1 != 0,
                                ieee_top: flags & 2 != 0,
                                nan: clues.nan,
                            });
                        }
                    }
                }
            }
        }
        all
    }

    fn follow(&mut self, changed: &str) {
        // Of 4 and 8 lanes: as many products as fit, the ratio stays.
        let was = 12usize.checked_sub(self.lanes).filter(|&was| was > 0);
        if let ("lanes", Some(was)) = (changed, was) {
            self.group = self.group * self.lanes / was;
        }
    }
}
