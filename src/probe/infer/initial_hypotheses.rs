//! First hypotheses: a few readings of the answers, combined with constants that units have.

use super::search::Evidence;
use crate::emu::step::{
    Addend, Code, ExactDot, ExactSum, FmaChain, Fused, FusedFloor, FusedHalves, PairRule,
    PairwiseFlush, Step, StickyRne,
};
use crate::num::Rounding::{NearestEven, TowardZero};
use crate::num::{Class, Format};
use crate::probe::Suite;
use crate::probe::suite::{K, Tag};

/// Below every term, for units whose zeros never count.
const ZERO_LANE: i32 = -260;

/// What can be read off the answers, if the unit is of the kind that the reading assumes.
#[derive(Debug)]
struct Reading {
    /// Products that met a large pair.
    groups: Vec<usize>,
    /// The deepest term that survived, and one less for roundings that round it up.
    depths: Vec<u32>,
    /// The format's, and those of narrower results that are known.
    precisions: Vec<u32>,
    zero_exponent: i32,
    /// Whether any answer is -0.
    minus_zero: bool,
}

/// Starts by kind, simpler kinds first.
pub fn all(suite: &Suite, answers: &[u64], evidence: &Evidence) -> Vec<Vec<Step>> {
    let reading = Reading::new(suite, answers);
    let acc = suite.accumulator;
    let quiet = acc.infinity(false).unwrap_or(0) | 1 << (acc.fraction_bits() - 1);
    let nan = Code(evidence.nans.first().copied().unwrap_or(quiet));
    vec![
        [NearestEven, TowardZero]
            .map(|rounding| Step::FmaChain(FmaChain { rounding, nan }))
            .into(),
        [NearestEven, TowardZero]
            .map(|rounding| Step::ExactDot(ExactDot { rounding, nan }))
            .into(),
        fused(&reading, nan).map(Step::Fused).collect(),
        exact_sum(&reading, nan),
        pairwise(nan),
        halves(&reading, nan),
        floor(&reading, acc, nan),
        sticky(suite, &reading, nan),
    ]
}

impl Reading {
    fn new(suite: &Suite, answers: &[u64]) -> Reading {
        let acc = suite.accumulator;
        let answer = |tag| suite.find(tag).map(|case| answers[case]);
        let nonzero = |code: u64| {
            let n = acc.unpack(code);
            n.class == Class::Finite && n.significand != 0
        };
        let mut groups = Vec::new();
        let unit = smallest(suite);
        for (i, j) in [(0, 1), (2, 3), (1, 2)] {
            let survivors = answer(Tag("swamp", i, j)).zip(unit);
            let survivors = survivors.and_then(|(code, unit)| count(acc, code, unit));
            groups.extend(survivors.and_then(|n| K.checked_sub(n)));
        }
        // The first place whose crumb is not added to that of place 0.
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
        depths.extend([24, 25, 23, 13]);
        dedup(&mut depths);

        let full = acc.fraction_bits() + 1;
        let mut precisions = vec![full, 14, 11];
        precisions.retain(|&p| p <= full);
        dedup(&mut precisions);
        Reading {
            groups,
            depths,
            precisions,
            // As deep below the smallest result as every unit known has it, fraction bits aside.
            zero_exponent: acc.min_exponent() + 18,
            minus_zero: answers.contains(&acc.zero(true)),
        }
    }
}

fn dedup<T: PartialEq + Copy>(list: &mut Vec<T>) {
    let mut seen = Vec::new();
    list.retain(|x| {
        let new = !seen.contains(x);
        seen.push(*x);
        new
    });
}

/// The exponent of the small terms of the order family.
fn smallest(suite: &Suite) -> Option<i32> {
    let case = &suite.cases[suite.find(Tag("swamp", 0, 1))?];
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

fn fused(reading: &Reading, nan: Code) -> impl Iterator<Item = Fused> + '_ {
    let roundings = [TowardZero, NearestEven];
    reading.groups.iter().flat_map(move |&group| {
        reading.depths.iter().flat_map(move |&fraction_bits| {
            let precisions = reading.precisions.iter();
            precisions.flat_map(move |&precision| {
                let depths = [fraction_bits as i32, 25];
                depths.into_iter().flat_map(move |depth| {
                    roundings.map(|rounding| Fused {
                        group,
                        fraction_bits,
                        alignment: TowardZero,
                        zero_exponent: reading.zero_exponent - depth,
                        precision,
                        rounding,
                        nan,
                        minus_zero: reading.minus_zero,
                    })
                })
            })
        })
    })
}

