//! Operands rearranged for the kernel: a strip of rows (or columns) side by side, k by k, each
//! element as a float and as a small biased exponent.

use super::plan::Plan;
use crate::num::{Format, Specials};
use crate::tensor::Plane;

/// Rows of A that the kernel takes at a time.
pub const ROWS: usize = 4;

/// Exponents are stored so that `a_field - b_gap` (saturating at 0) is the product's exponent,
/// relative to the two shifts and biased by 127.
const TOP: i32 = 15;

/// What the exponents of some rows or columns span, over the k of a panel.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// Smallest exponent of a nonzero element, and largest; in an empty range low > high.
    low: i32,
    high: i32,
    /// Smallest exponent relative to its own row's shift.
    relative_low: i32,
}

const EMPTY: Range = Range {
    low: i32::MAX / 4,
    high: i32::MIN / 4,
    relative_low: i32::MAX / 4,
};

impl Range {
    fn join(self, other: Range) -> Range {
        Range {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            relative_low: self.relative_low.min(other.relative_low),
        }
    }

    /// Whether every step over rows of range `self` and columns of range `other` stays where the
    /// kernel is exact, given accumulators that do (which the kernel checks):
    ///
    /// * relative exponents of products stay so high above the floor that a nonzero result, at
    ///   least `2^-F` of the common exponent, does too;
    /// * FP32 results neither underflow into subnormals nor reach infinity.
    pub fn suits(self, other: Range, plan: &Plan, k: usize) -> bool {
        let f = plan.fraction_bits;
        if self.low > self.high || other.low > other.high {
            return true; // only zero products
        }
        if plan.accumulator == Format::Fp16 {
            return true; // absolute exponents of at most five bits
        }
        let growth = 2 + (k as i32).ilog2() as i32 + 1;
        127 + self.relative_low + other.relative_low >= 2 * f + 2
            && self.low + other.low - f >= -126
            && self.high + other.high + growth <= 125
    }
}

/// Rows of A, packed.
#[derive(Debug)]
pub struct PackedA {
    /// `[strip][k][ROWS]`
    pub values: Vec<f32>,
    /// `[strip][k][ROWS]`, the field in each of the four bytes.
    pub fields: Vec<u32>,
    /// Shift of every row, times 2^23.
    pub shifts: Vec<i32>,
    pub ranges: Vec<Range>,
    /// Whether sums of products with the rows of a strip may leave 32 bits, per strip.
    pub heavy: Vec<bool>,
    /// Whether a row has an infinity or NaN here.
    pub special: Vec<bool>,
}

/// Columns of B, packed.
#[derive(Debug)]
pub struct PackedB {
    /// `[strip][k][columns]`
    pub values: Vec<f32>,
    pub gaps: Vec<u8>,
    pub shifts: Vec<i32>,
    pub ranges: Vec<Range>,
    pub special: Vec<bool>,
}

/// Some consecutive k of a product, in the order in which the kernel takes them.
pub struct Panel<'a> {
    pub plan: &'a Plan,
    pub start: usize,
    pub len: usize,
    /// For every position the k, counted from `start`; at or beyond `len` it is padding.
    order: Vec<usize>,
}

