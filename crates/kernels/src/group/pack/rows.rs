//! Rows of A.

use std::ops::Range;

use super::nudged::Nudged;
use super::panel::{EMPTY, Exponents, Panel, ROWS, TOP, factor, factor_between, range, shift};
use crate::decode::Decoder;
use crate::group::plan::{DOWN, GroupPlan};
use crate::platform::{Platform, Vectorized};
use crate::tile::{Operand, Packed};
use crate::vector::{Vector, WIDEST};
use tcverify_num::{Format, Scale};

/// The exponent of zeros: below every other.
const ZERO: i32 = i32::MIN / 2;

/// Rows of A, packed.
#[derive(Debug)]
pub struct PackedA {
    /// `[strip][k][ROWS]`
    pub values: Vec<f32>,
    /// `[strip][k][ROWS]`, the field in each of the four bytes.
    pub fields: Vec<u32>,
    /// Shift of every row, times 2^23.
    pub shifts: Vec<i32>,
    pub ranges: Vec<Exponents>,
    /// Whether sums of products with the rows of a strip may leave 32 bits, per strip.
    pub heavy: Vec<bool>,
    /// Whether a row has an infinity or NaN here.
    pub special: Vec<bool>,
    /// Per strip: the values for chains that round down, if the plan has such.
    pub nudged: Vec<Option<Nudged<u32>>>,
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

/// Packs rows of a plane of A.
pub fn pack_a(
    platform: Platform,
    plan: &GroupPlan,
    operand: Operand,
    lines: Range<usize>,
    panel: &Panel,
) -> PackedA {
    let count = lines.len();
    let strips = count.div_ceil(ROWS);
    let padded = panel.padded();
    let mut packed = PackedA {
        values: vec![0.0; strips * padded * ROWS],
        fields: vec![0; strips * padded * ROWS],
        shifts: vec![0; strips * ROWS],
        ranges: vec![EMPTY; strips],
        heavy: vec![false; strips],
        special: vec![false; count],
        nudged: Vec::new(),
    };
    // Zeros fill the last step and the last register up.
    let registers = padded.next_multiple_of(WIDEST);
    let mut codes = vec![0u32; registers];
    let mut scales = Vec::new();
    let mut rows: [Row; ROWS] = std::array::from_fn(|_| Row::new(registers));
    for strip in 0..strips {
        let lanes = packed.rows(strip);
        for (lane, row) in rows.iter_mut().enumerate().take(lanes) {
            let index = strip * ROWS + lane;
            let codes_here = &mut codes[..panel.len];
            let line = lines.start + index;
            operand.codes.read_row(line, panel.start, codes_here);
            if let Some((plane, block)) = operand.scales {
                scales.clear();
                let scale = |k| plane.code(line, (panel.start + k) / block) as u8;
                scales.extend((0..panel.len).map(scale));
            }
            let decoded = platform.vectorized(DecodeRow {
                plan,
                panel,
                codes: &codes,
                scales: &scales,
                row,
            });
            packed.shifts[index] = decoded.shift << 23;
            packed.ranges[strip] = packed.ranges[strip].join(decoded.range);
            packed.special[index] = decoded.special;
            packed.heavy[strip] |= decoded.heavy;
        }
        let base = strip * padded * ROWS;
        for (position, k) in panel.positions() {
            let at = base + position * ROWS;
            let values = &mut packed.values[at..][..ROWS];
            let fields = &mut packed.fields[at..][..ROWS];
            for (lane, row) in rows.iter().enumerate().take(lanes) {
                values[lane] = row.values[k];
                fields[lane] = row.fields[k];
            }
        }
    }
    // For one strip it takes longer to convert B than it saves.
    if count > ROWS && plan.nudge.is_some() {
        let values = packed.values.chunks(padded * ROWS);
        let pack = |values| Nudged::rows(platform, plan, values, ROWS);
        packed.nudged = values.map(pack).collect();
    }
    packed
}

/// Elements of one row of A over a panel.
pub struct Row {
    values: Vec<f32>,
    exponents: Vec<i32>,
    significands: Vec<i32>,
    fields: Vec<u32>,
}

impl Row {
    fn new(len: usize) -> Row {
        Row {
            values: vec![0.0; len],
            exponents: vec![0; len],
            significands: vec![0; len],
            fields: vec![0; len],
        }
    }
}

/// What there is to say of a row as a whole.
pub struct Decoded {
    shift: i32,
    range: Exponents,
    special: bool,
    /// Whether sums of products with it may leave 32 bits.
    heavy: bool,
}

/// Takes a row of A apart. Buffers are as long as registers fill them.
struct DecodeRow<'a> {
    plan: &'a GroupPlan,
    panel: &'a Panel,
    codes: &'a [u32],
    scales: &'a [u8],
    row: &'a mut Row,
}

