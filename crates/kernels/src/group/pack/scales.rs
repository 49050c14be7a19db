//! Scales of the columns of a strip of B, and which columns have an infinity or NaN.

use std::ops::Range;

use super::panel::Panel;
use crate::group::plan::GroupPlan;
use crate::vector::WIDEST;
use tcverify_num::Format;
use tcverify_tensor::Plane;

/// Notes which columns have an infinity or NaN. Rare, so that a look at each is cheap enough.
#[cold]
pub fn note_specials(
    plane: Plane,
    format: Format,
    rows: Range<usize>,
    columns: Range<usize>,
    special: &mut [bool],
) {
    for row in rows {
        for (special, column) in special.iter_mut().zip(columns.clone()) {
            let number = format.unpack(plane.code(row, column));
            *special |= number.is_nan() || number.is_infinite();
        }
    }
}

/// Scales of the columns of a strip, those of one k at a time.
pub struct Scales<'a> {
    plane: Plane<'a>,
    format: Format,
    /// How many k share one.
    block: usize,
    /// The panel's first k.
    start: usize,
    columns: Range<usize>,
    pub exponents: [i32; WIDEST],
    /// All ones where a scale is NaN, else zero.
    pub nans: [i32; WIDEST],
}

impl<'a> Scales<'a> {
    pub fn new(
        plan: &GroupPlan,
        scales: Option<(Plane<'a>, usize)>,
        panel: &Panel,
        columns: Range<usize>,
    ) -> Option<Scales<'a>> {
        let (plane, block) = scales?;
        Some(Scales {
            plane,
            format: plan.scale?.format,
            block,
            start: panel.start,
            columns,
            exponents: [0; WIDEST],
            nans: [0; WIDEST],
        })
    }

    /// Reads those of a k, counted from the panel's first; says up to which k they are the same.
    pub fn read(&mut self, k: usize) -> usize {
        let row = (self.start + k) / self.block;
        for (at, column) in self.columns.clone().enumerate() {
            let scale = self.format.unpack(self.plane.code(row, column));
            let nan = scale.is_nan();
            self.exponents[at] = if nan { 0 } else { scale.exponent };
            self.nans[at] = -i32::from(nan);
        }
        (row + 1) * self.block - self.start
    }
}
