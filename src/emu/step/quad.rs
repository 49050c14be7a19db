//! Scales in Vortex's dot-product unit, and its FP4: four products that share a lane.

use serde::{Deserialize, Serialize};

use super::pair::Lane;
use crate::num::{Format, Scale, Unpacked};

/// How the scales of two operands change a lane of TFR. Their codes are taken as they are: the unit
/// knows no NaN among them, and no subnormal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LaneScaling {
    /// FP8: UE8M0 scales are added to the lane's exponent, modulo 2^10; a dead lane stays dead.
    LaneExponent,
    /// MXFP4: four products are added exactly; the lane's exponent comes from a six-bit field of the
    /// scales, which is read with a sign: sums of scale exponents beyond -56 to 7 wrap.
    Mxfp4,
    /// NVFP4: the sum of four products is multiplied by the significands of two UE4M3 scales, whose
    /// hidden bit is always set, and moved by their exponent fields.
    Nvfp4,
}

/// What the stored exponent of a lane exceeds `zero_exponent` by has this many bits.
const EXPONENT_BITS: u32 = 10;

/// An exponent of a lane moved by two UE8M0 scales.
pub(super) fn moved(exponent: i32, (x, y): (u8, u8), zero_exponent: i32) -> i32 {
    let stored = exponent - zero_exponent + i32::from(x) + i32::from(y) - 254;
    zero_exponent + stored.rem_euclid(1 << EXPONENT_BITS)
}

impl LaneScaling {
    /// The lane of four FP4 products.
    pub(super) fn quad(
        self,
        a: &[Unpacked],
        b: &[Unpacked],
        (x, y): (u8, u8),
        zero_exponent: i32,
    ) -> Lane {
        // In quarters: a number is one, two, three, four, six, eight or twelve halves.
        let halves = |x: &Unpacked| (x.significand << x.exponent) as i64;
        let product = |(a, b): (&Unpacked, &Unpacked)| {
            let p = halves(a) * halves(b);
            if a.negative == b.negative { p } else { -p }
        };
        let dot: i64 = a.iter().zip(b).map(product).sum();
        if dot == 0 {
            return Lane::dead(zero_exponent);
        }
        let (factor, exponent) = match self {
            LaneScaling::Nvfp4 => {
                let significand = |code: u8| u64::from(8 | (code & 7));
                let field = |code: u8| i32::from(code >> 3 & 15);
                (significand(x) * significand(y), field(x) + field(y) - 7)
            }
            _ => {
                let field = i32::from(x) + i32::from(y) - 254 + 24;
                // Six bits, the highest of them a sign.
                (1, (field + 32).rem_euclid(64) - 32 - 24 + 13)
            }
        };
        Lane {
            negative: dot < 0,
            magnitude: u128::from(dot.unsigned_abs() * factor) << 7,
            exponent,
        }
    }

    pub(super) fn check(self, operands: Format, scale: Scale) -> Result<(), String> {
        let (formats, wanted): (&[Format], _) = match self {
            LaneScaling::LaneExponent => (&[Format::E4m3, Format::E5m2], Format::Ue8m0),
            LaneScaling::Mxfp4 => (&[Format::E2m1], Format::Ue8m0),
            LaneScaling::Nvfp4 => (&[Format::E2m1], Format::Ue4m3),
        };
        if !formats.contains(&operands) || scale.format != wanted {
            return Err(format!(
                "this scaling does not support {operands} with scales of {}",
                scale.format
            ));
        }
        // All products of a lane have one scale.
        if !scale.block.is_multiple_of(4) {
            return Err(format!(
                "scale.block is {}; it must be a multiple of 4",
                scale.block
            ));
        }
        Ok(())
    }
}
