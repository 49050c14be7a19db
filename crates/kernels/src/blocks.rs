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

use std::ops::Range;

use super::codes::{Codes, register};
use super::platform::{Platform, Vectorized};
use super::tile::{Operand, Packed, SpecialRule, StepFallback, TileKernel};
use super::vector::{Vector, WIDEST};
use tcverify_num::{Format, Rounding};
use tcverify_num::{Formats, Scale};

/// A block-scaled dot-add in the terms of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockPlan {
    pub scale: Scale,
    /// Products of a step.
    pub group: usize,
    pub fraction_bits: i32,
    pub zero_exponent: i32,
    pub nan: u64,
}

/// The constants of a step that the kernel takes only one value of.
pub struct BlockStep {
    pub group: usize,
    pub part: usize,
    pub fraction_bits: u32,
    pub alignment: Rounding,
    pub zero_exponent: i32,
    pub precision: u32,
    pub rounding: Rounding,
    pub nan: u64,
}

impl BlockPlan {
    /// The plan, or none if only the exact engine can compute it.
    pub fn new(formats: Formats, step: BlockStep) -> Option<BlockPlan> {
        let Formats {
            a,
            b,
            accumulator,
            scale,
            ..
        } = formats;
        let scale = scale?;
        let toward_zero = Rounding::TowardZero;
        let fraction_bits = step.fraction_bits as i32;
        ([a, b, accumulator] == [Format::E2m1, Format::E2m1, Format::Fp32]
            && step.part == PART
            && scale.block.is_multiple_of(PART)
            && step.group <= 128
            && (step.alignment, step.rounding, step.precision) == (toward_zero, toward_zero, 24)
            // Terms and C keep their bits in a window of some width, and sums fit an FP64.
            && (24..=36).contains(&fraction_bits)
            // Below every term that the window lets in.
            && step.zero_exponent - fraction_bits <= LOWEST - TERM_BITS
            && step.zero_exponent <= LOWEST
            && step.zero_exponent >= -160)
            .then_some(BlockPlan {
                scale,
                group: step.group,
                fraction_bits,
                zero_exponent: step.zero_exponent,
                nan: step.nan,
            })
    }
}

/// Products that are added before they are scaled.
const PART: usize = 16;

/// Four products are one word of bytes.
const WORDS: usize = PART / 4;

const ROWS: usize = 4;
const DEPTH: usize = 512;

/// Columns of a strip, in registers.
const ACROSS: usize = 2;

/// Bits of a term below its exponent: quarters, and three fraction bits of each scale.
const TERM_BITS: i32 = 8;

/// The smallest exponent of a term for which no result is a subnormal number but zero.
const LOWEST: i32 = -80;
/// And the largest for which none is infinite.
const HIGHEST: i32 = 100;

/// Twice what a code of E2M1 means.
const HALVES: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/// Added to those of B, so that they are unsigned.
const OFFSET: i32 = 12;

/// A scale as a number of FP64 and as the exponent with which it competes.
#[derive(Clone, Copy, Default)]
struct Factor {
    value: f64,
    exponent: i32,
}

/// What scales' exponents span; zeros left out.
#[derive(Clone, Copy, Debug)]
struct Span {
    low: i32,
    high: i32,
}

impl Span {
    const EMPTY: Span = Span {
        low: 1 << 20,
        high: -(1 << 20),
    };

    fn add(&mut self, exponent: i32) {
        self.low = self.low.min(exponent);
        self.high = self.high.max(exponent);
    }
}

/// Lines of an operand, packed: rows of A in strips of [`ROWS`], or a strip of columns of B.
pub struct Lines {
    /// `[strip][part][line][word]` of A, `[part][word][line]` of B: four products each.
    words: Vec<i32>,
    /// `[strip][part][line]`, as those that follow: scales.
    factors: Vec<f64>,
    exponents: Vec<i32>,
    /// Which of sixteen numbers are not zero; none where the scale is.
    nonzero: Vec<i32>,
    /// Minus the sum of A's numbers times [`OFFSET`].
    corrections: Vec<i32>,
    spans: Vec<Span>,
    special: Vec<bool>,
}

impl Packed for Lines {
    fn special(&self) -> &[bool] {
        &self.special
    }
}

/// A panel of k.
pub struct Panel {
    k: Range<usize>,
    /// Parts, those included that fill the last step.
    parts: usize,
}

/// The kernel of a plan, with the vectors of a platform.
pub struct BlockKernel {
    plan: BlockPlan,
    platform: Platform,
    /// By the scale's code; none of a NaN.
    factors: Vec<Option<Factor>>,
}

