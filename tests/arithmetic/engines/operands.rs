//! Awkward numbers of every kind.

use tcverify::num::{Format, Specials};

use crate::support::random::Random;

/// What A or B holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Within a few binades of one.
    Ordinary,
    /// Any finite code.
    Wide,
    Subnormal,
    /// The smallest normal numbers and some subnormal ones.
    Tiny,
    /// `x, -x` in A and `y, y` in B, and something small after some of them.
    Cancelling,
    Maxima,
    MaximaAlternating,
    /// Fractions of ones only, one exponent: sums reach their bound without reaching infinity.
    Full,
    FullAlternating,
    Sparse,
    Zeros,
    /// Any finite code beside many zeros of either sign.
    MixedZeros,
    /// One in a hundred is an infinity or NaN.
    FewSpecials,
    HalfSpecials,
    /// Infinities and zeros, but no NaN, among ordinary numbers.
    FewInfinities,
    /// Infinities of one sign, and no zero.
    PositiveInfinities,
    OneSpecial,
    /// The highest two binades.
    Overflowing,
    /// Largest numbers, in A positive over the first half of k, then negative.
    Turning,
    /// Every line has its own scale.
    Lines,
    /// The same, with an element out of line now and then.
    LinesOutliers,
    /// The scale walks with k.
    Walking,
    /// A few binades somewhere.
    Level,
    /// Products near where results leave the normal numbers.
    Low,
    /// Over the first half of k far below what follows, in both operands.
    Sunken,
}

pub const KINDS: [Kind; 25] = [
    Kind::Ordinary,
    Kind::Wide,
    Kind::Subnormal,
    Kind::Tiny,
    Kind::Cancelling,
    Kind::Maxima,
    Kind::MaximaAlternating,
    Kind::Full,
    Kind::FullAlternating,
    Kind::Sparse,
    Kind::Zeros,
    Kind::MixedZeros,
    Kind::FewSpecials,
    Kind::HalfSpecials,
    Kind::FewInfinities,
    Kind::PositiveInfinities,
    Kind::OneSpecial,
    Kind::Overflowing,
    Kind::Turning,
    Kind::Lines,
    Kind::LinesOutliers,
    Kind::Walking,
    Kind::Level,
    Kind::Low,
    Kind::Sunken,
];

/// What C holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addend {
    Missing,
    Ordinary,
    Zeros,
    /// Any finite code.
    Wide,
    /// The highest two binades.
    Huge,
    Subnormal,
    /// Near the smallest normal number.
    Tiny,
    Level,
    FewSpecials,
    Infinities,
    OneSpecial,
    /// A few units in the last place from minus the product.
    Opposite,
}

pub const ADDENDS: [Addend; 12] = [
    Addend::Missing,
    Addend::Ordinary,
    Addend::Zeros,
    Addend::Wide,
    Addend::Huge,
    Addend::Subnormal,
    Addend::Tiny,
    Addend::Level,
    Addend::FewSpecials,
    Addend::Infinities,
    Addend::OneSpecial,
    Addend::Opposite,
];

/// Composes codes of a format.
#[derive(Clone, Copy)]
struct Composer(Format);

impl Composer {
    fn fraction_mask(self) -> u64 {
        (1 << self.0.fraction_bits()) - 1
    }

    /// The number with this field, or the nearest one below that is no infinity or NaN.
    fn with_field(self, negative: bool, field: u64, fraction: u64) -> u64 {
        let format = self.0;
        let magnitude = field << format.fraction_bits() | fraction & self.fraction_mask();
        let largest = format.max_finite(false) >> format.ignored_bits();
        format.zero(negative) | magnitude.min(largest) << format.ignored_bits()
    }

    /// A number of this exponent, or of the nearest that the format has.
    fn number(self, negative: bool, exponent: i32, fraction: u64) -> u64 {
        let format = self.0;
        let exponent = exponent.clamp(format.min_exponent(), format.max_exponent());
        self.with_field(negative, (exponent + format.bias()) as u64, fraction)
    }

    fn near(self, low: i32, high: i32, random: &mut Random) -> u64 {
        let exponent = random.between(low, high);
        let bits = random.bits();
        self.number(bits >> 63 == 1, exponent, bits)
    }

    fn ordinary(self, random: &mut Random) -> u64 {
        self.near(-3, 3, random)
    }

    fn finite(self, random: &mut Random) -> u64 {
        let bits = random.bits();
        let field = (bits >> 53) & ((1 << self.0.exponent_bits()) - 1);
        self.with_field(bits >> 63 == 1, field, bits)
    }

    fn subnormal(self, random: &mut Random) -> u64 {
        let bits = random.bits();
        self.with_field(bits >> 63 == 1, 0, bits)
    }

    fn zero(self, random: &mut Random) -> u64 {
        self.0.zero(random.once_in(2))
    }

    fn infinity(self, random: &mut Random) -> u64 {
        let infinity = self.0.infinity(random.once_in(2));
        infinity.unwrap_or_else(|| self.finite(random))
    }

    /// An infinity or NaN, where the format has one.
    fn special(self, random: &mut Random) -> u64 {
        let format = self.0;
        let negative = random.once_in(2);
        match format.specials() {
            Specials::None => self.finite(random),
            Specials::Fnuz => format.sign_mask(),
            Specials::NanOnly => (format.sign_mask() - 1) | format.zero(negative),
            Specials::Ieee if random.once_in(2) => self.infinity(random),
            Specials::Ieee => {
                let quiet = 1 + random.bits() % self.fraction_mask();
                format.infinity(negative).expect("IEEE") | quiet << format.ignored_bits()
            }
        }
    }
}

