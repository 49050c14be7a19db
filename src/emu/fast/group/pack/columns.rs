//! Columns of B.

use std::ops::Range;

use super::lines::{Lines, Scales, note_specials};
use super::{EMPTY, Panel, TOP, range};
use crate::emu::fast::decode::Decoder;
use crate::emu::fast::group::plan::GroupPlan;
use crate::emu::fast::platform::{Platform, Vectorized};
use crate::emu::fast::tile::{Operand, Packed};
use crate::emu::fast::vector::{ACROSS, Vector, WIDEST};
/// As many columns of B as the kernel takes at a time.
#[derive(Debug)]
pub struct StripB {
    /// `[position][columns]`
    pub values: Vec<f32>,
    pub gaps: Vec<u8>,
    pub shifts: Vec<i32>,
    pub range: super::Range,
    /// Whether a column has an infinity or NaN here; none if there is none.
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
            special: Vec::new(),
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
        self.values.resize(panel.padded() * wide, 0.0);
        self.gaps.resize(panel.padded() * wide, 0);
        self.special.clear();
        let rows = panel.start..panel.start + panel.len;
        let columns = first..first + count;
        let any_special = platform.vectorized(Fill {
            plan,
            panel,
            lines: Lines::new(platform, operand.codes, panel, columns.clone(), wide),
            scales: Scales::new(plan, operand.scales, panel, columns.clone()),
            strip: self,
        });
        if any_special {
            self.special.resize(wide, false);
            note_specials(operand.codes, plan.b, rows, columns, &mut self.special);
        }
    }
}

/// Packs a strip. Says whether a code is an infinity or NaN; columns with a NaN for a scale are noted.
struct Fill<'a> {
    plan: &'a GroupPlan,
    panel: &'a Panel,
    lines: Lines<'a>,
    scales: Option<Scales<'a>>,
    strip: &'a mut StripB,
}

impl Vectorized for Fill<'_> {
    type Output = bool;

    #[inline(always)]
    unsafe fn run<V: Vector>(self) -> bool {
        assert_eq!(self.strip.shifts.len(), ACROSS * V::LANES);
        // SAFETY: the same promise.
        unsafe {
            match (self.scales.is_some(), self.plan.absolute()) {
                (true, _) => self.of_width::<V, SCALED>(),
                (false, false) => self.of_width::<V, MOVED>(),
                (false, true) => self.of_width::<V, ABSOLUTE>(),
            }
        }
    }
}

/// Numbers are taken as they are, or moved by the largest of their column, or by that and scales.
const ABSOLUTE: u8 = 0;
const MOVED: u8 = 1;
const SCALED: u8 = 2;