impl BlockKernel {
    pub fn new(plan: BlockPlan, platform: Platform) -> BlockKernel {
        let format = plan.scale.format;
        let factor = |code: u64| {
            let number = format.unpack(code);
            let lsb = number.exponent - format.fraction_bits() as i32;
            (!number.is_nan()).then(|| Factor {
                value: number.significand as f64 * 2f64.powi(lsb),
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

impl TileKernel for BlockKernel {
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
        f32::from_bits(code as u32)
    }

    fn finish(&self, state: f32) -> Option<u64> {
        Some(if state.is_nan() {
            self.plan.nan
        } else {
            state.to_bits().into()
        })
    }

    fn panel(&self, k: Range<usize>) -> Panel {
        Panel {
            parts: k.len().next_multiple_of(self.plan.group) / PART,
            k,
        }
    }

    fn pack_a(&self, panel: &Panel, operand: Operand, rows: Range<usize>) -> Lines {
        let Panel { k, parts } = panel;
        let strips = rows.len().div_ceil(ROWS);
        let mut lines = self.lines(strips, ROWS, *parts, rows.len());
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
        let Panel { k, parts } = panel;
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
        let size = panel.parts * ROWS;
        let span = strip * size..(strip + 1) * size;
        self.platform.vectorized(RunTile {
            plan: &self.plan,
            rows: (a.special.len() - strip * ROWS).min(ROWS),
            // An empty tile is fine with any C that is not subnormal.
            window: if empty { [0, 0] } else { [low, high] },
            depth: panel.k.len(),
            parts: panel.parts,
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

/// Lines of codes into words of four products.
struct PackB<'a> {
    len: usize,
    codes: Codes<'a>,
    words: &'a mut [i32],
    nonzero: &'a mut [i32],
}

impl Vectorized for PackB<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        // SAFETY: the same promise.
        unsafe {
            match self.codes.width() {
                1 => self.parts::<V, 1>(),
                _ => self.parts::<V, 4>(),
            }
        }
    }
}

impl PackB<'_> {
    #[inline(always)]
    unsafe fn parts<V: Vector, const WIDTH: usize>(self) {
        let (len, wide) = (self.len, ACROSS * V::LANES);
        let (start, step) = self.codes.from(len, wide);
        let parts = self.nonzero.len() / wide;
        assert!(self.codes.width() == WIDTH && parts * PART >= len);
        assert!(self.nonzero.len() == parts * wide && self.words.len() == parts * WORDS * wide);
        // SAFETY: features are the caller's promise; of the `len` lines of a strip's codes those are read that are
        // there, and every part and word is a strip wide.
        unsafe {
            for part in 0..parts {
                for v in 0..ACROSS {
                    let mut nonzero = V::splat(0);
                    for word in 0..WORDS {
                        let first = part * PART + 4 * word;
                        let mut codes = V::splat(0);
                        for (i, k) in (first..len.min(first + 4)).enumerate() {
                            let code = register::<V, WIDTH>(start.add(k * step), v);
                            codes = V::or(codes, V::shift_left(code, V::splat(8 * i as i32)));
                        }
                        let at = (part * WORDS + word) * wide + v * V::LANES;
                        V::store(self.words.as_mut_ptr().add(at), numbers::<V>(codes));
                        let four = V::shift_left(nonzeros::<V>(codes), V::splat(4 * word as i32));
                        nonzero = V::or(nonzero, four);
                    }
                    let at = part * wide + v * V::LANES;
                    V::store(self.nonzero.as_mut_ptr().add(at), nonzero);
                }
            }
        }
    }
}

/// All four bytes of every lane.
#[inline(always)]
unsafe fn in_bytes<V: Vector>(x: u8) -> V::I {
    // SAFETY: the caller's promise.
    unsafe { V::splat(i32::from_ne_bytes([x; 4])) }
}

/// Twice what each byte's code means, plus the offset: see [`HALVES`]. No byte carries into the next.
#[inline(always)]
unsafe fn numbers<V: Vector>(codes: V::I) -> V::I {
    // SAFETY: the caller's promise.
    unsafe {
        let one = in_bytes::<V>(1);
        let low = V::and(codes, one);
        let middle = V::and(V::shift_right(codes, V::splat(1)), one);
        let high = V::and(V::shift_right(codes, V::splat(2)), one);
        let sign = V::and(V::shift_right(codes, V::splat(3)), one);
        // 0, 1, 2, 3, 4 as they are; 5, 6, 7 are 6, 8, 12.
        let both = V::and(high, middle);
        let more = V::add(both, V::and(both, low));
        let magnitude = V::add(V::and(codes, in_bytes::<V>(7)), V::and(high, low));
        let magnitude = V::add(magnitude, V::add(more, more));
        let negative = V::sub(V::shift_left(sign, V::splat(8)), sign);
        let below = V::and(magnitude, negative);
        let above = V::clear(magnitude, negative);
        V::sub(V::add(in_bytes::<V>(OFFSET as u8), above), below)
    }
}

/// A bit for each byte's code that is not zero, the low ones of a lane.
#[inline(always)]
unsafe fn nonzeros<V: Vector>(codes: V::I) -> V::I {
    // SAFETY: the caller's promise.
    unsafe {
        let magnitude = V::and(codes, in_bytes::<V>(7));
        let top = V::and(V::add(magnitude, in_bytes::<V>(0x7f)), in_bytes::<V>(0x80));
        // Bits 7, 15, 23 and 31 become 0, 1, 2 and 3.
        let mut bits = V::splat(0);
        for down in [7, 14, 21, 28] {
            bits = V::or(bits, V::shift_right(top, V::splat(down)));
        }
        V::and(bits, V::splat(15))
    }
}

struct RunTile<'a> {
    plan: &'a BlockPlan,
    /// Rows that are computed; what else there is only fills the tile up.
    rows: usize,
    /// Smallest and largest exponent of a term.
    window: [i32; 2],
    depth: usize,
    parts: usize,
    a_words: &'a [i32],
    a_factors: &'a [f64],
    a_exponents: &'a [i32],
    a_nonzero: &'a [i32],
    corrections: &'a [i32],
    b: &'a Lines,
    state: &'a mut [f32],
    fallback: &'a dyn StepFallback,
}

impl Vectorized for RunTile<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(mut self) {
        const { assert!(ACROSS * V::LANES <= WIDEST, "buffers hold the widest strip") };
        let columns = ACROSS * V::LANES;
        let parts = self.parts;
        assert!(self.a_words.len() == parts * ROWS * WORDS && self.a_factors.len() == parts * ROWS);
        assert!(self.a_exponents.len() == parts * ROWS && self.a_nonzero.len() == parts * ROWS);
        assert!(self.corrections.len() == parts * ROWS && self.state.len() == ROWS * columns);
        assert!(self.b.words.len() == parts * columns * WORDS);
        assert!(
            self.b.factors.len() == parts * columns && self.b.exponents.len() == parts * columns
        );
        assert!(self.b.nonzero.len() == parts * columns);
        let group = self.plan.group / PART;
        for first in (0..parts).step_by(group) {
            for row in 0..self.rows {
                for left in (0..columns).step_by(V::LANES) {
                    // SAFETY: features are the caller's promise; parts of a group, and a register from
                    // `left` on, lie within the lengths just asserted.
                    unsafe { self.group::<V>(first..first + group, row, left) }
                }
            }
        }
    }
}

impl RunTile<'_> {
    /// A step, for a register of a row.
    #[inline(always)]
    unsafe fn group<V: Vector>(&mut self, parts: Range<usize>, row: usize, left: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            let at = row * ACROSS * V::LANES + left;
            let c = V::load_f(self.state.as_ptr().add(at));
            let [low, high] = self.window;
            let fraction_bits = self.plan.fraction_bits;
            // C's last bit lies at or above the grid of the largest term, and the last bit of the
            // smallest term above C's grid.
            let least = (high - fraction_bits + 23 + 127).max(1) << 23;
            let most = ((low + fraction_bits - TERM_BITS + 1 + 127).min(254) << 23) - 1;
            let together = high - low <= fraction_bits - TERM_BITS;
            let magnitude = V::and(V::bits(c), V::splat(i32::MAX));
            let outside = V::or(
                V::greater(V::splat(least), magnitude),
                V::greater(magnitude, V::splat(most)),
            );
            let outside = V::clear(outside, V::equal(magnitude, V::splat(0)));
            if !together || V::any_negative(outside) {
                return self.aligned::<V>(parts, row, left);
            }
            let mut sum = V::widen(c);
            for part in parts {
                let dot = V::int_to_d(self.dot::<V>(part, row, left));
                sum = V::fma_d(dot, self.factor::<V>(part, row, left), sum);
            }
            V::store_f(self.state.as_mut_ptr().add(at), toward_zero::<V>(sum));
        }
    }

