//! In which way an element differs.

use serde::{Deserialize, Serialize};

use tcverify_num::{Class, Fields, Format};

/// How an element differs; every differing element is of exactly one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    ZeroSign,
    NanPayload,
    NanAgainstNumber,
    InfinityAgainstFinite,
    InfinitySign,
    Sign,
    Exponent,
    Significand,
}

impl Kind {
    pub const ALL: [Kind; 8] = [
        Kind::ZeroSign,
        Kind::NanPayload,
        Kind::NanAgainstNumber,
        Kind::InfinityAgainstFinite,
        Kind::InfinitySign,
        Kind::Sign,
        Kind::Exponent,
        Kind::Significand,
    ];

    /// Whether one of the two is no number, so that they are at no distance.
    #[inline]
    pub(super) fn has_nan(self) -> bool {
        matches!(self, Kind::NanPayload | Kind::NanAgainstNumber)
    }
}

/// How many elements differ in which way; every differing element counts once, under the first
/// that applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Classes {
    /// +0 and -0.
    pub zero_sign: u64,
    /// Both are NaN with different codes (sign or payload).
    pub nan_payload: u64,
    /// One is NaN, the other is not.
    pub nan_against_number: u64,
    /// One is infinite, the other finite.
    pub infinity_against_finite: u64,
    /// Infinities of opposite signs.
    pub infinity_sign: u64,
    /// Both finite, the signs differ.
    pub sign: u64,
    /// Both finite, same sign, the exponent fields differ.
    pub exponent: u64,
    /// Only the fraction fields differ.
    pub significand: u64,
}

impl Classes {
    #[inline]
    fn counter(&mut self, kind: Kind) -> &mut u64 {
        match kind {
            Kind::ZeroSign => &mut self.zero_sign,
            Kind::NanPayload => &mut self.nan_payload,
            Kind::NanAgainstNumber => &mut self.nan_against_number,
            Kind::InfinityAgainstFinite => &mut self.infinity_against_finite,
            Kind::InfinitySign => &mut self.infinity_sign,
            Kind::Sign => &mut self.sign,
            Kind::Exponent => &mut self.exponent,
            Kind::Significand => &mut self.significand,
        }
    }

    #[inline]
    pub(super) fn count(&mut self, kind: Kind) {
        *self.counter(kind) += 1;
    }

    pub fn of(mut self, kind: Kind) -> u64 {
        *self.counter(kind)
    }

    /// All of them together; none if that is not a number.
    pub(super) fn sum(self) -> Option<u64> {
        let mut all = Kind::ALL.into_iter().map(|kind| self.of(kind));
        all.try_fold(0, u64::checked_add)
    }

    pub(super) fn add(&mut self, other: Classes) {
        for kind in Kind::ALL {
            *self.counter(kind) += other.of(kind);
        }
    }
}

/// The first kind that applies to two unequal codes.
#[inline]
pub(super) fn kind(format: Format, reproduced: u64, given: u64) -> Kind {
    use Class::{Finite, Infinite, Nan};
    let (one, other) = (format.unpack(reproduced), format.unpack(given));
    match (one.class, other.class) {
        (Nan, Nan) => Kind::NanPayload,
        (Nan, _) | (_, Nan) => Kind::NanAgainstNumber,
        (Infinite, Infinite) => Kind::InfinitySign,
        (Infinite, _) | (_, Infinite) => Kind::InfinityAgainstFinite,
        (Finite, Finite) if one.is_zero() && other.is_zero() => Kind::ZeroSign,
        (Finite, Finite) => {
            let fields = Fields::differing(format, reproduced, given);
            if fields.sign {
                Kind::Sign
            } else if fields.exponent {
                Kind::Exponent
            } else {
                Kind::Significand
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds() {
        use Kind::*;
        for (one, other, expected) in [
            (0x0000_0000, 0x8000_0000, ZeroSign),
            (0x7fff_ffff, 0x7fc0_0000, NanPayload),
            (0x7fff_ffff, 0x7f80_0000, NanAgainstNumber),
            (0x7fff_ffff, 0x3f80_0000, NanAgainstNumber),
            (0x7f80_0000, 0xff80_0000, InfinitySign),
            (0x7f80_0000, 0x7f7f_ffff, InfinityAgainstFinite),
            (0x3f80_0000, 0xbf80_0001, Sign),
            (0x3f80_0000, 0x0000_0000, Exponent),
            (0x3f80_0000, 0x3f80_0001, Significand),
        ] {
            assert_eq!(
                kind(Format::Fp32, one, other),
                expected,
                "{one:x} {other:x}"
            );
        }
    }
}
