//! The IEEE 754 fused multiply-add in integers: `a * b + c` with one rounding.

use super::{Class, Format, Target, Unpacked};

/// `a * b + c` rounded once to `target`. `factors` are the formats of `a` and `b`, `addend` that of
/// `c`; any invalid operation or NaN operand gives the code `nan`.
pub fn fma(
    (factors, a, b): ([Format; 2], Unpacked, Unpacked),
    (addend, c): (Format, Unpacked),
    target: Target,
    nan: u64,
) -> u64 {
    let negative = a.negative != b.negative;
    let infinite = a.is_infinite() || b.is_infinite();
    if a.is_nan() || b.is_nan() || c.is_nan() || (infinite && (a.is_zero() || b.is_zero())) {
        return nan;
    }
    let infinity = |negative| {
        let code = target.format.infinity(negative);
        code.expect("models end in formats that have an infinity")
    };
    match (infinite, c.class == Class::Infinite) {
        (true, true) if negative != c.negative => return nan,
        (true, _) => return infinity(negative),
        (false, true) => return infinity(c.negative),
        (false, false) => {}
    }

    let fraction_bits = factors[0].fraction_bits() + factors[1].fraction_bits();
    let p = Scaled::new(
        negative,
        u128::from(a.significand) * u128::from(b.significand),
        a.exponent + b.exponent - fraction_bits as i32,
    );
    let c = Scaled::new(
        c.negative,
        c.significand.into(),
        c.exponent - addend.fraction_bits() as i32,
    );
    match (p.magnitude == 0, c.magnitude == 0) {
        // Zeros of equal sign keep it; +0 otherwise (every rounding used here but RD).
        (true, true) => target.format.zero(p.negative && c.negative),
        (true, false) => target.round(c.negative, c.magnitude, c.lsb, false),
        (false, true) => target.round(p.negative, p.magnitude, p.lsb, false),
        (false, false) => add(p, c, target),
    }
}

/// A nonzero magnitude shifted up until its leading bit is bit 120: both terms then have room to
/// be aligned without loss, or with a loss that only a sticky bit has to remember.
#[derive(Clone, Copy)]
struct Scaled {
    negative: bool,
    magnitude: u128,
    lsb: i32,
}

const LEADING: u32 = 120;

impl Scaled {
    fn new(negative: bool, magnitude: u128, lsb: i32) -> Scaled {
        if magnitude == 0 {
            return Scaled {
                negative,
                magnitude,
                lsb,
            };
        }
        let up = LEADING - (127 - magnitude.leading_zeros());
        Scaled {
            negative,
            magnitude: magnitude << up,
            lsb: lsb - up as i32,
        }
    }
}

fn add(x: Scaled, y: Scaled, target: Target) -> u64 {
    let (large, small) = if (x.lsb, x.magnitude) >= (y.lsb, y.magnitude) {
        (x, y)
    } else {
        (y, x)
    };
    let shift = (large.lsb - small.lsb) as u32;
    let (aligned, lost) = match shift {
        0..=127 => (
            small.magnitude >> shift,
            small.magnitude & ((1 << shift) - 1) != 0,
        ),
        _ => (0, true),
    };
    if large.negative == small.negative {
        return target.round(large.negative, large.magnitude + aligned, large.lsb, lost);
    }
    // A lost part makes the subtrahend larger than `aligned` by less than one unit, so the
    // difference is one unit less plus a sticky remainder.
    let difference = large.magnitude - aligned - u128::from(lost);
    if difference == 0 && !lost {
        return target.format.zero(false);
    }
    target.round(large.negative, difference, large.lsb, lost)
}