    /// The exact sum of a part's products, in quarters.
    #[inline(always)]
    unsafe fn dot<V: Vector>(&self, part: usize, row: usize, left: usize) -> V::I {
        let columns = ACROSS * V::LANES;
        let at = part * ROWS + row;
        // SAFETY: the caller's promise.
        unsafe {
            let words = self.a_words.as_ptr().add(at * WORDS);
            let b = self.b.words.as_ptr().add(part * WORDS * columns + left);
            // Of 24 times 12, eight products are far below 2^15.
            let mut halves = V::multiply_bytes(V::load(b), V::splat(*words));
            for word in 1..WORDS {
                let b = V::load(b.add(word * columns));
                let more = V::multiply_bytes(b, V::splat(*words.add(word)));
                halves = V::add_halves(halves, more);
            }
            let sum = V::multiply_pairs(halves, V::splat(0x0001_0001));
            V::add(sum, V::splat(*self.corrections.get_unchecked(at)))
        }
    }

    /// The product of the scales, over four for the quarters.
    #[inline(always)]
    unsafe fn factor<V: Vector>(&self, part: usize, row: usize, left: usize) -> V::D {
        let columns = ACROSS * V::LANES;
        // SAFETY: the caller's promise.
        unsafe {
            let x = *self.a_factors.get_unchecked(part * ROWS + row) * 0.25;
            let y = V::load_d(self.b.factors.as_ptr().add(part * columns + left));
            V::mul_d(V::splat_d(x), y)
        }
    }