/// `lines` rows of A, or columns of B, of `k` elements each.
pub fn operand(
    kind: Kind,
    format: Format,
    is_a: bool,
    lines: usize,
    k: usize,
    random: &mut Random,
) -> Vec<u64> {
    let make = Composer(format);
    let (lowest, highest) = (format.min_exponent(), format.max_exponent());
    let level = random.between(lowest, highest);
    let spread = random.below(13) as i32;
    let full = random.between(-3, 3);
    let low = random.between(-64, -40);
    let depth = random.between(40, 60);
    let negative = is_a && random.once_in(2);
    let special = random.below(lines * k);
    let walk: Vec<i32> = (0..k)
        .scan(level, |at, _| {
            *at = (*at + random.between(-4, 4)).clamp(lowest, highest);
            Some(*at)
        })
        .collect();

    let mut codes = Vec::with_capacity(lines * k);
    for line in 0..lines {
        let scale = random.between(lowest, highest);
        for (at, &walked) in walk.iter().enumerate() {
            let alternating = negative ^ (is_a && at % 2 == 1);
            let code = match kind {
                Kind::Ordinary => make.ordinary(random),
                Kind::Wide => make.finite(random),
                Kind::Subnormal => make.subnormal(random),
                Kind::Tiny if random.once_in(4) => make.subnormal(random),
                Kind::Tiny => make.near(lowest, lowest + 3, random),
                Kind::Cancelling => match (at % 8, codes.last()) {
                    (7, _) => make.near(-12, -4, random),
                    (1 | 3 | 5, Some(&last)) if is_a => last ^ format.sign_mask(),
                    (1 | 3 | 5, Some(&last)) => last,
                    _ => make.ordinary(random),
                },
                Kind::Maxima => format.max_finite(negative),
                Kind::MaximaAlternating => format.max_finite(alternating),
                Kind::Full => make.number(negative, full, u64::MAX),
                Kind::FullAlternating => make.number(alternating, full, u64::MAX),
                Kind::Sparse if random.once_in(8) => make.ordinary(random),
                Kind::MixedZeros if random.once_in(2) => make.finite(random),
                Kind::Sparse | Kind::Zeros | Kind::MixedZeros => make.zero(random),
                Kind::FewSpecials if random.once_in(100) => make.special(random),
                Kind::HalfSpecials if random.once_in(2) => make.special(random),
                Kind::FewInfinities if random.once_in(100) => make.infinity(random),
                Kind::FewInfinities if random.once_in(16) => make.zero(random),
                Kind::PositiveInfinities if random.once_in(100) => {
                    format.infinity(false).unwrap_or(0)
                }
                Kind::PositiveInfinities => make.ordinary(random) & !format.sign_mask(),
                Kind::OneSpecial if line * k + at == special => make.special(random),
                Kind::FewSpecials | Kind::HalfSpecials | Kind::FewInfinities | Kind::OneSpecial => {
                    make.ordinary(random)
                }
                Kind::Overflowing => make.near(highest - 1, highest, random),
                Kind::Turning => {
                    let turned = is_a && (at >= k / 2) != negative;
                    make.number(turned, highest - random.below(2) as i32, random.bits())
                }
                Kind::LinesOutliers if random.once_in(50) => make.finite(random),
                Kind::Lines | Kind::LinesOutliers => make.near(scale - 3, scale, random),
                Kind::Walking => make.near(walked - 1, walked + 1, random),
                Kind::Level => make.near(level - spread, level, random),
                Kind::Low => make.near(low - 2, low, random),
                Kind::Sunken if at < k / 2 => make.near(level - depth, level - depth, random),
                Kind::Sunken => make.near(level, level, random),
            };
            codes.push(code);
        }
    }
    // The bits that a format ignores may be anything.
    let ignored = (1 << format.ignored_bits()) - 1;
    for code in &mut codes {
        *code |= random.bits() & ignored;
    }
    codes
}

/// `count` elements of C; `opposite` gives those of the product, where they are needed.
pub fn addend(
    kind: Addend,
    format: Format,
    count: usize,
    opposite: impl FnOnce() -> Vec<u64>,
    random: &mut Random,
) -> Option<Vec<u64>> {
    let make = Composer(format);
    let (lowest, highest) = (format.min_exponent(), format.max_exponent());
    let level = random.between(lowest, highest);
    let spread = random.below(13) as i32;
    let special = random.below(count);
    if kind == Addend::Missing {
        return None;
    }
    if kind == Addend::Opposite {
        let near = |code: u64| {
            let moved =
                (code ^ format.sign_mask()).wrapping_add_signed(random.between(-4, 4).into());
            moved & format.max_code()
        };
        return Some(opposite().into_iter().map(near).collect());
    }
    let code = |at: usize| match kind {
        Addend::Zeros => make.zero(random),
        Addend::Wide => make.finite(random),
        Addend::Huge => make.near(highest - 1, highest, random),
        Addend::Subnormal => make.subnormal(random),
        Addend::Tiny => make.near(lowest, lowest + 3, random),
        Addend::Level => make.near(level - spread, level, random),
        Addend::FewSpecials if random.once_in(10) => make.special(random),
        Addend::Infinities if random.once_in(5) => make.infinity(random),
        Addend::OneSpecial if at == special => make.special(random),
        _ => make.ordinary(random),
    };
    Some((0..count).map(code).collect())
}
