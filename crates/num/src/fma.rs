//! The IEEE 754 fused multiply-add in integers: `a * b + c` with one rounding.

use super::{Class, Format, SpecialTerms, Target, Unpacked};

/// The wires between the parts of the unit: what a part returns is what the next one takes. Numbers of the aligner
/// and of the sum are those below a leading bit at [`LEADING`].
pub trait FmaWires {
    /// From the multiplier: the product of the significands.
    fn product(&mut self, magnitude: u128) -> u128 {
        magnitude
    }

    /// From the aligner: the smaller term, shifted to the larger one, whose leading bit is [`LEADING`].
    fn aligned(&mut self, magnitude: u128) -> u128 {
        magnitude
    }

    /// From the adder; negative if it has another sign than the larger term.
    fn sum(&mut self, sum: i128) -> i128 {
        sum
    }
}

/// Sound ones.
impl FmaWires for () {}

/// `a * b + c` rounded once to `target`. `factors` are the formats of `a` and `b`, `addend` that of
/// `c`; any invalid operation or NaN operand gives the code `nan`.
pub fn fma(
    product: ([Format; 2], Unpacked, Unpacked),
    addend: (Format, Unpacked),
    target: Target,
    nan: u64,
) -> u64 {
    fma_through(product, addend, target, nan, &mut ())
}

/// As [`fma`], through wires that may change numbers below `2^122` on their way. Infinities, NaNs and the sum of two
/// zeros do not pass through them.
pub fn fma_through(
    (factors, a, b): ([Format; 2], Unpacked, Unpacked),
    (addend, c): (Format, Unpacked),
    target: Target,
    nan: u64,
    wires: &mut impl FmaWires,
) -> u64 {
    let negative = a.negative != b.negative;
    let mut specials = SpecialTerms::default();
    specials.add_product(&a, &b);
    specials.add(c.class, c.negative);
    match specials.sum() {
        (Class::Nan, _) => return nan,
        (Class::Infinite, negative) => return target.format.beyond(negative),
        (Class::Finite, _) => {}
    }

    let p = Scaled::new(
        negative,
        wires.product(u128::from(a.significand) * u128::from(b.significand)),
        a.lsb(factors[0]) + b.lsb(factors[1]),
    );
    let c = Scaled::new(c.negative, c.significand.into(), c.lsb(addend));
    match (p.magnitude == 0, c.magnitude == 0) {
        // Zeros of equal sign keep it; +0 otherwise (every rounding used here but RD).
        (true, true) => target.format.zero(p.negative && c.negative),
        (true, false) => add(c, p.beside(c), target, wires),
        (false, true) => add(p, c.beside(p), target, wires),
        (false, false) if (p.lsb, p.magnitude) >= (c.lsb, c.magnitude) => add(p, c, target, wires),
        (false, false) => add(c, p, target, wires),
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

/// Where the leading bit of the larger term of a sum is.
pub const LEADING: u32 = 120;

impl Scaled {
    /// A zero, on the grid of another term.
    fn beside(self, other: Scaled) -> Scaled {
        Scaled {
            lsb: other.lsb,
            ..self
        }
    }

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

fn add(large: Scaled, small: Scaled, target: Target, wires: &mut impl FmaWires) -> u64 {
    let shift = (large.lsb - small.lsb) as u32;
    let (aligned, lost) = match shift {
        0..=127 => (
            small.magnitude >> shift,
            small.magnitude & ((1 << shift) - 1) != 0,
        ),
        _ => (0, true),
    };
    let aligned = wires.aligned(aligned) as i128;
    let magnitude = large.magnitude as i128;
    // A lost part makes the subtrahend larger than `aligned` by less than one unit, so the
    // difference is one unit less plus a sticky remainder.
    let sum = if large.negative == small.negative {
        magnitude + aligned
    } else {
        magnitude - aligned - i128::from(lost)
    };
    let sum = wires.sum(sum);
    if sum == 0 {
        return target.format.zero(false);
    }
    let negative = large.negative != (sum < 0);
    target.round(negative, sum.unsigned_abs(), large.lsb, lost)
}
