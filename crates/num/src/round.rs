//! One rounding of an exact integer to a format: the last step of every model.

use serde::{Deserialize, Serialize};

use super::{Format, Unpacked};

/// How an exact value becomes a representable one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Rounding {
    /// Toward zero (truncation of the magnitude).
    #[serde(rename = "rz")]
    TowardZero,
    /// To nearest, ties to even.
    #[serde(rename = "rne")]
    NearestEven,
    /// To nearest, ties away from zero.
    #[serde(rename = "rna")]
    NearestAway,
    /// Toward minus infinity.
    #[serde(rename = "rd")]
    Down,
}

impl std::fmt::Display for Rounding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Rounding::TowardZero => "RZ",
            Rounding::NearestEven => "RNE",
            Rounding::NearestAway => "RNA",
            Rounding::Down => "RD",
        })
    }
}

/// `magnitude / 2^shift` as an integer, rounded. `negative` matters for [`Rounding::Down`] alone.
pub fn shift_right(magnitude: u128, shift: u32, rounding: Rounding, negative: bool) -> u128 {
    let (quotient, remainder, half) = match shift {
        0 => return magnitude,
        1..=127 => (
            magnitude >> shift,
            magnitude & ((1 << shift) - 1),
            1u128 << (shift - 1),
        ),
        // Everything is shifted out. A magnitude of 128 bits can still exceed half of 2^128.
        128 => (0, magnitude, 1 << 127),
        _ => (0, magnitude.min(1), 2),
    };
    let up = match rounding {
        Rounding::TowardZero => false,
        Rounding::Down => negative && remainder != 0,
        Rounding::NearestAway => remainder >= half,
        Rounding::NearestEven => remainder > half || (remainder == half && quotient & 1 == 1),
    };
    quotient + u128::from(up)
}

/// What a finite value beyond the format's range becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// Infinity, whatever the direction of rounding (as tensor cores do), or what a format without one has
    /// for it ([`Format::beyond`]).
    ToInfinity,
    /// The largest finite number of its sign.
    Saturate,
}

/// A format to round to, at a precision that may be narrower than the format's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    pub format: Format,
    /// Significant bits kept, the leading one included; at most the format's fraction bits + 1.
    /// Subnormal results keep `precision - 1` fraction bits at the format's smallest exponent.
    pub precision: u32,
    pub rounding: Rounding,
    pub overflow: Overflow,
}

impl Target {
    /// The format at its full precision.
    pub fn full(format: Format, rounding: Rounding) -> Target {
        Target {
            format,
            precision: format.fraction_bits() + 1,
            rounding,
            overflow: Overflow::ToInfinity,
        }
    }

    /// What a value beyond the format's range becomes.
    pub fn beyond(self, negative: bool) -> u64 {
        match self.overflow {
            Overflow::ToInfinity => self.format.beyond(negative),
            Overflow::Saturate => self.format.max_finite(negative),
        }
    }

    /// The code of a finite number of the format `from`, rounded once.
    pub fn round_number(self, from: Format, number: Unpacked) -> u64 {
        let magnitude = number.significand.into();
        self.round(number.negative, magnitude, number.lsb(from), false)
    }

