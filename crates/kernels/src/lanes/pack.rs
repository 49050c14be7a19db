//! Operands as floats, with the exponents with which they compete: those of subnormal numbers, and of
//! zeros, cannot be read off a float.

use std::ops::Range;

use super::plan::{LanePlan, LaneRule, Span};
use crate::decode::Decoder;
use crate::platform::{Platform, Wide};
use crate::tile::{Operand, Packed, Panel};
use tcverify_tensor::Plane;

/// Rows of a strip of A.
pub const ROWS: usize = 4;

/// Added to exponents of B, so that those of products are positive.
pub const BIAS: i32 = 64;

/// The exponent of a zero in the second place of a pair that must not lead: that of its products is
/// negative with the bias, too.
const NEVER: i32 = -100;

/// Lines of an operand, packed: rows of A in strips of [`ROWS`], or a strip of columns of B.
#[derive(Default)]
pub struct Lines {
    /// `[strip][k][line]`
    pub values: Vec<f32>,
    /// The same for exponents as fields of a float; none of FP4.
    pub exponents: Vec<i32>,
    /// `[strip][lane][line]`: what scales add to the fields of lanes.
    pub scales: Vec<i32>,
    /// Of each strip.
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
        let scale =
            |k: usize, scales: Plane, block| scales.code(index, (panel.k.start + k) / block);
        note_scales(plan, panel, operand, scale, |lane_of_k, code| {
            let (term, factor, exponent) = scale_terms(plan, Side::A, code);
            let at = strip * padded / plan.together() + lane_of_k;
            lines.scales[at * ROWS + lane] = term;
            for k in 0..plan.together() {
                lines.values[base + (lane_of_k * plan.together() + k) * ROWS] *= factor;
            }
            lines.scales_span[strip].add(exponent);
        });
    }
    platform.wide(Exponents {
        plan,
        side: Side::A,
        wide: ROWS,
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
    let mut codes = vec![0; k.len() * count];
    let plane = operand.codes;
    plane.read_block(k.start, k.len(), columns.start, count, &mut codes);
    for (codes, out) in codes.chunks(count).zip(lines.values.chunks_mut(wide)) {
        let special = platform.wide(Decode {
            plan,
            codes,
            out: &mut out[..count],
        });
        if special {
            note_specials(plan, codes, &mut lines.special);
        }
    }
    for line in 0..count {
        let scale = |k: usize, scales: Plane, block| {
            scales.code((panel.k.start + k) / block, columns.start + line)
        };
        note_scales(plan, panel, operand, scale, |lane, code| {
            let (term, factor, exponent) = scale_terms(plan, Side::B, code);
            lines.scales[lane * wide + line] = term;
            if factor != 1.0 {
                for k in 0..plan.together() {
                    lines.values[(lane * plan.together() + k) * wide + line] *= factor;
                }
            }
            lines.scales_span[0].add(exponent);
        });
    }
    platform.wide(Exponents {
        plan,
        side: Side::B,
        wide,
        lines,
    });
}

/// `note` for every lane of a line that has a product, with its scale.
fn note_scales(
    plan: &LanePlan,
    panel: &Panel,
    operand: Operand,
    scale: impl Fn(usize, Plane, usize) -> u64,
    mut note: impl FnMut(usize, u8),
) {
    let Some((scales, block)) = operand.scales else {
        return;
    };
    for (lane, k) in (0..panel.k.len()).step_by(plan.together()).enumerate() {
        note(lane, scale(k, scales, block) as u8);
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
            // Not of a NaN, either.
            let finite = value.abs() < limit;
            special |= !finite;
            *value = if finite { *value } else { 0.0 };
        }
        special
    }
}

/// Rare, so that a look at each is cheap enough.
#[cold]
fn note_specials(plan: &LanePlan, codes: &[u32], special: &mut [bool]) {
    for (special, &code) in special.iter_mut().zip(codes) {
        let mut value = [0.0];
        *special |= Decode {
            plan,
            codes: &[code],
            out: &mut value,
        }
        .run();
    }
}

/// The exponents of packed numbers.
struct Exponents<'a> {
    plan: &'a LanePlan,
    side: Side,
    wide: usize,
    lines: &'a mut Lines,
}

impl Wide for Exponents<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Exponents {
            plan,
            side,
            wide,
            lines,
        } = self;
        if plan.is_quads() {
            return;
        }
        let least = plan.operands.min_exponent();
        let bias = if side == Side::A { 0 } else { BIAS };
        let [first, second] = match plan.rule {
            LaneRule::Tfr => [least, NEVER],
            LaneRule::TfrAligned => [least - 1, NEVER],
            _ => [least - 1; 2],
        };
        let pairs = lines
            .values
            .chunks(2 * wide)
            .zip(lines.exponents.chunks_mut(2 * wide));
        for (values, exponents) in pairs {
            let halves = values.chunks(wide).zip(exponents.chunks_mut(wide));
            for ((values, exponents), zero) in halves.zip([first, second]) {
                for (value, exponent) in values.iter().zip(exponents) {
                    let magnitude = value.to_bits() & 0x7fff_ffff;
                    let e = ((magnitude >> 23) as i32 - 127).max(least);
                    let e = if magnitude == 0 { zero } else { e };
                    *exponent = (e + bias) << 23;
                }
            }
        }
    }
}
