//! First hypotheses: a few readings of the answers, combined with constants that units have.

use super::reading::Reading;
use crate::emu::step::{
    Addend, BlockDot, Code, ExactDot, ExactSum, FmaChain, Fused, FusedFloor, FusedHalves,
    IntegerOverflow, IntegerSum, PairRule, PairwiseFlush, Scaling, Step, StickyRne,
};
use crate::num::Format;
use crate::num::Rounding::{NearestEven, TowardZero};
use crate::probe::Suite;

/// Below every term, for units whose zeros never count.
const ZERO_LANE: i32 = -260;

/// Starts by kind, simpler kinds first.
pub fn all(suite: &Suite, reading: &Reading) -> Vec<Vec<Step>> {
    let acc = suite.accumulator;
    let nan = reading.nan;
    if suite.scale.is_some() {
        return vec![
            fused(reading, nan).map(Step::Fused).collect(),
            block(suite, reading, nan),
            sticky(suite, reading, nan),
        ];
    }
    vec![
        [NearestEven, TowardZero]
            .map(|rounding| Step::FmaChain(FmaChain { rounding, nan }))
            .into(),
        [NearestEven, TowardZero]
            .map(|rounding| Step::ExactDot(ExactDot { rounding, nan }))
            .into(),
        fused(reading, nan).map(Step::Fused).collect(),
        exact_sum(reading, nan),
        pairwise(nan),
        halves(reading, nan),
        floor(reading, acc, nan),
        sticky(suite, reading, nan),
    ]
}

/// Sums of integers: every group that ends within K, the usual one first, and the one that wraps around.
pub fn integers(suite: &Suite) -> Vec<Vec<Step>> {
    // As many as 256 bits hold. Where it decides nothing, it is as good as any.
    let usual = 256 / suite.a.width().max(suite.b.width()) as usize;
    let of = |group, overflow| Step::IntegerSum(IntegerSum { group, overflow });
    let others = (1..=suite.k / 2).filter(|group| *group != usual);
    let clamped = [usual].into_iter().chain(others);
    let mut all = vec![of(usual, IntegerOverflow::Wrap)];
    all.extend(clamped.map(|group| of(group, IntegerOverflow::Saturate)));
    vec![all]
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

/// Products added before they are scaled, as FP4 is.
fn block(suite: &Suite, reading: &Reading, nan: Code) -> Vec<Step> {
    let mut all = Vec::new();
    for group in [64, 32, 128, 16] {
        for part in parts(suite, group) {
            for fraction_bits in [35, 25, 24, 34, 36, 37] {
                for rounding in [TowardZero, NearestEven] {
                    all.push(Step::BlockDot(BlockDot {
                        group,
                        part,
                        fraction_bits,
                        alignment: TowardZero,
                        zero_exponent: reading.zero_exponent - 31,
                        precision: suite.accumulator.fraction_bits() + 1,
                        rounding,
                        nan,
                    }));
                }
            }
        }
    }
    all
}

/// Runs of products that a scale and a group hold a whole number of.
pub fn parts(suite: &Suite, group: usize) -> impl Iterator<Item = usize> {
    let block = suite.scale.map_or(0, |scale| scale.block);
    let fits = move |part: &usize| group.is_multiple_of(*part) && block.is_multiple_of(*part);
    [16, 32, 8, 4, 2, 1].into_iter().filter(fits)
}

fn sticky(suite: &Suite, reading: &Reading, nan: Code) -> Vec<Step> {
    let scaling = suite.scale.map(|scale| match (scale.format, suite.a) {
        (Format::Ue4m3, _) => Scaling::Nvfp4,
        (_, Format::E2m1) => Scaling::Mxfp4,
        _ => Scaling::LaneExponent,
    });
    let group = |lanes: usize| match suite.a {
        Format::E2m1 => 4 * lanes,
        Format::Tf32 => lanes / 2,
        _ if suite.a.bytes() == 1 => 2 * lanes,
        _ => lanes,
    };
    let pairs: &[Option<PairRule>] = match suite.a.bytes() {
        1 if suite.a == Format::E2m1 => &[None],
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
                            scaling,
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
