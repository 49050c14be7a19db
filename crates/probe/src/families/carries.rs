//! Sums of many large terms, which carry far above the largest of them, and what a rounding to nearest sees below the
//! result's last bit: a tie, and one bit far below that breaks it. A unit that keeps some guard bits of the sum and
//! no sticky bit takes the second for the first; one that rounds twice takes what is nearly a tie for one.

use crate::builder::SuiteBuilder;
use crate::number::ones;

pub const TELLS: &str = "guard and sticky bits of the sum, rounding of the result";

/// How many large products there are. Sums just below and above powers of two are among them, for all groups known.
const LARGE: [usize; 10] = [1, 2, 4, 7, 8, 14, 16, 30, 32, 62];

/// Places below the tie at which the bit stands that breaks it.
const BELOW: std::ops::RangeInclusive<i32> = 0..=12;

pub fn write(set: &mut SuiteBuilder) {
    let full = [set.a, set.b].map(ones);
    // Sums of numbers of FP64 are too long for what follows.
    let short = set.a.fraction_bits() + set.b.fraction_bits() <= 52;
    for count in LARGE {
        for (m, with) in [
            ([3, 3], Addend::None),
            (full.map(|m| m.min(15)), Addend::Large),
            (full, Addend::Rest),
        ] {
            if with == Addend::Rest && !short {
                continue;
            }
            for below in BELOW {
                for odd in [false, true] {
                    let tail = Tail { below, odd };
                    write_one(set, count, (m, with), tail);
                }
            }
        }
    }
}

/// What C is, besides what lies below.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Addend {
    None,
    /// As large as the products, and as full.
    Large,
    /// What the products lack to the next power of two: of one product few bits, below which C has room for more.
    Rest,
}

/// What lies below the large terms: a tie between two results, one unit of the last place above an even one or an odd
/// one, and a bit so many places below the tie, which brings it away from zero beside an even result and towards zero
/// beside an odd one; none in place 0.
#[derive(Clone, Copy)]
struct Tail {
    below: i32,
    odd: bool,
}

fn write_one(set: &mut SuiteBuilder, count: usize, (m, with): ([u64; 2], Addend), tail: Tail) {
    let p = set.precision();
    // Units of 2^unit: the last bit of the large products.
    let product = m[0] * m[1];
    let exponent = (set.big + set.small) / 2;
    let unit = exponent - (m[0].ilog2() + m[1].ilog2()) as i32;
    let sum = |c: u64| count as u64 * product + c;
    let c = match with {
        Addend::None => 0,
        Addend::Large => (2 << (exponent - unit)) - 1,
        Addend::Rest => sum(0).next_power_of_two() - sum(0),
    };
    let leading = unit + sum(c).ilog2() as i32;
    let half = leading - p;
    let Tail { below, odd } = tail;
    let (tie, bit) = (2 * u64::from(odd) + 1, i32::from(below > 0));
    // In units of the bit: some places below the tie.
    let low = half - below;
    let small = (tie << below) as i64 + i64::from(if odd { -bit } else { bit });
    let negative = (count as i32 + below) % 2 == 1;
    let name = |where_: &str| {
        format!(
            "{}{count} products of {product} * 2^{unit}{}, and {small} * 2^{low} {where_}",
            if negative { "-" } else { "" },
            match with {
                Addend::None => "",
                Addend::Large => " and a C as large",
                Addend::Rest => " and what they lack to a power of two",
            },
        )
    };
    // What lies below as a part of C.
    let up = u32::try_from(unit - low).unwrap_or(u32::MAX);
    if let Some(large) = c.checked_shl(up).filter(|large| large >> up.min(63) == c) {
        set.case(name("in C"))
            .each(0..count, |case, k| case.factors(k, negative, m, unit))
            .c(negative, large + small as u64, low)
            .done();
    }
    // As products, before the large ones.
    let case = set
        .case(name("as products"))
        .product(0, negative, tie, half);
    let case = match bit {
        0 => case,
        _ => case.product(1, negative != odd, 1, low),
    };
    let case = case.each(2..2 + count, |case, k| case.factors(k, negative, m, unit));
    match with {
        Addend::None => case.done(),
        Addend::Large | Addend::Rest => case.c(negative, c, unit).done(),
    }
}
