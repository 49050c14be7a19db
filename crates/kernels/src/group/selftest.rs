//! A few tiles of awkward numbers through a kernel and through the portable one, before the first
//! use: a wrong instruction must not become a wrong verdict.

use super::pack::ROWS;
use super::plan::{GroupPlan, Output};
use super::tile::{RunTile, Tile};
use crate::platform::Platform;
use crate::vector::{ACROSS, WIDEST};
use tcverify_num::Format;
use tcverify_num::random::SplitMix64;

const GROUPS: usize = 4;

const SEEDS: [u64; 3] = [0, 1, 2];

/// Whether the platform computes what the portable kernel computes, with the output of a plan.
pub fn passes(platform: Platform, plan: &GroupPlan) -> bool {
    let portable = Platform::available()[0];
    let of = |platform, seed| result(platform, plan.output, plan.halves.is_some(), seed);
    SEEDS
        .iter()
        .all(|&seed| of(platform, seed) == of(portable, seed))
}

fn plan(output: Output, halves: bool) -> GroupPlan {
    let short = matches!(output, Output::Fp32Short(_) | Output::Fp16Short);
    let half = matches!(output, Output::Fp16 | Output::Fp16Short);
    GroupPlan {
        scale: None,
        a: Format::Fp16,
        b: Format::Fp16,
        accumulator: if half { Format::Fp16 } else { Format::Fp32 },
        group: 16,
        part: 8,
        checked: true,
        fraction_bits: if short { 13 } else { 25 },
        floor: if half { 106 } else { 26 },
        output,
        halves: halves.then(Vec::new),
        nan: 0,
        minus_zero: false,
    }
}

/// The states of 64 columns after the tile, and whether the kernel vouched for each strip.
fn result(platform: Platform, output: Output, halves: bool, seed: u64) -> Vec<(bool, Vec<i32>)> {
    let plan = plan(output, halves);
    let positions = GROUPS * plan.group;
    let mut numbers = Numbers(SplitMix64(seed + 1));
    let a: Vec<_> = (0..positions * ROWS)
        .map(|_| numbers.operand(seed))
        .collect();
    let b: Vec<_> = (0..positions * WIDEST)
        .map(|_| numbers.operand(seed))
        .collect();
    let c: Vec<_> = (0..ROWS * WIDEST).map(|_| numbers.operand(0).0).collect();

    let wide = ACROSS * platform.lanes();
    let mut results = Vec::new();
    for left in (0..WIDEST).step_by(wide) {
        let strip = |i: usize| i / wide * WIDEST + left + i % wide;
        let mut state: Vec<_> = (0..ROWS * wide)
            .map(|i| c[strip(i)].to_bits() as i32)
            .collect();
        let column = |i: usize| b[strip(i)];
        let mut tile = Tile {
            plan: &plan,
            checked: true,
            groups: GROUPS,
            rows: ROWS,
            a: &a.iter().map(|x| x.0).collect::<Vec<_>>(),
            fields: &a.iter().map(|x| x.1 * 0x0101_0101).collect::<Vec<_>>(),
            row_shifts: &[0; ROWS],
            b: &(0..positions * wide)
                .map(|i| column(i).0)
                .collect::<Vec<_>>(),
            gaps: &(0..positions * wide)
                .map(|i| column(i).2)
                .collect::<Vec<_>>(),
            column_shifts: &vec![0; wide],
            state: &mut state,
            half2: None,
        };
        let vouched = platform.vectorized(RunTile {
            plan: &plan,
            tile: &mut tile,
        });
        // Which NaN it is makes no difference: the model's takes its place.
        let nan = |x: &i32| x & i32::MAX > 0x7f80_0000;
        state
            .iter_mut()
            .filter(|x| nan(x))
            .for_each(|x| *x = i32::MAX);
        results.push((vouched, state));
    }
    regroup(results, wide)
}

/// By 32 columns, whatever the width of the platform's strips.
fn regroup(results: Vec<(bool, Vec<i32>)>, wide: usize) -> Vec<(bool, Vec<i32>)> {
    let all = results.iter().all(|(vouched, _)| *vouched);
    let mut rows = vec![Vec::new(); ROWS];
    for (_, state) in results {
        for (row, state) in rows.iter_mut().zip(state.chunks(wide)) {
            row.extend_from_slice(state);
        }
    }
    vec![(all, if all { rows.concat() } else { Vec::new() })]
}

/// A generator of FP16 operands: value, exponent field of an A, gap of a B.
struct Numbers(SplitMix64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0.word()
    }

    fn operand(&mut self, seed: u64) -> (f32, u32, u8) {
        let random = self.next();
        // Near one, over the whole range, or all maxima.
        let exponent = match seed {
            0 => (random >> 32) % 4,
            1 => (random >> 32) % 20,
            _ => 15,
        } as i32
            - if seed == 1 { 14 } else { 2 };
        let fraction = if seed == 2 { 0x3ff } else { random & 0x3ff };
        let sign = if seed == 2 { 0 } else { (random >> 63) << 31 };
        let bits = sign | (((exponent + 127) as u64) << 23) | fraction << 13;
        if random.is_multiple_of(11) {
            return (0.0, 0, 255);
        }
        let value = f32::from_bits(bits as u32);
        (value, (142 + exponent) as u32, (15 - exponent) as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUTS: [Output; 5] = [
        Output::Fp32,
        Output::Fp32Masked(-1 << 10),
        Output::Fp32Short(-1 << 10),
        Output::Fp16,
        Output::Fp16Short,
    ];

    #[test]
    fn every_platform_passes() {
        for platform in Platform::with_emulated() {
            for output in OUTPUTS {
                for halves in [false, true] {
                    for seed in SEEDS {
                        let portable = result(Platform::available()[0], output, halves, seed);
                        let mine = result(platform, output, halves, seed);
                        let name = platform.name();
                        assert_eq!(mine, portable, "{name} {output:?} {halves} {seed}");
                    }
                }
            }
        }
    }
}
