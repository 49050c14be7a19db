//! What the numbers of columns span, and how far they are moved for it.

use std::ops::Range;

use super::columns::Fill;
use super::panel::{EMPTY, Exponents, FARTHEST};
use super::place::{is_finite, prefetch_ahead};
use crate::codes::register;
use crate::decode::{Decoder, in_halves};
use crate::vector::{ACROSS, Vector, WIDEST};

impl Fill<'_> {
    /// Finds out what every column's numbers span, and how far they are moved.
    #[inline(always)]
    pub(super) unsafe fn shift<V: Vector, const WIDTH: usize>(&mut self) {
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
        self.strip.range = Exponents {
            low: least(lows),
            high: highs.into_iter().fold(EMPTY.high, i32::max),
            relative_low: least(relative),
        };
    }

    /// Widens the spans of columns by numbers of some k that share scales.
    #[inline(always)]
    unsafe fn span<V: Vector, const WIDTH: usize>(
        &self,
        mut k: Range<usize>,
        [lows, highs]: &mut [[i32; WIDEST]; 2],
    ) {
        let decoder = Decoder::new(self.plan.b);
        let (start, step) = self.lines.from(self.panel.len, ACROSS * V::LANES);
        assert!(k.end <= self.panel.len);
        // SAFETY: the same promise; lines and these are a strip wide.
        unsafe {
            let mut low = [V::splat(-1); ACROSS];
            let mut high = [V::splat(0); ACROSS];
            if WIDTH < 4
                && let Some([least, most]) = self.span_finite::<V, WIDTH>(k.clone())
            {
                for v in 0..ACROSS {
                    low[v] = V::load(least.as_ptr().add(v * V::LANES));
                    high[v] = V::load(most.as_ptr().add(v * V::LANES));
                }
                k.start = k.end;
            }
            for k in k {
                let line = start.add(k * step);
                for v in 0..ACROSS {
                    let codes = register::<V, WIDTH>(line, v);
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

    /// The smallest magnitude of every column, less one, so that zeros are above all others, and the largest; two
    /// a lane are examined. None if a code is an infinity or NaN, or the format does not suit.
    #[inline(always)]
    unsafe fn span_finite<V: Vector, const WIDTH: usize>(
        &self,
        k: Range<usize>,
    ) -> Option<[[i32; WIDEST]; 2]> {
        let decoder = Decoder::new(self.plan.b);
        if !decoder.has_halves() {
            return None;
        }
        let (start, step) = self.lines.from(self.panel.len, ACROSS * V::LANES);
        assert!(k.end <= self.panel.len);
        let mut pairs = [[0i32; WIDEST / 2]; 2];
        // SAFETY: the same promise; lines are a strip wide, and so are these.
        unsafe {
            let mut least = [in_halves::<V>(u16::MAX); ACROSS / 2];
            let mut most = [in_halves::<V>(0); ACROSS / 2];
            for k in k {
                let line = start.add(k * step);
                prefetch_ahead::<V>(line, ACROSS * V::LANES * WIDTH);
                for h in 0..ACROSS / 2 {
                    let from = line.add(h * 2 * V::LANES * WIDTH);
                    let codes = match WIDTH {
                        1 => V::load_bytes_as_halves(from),
                        _ => V::load_halves(from),
                    };
                    let magnitudes = decoder.magnitudes_in_halves::<V>(codes);
                    let less = V::sub_halves(magnitudes, in_halves::<V>(1));
                    least[h] = V::min_halves(least[h], less);
                    most[h] = V::max_halves(most[h], magnitudes);
                }
            }
            for h in 0..ACROSS / 2 {
                V::store(pairs[0].as_mut_ptr().add(h * V::LANES), least[h]);
                V::store(pairs[1].as_mut_ptr().add(h * V::LANES), most[h]);
            }
        }
        let finite = pairs[1].iter().all(|&pair| is_finite(&decoder, pair));
        finite.then(|| {
            pairs.map(|pairs| {
                std::array::from_fn(|column| pairs[column / 2] >> (16 * (column % 2)) & 0xffff)
            })
        })
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
}

/// Exponents of factors, so that these are normal numbers.
#[inline(always)]
unsafe fn clamp<V: Vector>(exponents: V::I) -> V::I {
    // SAFETY: the caller's promise: features.
    unsafe { V::min(V::max(exponents, V::splat(-FARTHEST)), V::splat(FARTHEST)) }
}
