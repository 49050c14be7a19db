//! Which models the kernel computes, and its constants for one.

use crate::group::Ending;
use crate::tile::{Span, SpecialRule};
use tcverify_num::{Format, Formats, Scale, Specials};

/// How products become a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneRule {
    /// Two of FP8, TFR since 20ad217d.
    Tfr,
    /// Two of FP8, TFR 565bd0f1.
    TfrAligned,
    /// Two of FP8, DRL.
    Drl,
    /// Four of FP4, exponents from UE8M0 scales, in six bits.
    Mxfp4,
    /// Four of FP4, times the significands of UE4M3 scales.
    Nvfp4,
}

/// A sticky dot-add of lanes in the terms of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanePlan {
    pub operands: Format,
    pub rule: LaneRule,
    pub scale: Option<Scale>,
    pub lanes: usize,
    pub ending: Ending,
    /// Whether E4M3's largest exponent field means infinity and NaN.
    pub ieee_top: bool,
    pub specials: SpecialRule,
}

/// The constants of a step.
pub struct LaneStep {
    pub rule: LaneRule,
    pub lanes: usize,
    pub group: usize,
    pub fraction_bits: u32,
    pub zero_exponent: i32,
    /// Bits of the unit's accumulator.
    pub width: u32,
    pub hidden_bit: bool,
    pub masks: bool,
    pub ieee_top: bool,
    pub nan: u64,
}

/// Fraction bits of a lane.
pub const LANE_BITS: i32 = 22;

/// Lanes of a unit, at most.
pub const LANES: usize = 8;

/// The exponent of a zero in the second place of a pair that must not lead: that of its products is
/// negative with the bias, too.
const NEVER: i32 = -100;

/// Exponents of lanes with scales for which nothing wraps, underflows or overflows.
const EXPONENTS: [i32; 2] = [-95, 95];

impl LanePlan {
    /// The plan, or none if only the exact engine can compute it.
    pub fn new(formats: Formats, step: LaneStep) -> Option<LanePlan> {
        let LaneStep { rule, lanes, .. } = step;
        let quads = matches!(rule, LaneRule::Mxfp4 | LaneRule::Nvfp4);
        // A lane is below four, and so is C; sums are taken four times in 32 bits.
        let largest = (4 * lanes as u64 + 2) << step.fraction_bits.min(32);
        let possible = formats.a == formats.b
            && formats.accumulator == Format::Fp32
            && lanes <= LANES
            && step.group == lanes * if quads { 4 } else { 2 }
            && (23..=26).contains(&step.fraction_bits)
            && step.width <= 30
            && largest < 1 << step.width
            // Ten bits hold what an exponent in `EXPONENTS` exceeds it by.
            && (quads || formats.scale.is_none() || step.zero_exponent > EXPONENTS[1] - (1 << 10));
        if !possible {
            return None;
        }
        let top = step.ieee_top && formats.a.specials() == Specials::NanOnly;
        let specials = if step.masks || top || formats.scale.is_some() {
            SpecialRule::Exactly
        } else {
            SpecialRule::Zeros { nan: step.nan }
        };
        Some(LanePlan {
            operands: formats.a,
            rule,
            scale: formats.scale,
            lanes,
            ending: Ending {
                fraction_bits: step.fraction_bits as i32,
                width: step.width,
                hidden_bit: step.hidden_bit,
                // So that 2^(E - F - 2) is a normal number.
                floor: step.fraction_bits as i32 + 3,
            },
            ieee_top: top,
            specials,
        })
    }

    pub fn is_quads(&self) -> bool {
        matches!(self.rule, LaneRule::Mxfp4 | LaneRule::Nvfp4)
    }

    /// The exponents with which zeros compete in both places of a pair.
    pub fn zero_exponents(&self) -> [i32; 2] {
        let least = self.operands.min_exponent();
        match self.rule {
            LaneRule::Tfr => [least, NEVER],
            LaneRule::TfrAligned => [least - 1, NEVER],
            LaneRule::Drl | LaneRule::Mxfp4 | LaneRule::Nvfp4 => [least - 1; 2],
        }
    }

    /// Products of a lane.
    pub fn together(&self) -> usize {
        if self.is_quads() { 4 } else { 2 }
    }

    /// Products of a step.
    pub fn group(&self) -> usize {
        self.lanes * self.together()
    }

    /// Whether lanes with scales of such exponents are in the kernel's range. Those of FP4 always are.
    pub fn suits(&self, a: Span, b: Span) -> bool {
        if self.scale.is_none() || self.is_quads() {
            return true;
        }
        // Exponents of the leading product, plus one; a zero operand may have one less than the smallest.
        let low = 2 * self.operands.min_exponent() - 1;
        let high = 2 * self.operands.max_exponent() + 1;
        let [least, most] = EXPONENTS;
        a.low + b.low + low >= least && a.high + b.high + high <= most
    }
}
