//! Block-scaled FP4 (MXFP4, NVFP4): short runs of products are added as integers, scaled and aligned.
//!
//! The sum of a run is an integer of twelve bits, and times its scales' significands one of twenty,
//! so that a term is exact in an FP64. A step of the model truncates terms and C to a common grid:
//!
//! 1. Where C is zero or its exponent lies near enough to the tile's scales, nothing is below the grid,
//!    and all sums fit the 53 bits of an FP64: fused multiply-adds, one truncation to FP32.
//! 2. Elsewhere the grid is found and terms are truncated to it, in FP64 as well, where they are
//!    integers.
//! 3. Scales so far apart, or results so near the ends of the exponents, that neither is exact are
//!    the exact engine's, and a C that is.
//!
//! [`plan`]: which constants it can take; [`pack`]: operands; [`tile`]: the arithmetic.

mod pack;
mod plan;
mod tile;

use std::ops::Range;

pub use self::plan::{BlockPlan, BlockStep};

use self::pack::{HALVES, Lines, OFFSET, PackB};
use self::plan::{ACROSS, DEPTH, HIGHEST, LOWEST, PART, ROWS, WORDS};
use self::tile::RunTile;
use super::codes::Codes;
use super::platform::Platform;
use super::real::Real;
use super::tile::{MicroKernel, Operand, Panel, Span, SpecialRule, StepFallback};

/// A scale as a number of FP64 and as the exponent with which it competes.
#[derive(Clone, Copy, Default)]
struct Factor {
    value: f64,
    exponent: i32,
}

/// The kernel of a plan, with the vectors of a platform.
pub struct BlockKernel {
    plan: BlockPlan,
    platform: Platform,
    /// The factor of every scale code; none for a NaN.
    factors: Vec<Option<Factor>>,
}

impl BlockKernel {
    pub fn new(plan: BlockPlan, platform: Platform) -> BlockKernel {
        let format = plan.scale.format;
        let factor = |code: u64| {
            let number = format.unpack(code);
            (!number.is_nan()).then(|| Factor {
                value: number.significand as f64 * 2f64.powi(number.lsb(format)),
                exponent: number.exponent,
            })
        };
        BlockKernel {
            plan,
            platform,
            factors: (0..256).map(factor).collect(),
        }
    }

    fn wide(&self) -> usize {
        ACROSS * self.platform.lanes()
    }

    fn lines(&self, strips: usize, lines: usize, parts: usize, count: usize) -> Lines {
        let all = strips * parts * lines;
        Lines {
            words: vec![0; all * WORDS],
            factors: vec![0.0; all],
            exponents: vec![0; all],
            nonzero: vec![0; all],
            corrections: vec![0; all],
            spans: vec![Span::EMPTY; strips],
            special: vec![false; count],
        }
    }

    /// Notes the scale of a part of a line.
    #[inline(always)]
    fn scale(&self, lines: &mut Lines, strip: usize, at: usize, line: usize, code: u32) {
        let factor = match self.factors[code as usize & 255] {
            None => {
                lines.special[line] = true;
                Factor::default()
            }
            Some(factor) => factor,
        };
        lines.factors[at] = factor.value;
        lines.exponents[at] = factor.exponent;
        if factor.value == 0.0 {
            lines.nonzero[at] = 0;
        }
        if lines.nonzero[at] != 0 {
            lines.spans[strip].add(factor.exponent);
        }
    }
}

impl MicroKernel for BlockKernel {
    type State = f32;
    type Panel = Panel;
    type A = Lines;
    type B = Lines;

    fn tile(&self) -> (usize, usize) {
        (ROWS, self.wide())
    }

    fn depth(&self) -> usize {
        DEPTH.next_multiple_of(self.plan.group)
    }

    fn specials(&self) -> SpecialRule {
        SpecialRule::Zeros { nan: self.plan.nan }
    }

    fn start(&self, code: u64) -> f32 {
        f32::from_code(code)
    }

    fn finish(&self, state: f32) -> Option<u64> {
        Some(state.to_code(self.plan.nan))
    }