impl<'a> Panel<'a> {
    pub fn new(plan: &'a Plan, start: usize, len: usize) -> Panel<'a> {
        let span = plan.span();
        let padded = len.next_multiple_of(span);
        let order = match &plan.halves {
            None => (0..padded).collect(),
            Some(order) => (0..padded)
                .map(|position| position / span * span + order[position % span])
                .collect(),
        };
        Panel {
            plan,
            start,
            len,
            order,
        }
    }

    /// Positions, zero products included, that fill the last step.
    pub fn padded(&self) -> usize {
        self.order.len()
    }

    /// Positions and their k, the padding left out.
    fn positions(&self) -> impl Iterator<Item = (usize, usize)> {
        let all = self.order.iter().copied().enumerate();
        all.filter(|&(_, k)| k < self.len)
    }
}

/// Elements of one row over a panel, taken apart.
struct Line {
    values: Vec<f32>,
    exponents: Vec<i32>,
    /// In units of the last fraction bit.
    significands: Vec<u32>,
    shift: i32,
    range: Range,
    special: bool,
}

/// A zero operand's exponent: below every other.
const ZERO: i32 = i32::MIN / 2;

fn line(format: Format, absolute: bool, codes: &[u32]) -> Line {
    let fraction_bits = format.fraction_bits();
    let sign_bit = format.width() - 1;
    let top = (1u32 << format.exponent_bits()) - 1;
    let ones = (1u32 << sign_bit) - 1;
    let first_special = match format.specials() {
        Specials::Ieee => top << fraction_bits,
        Specials::NanOnly => ones,
        Specials::None => ones + 1,
        Specials::Fnuz => unreachable!("no plan has such operands"),
    };
    // Magnitude bits, moved to where an f32 has them, are the number divided by this.
    let scale = f32::from_bits(((127 + 127 - format.bias()) as u32) << 23);
    let ignored = format.ignored_bits();

    let mut special = false;
    let (mut low, mut high) = (EMPTY.low, EMPTY.high);
    let mut values = vec![0f32; codes.len()];
    let mut exponents = vec![0i32; codes.len()];
    let mut significands = vec![0u32; codes.len()];
    let parts = values.iter_mut().zip(&mut exponents).zip(&mut significands);
    for (((value, exponent), significand), &code) in parts.zip(codes) {
        let code = code >> ignored;
        let magnitude = code & ones;
        let is_special = magnitude >= first_special;
        special |= is_special;
        // Specials are zeros here; whoever asked deals with them afterwards.
        let magnitude = if is_special { 0 } else { magnitude };
        let sign = (code >> sign_bit) << 31;
        let unscaled = f32::from_bits(magnitude << (23 - fraction_bits));
        *value = f32::from_bits((unscaled * scale).to_bits() | sign);
        let field = magnitude >> fraction_bits;
        let hidden = field.min(1) << fraction_bits;
        *significand = magnitude & ((1 << fraction_bits) - 1) | hidden;
        let e = field.max(1) as i32 - format.bias();
        *exponent = if magnitude == 0 { ZERO } else { e };
        low = low.min(if magnitude == 0 { EMPTY.low } else { e });
        high = high.max(if magnitude == 0 { EMPTY.high } else { e });
    }
    let shift = if absolute || low > high {
        0
    } else {
        high.clamp(-126, 126)
    };
    if shift != 0 {
        // Exact, but for elements so small that `Range::suits` refuses the whole panel.
        let factor = f32::from_bits(((127 - shift) as u32) << 23);
        values.iter_mut().for_each(|value| *value *= factor);
    }
    let relative_low = if low > high { EMPTY.low } else { low - shift };
    Line {
        values,
        exponents,
        significands,
        shift,
        range: Range {
            low,
            high,
            relative_low,
        },
        special,
    }
}

/// Whether the significands of some group add up to so much that a sum could leave 32 bits.
fn is_heavy(panel: &Panel, line: &Line) -> bool {
    let limit = panel.plan.weight_limit();
    let weight = |group: &[usize]| -> u32 {
        let significands = group.iter().filter_map(|&k| line.significands.get(k));
        significands.sum()
    };
    let mut groups = panel.order.chunks(panel.plan.group);
    groups.any(|group| weight(group) > limit)
}

/// Packs rows `first..first + count` of a plane (A as it is).
pub fn pack_a(plane: Plane, first: usize, count: usize, panel: &Panel) -> PackedA {
    let strips = count.div_ceil(ROWS);
    let padded = panel.padded();
    let mut packed = PackedA {
        values: vec![0.0; strips * padded * ROWS],
        fields: vec![0; strips * padded * ROWS],
        shifts: vec![0; strips * ROWS],
        ranges: vec![EMPTY; strips],
        heavy: vec![false; strips],
        special: vec![false; count],
    };
    let mut codes = vec![0u32; panel.len];
    for row in 0..count {
        plane.read_row(first + row, panel.start, &mut codes);
        let line = line(panel.plan.a, panel.plan.absolute(), &codes);
        let (strip, lane) = (row / ROWS, row % ROWS);
        packed.shifts[row] = line.shift << 23;
        packed.ranges[strip] = packed.ranges[strip].join(line.range);
        packed.special[row] = line.special;
        let base = strip * padded * ROWS + lane;
        for (position, k) in panel.positions() {
            if line.exponents[k] == ZERO {
                continue; // value 0, field 0
            }
            let at = base + position * ROWS;
            packed.values[at] = line.values[k];
            let relative = line.exponents[k] - line.shift;
            let field = (127 + TOP + relative).clamp(0, 255) as u32;
            packed.fields[at] = field * 0x0101_0101;
        }
        packed.heavy[strip] |= panel.plan.checked && is_heavy(panel, &line);
    }
    packed
}

/// Packs columns `first..first + count` of B, given as rows of its transpose, `wide` to a strip.
pub fn pack_b(
    transposed: Plane,
    first: usize,
    count: usize,
    wide: usize,
    panel: &Panel,
) -> PackedB {
    let padded = panel.padded();
    let mut packed = PackedB {
        values: vec![0.0; padded * wide],
        // Columns beyond the last and zeros: a gap that no field exceeds.
        gaps: vec![255; padded * wide],
        shifts: vec![0; wide],
        ranges: vec![EMPTY],
        special: vec![false; count],
    };
    let mut codes = vec![0u32; panel.len * count];
    transposed.read_block(first, count, panel.start, panel.len, &mut codes);
    for (column, codes) in codes.chunks(panel.len).enumerate() {
        let line = line(panel.plan.b, panel.plan.absolute(), codes);
        packed.shifts[column] = line.shift << 23;
        packed.ranges[0] = packed.ranges[0].join(line.range);
        packed.special[column] = line.special;
        for (position, k) in panel.positions() {
            if line.exponents[k] == ZERO {
                continue;
            }
            let at = position * wide + column;
            packed.values[at] = line.values[k];
            let relative = line.exponents[k] - line.shift;
            packed.gaps[at] = (TOP - relative).clamp(0, 255) as u8;
        }
    }
    packed
}
