//! Numbers of few bits, their products and exact sums: integers times powers of two.

/// A narrow float: bits of exponent and fraction, and whether its largest codes are special.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Narrow {
    pub exponent_bits: u32,
    pub fraction_bits: u32,
    pub top: Top,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Top {
    Numbers,
    /// The very last code is NaN.
    OneNan,
    /// As in IEEE 754.
    Infinity,
}

/// `±significand * 2^last`, with the exponent that it is aligned by.
#[derive(Clone, Copy, Debug, Default)]
pub struct Term {
    pub negative: bool,
    pub significand: u128,
    pub last: i32,
    pub exponent: i32,
}

#[derive(Clone, Copy, Debug)]
pub enum Read {
    Nan,
    Infinite(bool),
    Number(Term),
}

impl Narrow {
    pub fn bits(self) -> u32 {
        1 + self.exponent_bits + self.fraction_bits
    }

    pub fn read(self, code: u64) -> Read {
        let fraction = code & ((1 << self.fraction_bits) - 1);
        let largest = (1u64 << self.exponent_bits) - 1;
        let field = code >> self.fraction_bits & largest;
        let negative = code >> (self.exponent_bits + self.fraction_bits) & 1 == 1;
        let ones = fraction == (1 << self.fraction_bits) - 1;
        match self.top {
            Top::OneNan if field == largest && ones => return Read::Nan,
            Top::Infinity if field == largest && fraction == 0 => return Read::Infinite(negative),
            Top::Infinity if field == largest => return Read::Nan,
            _ => {}
        }
        let hidden = u64::from(field != 0) << self.fraction_bits;
        let bias = (1 << (self.exponent_bits - 1)) - 1;
        let exponent = field.max(1) as i32 - bias;
        Read::Number(Term {
            negative,
            significand: (hidden | fraction).into(),
            last: exponent - self.fraction_bits as i32,
            exponent,
        })
    }
}

pub fn product(x: Read, y: Read) -> Read {
    match (x, y) {
        (Read::Nan, _) | (_, Read::Nan) => Read::Nan,
        (Read::Infinite(x), Read::Infinite(y)) => Read::Infinite(x != y),
        (Read::Infinite(sign), Read::Number(n)) | (Read::Number(n), Read::Infinite(sign)) => {
            match n.significand {
                0 => Read::Nan,
                _ => Read::Infinite(sign != n.negative),
            }
        }
        (Read::Number(x), Read::Number(y)) => Read::Number(Term {
            negative: x.negative != y.negative,
            significand: x.significand * y.significand,
            last: x.last + y.last,
            exponent: x.exponent + y.exponent,
        }),
    }
}

/// The exact sum of products.
pub fn exact(parts: &[Term]) -> Term {
    if let [one] = parts {
        return *one;
    }
    let last = parts.iter().map(|term| term.last).min().unwrap_or(0);
    let value = |term: &Term| {
        let magnitude = (term.significand << (term.last - last)) as i128;
        if term.negative { -magnitude } else { magnitude }
    };
    let sum: i128 = parts.iter().map(value).sum();
    Term {
        negative: sum < 0,
        significand: sum.unsigned_abs(),
        last,
        exponent: 0,
    }
}