    fn panel(&self, k: Range<usize>) -> Panel {
        Panel::filled(k, self.plan.group)
    }

    fn pack_a(&self, panel: &Panel, operand: Operand, rows: Range<usize>) -> Lines {
        let (k, parts) = (&panel.k, panel.padded / PART);
        let strips = rows.len().div_ceil(ROWS);
        let mut lines = self.lines(strips, ROWS, parts, rows.len());
        let (scales, block) = operand
            .scales
            .expect("a problem has the scales of its model");
        let mut codes = vec![0; k.len()];
        for (line, row) in rows.enumerate() {
            operand.codes.read_row(row, k.start, &mut codes);
            let (strip, lane) = (line / ROWS, line % ROWS);
            for (part, codes) in codes.chunks(PART).enumerate() {
                let at = (strip * parts + part) * ROWS + lane;
                let mut sum = 0;
                for (i, &code) in codes.iter().enumerate() {
                    let value = HALVES[code as usize & 15];
                    sum += i32::from(value);
                    lines.nonzero[at] |= i32::from(value != 0) << i;
                    let byte = i32::from(value as u8) << (8 * (i % 4));
                    lines.words[at * WORDS + i / 4] |= byte;
                }
                lines.corrections[at] = -OFFSET * sum;
                let code = scales.code(row, (k.start + part * PART) / block);
                self.scale(&mut lines, strip, at, line, code as u32);
            }
        }
        lines
    }

    fn room(&self) -> Lines {
        self.lines(1, 0, 0, 0)
    }

    fn pack_b(&self, panel: &Panel, operand: Operand, columns: Range<usize>, b: &mut Lines) {
        let (k, parts) = (&panel.k, panel.padded / PART);
        let (wide, count) = (self.wide(), columns.len());
        b.spans[0] = Span::EMPTY;
        b.special.clear();
        b.special.resize(count, false);
        b.words.resize(parts * WORDS * wide, 0);
        b.nonzero.resize(parts * wide, 0);
        b.factors.resize(parts * wide, 0.0);
        b.exponents.resize(parts * wide, 0);
        let of_k = k.clone();
        self.platform.vectorized(PackB {
            len: k.len(),
            codes: Codes::new(self.platform, operand.codes, 1, of_k, columns.clone(), wide),
            words: &mut b.words,
            nonzero: &mut b.nonzero,
        });
        let (scales, block) = operand
            .scales
            .expect("a problem has the scales of its model");
        let mut codes = vec![0; count];
        let mut row = None;
        for (part, start) in k.clone().step_by(PART).enumerate() {
            if row != Some(start / block) {
                row = Some(start / block);
                scales.read_row(start / block, columns.start, &mut codes);
            }
            for (line, &code) in codes.iter().enumerate() {
                self.scale(b, 0, part * wide + line, line, code);
            }
        }
    }

    fn run(
        &self,
        panel: &Panel,
        a: &Lines,
        strip: usize,
        b: &Lines,
        state: &mut [f32],
        fallback: &dyn StepFallback,
    ) -> bool {
        let (x, y) = (a.spans[strip], b.spans[0]);
        let empty = x.low > x.high || y.low > y.high;
        let (low, high) = (x.low + y.low, x.high + y.high);
        if !empty && (low < LOWEST || high > HIGHEST) {
            return false;
        }
        let parts = panel.padded / PART;
        let size = parts * ROWS;
        let span = strip * size..(strip + 1) * size;
        self.platform.vectorized(RunTile {
            plan: &self.plan,
            rows: (a.special.len() - strip * ROWS).min(ROWS),
            // An empty tile is fine with any C that is not subnormal.
            window: if empty { [0, 0] } else { [low, high] },
            depth: panel.k.len(),
            parts,
            a_words: &a.words[span.start * WORDS..span.end * WORDS],
            a_factors: &a.factors[span.clone()],
            a_exponents: &a.exponents[span.clone()],
            a_nonzero: &a.nonzero[span.clone()],
            corrections: &a.corrections[span],
            b,
            state,
            fallback,
        });
        true
    }
}
