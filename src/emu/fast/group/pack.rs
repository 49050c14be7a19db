//! Operands rearranged for the kernel: a strip of rows (or columns) side by side, k by k, each
//! element as a float and as a small biased exponent.

use super::plan::GroupPlan;
use crate::emu::fast::platform::{Platform, Wide};
use crate::emu::fast::tile::{Operand, Packed};
use crate::emu::fast::vector::WIDEST;
use crate::num::{Format, Specials};

/// Rows of A that the kernel takes at a time.
pub const ROWS: usize = 8;

/// Exponents are stored so that `a_field - b_gap` (saturating at 0) is the product's exponent,
/// relative to the two shifts and biased by 127.
const TOP: i32 = 15;

/// Rows of A of formats with absolute exponents are moved down by this many binades, so that products
/// are below 2 as those of others and F - E is not negative. They have room for it: products of such
/// formats span 62 binades.
const DOWN: i32 = 30;

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
    pub fn suits(self, other: Range, plan: &GroupPlan, k: usize) -> bool {
        // FP16 has absolute exponents of at most five bits.
        plan.accumulator == Format::Fp16 || self.within(other, plan.fraction_bits, k)
    }

    /// The same of FP32 results that keep `f` bits below the common exponent.
    pub fn within(self, other: Range, f: i32, k: usize) -> bool {
        if self.low > self.high || other.low > other.high {
            return true; // only zero products
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

/// As many columns of B as the kernel takes at a time.
#[derive(Debug)]
pub struct StripB {
    /// `[position][columns]`
    pub values: Vec<f32>,
    pub gaps: Vec<u8>,
    pub shifts: Vec<i32>,
    pub range: Range,
    /// Whether a column has an infinity or NaN here.
    pub special: Vec<bool>,
}

impl StripB {
    /// Room for `wide` columns.
    pub fn new(wide: usize) -> StripB {
        StripB {
            values: Vec::new(),
            gaps: Vec::new(),
            shifts: vec![0; wide],
            range: EMPTY,
            special: vec![false; wide],
        }
    }
}

impl PackedA {
    /// Rows of a strip that are any.
    pub fn rows(&self, strip: usize) -> usize {
        (self.special.len() - strip * ROWS).min(ROWS)
    }
}

impl Packed for PackedA {
    fn special(&self) -> &[bool] {
        &self.special
    }
}

impl Packed for StripB {
    fn special(&self) -> &[bool] {
        &self.special
    }
}

/// Some consecutive k of a product, in the order in which the kernel takes them.
#[derive(Debug)]
pub struct Panel {
    pub start: usize,
    pub len: usize,
    /// For every position the k, counted from `start`; at or beyond `len` it is padding.
    order: Vec<usize>,
}

impl Panel {
    pub fn new(plan: &GroupPlan, start: usize, len: usize) -> Panel {
        let span = plan.span();
        let padded = len.next_multiple_of(span);
        let order = match &plan.halves {
            None => (0..padded).collect(),
            Some(order) => (0..padded)
                .map(|position| position / span * span + order[position % span])
                .collect(),
        };
        Panel { start, len, order }
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

/// The exponent of zeros: below every other.
const ZERO: i32 = i32::MIN / 2;

/// Takes codes apart into numbers and exponents. Specials come out as zeros; says whether there are
/// any. Without branches, so that it becomes vector code.
#[inline(always)]
fn decode(format: Format, codes: &[u32], values: &mut [f32], exponents: &mut [i32]) -> bool {
    let fraction_bits = format.fraction_bits();
    let sign_bit = format.width() - 1;
    let ones = (1u32 << sign_bit) - 1;
    let top = (1u32 << format.exponent_bits()) - 1;
    let first_special = match format.specials() {
        Specials::Ieee => top << fraction_bits,
        Specials::NanOnly => ones,
        Specials::None | Specials::Fnuz => ones + 1,
    };
    let lonely_nan = match format.specials() {
        Specials::Fnuz => 1 << sign_bit,
        _ => u32::MAX,
    };
    // Magnitude bits, moved to where an f32 has them, are the number divided by this.
    let scale = f32::from_bits(((127 + 127 - format.bias()) as u32) << 23);
    let ignored = format.ignored_bits();
    let bias = format.bias();

    let mut special = false;
    for ((value, exponent), &code) in values.iter_mut().zip(exponents).zip(codes) {
        let code = code >> ignored;
        let magnitude = code & ones;
        // Without branches: FNUZ has its NaN where others have -0.
        let lonely = code == lonely_nan;
        let is_special = (magnitude >= first_special) | lonely;
        special |= is_special;
        let magnitude = if is_special { 0 } else { magnitude };
        let sign = (code >> sign_bit) << 31;
        let number = f32::from_bits(magnitude << (23 - fraction_bits)) * scale;
        *value = f32::from_bits(number.to_bits() | sign);
        let e = (magnitude >> fraction_bits).max(1) as i32 - bias;
        *exponent = if magnitude == 0 { ZERO } else { e };
    }
    special
}

/// Moves exponents by scales, of the same number. A NaN makes its element zero; says whether there is
/// one. Values stay as they are: [`rescale`] moves them once the shift is known.
#[inline(always)]
fn move_exponents(
    plan: &GroupPlan,
    scales: &[u8],
    values: &mut [f32],
    exponents: &mut [i32],
) -> bool {
    let Some(scale) = plan.scale else {
        return false;
    };
    let mut special = false;
    for ((value, exponent), &code) in values.iter_mut().zip(exponents).zip(scales) {
        let scale = scale.format.unpack(code.into());
        if scale.is_nan() {
            special = true;
            (*value, *exponent) = (0.0, ZERO);
        } else if *exponent != ZERO {
            *exponent += scale.exponent;
        }
    }
    special
}

/// `value * 2^(scale - shift)`. Exact, but where `Range::suits` refuses the whole panel.
#[inline(always)]
fn rescale(plan: &GroupPlan, value: f32, scale: u8, shift: i32) -> f32 {
    let format = plan.scale.expect("there are scales").format;
    value * factor((shift - format.unpack(scale.into()).exponent).clamp(-126, 126))
}

/// The smallest and largest exponent, zeros left out.
#[inline(always)]
fn bounds(exponents: &[i32]) -> (i32, i32) {
    exponents
        .iter()
        .fold((EMPTY.low, EMPTY.high), |(low, high), &e| {
            let nonzero = if e == ZERO { EMPTY.low } else { e };
            (low.min(nonzero), high.max(e))
        })
}

/// The shift of a row or column whose largest exponent is `high`.
#[inline(always)]
fn shift(plan: &GroupPlan, high: i32) -> i32 {
    if plan.absolute() || high == EMPTY.high {
        0
    } else {
        high.clamp(-126, 126)
    }
}

/// 2^-shift.
#[inline(always)]
fn factor(shift: i32) -> f32 {
    f32::from_bits(((127 - shift) as u32) << 23)
}

fn range((low, high): (i32, i32), shift: i32) -> Range {
    if low > high {
        return EMPTY;
    }
    Range {
        low,
        high,
        relative_low: low - shift,
    }
}

/// Packs rows `first..first + count` of a plane of A.
pub fn pack_a(
    platform: Platform,
    plan: &GroupPlan,
    operand: Operand,
    first: usize,
    count: usize,
    panel: &Panel,
) -> PackedA {
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
    let mut scales = Vec::new();
    let mut row = Row {
        values: vec![0.0; panel.len],
        exponents: vec![0; panel.len],
        fields: vec![0; panel.len],
    };
    for index in 0..count {
        operand
            .codes
            .read_row(first + index, panel.start, &mut codes);
        if let Some((plane, block)) = operand.scales {
            scales.clear();
            let scale = |k| plane.code(first + index, (panel.start + k) / block) as u8;
            scales.extend((0..panel.len).map(scale));
        }
        let (strip, lane) = (index / ROWS, index % ROWS);
        let decoded = platform.wide(DecodeRow {
            plan,
            codes: &codes,
            scales: &scales,
            row: &mut row,
        });
        packed.shifts[index] = decoded.shift << 23;
        packed.ranges[strip] = packed.ranges[strip].join(decoded.range);
        packed.special[index] = decoded.special;
        packed.heavy[strip] |= plan.checked && is_heavy(plan, panel, &row);
        let base = strip * padded * ROWS + lane;
        for (position, k) in panel.positions() {
            let at = base + position * ROWS;
            packed.values[at] = row.values[k];
            packed.fields[at] = row.fields[k];
        }
    }
    packed
}

/// Elements of one row of A over a panel.
pub struct Row {
    values: Vec<f32>,
    exponents: Vec<i32>,
    fields: Vec<u32>,
}

/// What there is to say of a row as a whole.
pub struct Decoded {
    shift: i32,
    range: Range,
    special: bool,
}

/// Takes a row of A apart.
struct DecodeRow<'a> {
    plan: &'a GroupPlan,
    codes: &'a [u32],
    scales: &'a [u8],
    row: &'a mut Row,
}

impl Wide for DecodeRow<'_> {
    type Output = Decoded;

    #[inline(always)]
    fn run(self) -> Decoded {
        let DecodeRow {
            plan,
            codes,
            scales,
            row,
        } = self;
        let mut special = decode(plan.a, codes, &mut row.values, &mut row.exponents);
        special |= move_exponents(plan, scales, &mut row.values, &mut row.exponents);
        let bounds = bounds(&row.exponents);
        let shift = match plan.absolute() && plan.accumulator != Format::Fp16 {
            true => DOWN,
            false => shift(plan, bounds.1),
        };
        for (field, &e) in row.fields.iter_mut().zip(&row.exponents) {
            let relative = (127 + TOP + e.max(ZERO / 2) - shift).clamp(0, 255) as u32;
            let relative = if e == ZERO { 0 } else { relative };
            *field = relative * 0x0101_0101;
        }
        if plan.scale.is_some() {
            for (value, &scale) in row.values.iter_mut().zip(scales) {
                *value = rescale(plan, *value, scale, shift);
            }
        } else if shift != 0 {
            // Exact, but for elements so small that `Range::suits` refuses the whole panel.
            let factor = factor(shift);
            row.values.iter_mut().for_each(|value| *value *= factor);
        }
        Decoded {
            shift,
            range: range(bounds, shift),
            special,
        }
    }
}

/// Whether the significands of some group add up to so much that a sum could leave 32 bits.
fn is_heavy(plan: &GroupPlan, panel: &Panel, row: &Row) -> bool {
    let limit = plan.weight_limit();
    let one = plan.a.fraction_bits() as i32;
    let significand = |&k: &usize| -> f32 {
        match row.values.get(k) {
            // As a fraction of the power of two of its field, back to units of the last bit.
            Some(value) if row.exponents[k] != ZERO => {
                let field = (row.fields[k] & 255) as i32 - TOP - 127;
                value.abs() * factor((field - one).clamp(-126, 126))
            }
            _ => 0.0,
        }
    };
    // Integers far below 2^24: the sum is exact.
    let weight = |group: &[usize]| group.iter().map(significand).sum::<f32>();
    let mut groups = panel.order.chunks(plan.group);
    groups.any(|group| weight(group) > limit as f32)
}

impl StripB {
    /// Packs columns of a plane of B over a panel.
    pub fn fill(
        &mut self,
        platform: Platform,
        plan: &GroupPlan,
        operand: Operand,
        first: usize,
        count: usize,
        panel: &Panel,
    ) {
        let wide = self.shifts.len();
        // Zeros everywhere: of value 0, and of a gap that no field exceeds. Not where every place is
        // about to be written anyway.
        if !(plan.absolute() && count == wide && panel.len == panel.padded()) {
            self.values.clear();
            self.gaps.clear();
        }
        self.values.resize(panel.padded() * wide, 0.0);
        self.gaps.resize(panel.padded() * wide, 255);
        let mut codes = vec![0u32; panel.len * count];
        let plane = operand.codes;
        plane.read_block(panel.start, panel.len, first, count, &mut codes);
        let mut scales = Vec::new();
        if let Some((plane, block)) = operand.scales {
            scales.reserve(codes.len());
            for k in panel.start..panel.start + panel.len {
                let scale = |column| plane.code(k / block, column) as u8;
                scales.extend((first..first + count).map(scale));
            }
        }
        platform.wide(DecodeStrip {
            plan,
            panel,
            codes: &codes,
            scales: &scales,
            count,
            strip: self,
        });
    }
}

/// Takes a strip of B apart whose numbers need not be moved: whatever they are, the range suits.
#[inline(always)]
fn decode_absolute(
    plan: &GroupPlan,
    panel: &Panel,
    codes: &[u32],
    count: usize,
    strip: &mut StripB,
) {
    let wide = strip.shifts.len();
    let format = plan.b;
    strip.special.fill(false);
    strip.range = range((format.min_exponent(), format.max_exponent()), 0);
    let mut exponents = vec![ZERO; count];
    for (position, k) in panel.positions() {
        let codes = &codes[k * count..][..count];
        let values = &mut strip.values[position * wide..][..count];
        if decode(format, codes, values, &mut exponents) {
            note_specials(format, codes, &mut strip.special);
        }
        let gaps = &mut strip.gaps[position * wide..][..count];
        for (gap, &e) in gaps.iter_mut().zip(&exponents) {
            *gap = if e == ZERO { 255 } else { (TOP - e) as u8 };
        }
    }
}

/// Rare, so that a look at each is cheap enough.
#[cold]
fn note_specials(format: Format, codes: &[u32], special: &mut [bool]) {
    for (special, &code) in special.iter_mut().zip(codes) {
        let number = format.unpack(code.into());
        *special |= number.is_nan() || number.is_infinite();
    }
}

/// Takes a strip of B apart: `codes`, and `scales` if there are any, are rows of `count` columns.
struct DecodeStrip<'a> {
    plan: &'a GroupPlan,
    panel: &'a Panel,
    codes: &'a [u32],
    scales: &'a [u8],
    count: usize,
    strip: &'a mut StripB,
}

impl Wide for DecodeStrip<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let DecodeStrip {
            plan,
            panel,
            codes,
            scales,
            count,
            strip,
        } = self;
        let wide = strip.shifts.len();
        if plan.absolute() {
            return decode_absolute(plan, panel, codes, count, strip);
        }
        let mut exponents = vec![ZERO; panel.padded() * wide];
        let mut low = [EMPTY.low; WIDEST];
        let mut high = [EMPTY.high; WIDEST];
        strip.special.fill(false);
        for (position, k) in panel.positions() {
            let codes = &codes[k * count..][..count];
            let values = &mut strip.values[position * wide..][..count];
            let exponents = &mut exponents[position * wide..][..count];
            if decode(plan.b, codes, values, exponents) {
                note_specials(plan.b, codes, &mut strip.special);
            }
            if plan.scale.is_some() {
                let scales = &scales[k * count..][..count];
                if move_exponents(plan, scales, values, exponents) {
                    for (special, &code) in strip.special.iter_mut().zip(scales) {
                        *special |= plan
                            .scale
                            .is_some_and(|s| s.format.unpack(code.into()).is_nan());
                    }
                }
            }
            for ((low, high), &e) in low.iter_mut().zip(&mut high).zip(&*exponents) {
                *low = (*low).min(if e == ZERO { EMPTY.low } else { e });
                *high = (*high).max(e);
            }
        }

        strip.range = EMPTY;
        let mut shifts = [0; WIDEST];
        let mut factors = [1f32; WIDEST];
        for column in 0..count {
            let shift = shift(plan, high[column]);
            strip.range = strip.range.join(range((low[column], high[column]), shift));
            (shifts[column], factors[column]) = (shift, factor(shift));
        }
        for (out, shift) in strip.shifts.iter_mut().zip(shifts) {
            *out = shift << 23;
        }
        let rows = strip.gaps.chunks_mut(wide).zip(exponents.chunks(wide));
        for ((gaps, exponents), values) in rows.zip(strip.values.chunks_mut(wide)) {
            for ((gap, &e), shift) in gaps.iter_mut().zip(exponents).zip(shifts) {
                let relative = (TOP - (e.max(ZERO / 2) - shift)).clamp(0, 255);
                *gap = if e == ZERO { 255 } else { relative } as u8;
            }
            if !plan.absolute() && plan.scale.is_none() {
                for (value, factor) in values.iter_mut().zip(factors) {
                    *value *= factor;
                }
            }
        }
        if plan.scale.is_some() {
            for (position, k) in panel.positions() {
                let scales = &scales[k * count..][..count];
                let values = &mut strip.values[position * wide..][..count];
                for ((value, &scale), &shift) in values.iter_mut().zip(scales).zip(&shifts) {
                    *value = rescale(plan, *value, scale, shift);
                }
            }
        }
    }
}
