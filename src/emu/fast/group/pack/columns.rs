//! Columns of B.

use super::{EMPTY, Panel, Range, TOP, factor, move_exponents, range, rescale, shift};
use crate::emu::fast::decode::{Decoder, ZERO};
use crate::emu::fast::group::plan::GroupPlan;
use crate::emu::fast::platform::{Platform, Wide};
use crate::emu::fast::tile::{Operand, Packed};
use crate::emu::fast::vector::WIDEST;
use crate::num::Format;
use crate::tensor::Plane;

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

impl Packed for StripB {
    fn special(&self) -> &[bool] {
        &self.special
    }
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
        let mut scales = Vec::new();
        if let Some((plane, block)) = operand.scales {
            scales.reserve(panel.len * count);
            for k in panel.start..panel.start + panel.len {
                let scale = |column| plane.code(k / block, column) as u8;
                scales.extend((first..first + count).map(scale));
            }
        }
        platform.wide(DecodeStrip {
            plan,
            panel,
            codes: Codes::new(operand.codes, panel, first, count),
            scales: &scales,
            count,
            strip: self,
        });
    }
}

/// Codes of some columns of B over a panel, k by k.
struct Codes<'a> {
    plane: Plane<'a>,
    /// The first k and column.
    start: usize,
    first: usize,
    count: usize,
    line: [u32; WIDEST],
    /// All of them, where a column lies together in memory and not a row.
    block: Vec<u32>,
}

impl<'a> Codes<'a> {
    fn new(plane: Plane<'a>, panel: &Panel, first: usize, count: usize) -> Codes<'a> {
        let mut block = Vec::new();
        if !plane.has_rows_together() {
            block.resize(panel.len * count, 0);
            plane.read_block(panel.start, panel.len, first, count, &mut block);
        }
        Codes {
            plane,
            start: panel.start,
            first,
            count,
            line: [0; WIDEST],
            block,
        }
    }

    /// Those of one k, counted from the panel's first.
    #[inline(always)]
    fn of(&mut self, k: usize) -> &[u32] {
        if !self.block.is_empty() {
            return &self.block[k * self.count..][..self.count];
        }
        let line = &mut self.line[..self.count];
        self.plane.read_row(self.start + k, self.first, line);
        line
    }
}

/// Takes a strip of B apart whose numbers need not be moved: whatever they are, the range suits.
#[inline(always)]
fn decode_absolute(plan: &GroupPlan, panel: &Panel, mut codes: Codes, strip: &mut StripB) {
    let wide = strip.shifts.len();
    let format = plan.b;
    strip.special.fill(false);
    strip.range = range((format.min_exponent(), format.max_exponent()), 0);
    let count = codes.count;
    let decoder = Decoder::new(format);
    let mut exponents = [ZERO; WIDEST];
    let exponents = &mut exponents[..count];
    for (position, k) in panel.positions() {
        let codes = codes.of(k);
        let values = &mut strip.values[position * wide..][..count];
        if decoder.numbers(codes, values, exponents) {
            note_specials(format, codes, &mut strip.special);
        }
        let gaps = &mut strip.gaps[position * wide..][..count];
        for (gap, &e) in gaps.iter_mut().zip(&*exponents) {
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

/// Takes a strip of B apart: `scales`, if there are any, are rows of `count` columns.
struct DecodeStrip<'a> {
    plan: &'a GroupPlan,
    panel: &'a Panel,
    codes: Codes<'a>,
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
            mut codes,
            scales,
            count,
            strip,
        } = self;
        let wide = strip.shifts.len();
        if plan.absolute() {
            return decode_absolute(plan, panel, codes, strip);
        }
        let decoder = Decoder::new(plan.b);
        let mut exponents = vec![ZERO; panel.padded() * wide];
        let mut low = [EMPTY.low; WIDEST];
        let mut high = [EMPTY.high; WIDEST];
        strip.special.fill(false);
        for (position, k) in panel.positions() {
            let codes = codes.of(k);
            let values = &mut strip.values[position * wide..][..count];
            let exponents = &mut exponents[position * wide..][..count];
            if decoder.numbers(codes, values, exponents) {
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