impl Fill<'_> {
    #[inline(always)]
    unsafe fn of_width<V: Vector, const MODE: u8>(self) -> bool {
        // SAFETY: the same promise.
        unsafe {
            match self.lines.width() {
                1 => self.fill::<V, 1, MODE>(),
                2 => self.fill::<V, 2, MODE>(),
                4 => self.fill::<V, 4, MODE>(),
                _ => unreachable!("lines have one, two or four bytes a code"),
            }
        }
    }

    #[inline(always)]
    unsafe fn fill<V: Vector, const WIDTH: usize, const MODE: u8>(mut self) -> bool {
        if MODE == ABSOLUTE {
            // Whatever the numbers are, the range suits.
            let format = self.plan.b;
            self.strip.range = range((format.min_exponent(), format.max_exponent()), 0);
        } else {
            // SAFETY: the same promise.
            unsafe { self.shift::<V, WIDTH>() }
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
            special |= unsafe { self.place::<V, WIDTH, MODE>(first..end) };
            first = end;
        }
        special
    }

    /// The scales of a position's k; up to where they are the same. There is no other order of k where
    /// there are scales.
    fn read_scales(&mut self, position: usize) -> usize {
        let all = self.panel.padded();
        match &mut self.scales {
            Some(scales) if position < self.panel.len => scales.read(position).min(all),
            _ => all,
        }
    }

    /// Finds out what every column's numbers span, and how far they are moved.
    #[inline(always)]
    unsafe fn shift<V: Vector, const WIDTH: usize>(&mut self) {
        let mut spans = [[EMPTY.low; WIDEST], [EMPTY.high; WIDEST]];
        let mut first = 0;
        while first < self.panel.len {
            let end = self.read_scales(first).min(self.panel.len);
            // SAFETY: the same promise.
            unsafe { self.span::<V, WIDTH>(first..end, &mut spans) }
            first = end;
        }
        let [lows, highs] = spans;
        let mut relative = [EMPTY.relative_low; WIDEST];
        // SAFETY: the same promise; all of these are at least a strip wide.
        unsafe {
            for v in 0..ACROSS {
                let at = v * V::LANES;
                let high = V::load(highs.as_ptr().add(at));
                let none = V::equal(high, V::splat(EMPTY.high));
                let shift = V::clear(clamp::<V>(high), none);
                let low = V::sub(V::load(lows.as_ptr().add(at)), shift);
                V::store(relative.as_mut_ptr().add(at), low);
                let shift = V::shift_left(shift, V::splat(23));
                V::store(self.strip.shifts.as_mut_ptr().add(at), shift);
            }
        }
        let least = |x: [i32; WIDEST]| x.into_iter().fold(EMPTY.low, i32::min);
        self.strip.range = super::Range {
            low: least(lows),
            high: highs.into_iter().fold(EMPTY.high, i32::max),
            relative_low: least(relative),
        };
    }

    /// Widens the spans of columns by numbers of some k that share scales.
    #[inline(always)]
    unsafe fn span<V: Vector, const WIDTH: usize>(
        &self,
        k: Range<usize>,
        [lows, highs]: &mut [[i32; WIDEST]; 2],
    ) {
        let decoder = Decoder::new(self.plan.b);
        // SAFETY: the same promise; lines and these are a strip wide.
        unsafe {
            let mut low = [V::splat(-1); ACROSS];
            let mut high = [V::splat(0); ACROSS];
            for k in k {
                let line = self.lines.of(k, ACROSS * V::LANES);
                for v in 0..ACROSS {
                    let codes = codes::<V, WIDTH>(line, v);
                    let magnitudes = match WIDTH {
                        4 => decoder.magnitudes::<V, true>(codes),
                        _ => decoder.magnitudes::<V, false>(codes),
                    };
                    // One less, so that zeros are above all others as unsigned numbers.
                    low[v] = V::min_unsigned(low[v], V::sub(magnitudes, V::splat(1)));
                    high[v] = V::max(high[v], magnitudes);
                }
            }
            for v in 0..ACROSS {
                let at = v * V::LANES;
                let [scale, nans] = self.scale_of::<V>(v);
                let none = V::or(nans, V::equal(high[v], V::splat(0)));
                let among = |exponent: V::I, empty: i32| {
                    let moved = V::clear(V::add(exponent, scale), none);
                    V::or(moved, V::and(V::splat(empty), none))
                };
                let lowest = decoder.exponents::<V>(V::add(low[v], V::splat(1)));
                let lowest = among(lowest, EMPTY.low);
                let highest = among(decoder.exponents::<V>(high[v]), EMPTY.high);
                let (low, high) = (lows.as_mut_ptr().add(at), highs.as_mut_ptr().add(at));
                V::store(low, V::min(V::load(low), lowest));
                V::store(high, V::max(V::load(high), highest));
            }
        }
    }

    /// Exponents of the scales of a register's columns, and all ones where they are NaN.
    #[inline(always)]
    unsafe fn scale_of<V: Vector>(&self, v: usize) -> [V::I; 2] {
        // SAFETY: the same promise; these are as wide as the widest strip.
        unsafe {
            match &self.scales {
                Some(scales) => [&scales.exponents, &scales.nans]
                    .map(|line| V::load(line.as_ptr().add(v * V::LANES))),
                None => [V::splat(0); 2],
            }
        }
    }

    /// Writes the values and gaps of some positions that share scales; whether a code is an infinity or NaN.
    #[inline(always)]
    unsafe fn place<V: Vector, const WIDTH: usize, const MODE: u8>(
        &mut self,
        positions: Range<usize>,
    ) -> bool {
        let decoder = Decoder::new(self.plan.b);
        let wide = ACROSS * V::LANES;
        // Pointers below stay within these.
        assert!(self.strip.values.len() == self.panel.padded() * wide);
        assert!(self.strip.gaps.len() == self.panel.padded() * wide);
        assert!(positions.end <= self.panel.padded());
        let values = self.strip.values.as_mut_ptr();
        let gaps = self.strip.gaps.as_mut_ptr();
        let Panel { len, ref order, .. } = *self.panel;
        // SAFETY: the same promise; lines are a strip wide, and so are shifts and a position's values
        // and gaps.
        unsafe {
            let nothing = V::splat(NOTHING.into());
            let mut nans = [V::splat(0); ACROSS];
            let mut factor = [V::splat_f(1.0); ACROSS];
            let mut top = [V::splat(0); ACROSS];
            for v in 0..ACROSS {
                top[v] = V::splat(TOP + self.plan.b.bias());
                if MODE == ABSOLUTE {
                    continue;
                }
                let [scale, nan] = self.scale_of::<V>(v);
                let shift = V::load(self.strip.shifts.as_ptr().add(v * V::LANES));
                let shift = V::sub(V::shift_right(shift, V::splat(23)), scale);
                // As `factor_between`.
                let field = V::sub(V::splat(127), clamp::<V>(shift));
                factor[v] = V::from_bits(V::shift_left(field, V::splat(23)));
                top[v] = V::add(top[v], shift);
                nans[v] = nan;
            }
            let mut special = V::splat(0);
            for position in positions {
                let k = order[position];
                if k >= len {
                    continue;
                }
                let line = self.lines.of(k, ACROSS * V::LANES);
                if WIDTH < 4 {
                    // The line of the strip after the next one.
                    V::prefetch(line.wrapping_add(AHEAD * wide * WIDTH));
                    V::prefetch(line.wrapping_add(AHEAD * wide * WIDTH + 64));
                }
                for v in 0..ACROSS {
                    let at = position * wide + v * V::LANES;
                    let codes = codes::<V, WIDTH>(line, v);
                    let numbers = match WIDTH {
                        4 => decoder.numbers::<V, true>(codes),
                        _ => decoder.numbers::<V, false>(codes),
                    };
                    special = V::or(special, numbers.specials);
                    let mut value = numbers.values;
                    let mut gap = V::sub(top[v], numbers.fields);
                    let mut zeros = numbers.zeros;
                    if MODE != ABSOLUTE {
                        // Exact, but where `Range::suits` refuses the whole panel.
                        value = V::mul(value, factor[v]);
                        gap = V::min(gap, nothing);
                    }
                    if MODE == SCALED {
                        // A NaN for a scale makes its element zero.
                        value = V::from_bits(V::clear(V::bits(value), nans[v]));
                        gap = V::max(gap, V::splat(0));
                        zeros = V::or(zeros, nans[v]);
                    }
                    let gap = V::or(gap, V::and(zeros, nothing));
                    V::store_f(values.add(at), value);
                    V::store_bytes(gaps.add(at), gap);
                }
            }
            V::any_negative(special)
        }
    }
}

/// How many strips ahead lines are asked for.
const AHEAD: usize = 2;

/// The gap of a zero: no field exceeds it.
const NOTHING: u8 = 255;

/// Exponents of factors, so that these are normal numbers.
#[inline(always)]
unsafe fn clamp<V: Vector>(exponents: V::I) -> V::I {
    // SAFETY: the caller's promise: features.
    unsafe { V::min(V::max(exponents, V::splat(-126)), V::splat(126)) }
}

/// A register of a line.
#[inline(always)]
unsafe fn codes<V: Vector, const WIDTH: usize>(line: *const u8, v: usize) -> V::I {
    // SAFETY: the caller's promise: features, and a line as wide as a strip.
    unsafe {
        let from = line.add(v * V::LANES * WIDTH);
        match WIDTH {
            1 => V::load_bytes(from),
            2 => V::load_pairs(from),
            _ => V::load(from.cast()),
        }
    }
}