    /// The same step, terms and C truncated to the grid of the largest exponent.
    #[cold]
    #[inline(always)]
    unsafe fn aligned<V: Vector>(&mut self, parts: Range<usize>, row: usize, left: usize) {
        let columns = ACROSS * V::LANES;
        let at = row * columns + left;
        // SAFETY: the caller's promise.
        unsafe {
            let c = V::load_f(self.state.as_ptr().add(at));
            let bits = V::bits(c);
            let magnitude = V::and(bits, V::splat(i32::MAX));
            let zero = V::equal(magnitude, V::splat(0));
            // C's exponent; of a zero, and of all that is below, the one of zeros.
            let exponent = V::sub(V::shift_right(magnitude, V::splat(23)), V::splat(127));
            let least = V::splat(self.plan.zero_exponent);
            let mut largest = V::max(V::clear(exponent, zero), least);
            largest = V::or(V::clear(largest, zero), V::and(least, zero));
            for part in parts.clone() {
                let place = part * columns + left;
                let x = V::splat(*self.a_nonzero.get_unchecked(part * ROWS + row));
                let y = V::load(self.b.nonzero.as_ptr().add(place));
                let none = V::equal(V::and(x, y), V::splat(0));
                let x = V::splat(*self.a_exponents.get_unchecked(part * ROWS + row));
                let sum = V::add(x, V::load(self.b.exponents.as_ptr().add(place)));
                let sum = V::or(V::clear(sum, none), V::and(least, none));
                largest = V::max(largest, sum);
            }
            let fraction_bits = V::splat(self.plan.fraction_bits);
            let up = V::power_of_two(V::sub(fraction_bits, largest));
            let down = V::power_of_two(V::sub(largest, fraction_bits));
            let mut total = V::truncate_d(V::mul_d(V::widen(c), up));
            for part in parts.clone() {
                let dot = V::int_to_d(self.dot::<V>(part, row, left));
                let term = V::mul_d(dot, self.factor::<V>(part, row, left));
                total = V::add_d(total, V::truncate_d(V::mul_d(term, up)));
            }
            let mut new = [0f32; 16];
            V::store_f(new.as_mut_ptr(), toward_zero::<V>(V::mul_d(total, down)));
            // What was or becomes subnormal, or infinite, is the exact engine's.
            let k = parts.start * PART..self.depth.min(parts.end * PART);
            for (lane, new) in new.into_iter().enumerate().take(V::LANES) {
                let state = &mut self.state[at + lane];
                let ordinary = |x: f32| x == 0.0 || (1e-30..1e35).contains(&x.abs());
                *state = if ordinary(*state) && ordinary(new) {
                    new
                } else {
                    let code = state.to_bits().into();
                    f32::from_bits(self.fallback.step(row, left + lane, k.clone(), code) as u32)
                };
            }
        }
    }
}

/// A double in an FP32's normal range, to its 24 bits. No -0.
#[inline(always)]
unsafe fn toward_zero<V: Vector>(x: V::D) -> V::F {
    // SAFETY: the caller's promise.
    unsafe { V::narrow(V::add_d(V::and_d(x, !0 << 29), V::splat_d(0.0))) }
}
