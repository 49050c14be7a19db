//! Constants read off the answers, if the unit is of the kind that a reading assumes.

use super::kinds::{self, Clues, Halves};
use crate::Suite;
use crate::emu::step::{Code, ScaleUse, Step};
use crate::families::DEEP;
use crate::num::{Class, Format};
use crate::suite::{K, Tag};

/// Constants that some answers show, followed by likely ones.
#[derive(Debug)]
pub struct Reading {
    /// Numbers of products that a step may add at once.
    pub groups: Vec<usize>,
    /// The deepest term that survived, and one less for roundings that round it up.
    pub depths: Vec<u32>,
    /// How many of `depths` come from answers.
    pub depths_shown: usize,
    /// That of the format, and those of known narrower results.
    pub precisions: Vec<u32>,
    /// Significant bits that a C keeps beside nothing but zeros.
    pub kept: u32,
    pub zero_exponent: i32,
    /// How products are divided among two sums, if they are.
    pub halves: Option<Halves>,
    /// Whether any answer is -0.
    pub minus_zero: bool,
    /// Whether infinity times zero is not a number.
    pub infinities: bool,
    /// The code of NaN among the answers, else the usual one.
    pub nan: Code,
    /// The results of a NaN operand, and of infinity times zero, if a NaN C keeps its payload.
    pub nans: Option<[Code; 2]>,
}

impl Reading {
    pub fn new(suite: &Suite, answers: &[u64], nans: &[u64]) -> Reading {
        let acc = suite.accumulator;
        let answer = |tag| suite.find(tag).map(|case| answers[case]);
        let nonzero = |code: u64| {
            let n = acc.unpack(code);
            n.class == Class::Finite && n.significand != 0
        };
        let mut groups = Vec::new();
        let unit = smallest(suite, "swamp");
        for (i, j) in [(0, 1), (2, 3), (1, 2)] {
            let survivors = answer(Tag("swamp", i, j)).zip(unit);
            let survivors = survivors.and_then(|(code, unit)| count(acc, code, unit));
            groups.extend(survivors.and_then(|n| K.checked_sub(n)));
        }
        // The first place whose small addend is not added to that of place 0.
        let kept = |j: i32, d: i32| {
            let one = answer(Tag("small_addends", 1, d))?;
            Some(answer(Tag("small_addends", j, d))? == one)
        };
        for d in [0, 1] {
            let lost = (2..K as i32).find(|&j| kept(j, d) == Some(false));
            groups.extend(lost.map(|j| j as usize));
        }
        groups.extend([4, 8, 16, 32, 2, 1, 64, 96, 128]);
        groups.retain(|g| (1..=K / 2).contains(g));
        dedup(&mut groups);

        let mut depths: Vec<u32> = Vec::new();
        for name in ["depth", "depth-c"] {
            let deepest = (1..=70)
                .rev()
                .find(|&d| answer(Tag(name, 1, d)).is_some_and(nonzero));
            depths.extend(deepest.map(|d| d as u32));
            depths.extend(deepest.map(|d| d as u32 - 1));
        }
        dedup(&mut depths);
        let depths_shown = depths.len();
        depths.extend([24, 25, 23, 13]);
        dedup(&mut depths);

        let full = acc.fraction_bits() + 1;
        let mut precisions = vec![full, 14, 11];
        precisions.retain(|&p| p <= full);
        dedup(&mut precisions);
        let quiet = acc.infinity(false).unwrap_or(0) | 1 << (acc.fraction_bits() - 1);
        Reading {
            groups,
            depths,
            depths_shown,
            precisions,
            kept: kept_of_c(suite, answers),
            // As far from the smallest result as in every known unit, apart from fraction bits.
            zero_exponent: acc.min_exponent() + 18,
            halves: ["swamp", DEEP].into_iter().find_map(|name| {
                let unit = smallest(suite, name)?;
                halves(&|i, j| count(acc, answer(Tag(name, i as i32, j as i32))?, unit))
            }),
            minus_zero: answers.contains(&acc.zero(true)),
            infinities: answer(Tag("inf-zero", 0, 0)).is_some_and(|code| acc.unpack(code).is_nan()),
            nan: Code(nans.first().copied().unwrap_or(quiet)),
            nans: payloads(suite, answers),
        }
    }
}

/// First hypotheses by kind, simpler kinds first: readings, combined with constants of known units. Integers need no
/// reading.
pub fn starts(suite: &Suite, reading: Option<&Reading>) -> Vec<Vec<Step>> {
    let clues = Clues {
        formats: suite.step_formats(),
        k: suite.k,
        groups: reading.map_or(&[0][..], |reading| &reading.groups),
        depths: reading.map_or(&[][..], |reading| &reading.depths),
        precisions: reading.map_or(&[][..], |reading| &reading.precisions),
        zero_exponent: reading.map_or(0, |reading| reading.zero_exponent),
        minus_zero: reading.is_some_and(|reading| reading.minus_zero),
        infinities: reading.is_some_and(|reading| reading.infinities),
        nan: reading.map_or(Code(0), |reading| reading.nan),
        nans: reading.and_then(|reading| reading.nans),
    };
    let possible = |step: &Step| {
        step.takes_integers() == suite.integers()
            && (suite.scale.is_none() || step.scaling() != ScaleUse::None)
    };
    let mut all = kinds::hypotheses(&clues);
    for kind in &mut all {
        kind.retain(possible);
    }
    all.retain(|kind| !kind.is_empty());
    all
}