fn exact_sum(reading: &Reading, nan: Code) -> Vec<Step> {
    let of = |&group: &usize| {
        [NearestEven, TowardZero].map(|rounding| {
            Step::ExactSum(ExactSum {
                group,
                rounding,
                nan,
            })
        })
    };
    reading.groups.iter().flat_map(of).collect()
}

fn pairwise(nan: Code) -> Vec<Step> {
    let mut all = Vec::new();
    for group in [2, 4, 8, 16] {
        for span in [1, 2, 4, 8].map(|n| n * group) {
            for rounding in [NearestEven, TowardZero] {
                all.push(Step::PairwiseFlush(PairwiseFlush {
                    span,
                    group,
                    rounding,
                    nan,
                }));
            }
        }
    }
    all
}

fn halves(reading: &Reading, nan: Code) -> Vec<Step> {
    let mut all = Vec::new();
    for span in [32usize, 16, 64, 8] {
        let patterns = [
            (4, vec![0, 1]),
            (2, vec![0]),
            (4, vec![2, 3]),
            (4, vec![0, 3]),
            (4, vec![1, 2]),
            (2, vec![1]),
            (8, vec![0, 1, 2, 3]),
            (span, (0..span / 2).collect()),
        ];
        for (period, first) in patterns {
            let group = reading.groups[0];
            for half in fused(reading, nan).filter(|half| half.group == group) {
                let depth = reading.zero_exponent - half.zero_exponent;
                if depth != half.fraction_bits as i32 {
                    continue;
                }
                for closing in [NearestEven, TowardZero] {
                    all.push(Step::FusedHalves(FusedHalves {
                        span,
                        period,
                        first: first.clone(),
                        half: Fused {
                            group: span / 2,
                            minus_zero: false,
                            ..half.clone()
                        },
                        closing,
                    }));
                }
            }
        }
    }
    all
}

fn floor(reading: &Reading, acc: Format, nan: Code) -> Vec<Step> {
    let mut all = Vec::new();
    let least = acc.fraction_bits();
    for &group in &reading.groups {
        for sums in [1, 2, 4] {
            for &fraction_bits in &reading.depths {
                for addend_window in [None, Some(fraction_bits + 1), Some(fraction_bits + 2)] {
                    all.push(Step::FusedFloor(FusedFloor {
                        group,
                        sums,
                        fraction_bits,
                        sum_fraction_bits: fraction_bits + 8,
                        addend_window,
                        zero_exponent: acc.min_exponent(),
                        result_fraction_bits: least + 8,
                        rounding: NearestEven,
                        nan,
                    }));
                }
            }
        }
    }
    all
}

fn sticky(suite: &Suite, reading: &Reading, nan: Code) -> Vec<Step> {
    let group = |lanes: usize| match suite.a {
        Format::Tf32 => lanes / 2,
        _ if suite.a.bytes() == 1 => 2 * lanes,
        _ => lanes,
    };
    let pairs: &[Option<PairRule>] = match suite.a.bytes() {
        1 => &[
            Some(PairRule::Tfr),
            Some(PairRule::TfrAligned),
            Some(PairRule::Drl),
        ],
        _ => &[None],
    };
    let mut all = Vec::new();
    for lanes in [4, 8] {
        for &fraction_bits in reading.depths.iter().filter(|&&depth| depth >= 23) {
            for &pair in pairs {
                for addend in [Addend::Value, Addend::HiddenBit] {
                    for flags in 0..8 {
                        all.push(Step::StickyRne(StickyRne {
                            lanes,
                            group: group(lanes),
                            width: fraction_bits + 1 + flags / 4,
                            fraction_bits,
                            zero_exponent: ZERO_LANE,
                            addend,
                            pair,
                            scaling: None,
                            sparse_mask: flags & 1 != 0,
                            ieee_top: flags & 2 != 0,
                            nan,
                        }));
                    }
                }
            }
        }
    }
    all
}
