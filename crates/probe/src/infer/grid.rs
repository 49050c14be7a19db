//! All combinations of constants near what was read off the answers. Constants compensate one another, so a search
//! that changes one at a time can end where no change helps. Here each combination is tested by itself, up to the
//! first answer that it does not give.

use std::ops::RangeInclusive;

use super::evidence::Evidence;
use super::kinds::{self, MODES};
use super::reading::Reading;
use crate::Suite;
use crate::emu::step::{Fused, FusedFloor, Step};
use crate::num::Rounding::{self, NearestEven, TowardZero};

/// Fraction bits that are tried if the answers show none.
const DEPTHS: RangeInclusive<u32> = 5..=48;

/// How many bits of a sum beyond the result's its rounding may see, if not all.
const GUARDS: RangeInclusive<u32> = 0..=12;

/// A step that gives every answer.
pub fn search(
    suite: &Suite,
    evidence: &Evidence,
    reading: &Reading,
    starts: &[Vec<Step>],
) -> Option<Step> {
    let grid = Grid { evidence, reading };
    let all: Vec<u32> = DEPTHS.collect();
    if suite.scale.is_some() {
        return grid
            .fused(&reading.depths, &[None])
            .or_else(|| grid.blocks(suite, &all))
            .or_else(|| grid.fused(&all, &[None]));
    }
    let guards: Vec<Option<u32>> = GUARDS.map(Some).collect();
    widths(evidence, starts)
        .or_else(|| grid.fused(&reading.depths, &[None]))
        .or_else(|| grid.halves(&all))
        .or_else(|| floored(evidence, reading))
        .or_else(|| grid.fused(&reading.depths, &guards))
        .or_else(|| grid.fused(&all, &[None]))
}

struct Grid<'e, 'a> {
    evidence: &'e Evidence<'a>,
    reading: &'e Reading,
}

impl Grid<'_, '_> {
    /// `guards`: bits of the sum beyond the result's that its rounding sees.
    fn fused(&self, depths: &[u32], guards: &[Option<u32>]) -> Option<Step> {
        let reading = self.reading;
        // C may have been cut by the alignment, not by the rounding of the result.
        let mut shown = reading.depths[..reading.depths_shown].iter();
        let most = if shown.any(|depth| *depth <= reading.kept) {
            self.full()
        } else {
            reading.kept
        };
        let groups = self.reading.groups.iter();
        let all = groups.flat_map(|group| guards.iter().map(move |guard| (*group, *guard)));
        let mut found = all.filter_map(|(group, guard)| {
            let widths = reading.kept..=most;
            self.adders(group, depths, widths, reading.minus_zero, &|adder| {
                kinds::guarded(adder, guard)
            })
        });
        found.next()
    }

    /// Two fused sums of a step each, if the answers show which products are in which.
    fn halves(&self, depths: &[u32]) -> Option<Step> {
        let halves = self.reading.halves.as_ref()?;
        let before = halves.span / halves.period * halves.first.len();
        [NearestEven, TowardZero].into_iter().find_map(|closing| {
            // C is added in full, so it does not show the sums' widths.
            let group = before.max(halves.span - before);
            self.adders(group, depths, 1..=self.full(), false, &|half| {
                kinds::fused_halves(halves, half, closing)
            })
        })
    }

    /// Products that are added before they are scaled.
    fn blocks(&self, suite: &Suite, depths: &[u32]) -> Option<Step> {
        // Wide sums first, as known units have them.
        let depths: Vec<u32> = depths.iter().rev().copied().collect();
        let groups = [64, 32, 16, 128, 48, 96];
        groups.into_iter().find_map(|group| {
            kinds::parts(suite.scale, group).find_map(|part| {
                let block = |adder| kinds::block_dot(adder, part);
                let widths = self.reading.kept..=self.full();
                self.adders(group, &depths, widths, false, &block)
            })
        })
    }

    /// Significant bits of the accumulator.
    fn full(&self) -> u32 {
        self.evidence.formats.accumulator.fraction_bits() + 1
    }

