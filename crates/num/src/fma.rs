//! The IEEE 754 fused multiply-add in integers: `a * b + c` with one rounding.

use super::{Class, Format, SpecialTerms, Target, Unpacked};

/// `a * b + c` rounded once to `target`. `factors` are the formats of `a` and `b`, `addend` that of
/// `c`; any invalid operation or NaN operand gives the code `nan`.
pub fn fma(
    (factors, a, b): ([Format; 2], Unpacked, Unpacked),
    (addend, c): (Format, Unpacked),
    target: Target,
    nan: u64,
) -> u64 {
    fma_special(&a, &b, &c, target.format, nan).unwrap_or_else(|| {
        let product = FmaTerm::product(factors, a, b);
        let addend = FmaTerm::addend(addend, c);
        match FmaTerms::new(product, addend) {
            Some(terms) => terms.round(terms.sum(), target),
            None => FmaTerm::zero(product, addend, target.format),
        }
    })
}

/// The result that infinities and NaNs force.
pub fn fma_special(
    a: &Unpacked,
    b: &Unpacked,
    c: &Unpacked,
    format: Format,
    nan: u64,
) -> Option<u64> {
    let mut specials = SpecialTerms::default();
    specials.add_product(a, b);
    specials.add(c.class, c.negative);
    match specials.sum() {
        (Class::Nan, _) => Some(nan),
        (Class::Infinite, negative) => Some(format.beyond(negative)),
        (Class::Finite, _) => None,
    }
}

/// A finite term: `(-1)^negative * magnitude * 2^lsb`.
#[derive(Clone, Copy, Debug)]
pub struct FmaTerm {
    pub negative: bool,
    /// Below `2^121`.
    pub magnitude: u128,
    pub lsb: i32,
}

/// Where the leading bit of the larger term of a sum is: both terms then have room to be aligned without loss, or with a
/// loss that only a sticky bit has to remember.
pub const LEADING: u32 = 120;

impl FmaTerm {
    /// An exact product.
    pub fn product(factors: [Format; 2], a: Unpacked, b: Unpacked) -> FmaTerm {
        FmaTerm {
            negative: a.negative != b.negative,
            magnitude: u128::from(a.significand) * u128::from(b.significand),
            lsb: a.lsb(factors[0]) + b.lsb(factors[1]),
        }
    }

    pub fn addend(format: Format, c: Unpacked) -> FmaTerm {
        FmaTerm {
            negative: c.negative,
            magnitude: c.significand.into(),
            lsb: c.lsb(format),
        }
    }

    /// The sum of two zeros: equal signs stay, otherwise +0 (every rounding used here but RD).
    pub fn zero(product: FmaTerm, addend: FmaTerm, format: Format) -> u64 {
        format.zero(product.negative && addend.negative)
    }

    /// Shifted up until its leading bit is [`LEADING`].
    fn normalised(self) -> FmaTerm {
        if self.magnitude == 0 {
            return self;
        }
        let up = LEADING - (127 - self.magnitude.leading_zeros());
        FmaTerm {
            magnitude: self.magnitude << up,
            lsb: self.lsb - up as i32,
            ..self
        }
    }
}

/// Two terms, not both zero, on the grid of the larger one.
#[derive(Clone, Copy, Debug)]
pub struct FmaTerms {
    /// Its leading bit is [`LEADING`].
    larger: FmaTerm,
    negative: bool,
    /// The smaller term's magnitude, cut to the larger one's grid.
    pub smaller: u128,
    /// Whether that cut off ones.
    lost: bool,
}

impl FmaTerms {
    /// None of two zeros.
    pub fn new(product: FmaTerm, addend: FmaTerm) -> Option<FmaTerms> {
        let (p, c) = (product.normalised(), addend.normalised());
        let key = |term: &FmaTerm| (term.magnitude != 0, term.lsb, term.magnitude);
        let (larger, smaller) = if key(&p) >= key(&c) { (p, c) } else { (c, p) };
        if larger.magnitude == 0 {
            return None;
        }
        let magnitude = smaller.magnitude;
        // A zero's exponent may lie anywhere.
        let shift = if magnitude == 0 {
            0
        } else {
            (larger.lsb - smaller.lsb) as u32
        };
        let (smaller_cut, lost) = match shift {
            0..=127 => (magnitude >> shift, magnitude & ((1 << shift) - 1) != 0),
            _ => (0, true),
        };
        Some(FmaTerms {
            larger,
            negative: smaller.negative,
            smaller: smaller_cut,
            lost,
        })
    }

    /// The sum in units of the grid, rounded down; negative if it has another sign than the larger term.
    pub fn sum(&self) -> i128 {
        let magnitude = self.larger.magnitude as i128;
        let smaller = self.smaller as i128;
        // A lost part makes the subtrahend larger than `smaller` by less than one unit, so the
        // difference is one unit less plus a sticky remainder.
        if self.larger.negative == self.negative {
            magnitude + smaller
        } else {
            magnitude - smaller - i128::from(self.lost)
        }
    }

    /// A sum, rounded once.
    pub fn round(&self, sum: i128, target: Target) -> u64 {
        if sum == 0 {
            return target.format.zero(false);
        }
        let negative = self.larger.negative != (sum < 0);
        target.round(negative, sum.unsigned_abs(), self.larger.lsb, self.lost)
    }
}
