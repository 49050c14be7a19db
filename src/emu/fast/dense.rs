//! Operands as plain numbers side by side, k by k, for kernels that need nothing else of them.

use std::ops::Range;

use super::platform::{Platform, Wide};
use super::real::{Block, Real};
use super::tile::{Operand, Packed};
use crate::num::Format;

/// Rows of a strip of A.
pub const ROWS: usize = 4;

/// Rows of A in strips of [`ROWS`], `[strip][k][ROWS]`, or a strip of columns of B,
/// `[k][columns]`; what fills them up is +0.
#[derive(Debug, Default)]
pub struct Dense<T> {
    pub values: Vec<T>,
    /// Whether a row (or column) has an infinity or NaN, for those who ask.
    pub special: Vec<bool>,
    /// Of each strip, for those who ask.
    pub ranges: Vec<ExponentRange>,
}

impl<T> Packed for Dense<T> {
    fn special(&self) -> &[bool] {
        &self.special
    }
}

/// The smallest and the largest exponent field of nonzero numbers, those of an FP32; low > high where
/// there are none.
#[derive(Clone, Copy, Debug)]
pub struct ExponentRange {
    pub low: i32,
    pub high: i32,
}

impl ExponentRange {
    pub const EMPTY: ExponentRange = ExponentRange { low: 255, high: 0 };

    fn of(values: &[f32]) -> ExponentRange {
        let mut range = ExponentRange::EMPTY;
        for value in values {
            let field = (value.to_bits() >> 23 & 255) as i32;
            let low = if *value == 0.0 { 255 } else { field };
            // Infinities and NaNs have none.
            let high = if field == 255 { 0 } else { field };
            range.low = range.low.min(low);
            range.high = range.high.max(high);
        }
        range
    }
}

/// A panel of k, and to how many it is filled up.
#[derive(Clone, Debug)]
pub struct DensePanel {
    pub k: Range<usize>,
    pub padded: usize,
}

/// Packs rows of A.
pub fn pack_a<T: Real>(
    platform: Platform,
    format: Format,
    panel: &DensePanel,
    operand: Operand,
    rows: Range<usize>,
) -> Dense<T> {
    platform.wide(PackA {
        format,
        panel,
        operand,
        rows,
        values: Vec::new(),
    })
}

struct PackA<'a, T> {
    format: Format,
    panel: &'a DensePanel,
    operand: Operand<'a>,
    rows: Range<usize>,
    values: Vec<T>,
}

impl<T: Real> Wide for PackA<'_, T> {
    type Output = Dense<T>;

    #[inline(always)]
    fn run(self) -> Dense<T> {
        let DensePanel { k, padded } = self.panel;
        let mut values = self.values;
        values.resize(self.rows.len().div_ceil(ROWS) * padded * ROWS, T::default());
        let mut row = vec![T::default(); k.len()];
        for (i, at) in self.rows.enumerate() {
            let block = Block {
                row: at,
                rows: 1,
                column: k.start,
                columns: k.len(),
            };
            T::read(self.format, self.operand.codes, block, &mut row);
            let strip = &mut values[i / ROWS * padded * ROWS..];
            for (out, &value) in strip.iter_mut().skip(i % ROWS).step_by(ROWS).zip(&row) {
                *out = value;
            }
        }
        Dense {
            values,
            special: Vec::new(),
            ranges: Vec::new(),
        }
    }
}

/// Packs columns of B, a strip of `wide`.
pub fn pack_b<T: Real>(
    platform: Platform,
    format: Format,
    panel: &DensePanel,
    operand: Operand,
    columns: Range<usize>,
    wide: usize,
    b: &mut Dense<T>,
) {
    platform.wide(PackB {
        format,
        panel,
        operand,
        columns,
        wide,
        b,
    });
}

struct PackB<'a, T> {
    format: Format,
    panel: &'a DensePanel,
    operand: Operand<'a>,
    columns: Range<usize>,
    wide: usize,
    b: &'a mut Dense<T>,
}

impl<T: Real> Wide for PackB<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let DensePanel { k, padded } = self.panel;
        let (wide, count) = (self.wide, self.columns.len());
        let block = Block {
            row: k.start,
            rows: k.len(),
            column: self.columns.start,
            columns: count,
        };
        let values = &mut self.b.values;
        if count == wide {
            values.resize(padded * wide, T::default());
            let (mine, rest) = values.split_at_mut(k.len() * wide);
            T::read(self.format, self.operand.codes, block, mine);
            rest.fill(T::default());
            return;
        }
        let mut narrow = vec![T::default(); k.len() * count];
        T::read(self.format, self.operand.codes, block, &mut narrow);
        values.clear();
        values.resize(padded * wide, T::default());
        for (out, row) in values.chunks_mut(wide).zip(narrow.chunks(count)) {
            out[..count].copy_from_slice(row);
        }
    }
}

impl Dense<f32> {
    /// Numbers below the smallest normal one of their format become +0.
    pub fn flush(&mut self, format: Format) {
        let smallest = f32::from_bits(((format.min_exponent() + 127) as u32) << 23);
        for value in &mut self.values {
            // A NaN is not below.
            *value = if value.abs() < smallest { 0.0 } else { *value };
        }
    }

    /// Notes the exponents of strips of `size` numbers.
    pub fn measure(&mut self, size: usize) {
        self.ranges.clear();
        self.ranges
            .extend(self.values.chunks(size).map(ExponentRange::of));
    }
}

impl<T: Real> Dense<T> {
    /// Notes the rows or columns, `lines` in a strip of `size` numbers, that have an infinity or NaN,
    /// and makes those numbers zeros.
    pub fn zero_specials(&mut self, lines: usize, size: usize, count: usize) {
        self.special.clear();
        self.special.resize(count, false);
        for (strip, values) in self.values.chunks_mut(size).enumerate() {
            if values.iter().all(|value| value.is_finite()) {
                continue;
            }
            for values in values.chunks_mut(lines) {
                for (line, value) in values.iter_mut().enumerate() {
                    if !value.is_finite() {
                        *value = T::default();
                        self.special[strip * lines + line] = true;
                    }
                }
            }
        }
    }
}