    /// The adder of a step: its roundings, widths, and the exponent of zeros.
    fn adders(
        &self,
        group: usize,
        depths: &[u32],
        widths: RangeInclusive<u32>,
        minus_zero: bool,
        step: &dyn Fn(Fused) -> Step,
    ) -> Option<Step> {
        let reading = self.reading;
        for &fraction_bits in depths {
            for precision in widths.clone().rev() {
                for alignment in MODES {
                    for rounding in MODES {
                        let with = |zero_exponent| {
                            step(Fused {
                                group,
                                fraction_bits,
                                alignment,
                                zero_exponent,
                                precision,
                                rounding,
                                sum_bits: None,
                                nan: reading.nan,
                                minus_zero,
                            })
                        };
                        let likely = reading.zero_exponent - fraction_bits as i32;
                        let found = self.evidence.with_zeros(likely, &with);
                        if found.is_some() {
                            return found;
                        }
                    }
                }
            }
        }
        None
    }
}

/// Known kinds of units that add groups of products to C, with other widths.
fn widths(evidence: &Evidence, starts: &[Vec<Step>]) -> Option<Step> {
    evidence.first_exact(starts.iter().flatten().flat_map(|step| {
        let bits = (18..=30).flat_map(|product| (18..=32).map(move |leading| [product, leading]));
        bits.map_while(move |[product, leading]| kinds::with_widths(step, product, leading))
    }))
}

/// Fused floors, by the bits that they keep of the products' sum, of C and of the total.
fn floored(evidence: &Evidence, reading: &Reading) -> Option<Step> {
    let accumulator = evidence.formats.accumulator;
    let least = accumulator.fraction_bits();
    let depths = &reading.depths[..reading.depths_shown];
    for &group in &reading.groups {
        for sums in [1, 2, 4, 8].into_iter().filter(|sums| *sums <= group) {
            for &fraction_bits in depths {
                let step = |all: Combination| {
                    let (addend_window, sum_fraction_bits, result_fraction_bits, rounding) = all;
                    Step::from(FusedFloor {
                        group,
                        sums,
                        fraction_bits,
                        sum_fraction_bits,
                        addend_window,
                        zero_exponent: accumulator.min_exponent(),
                        result_fraction_bits,
                        rounding,
                        nan: reading.nan,
                    })
                };
                let first = fraction_bits.saturating_sub(2);
                let windows = (first..fraction_bits + 8).map(Some).chain([None]);
                let windows: Vec<Option<u32>> = windows.collect();
                let sum_bits: Vec<u32> = (fraction_bits..fraction_bits + 12).collect();
                let result_bits: Vec<u32> = (least..fraction_bits.max(least) + 12).collect();
                let (window, sum, result) = (ends(&windows), ends(&sum_bits), ends(&result_bits));
                let corners = combinations(&window, &sum, &result).map(step);
                if hopeless(evidence, &corners.collect::<Vec<_>>()) {
                    continue;
                }
                let all = combinations(&windows, &sum_bits, &result_bits).map(step);
                let found = evidence.first_exact(all);
                if found.is_some() {
                    return found;
                }
            }
        }
    }
    None
}

/// Whether one answer contradicts all of these, because it does not depend on their differences.
fn hopeless(evidence: &Evidence, steps: &[Step]) -> bool {
    let possible: Vec<&Step> = steps.iter().filter(|s| evidence.possible(s)).collect();
    let refuted = possible.first().and_then(|step| evidence.first_miss(step));
    let Some(case) = refuted else {
        return possible.is_empty();
    };
    let mut answers = possible.iter().map(|step| evidence.answer(step, case));
    let first = answers.next();
    answers.all(|answer| Some(answer) == first)
}

fn ends<T: Copy>(values: &[T]) -> [T; 2] {
    [values[0], values[values.len() - 1]]
}

type Combination = (Option<u32>, u32, u32, Rounding);

fn combinations<'a>(
    windows: &'a [Option<u32>],
    sums: &'a [u32],
    results: &'a [u32],
) -> impl Iterator<Item = Combination> + 'a {
    windows.iter().flat_map(move |&window| {
        sums.iter().flat_map(move |&sum| {
            results.iter().flat_map(move |&result| {
                let roundings = [NearestEven, TowardZero].into_iter();
                roundings.map(move |rounding| (window, sum, result, rounding))
            })
        })
    })
}