/// The codes of NaN that do not come from C, if the unit returns a NaN of C made quiet.
fn payloads(suite: &Suite, answers: &[u64]) -> Option<[Code; 2]> {
    let (a, b, acc) = (suite.a, suite.b, suite.accumulator);
    let quiet = 1 << (acc.fraction_bits() - 1);
    let answer = |tag| suite.find(tag).map(|case| answers[case]);
    // Specials of C, without a product: signalling NaN and one of all ones.
    let handed_on = [4, 5].into_iter().all(|index| {
        let case = suite.find(Tag("special-c", index, 0));
        case.is_some_and(|case| answers[case] == suite.cases[case].c | quiet)
    });
    let of_operand = suite.cases.iter().zip(answers).find(|(case, _)| {
        let nan = |format: Format, codes: &[u64]| codes.iter().any(|&c| format.unpack(c).is_nan());
        nan(a, &case.a) || nan(b, &case.b)
    });
    let codes = [*of_operand?.1, answer(Tag("inf-zero", 0, 0))?];
    let all = codes.iter().all(|&code| acc.unpack(code).is_nan());
    (handed_on && all).then(|| codes.map(Code))
}

/// The most significant bits of a C that a case without products returns unchanged.
fn kept_of_c(suite: &Suite, answers: &[u64]) -> u32 {
    let alone = suite.cases.iter().zip(answers).filter(|(case, answer)| {
        let products = case.a.iter().zip(&case.b);
        case.c == **answer && products.into_iter().all(|(a, b)| a | b == 0)
    });
    let bits = alone.map(|(case, _)| {
        let n = suite.accumulator.unpack(case.c);
        if n.class == Class::Finite && n.significand != 0 {
            n.significand.ilog2() + 1 - n.significand.trailing_zeros()
        } else {
            1
        }
    });
    bits.max().unwrap_or(1)
}

/// The halves of a step: a pair at two places of the first half swallows that half alone, any other pair all of it.
fn halves(survivors: &dyn Fn(usize, usize) -> Option<usize>) -> Option<Halves> {
    let lost = |i, j| K.checked_sub(survivors(i, j)?);
    // A pair that lies in two steps swallows both; none before has swallowed more than one.
    let one = |j: usize| (1..j).all(|i| lost(0, i).is_some_and(|lost| lost <= j));
    let span = (2..=K / 2).find(|&j| lost(0, j) == Some(2 * j) && one(j))?;
    let pairs = (0..span).flat_map(|i| (i + 1..span).map(move |j| (i, j)));
    // For every pair with a case, whether both are in the first half.
    let both: Vec<_> = pairs
        .filter_map(|(i, j)| Some((i, j, lost(i, j)? < span)))
        .collect();
    let mut seen = vec![false; span];
    for &(i, j, _) in both.iter().filter(|(.., both)| *both) {
        (seen[i], seen[j]) = (true, true);
    }
    // Far from the beginning only neighbours have cases, so take the shortest pattern that agrees with all.
    let explains = |period: &usize| {
        let is = |k: usize| seen[k % period];
        span.is_multiple_of(*period) && both.iter().all(|&(i, j, both)| both == (is(i) && is(j)))
    };
    let period = (1..=span).find(explains)?;
    let first: Vec<usize> = (0..period).filter(|&k| seen[k]).collect();
    (!first.is_empty() && first.len() < period).then_some(Halves {
        span,
        period,
        first,
    })
}

fn dedup<T: PartialEq + Copy>(list: &mut Vec<T>) {
    let mut seen = Vec::new();
    list.retain(|x| {
        let new = !seen.contains(x);
        seen.push(*x);
        new
    });
}

/// The exponent of the small terms beside pairs with this tag.
fn smallest(suite: &Suite, name: &'static str) -> Option<i32> {
    let case = &suite.cases[suite.find(Tag(name, 0, 1))?];
    let exponent = |format: Format, code| {
        let n = format.unpack(code);
        (n.significand != 0).then(|| {
            n.exponent - format.fraction_bits() as i32 + n.significand.trailing_zeros() as i32
        })
    };
    Some(exponent(suite.a, *case.a.last()?)? + exponent(suite.b, *case.b.last()?)?)
}

/// A code as a multiple of `2^unit`.
fn count(format: Format, code: u64, unit: i32) -> Option<usize> {
    let n = format.unpack(code);
    if n.class != Class::Finite || n.negative {
        return None;
    }
    let shift = n.exponent - format.fraction_bits() as i32 - unit;
    let down = u32::try_from(-shift).ok()?;
    (down < 64 && n.significand.trailing_zeros() >= down).then(|| (n.significand >> down) as usize)
}