    /// The code of `(-1)^negative * magnitude * 2^lsb`, rounded once.
    ///
    /// `sticky` says that the exact value is larger in magnitude than `magnitude` by less than one
    /// unit; it must lie below the rounding position (callers keep guard bits).
    pub fn round(self, negative: bool, magnitude: u128, lsb: i32, sticky: bool) -> u64 {
        let format = self.format;
        if magnitude == 0 && !sticky {
            return format.zero(negative);
        }
        let fraction_bits = format.fraction_bits() as i32;

        // The weight of the last bit kept: `precision` bits below the leading one, but never below
        // what a subnormal of this precision can hold.
        let leading = lsb + 127 - magnitude.leading_zeros() as i32;
        let leading = leading.max(format.min_exponent());
        let quantum = leading - (self.precision as i32 - 1);

        let kept = if quantum > lsb {
            // A sticky bit only has to be distinguishable from none, so one bit below is enough;
            // in a magnitude of 128 bits the lowest is far below the rounding position already.
            let room = magnitude.leading_zeros().min(1);
            let widened = magnitude << room | u128::from(sticky);
            let shift = (quantum - lsb) as u32 + room;
            shift_right(widened, shift, self.rounding, negative)
        } else {
            debug_assert!(!sticky, "the rounding position lies below the sticky bit");
            magnitude << (lsb - quantum)
        };
        if kept == 0 {
            return format.zero(negative);
        }

        // `kept` has at most precision + 1 bits (a carry); express it in the format's own quantum.
        let significand = kept << (fraction_bits + 1 - self.precision as i32);
        let carry = significand >> (fraction_bits + 1) != 0;
        let (significand, exponent) = if carry {
            (significand >> 1, leading + 1)
        } else {
            (significand, leading)
        };
        if exponent > format.max_exponent() {
            return self.beyond(negative);
        }
        let hidden = 1u128 << fraction_bits;
        let field = if significand >= hidden {
            (exponent + format.bias()) as u64
        } else {
            0 // subnormal: `leading` is the smallest exponent here
        };
        let fraction = (significand & (hidden - 1)) as u64;
        let magnitude = (field << fraction_bits | fraction) << format.ignored_bits();
        // E4M3 has numbers of its highest exponent, except the last, which is its NaN.
        if self.overflow == Overflow::Saturate && magnitude > format.max_finite(false) {
            return format.max_finite(negative);
        }
        format.sign(negative) | magnitude
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifting_rounds_at_every_distance() {
        use Rounding::*;
        for (magnitude, shift, rounding, negative, expected) in [
            (7u128, 0, TowardZero, false, 7),
            (7, 1, TowardZero, true, 3),
            (7, 1, NearestEven, false, 4),
            (5, 1, NearestEven, false, 2),
            (5, 1, NearestAway, false, 3),
            (5, 1, Down, false, 2),
            (5, 1, Down, true, 3),
            (u128::MAX, 128, NearestEven, false, 1),
            (1 << 127, 128, NearestEven, false, 0),
            (1 << 127, 128, NearestAway, false, 1),
            (u128::MAX, 129, NearestEven, false, 0),
            (1, 4000, Down, true, 1),
            (0, 4000, Down, true, 0),
        ] {
            assert_eq!(
                shift_right(magnitude, shift, rounding, negative),
                expected,
                "{magnitude} >> {shift} {rounding} negative={negative}"
            );
        }
    }

    #[test]
    fn f16_overflows_to_infinity_from_65520_on() {
        let f16 = Target::full(Format::Fp16, Rounding::NearestEven);
        assert_eq!(f16.round(false, 65519, 0, false), 0x7bff);
        assert_eq!(f16.round(false, 65520, 0, false), 0x7c00);
        assert_eq!(f16.round(true, 1 << 60, 0, false), 0xfc00);
    }

    #[test]
    fn f32_toward_zero_still_overflows_to_infinity() {
        let f32 = Target::full(Format::Fp32, Rounding::TowardZero);
        assert_eq!(f32.round(false, (1 << 25) - 1, 103, false), 0x7f7f_ffff);
        assert_eq!(f32.round(false, 1, 128, false), 0x7f80_0000);
    }

    #[test]
    fn fourteen_bits_keep_thirteen_fraction_bits_of_a_subnormal() {
        let e8m13 = Target {
            precision: 14,
            ..Target::full(Format::Fp32, Rounding::TowardZero)
        };
        assert_eq!(e8m13.round(false, (1 << 24) - 1, -23, false), 0x3fff_fc00);
        // 2^-127 + 2^-139 + 2^-140: fraction bits at exponent -126 end at 2^-139.
        let magnitude = (1 << 13) | 0b11;
        assert_eq!(
            e8m13.round(false, magnitude, -140, false),
            0x0040_0000 | 1 << 10
        );
    }

    #[test]
    fn conversions_stay_at_the_largest_number() {
        for (format, value, code) in [
            (Format::E4m3, 448u128, 0x7e),
            // Halfway to what would be the NaN's code, and beyond.
            (Format::E4m3, 464, 0x7e),
            (Format::E4m3, 465, 0x7e),
            (Format::E4m3, 480, 0x7e),
            (Format::E4m3, 1 << 40, 0x7e),
            (Format::E4m3, 416, 0x7d),
            (Format::E5m2, 57344, 0x7b),
            (Format::E5m2, 61440, 0x7b),
            (Format::E5m2, 49152, 0x7a),
            (Format::E4m3fnuz, 240, 0x7f),
            (Format::E4m3fnuz, 256, 0x7f),
            (Format::E2m1, 6, 0x07),
            (Format::E2m1, 7, 0x07),
            (Format::E2m1, 4, 0x06),
        ] {
            let target = Target {
                overflow: Overflow::Saturate,
                ..Target::full(format, Rounding::NearestEven)
            };
            assert_eq!(
                target.round(false, value, 0, false),
                code,
                "{value} as {format}"
            );
            let negative = target.round(true, value, 0, false);
            assert_eq!(negative, code | format.sign_mask(), "-{value} as {format}");
        }
    }
}
