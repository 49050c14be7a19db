//! Operands as floats, with the exponents with which they compete: those of subnormal numbers, and of
//! zeros, cannot be read off a float.

use std::ops::Range;

use super::plan::{LanePlan, LaneRule};
use crate::codes::{Codes, note_specials, register};
use crate::decode::Decoder;
use crate::platform::{Platform, Vectorized};
use crate::tile::{Operand, Packed, Panel, Span};
use crate::vector::{ACROSS, Vector};
use tcverify_tensor::Wide;

/// Rows of a strip of A.
pub const ROWS: usize = 4;

/// Added to exponents of B, so that those of products are positive.
pub const BIAS: i32 = 64;

/// Lines of an operand, packed: rows of A in strips of [`ROWS`], or a strip of columns of B.
#[derive(Default)]
pub struct Lines {
    /// `[strip][k][line]`
    pub values: Vec<f32>,
    /// `[strip][k][line]`: exponents as fields of a float; none of FP4.
    pub exponents: Vec<i32>,
    /// `[strip][lane][line]`: what scales add to the fields of lanes.
    pub scales: Vec<i32>,
    /// What the scales of each strip span.
    pub scales_span: Vec<Span>,
    /// Whether a line has an infinity or NaN.
    pub special: Vec<bool>,
}

impl Packed for Lines {
    fn special(&self) -> &[bool] {
        &self.special
    }
}

impl Lines {
    /// Room for strips, without scales and specials.
    fn clear(&mut self, plan: &LanePlan, [strips, padded, lines]: [usize; 3], count: usize) {
        let all = strips * padded * lines;
        let fill = |numbers: &mut Vec<i32>, count: usize| {
            numbers.clear();
            numbers.resize(count, 0);
        };
        self.values.clear();
        self.values.resize(all, 0.0);
        fill(&mut self.exponents, if plan.is_quads() { 0 } else { all });
        let lanes = if plan.scale.is_some() {
            all / plan.together()
        } else {
            0
        };
        fill(&mut self.scales, lanes);
        self.scales_span.clear();
        self.scales_span.resize(strips, Span::EMPTY);
        self.special.clear();
        self.special.resize(count, false);
    }
}

/// Which operand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    A,
    B,
}

/// Packs rows of A.
pub fn pack_a(
    platform: Platform,
    plan: &LanePlan,
    panel: &Panel,
    operand: Operand,
    rows: Range<usize>,
) -> Lines {
    let Panel { k, padded } = panel;
    let mut lines = Lines::default();
    let strips = rows.len().div_ceil(ROWS);
    lines.clear(plan, [strips, *padded, ROWS], rows.len());
    let mut codes = vec![0; *padded];
    let mut row = vec![0.0; *padded];
    for (line, index) in rows.enumerate() {
        let mine = &mut codes[..k.len()];
        operand.codes.read_row(index, k.start, mine);
        lines.special[line] = platform.wide(Decode {
            plan,
            codes: &codes,
            out: &mut row,
        });
        let (strip, lane) = (line / ROWS, line % ROWS);
        let base = strip * padded * ROWS + lane;
        for (k, &value) in row.iter().enumerate() {
            lines.values[base + k * ROWS] = value;
        }
        let Some((scales, block)) = operand.scales else {
            continue;
        };
        for (lane_of_k, k) in k.clone().step_by(plan.together()).enumerate() {
            let code = scales.code(index, k / block) as u8;
            let (term, factor, exponent) = scale_terms(plan, Side::A, code);
            let at = strip * padded / plan.together() + lane_of_k;
            lines.scales[at * ROWS + lane] = term;
            for k in 0..plan.together() {
                lines.values[base + (lane_of_k * plan.together() + k) * ROWS] *= factor;
            }
            lines.scales_span[strip].add(exponent);
        }
    }
    platform.wide(Exponents {
        plan,
        lines: &mut lines,
    });
    lines
}

/// Packs columns of B, at most a strip.
pub fn pack_b(
    platform: Platform,
    plan: &LanePlan,
    panel: &Panel,
    operand: Operand,
    columns: Range<usize>,
    wide: usize,
    lines: &mut Lines,
) {
    let Panel { k, padded } = panel;
    let count = columns.len();
    lines.clear(plan, [1, *padded, wide], count);
    let special = platform.vectorized(DecodeB {
        plan,
        len: k.len(),
        codes: Codes::new(platform, operand.codes, 1, k.clone(), columns.clone(), wide),
        lines,
    });
    if special {
        let special = |code| {
            let (codes, out) = (&[code as u32], &mut [0.0]);
            Decode { plan, codes, out }.run()
        };
        let block = [k.clone(), columns.clone()];
        note_specials(operand.codes, block, special, &mut lines.special);
    }
    if let Some((scales, block)) = operand.scales {
        let mut codes = vec![0; count];
        let mut terms = vec![(0, 1.0); count];
        let mut row = None;
        for (lane, k) in k.clone().step_by(plan.together()).enumerate() {
            if row != Some(k / block) {
                row = Some(k / block);
                scales.read_row(k / block, columns.start, &mut codes);
                for (terms, &code) in terms.iter_mut().zip(&codes) {
                    let (term, factor, exponent) = scale_terms(plan, Side::B, code as u8);
                    *terms = (term, factor);
                    lines.scales_span[0].add(exponent);
                }
            }
            let fields = &mut lines.scales[lane * wide..][..count];
            for (field, &(term, _)) in fields.iter_mut().zip(&terms) {
                *field = term;
            }
            if plan.rule == LaneRule::Nvfp4 {
                let values = &mut lines.values[lane * plan.together() * wide..];
                for values in values.chunks_mut(wide).take(plan.together()) {
                    for (value, &(_, factor)) in values.iter_mut().zip(&terms) {
                        *value *= factor;
                    }
                }
            }
        }
    }
}

