//! Columns of B, and their scales.

use std::ops::Range;
use std::sync::OnceLock;

use super::nudged::Nudged;
use super::panel::{EMPTY, Exponents, NOTHING, Panel, range};
use crate::codes::{Codes, note_specials};
use crate::group::plan::GroupPlan;
use crate::platform::{Platform, Vectorized};
use crate::tile::{Operand, Packed};
use crate::vector::{ACROSS, Vector, WIDEST};
use tcverify_num::{Class, Format};
use tcverify_tensor::Plane;

/// The columns of B that the kernel takes at a time, packed.
#[derive(Debug)]
pub struct StripB {
    /// `[position][columns]`
    pub values: Vec<f32>,
    pub gaps: Vec<u8>,
    pub shifts: Vec<i32>,
    pub range: Exponents,
    /// Whether a column has an infinity or NaN here; none if there is none.
    pub special: Vec<bool>,
    /// The values for chains that round down, once a tile asks for them.
    nudged: OnceLock<Option<Nudged<u8>>>,
}

impl StripB {
    /// Room for `wide` columns.
    pub fn new(wide: usize) -> StripB {
        StripB {
            values: Vec::new(),
            gaps: Vec::new(),
            shifts: vec![0; wide],
            range: EMPTY,
            special: Vec::new(),
            nudged: OnceLock::new(),
        }
    }

    /// `[position][columns]`: the values for chains that round down.
    pub fn nudged(&self, platform: Platform, plan: &GroupPlan) -> Option<&Nudged<u8>> {
        let pack = || Nudged::columns(platform, plan, &self.values, self.shifts.len());
        self.nudged.get_or_init(pack).as_ref()
    }

    /// Packs columns of a plane of B over a panel.
    pub fn fill(
        &mut self,
        platform: Platform,
        plan: &GroupPlan,
        operand: Operand,
        columns: Range<usize>,
        panel: &Panel,
    ) {
        let wide = self.shifts.len();
        self.values.resize(panel.padded() * wide, 0.0);
        self.gaps.resize(panel.padded() * wide, 0);
        self.special.clear();
        let rows = panel.start..panel.start + panel.len;
        let any_special = platform.vectorized(Fill {
            plan,
            panel,
            lines: Codes::new(
                platform,
                operand.codes,
                2,
                rows.clone(),
                columns.clone(),
                wide,
            ),
            scales: Scales::new(plan, operand.scales, panel, columns.clone()),
            strip: self,
        });
        if any_special {
            self.special.resize(wide, false);
            let special = |code| plan.b.unpack(code).class != Class::Finite;
            note_specials(operand.codes, [rows, columns], special, &mut self.special);
        }
        self.nudged = OnceLock::new();
    }
}

impl Packed for StripB {
    fn special(&self) -> &[bool] {
        &self.special
    }
}

/// Packs a strip. Says whether a code is an infinity or NaN; columns with a NaN for a scale are noted.
pub(super) struct Fill<'a> {
    pub(super) plan: &'a GroupPlan,
    pub(super) panel: &'a Panel,
    pub(super) lines: Codes<'a>,
    pub(super) scales: Option<Scales<'a>>,
    pub(super) strip: &'a mut StripB,
}

impl Vectorized for Fill<'_> {
    type Output = bool;

    #[inline(always)]
    unsafe fn run<V: Vector>(self) -> bool {
        assert_eq!(self.strip.shifts.len(), ACROSS * V::LANES);
        // SAFETY: the same promise.
        unsafe {
            if self.scales.is_some() || !self.plan.absolute() {
                self.of_width::<V, true>()
            } else {
                self.of_width::<V, false>()
            }
        }
    }
}

impl Fill<'_> {
    /// Numbers are `MOVED` by the largest of their column and by scales, or taken as they are.
    #[inline(always)]
    unsafe fn of_width<V: Vector, const MOVED: bool>(self) -> bool {
        // SAFETY: the same promise.
        unsafe {
            match self.lines.width() {
                1 => self.fill::<V, 1, MOVED>(),
                2 => self.fill::<V, 2, MOVED>(),
                4 => self.fill::<V, 4, MOVED>(),
                _ => unreachable!("lines have one, two or four bytes a code"),
            }
        }
    }

    #[inline(always)]
    unsafe fn fill<V: Vector, const WIDTH: usize, const MOVED: bool>(mut self) -> bool {
        if MOVED {
            // SAFETY: the same promise.
            unsafe { self.shift::<V, WIDTH>() }
        } else {
            // Whatever the numbers are, the range suits.
            let format = self.plan.b;
            self.strip.range = range((format.min_exponent(), format.max_exponent()), 0);
        }
        let wide = self.strip.shifts.len();
        for position in self.panel.padding() {
            self.strip.values[position * wide..][..wide].fill(0.0);
            self.strip.gaps[position * wide..][..wide].fill(NOTHING);
        }
        let mut special = false;
        let mut first = 0;
        while first < self.panel.padded() {
            let end = self.read_scales(first);
            if let Some(scales) = &self.scales
                && scales.nans.contains(&-1)
            {
                self.strip.special.resize(wide, false);
                for (special, nan) in self.strip.special.iter_mut().zip(scales.nans) {
                    *special |= nan != 0;
                }
            }
            // SAFETY: the same promise.
            special |= unsafe { self.place::<V, WIDTH, MOVED>(first..end) };
            first = end;
        }
        special
    }

    /// The scales of a position's k; up to where they are the same. There is no other order of k where
    /// there are scales.
    pub(super) fn read_scales(&mut self, position: usize) -> usize {
        let all = self.panel.padded();
        match &mut self.scales {
            Some(scales) if position < self.panel.len => scales.read(position).min(all),
            _ => all,
        }
    }
}

/// Scales of the columns of a strip, those of one k at a time.
pub(super) struct Scales<'a> {
    plane: Plane<'a>,
    format: Format,
    /// How many k share one.
    block: usize,
    /// The panel's first k.
    start: usize,
    columns: Range<usize>,
    pub(super) exponents: [i32; WIDEST],
    /// All ones where a scale is NaN, else zero.
    pub(super) nans: [i32; WIDEST],
}

impl<'a> Scales<'a> {
    fn new(
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
    fn read(&mut self, k: usize) -> usize {
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