impl Vectorized for DecodeRow<'_> {
    type Output = Decoded;

    #[inline(always)]
    unsafe fn run<V: Vector>(self) -> Decoded {
        let DecodeRow {
            plan,
            panel,
            codes,
            scales,
            row,
        } = self;
        // SAFETY: the same promise.
        let mut special = unsafe { numbers::<V>(plan, codes, row) };
        if let Some(scale) = plan.scale {
            special |= move_exponents(scale, scales, row);
        }
        let bounds = bounds(&row.exponents);
        let shift = if plan.absolute() && plan.accumulator != Format::Fp16 {
            DOWN
        } else {
            shift(plan, bounds.1)
        };
        for (field, &e) in row.fields.iter_mut().zip(&row.exponents) {
            let relative = (127 + TOP + e.max(ZERO / 2) - shift).clamp(0, 255) as u32;
            let relative = if e == ZERO { 0 } else { relative };
            *field = relative * 0x0101_0101;
        }
        if let Some(scale) = plan.scale {
            for (value, &code) in row.values.iter_mut().zip(scales) {
                *value *= factor_between(shift, scale.format.unpack(code.into()).exponent);
            }
        } else if shift != 0 {
            // Exact, except elements so small that `Exponents::suits` refuses the whole panel.
            let factor = factor(shift);
            row.values.iter_mut().for_each(|value| *value *= factor);
        }
        Decoded {
            shift,
            range: range(bounds, shift),
            special,
            heavy: plan.checked && is_heavy(plan, panel, row),
        }
    }
}

/// Numbers and exponents of codes; whether one is an infinity or NaN, which are zeros here.
#[inline(always)]
unsafe fn numbers<V: Vector>(plan: &GroupPlan, codes: &[u32], row: &mut Row) -> bool {
    let decoder = Decoder::new(plan.a);
    let count = codes.len();
    assert!(count.is_multiple_of(V::LANES));
    assert!(row.values.len() == count && row.exponents.len() == count);
    assert!(row.significands.len() == count);
    // SAFETY: features are the caller's promise; whole registers lie within the lengths just asserted.
    unsafe {
        let mut special = V::splat(0);
        for at in (0..count).step_by(V::LANES) {
            let numbers = decoder.numbers::<V, true>(V::load(codes.as_ptr().add(at).cast()));
            special = V::or(special, numbers.specials);
            let exponents = V::sub(numbers.fields, V::splat(plan.a.bias()));
            let exponents = V::or(
                V::clear(exponents, numbers.zeros),
                V::and(V::splat(ZERO), numbers.zeros),
            );
            V::store_f(row.values.as_mut_ptr().add(at), numbers.values);
            V::store(row.exponents.as_mut_ptr().add(at), exponents);
            V::store(row.significands.as_mut_ptr().add(at), numbers.significands);
        }
        V::any_negative(special)
    }
}

/// Moves exponents by scales, of the same number. A NaN makes its element zero; says whether there is
/// one. Values stay as they are until the shift is known.
#[inline(always)]
fn move_exponents(scale: Scale, codes: &[u8], row: &mut Row) -> bool {
    let mut special = false;
    let elements = row.values.iter_mut().zip(&mut row.exponents);
    for ((value, exponent), &code) in elements.zip(codes) {
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

/// Whether the significands of some group add up to so much that a sum could leave 32 bits.
#[inline(always)]
fn is_heavy(plan: &GroupPlan, panel: &Panel, row: &Row) -> bool {
    let limit = plan.weight_limit();
    let light = |weight: i32| u32::try_from(weight).is_ok_and(|weight| weight <= limit);
    let all = &row.significands[..panel.padded()];
    !match plan.halves {
        None => all
            .chunks(plan.group)
            .all(|group| light(group.iter().sum())),
        Some(_) => {
            let mut groups = panel.order.chunks(plan.group);
            groups.all(|group| light(group.iter().map(|&k| all[k]).sum()))
        }
    }
}