/// What a scale adds to the field of a lane, what it multiplies numbers by, and its exponent.
fn scale_terms(plan: &LanePlan, side: Side, code: u8) -> (i32, f32, i32) {
    let is_a = side == Side::A;
    let code = i32::from(code);
    match plan.rule {
        // The significand, with its hidden bit, and the field. Quarters and seven more bits of the lane.
        LaneRule::Nvfp4 => {
            let field = code >> 3 & 15;
            let moved = if is_a { field } else { field - 7 + 127 };
            let significand = (8 | code & 7) as f32;
            let factor = if is_a { 512.0 } else { 1.0 };
            (moved << 23, factor * significand, 0)
        }
        // Offset by 32, so that six bits remain when the kernel has cut them.
        LaneRule::Mxfp4 => {
            let moved = if is_a {
                code - 127 + 24 + 32
            } else {
                code - 127
            };
            (moved << 23, if is_a { 512.0 } else { 1.0 }, 0)
        }
        _ => ((code - 127) << 23, 1.0, code - 127),
    }
}

/// Codes as floats, zeros for infinities and NaNs; says whether there are any.
struct Decode<'a> {
    plan: &'a LanePlan,
    codes: &'a [u32],
    out: &'a mut [f32],
}

/// Numbers of E4M3 from here on have the largest exponent field.
const TOP: f32 = 256.0;

impl Wide for Decode<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let Decode { plan, codes, out } = self;
        Decoder::new(plan.operands).floats(codes, out);
        let limit = if plan.ieee_top { TOP } else { f32::INFINITY };
        let mut special = false;
        for value in out {
            // False of a NaN, too.
            let finite = value.abs() < limit;
            special |= !finite;
            *value = if finite { *value } else { 0.0 };
        }
        special
    }
}

/// Lines of codes of B as floats, zeros for infinities and NaNs, and their exponents; says whether there are any
/// such.
struct DecodeB<'a> {
    plan: &'a LanePlan,
    len: usize,
    codes: Codes<'a>,
    lines: &'a mut Lines,
}

impl Vectorized for DecodeB<'_> {
    type Output = bool;

    #[inline(always)]
    unsafe fn run<V: Vector>(self) -> bool {
        // SAFETY: the same promise.
        unsafe {
            match self.codes.width() {
                1 => self.lines::<V, 1>(),
                _ => self.lines::<V, 4>(),
            }
        }
    }
}

impl DecodeB<'_> {
    #[inline(always)]
    unsafe fn lines<V: Vector, const WIDTH: usize>(self) -> bool {
        let (plan, wide) = (self.plan, ACROSS * V::LANES);
        let decoder = Decoder::new(plan.operands);
        let (start, step) = self.codes.from(self.len, wide);
        let padded = self.lines.values.len() / wide;
        assert!(self.codes.width() == WIDTH && padded >= self.len);
        assert!(self.lines.values.len() == padded * wide);
        assert!(plan.is_quads() || self.lines.exponents.len() == padded * wide);
        let limit = if plan.ieee_top { TOP } else { f32::INFINITY };
        let values = self.lines.values.as_mut_ptr();
        let exponents = self.lines.exponents.as_mut_ptr();
        // SAFETY: features are the caller's promise; of the `len` lines of a strip's codes those are read that are
        // there, and every position of values and exponents is a strip wide.
        unsafe {
            // The largest magnitude that is no special.
            let largest = V::splat(limit.to_bits() as i32 - 1);
            let bias = V::splat(BIAS - plan.operands.bias());
            let [first, second] = plan.zero_exponents();
            let zeros = [V::splat(first + BIAS), V::splat(second + BIAS)];
            let mut special = V::splat(0);
            for k in 0..padded {
                for v in 0..ACROSS {
                    let codes = if k < self.len {
                        register::<V, WIDTH>(start.add(k * step), v)
                    } else {
                        V::splat(0)
                    };
                    let numbers = decoder.numbers::<V, false>(codes);
                    let value = V::bits(numbers.values);
                    let above = V::greater(V::and(value, V::splat(i32::MAX)), largest);
                    special = V::or(special, V::or(numbers.specials, above));
                    let at = k * wide + v * V::LANES;
                    V::store_f(values.add(at), V::from_bits(V::clear(value, above)));
                    if plan.is_quads() {
                        continue;
                    }
                    let zero = V::or(numbers.zeros, above);
                    let e = V::clear(V::add(numbers.fields, bias), zero);
                    let e = V::or(e, V::and(zeros[k % 2], zero));
                    V::store(exponents.add(at), V::shift_left(e, V::splat(23)));
                }
            }
            V::any_negative(special)
        }
    }
}

/// The exponents of packed numbers of A.
struct Exponents<'a> {
    plan: &'a LanePlan,
    lines: &'a mut Lines,
}

impl Wide for Exponents<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Exponents { plan, lines } = self;
        if plan.is_quads() {
            return;
        }
        let least = plan.operands.min_exponent();
        let pairs = lines.values.chunks(2 * ROWS);
        for (values, exponents) in pairs.zip(lines.exponents.chunks_mut(2 * ROWS)) {
            let halves = values.chunks(ROWS).zip(exponents.chunks_mut(ROWS));
            for ((values, exponents), zero) in halves.zip(plan.zero_exponents()) {
                for (value, exponent) in values.iter().zip(exponents) {
                    let magnitude = value.to_bits() & 0x7fff_ffff;
                    let e = ((magnitude >> 23) as i32 - 127).max(least);
                    *exponent = if magnitude == 0 { zero } else { e } << 23;
                }
            }
        }
    }
}
