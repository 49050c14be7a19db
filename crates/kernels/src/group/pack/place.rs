//! Writing the values and exponents of a strip: in lanes of 32 bits, or finite ones in halves of them.

use std::ops::Range;

use super::columns::Fill;
use super::panel::{NOTHING, Panel, TOP, factor_between};
use crate::codes::register;
use crate::decode::{Decoder, in_halves};
use crate::vector::{ACROSS, Vector, WIDEST};
use tcverify_num::Format;

/// BF16 as the upper halves of floats.
#[inline(always)]
unsafe fn upper<V: Vector>(from: *const u8) -> V::F {
    // SAFETY: the caller's promise: features, and a register.
    unsafe { V::from_bits(V::shift_left(V::load_pairs(from), V::splat(16))) }
}

/// How many strips ahead lines are prefetched.
const AHEAD: usize = 2;

/// Prefetches the line of a later strip, so many bytes long: the first read of a strip does that.
#[inline(always)]
pub(super) unsafe fn prefetch_ahead<V: Vector>(line: *const u8, bytes: usize) {
    // SAFETY: the caller's promise: features. Any address will do.
    unsafe {
        V::prefetch(line.wrapping_add(AHEAD * bytes));
        V::prefetch(line.wrapping_add(AHEAD * bytes + 64));
    }
}

/// Registers of 16-bit halves across a strip.
const HALVES: usize = ACROSS / 2;

/// How codes become numbers: an instruction, a shift, or what every format needs.
const FROM_FP16: u8 = 0;
const FROM_BF16: u8 = 1;
const FROM_BYTES: u8 = 2;

impl Fill<'_> {
    /// Writes the values and gaps of some positions that share scales; whether a code is an infinity or NaN.
    #[inline(always)]
    pub(super) unsafe fn place<V: Vector, const WIDTH: usize, const MOVED: bool>(
        &mut self,
        positions: Range<usize>,
    ) -> bool {
        // SAFETY: the same promise.
        unsafe {
            if WIDTH < 4 && self.place_finite::<V, WIDTH, MOVED>(positions.clone()) {
                return false;
            }
            self.place_lanes::<V, WIDTH, MOVED>(positions)
        }
    }

    /// Writes values and gaps, a code a lane: of every format.
    #[inline(always)]
    unsafe fn place_lanes<V: Vector, const WIDTH: usize, const MOVED: bool>(
        &mut self,
        positions: Range<usize>,
    ) -> bool {
        let decoder = Decoder::new(self.plan.b);
        let wide = ACROSS * V::LANES;
        // Pointers below stay within these.
        assert!(self.strip.values.len() == self.panel.padded() * wide);
        assert!(self.strip.gaps.len() == self.panel.padded() * wide);
        assert!(positions.end <= self.panel.padded());
        let (tops, factors) = self.tops_and_factors::<MOVED>(0);
        let values = self.strip.values.as_mut_ptr();
        let gaps = self.strip.gaps.as_mut_ptr();
        let Panel { len, ref order, .. } = *self.panel;
        let (start, step) = self.lines.from(len, wide);
        // SAFETY: the same promise; lines are a strip wide, and so are tops, factors and a position's values
        // and gaps.
        unsafe {
            let nothing = V::splat(NOTHING.into());
            let mut special = V::splat(0);
            for position in positions {
                let k = order[position];
                if k >= len {
                    continue;
                }
                let line = start.add(k * step);
                for v in 0..ACROSS {
                    let at = v * V::LANES;
                    let codes = register::<V, WIDTH>(line, v);
                    let numbers = match WIDTH {
                        4 => decoder.numbers::<V, true>(codes),
                        _ => decoder.numbers::<V, false>(codes),
                    };
                    special = V::or(special, numbers.specials);
                    let mut value = numbers.values;
                    let mut gap = V::sub(V::load(tops.as_ptr().add(at)), numbers.fields);
                    if MOVED {
                        // Exact, but where `Exponents::suits` refuses the whole panel.
                        value = V::mul(value, V::load_f(factors.as_ptr().add(at)));
                        gap = V::max(V::min(gap, nothing), V::splat(0));
                    }
                    let gap = V::or(gap, V::and(numbers.zeros, nothing));
                    V::store_f(values.add(position * wide + at), value);
                    V::store_bytes(gaps.add(position * wide + at), gap);
                }
            }
            V::any_negative(special)
        }
    }

    /// Writes values and gaps where no code is an infinity or NaN: exponents are computed two a lane. False if one is, or if the
    /// format does not suit; then nothing that was written counts.
    #[inline(always)]
    unsafe fn place_finite<V: Vector, const WIDTH: usize, const MOVED: bool>(
        &mut self,
        positions: Range<usize>,
    ) -> bool {
        if !Decoder::new(self.plan.b).has_halves() {
            return false;
        }
        // SAFETY: the same promise.
        unsafe {
            match (WIDTH, self.plan.b) {
                (1, _) => self.place_halves::<V, FROM_BYTES, MOVED>(positions),
                (2, Format::Fp16) => self.place_halves::<V, FROM_FP16, MOVED>(positions),
                (2, Format::Bf16) => self.place_halves::<V, FROM_BF16, MOVED>(positions),
                _ => false,
            }
        }
    }

    #[inline(always)]
    unsafe fn place_halves<V: Vector, const FROM: u8, const MOVED: bool>(
        &mut self,
        positions: Range<usize>,
    ) -> bool {
        let decoder = Decoder::new(self.plan.b);
        let wide = ACROSS * V::LANES;
        let width = if FROM == FROM_BYTES { 1 } else { 2 };
        // Pointers below stay within these.
        assert!(self.strip.values.len() == self.panel.padded() * wide);
        assert!(self.strip.gaps.len() == self.panel.padded() * wide);
        assert!(positions.end <= self.panel.padded() && self.lines.width() == width);
        let up = match FROM {
            FROM_BYTES => Format::Fp16.bias() - self.plan.b.bias(),
            _ => 0,
        };
        let (tops, factors) = self.tops_and_factors::<MOVED>(up);
        let pairs: [_; WIDEST / 2] = std::array::from_fn(|i| tops[2 * i] | tops[2 * i + 1] << 16);
        let values = self.strip.values.as_mut_ptr();
        let gaps = self.strip.gaps.as_mut_ptr();
        let Panel { len, ref order, .. } = *self.panel;
        let (start, step) = self.lines.from(len, wide);
        let mut largest = [0i32; WIDEST / 2];
        // SAFETY: the same promise; lines are a strip wide, and so are tops, factors, what is largest and a
        // position's values and gaps.
        unsafe {
            let nothing = in_halves::<V>(NOTHING.into());
            let mut most = [in_halves::<V>(0); HALVES];
            let mut top = [in_halves::<V>(0); HALVES];
            for (h, top) in top.iter_mut().enumerate() {
                *top = V::load(pairs.as_ptr().add(h * V::LANES));
            }
            for position in positions {
                let k = order[position];
                if k >= len {
                    continue;
                }
                let line = start.add(k * step);
                if !MOVED {
                    prefetch_ahead::<V>(line, wide * width);
                }
                for h in 0..HALVES {
                    let at = h * 2 * V::LANES;
                    let from = line.add(at * width);
                    let codes = match FROM {
                        FROM_BYTES => V::load_bytes_as_halves(from),
                        _ => V::load_halves(from),
                    };
                    let magnitudes = decoder.magnitudes_in_halves::<V>(codes);
                    most[h] = V::max_halves(most[h], magnitudes);
                    let fields = decoder.fields_in_halves::<V>(magnitudes);
                    let zeros = V::equal_halves(magnitudes, in_halves::<V>(0));
                    let gap = V::or(V::sub_halves(top[h], fields), V::and(zeros, nothing));
                    V::store_halves_as_bytes(gaps.add(position * wide + at), gap);
                    let numbers = match FROM {
                        FROM_FP16 => V::floats_of_halves(codes),
                        FROM_BF16 => [upper::<V>(from), upper::<V>(from.add(2 * V::LANES))],
                        _ => V::floats_of_halves(decoder.as_halves::<V>(codes, magnitudes)),
                    };
                    for (i, mut value) in numbers.into_iter().enumerate() {
                        let at = at + i * V::LANES;
                        if MOVED || FROM == FROM_BYTES {
                            // Exact, but where `Exponents::suits` refuses the whole panel.
                            value = V::mul(value, V::load_f(factors.as_ptr().add(at)));
                        }
                        V::store_f(values.add(position * wide + at), value);
                    }
                }
            }
            for (h, &most) in most.iter().enumerate() {
                V::store(largest.as_mut_ptr().add(h * V::LANES), most);
            }
        }
        largest.iter().all(|&pair| is_finite(&decoder, pair))
    }

    /// For every column what its fields are subtracted from, which gives no negative gap but where `Exponents::suits`
    /// refuses the whole panel, and what its numbers are multiplied by, these being `up` binades too low.
    #[inline(always)]
    fn tops_and_factors<const MOVED: bool>(&self, up: i32) -> ([i32; WIDEST], [f32; WIDEST]) {
        let top = TOP + self.plan.b.bias();
        let (mut tops, mut factors) = ([top; WIDEST], [factor_between(0, up); WIDEST]);
        if MOVED {
            let none = [0; WIDEST];
            let scales = self.scales.as_ref();
            let (exponents, nans) = scales.map_or((&none, &none), |s| (&s.exponents, &s.nans));
            let mut shifts = none;
            shifts[..self.strip.shifts.len()].copy_from_slice(&self.strip.shifts);
            // Without a branch, so that registers do it. A NaN for a scale makes its element zero.
            for column in 0..WIDEST {
                let (scale, nan) = (exponents[column], nans[column]);
                let shift = shifts[column] >> 23;
                // Zeros have field 1; their scales may have any size.
                let near = (top + shift - scale).clamp(1, FAR);
                tops[column] = near & !nan | FAR & nan;
                let factor = factor_between(shift, scale + up).to_bits();
                factors[column] = f32::from_bits(factor & !nan as u32);
            }
        }
        (tops, factors)
    }
}

/// So far above all fields that what remains is nothing.
const FAR: i32 = 0x4000;

/// Whether neither of two magnitudes in a lane is an infinity or NaN.
pub(super) fn is_finite(decoder: &Decoder, pair: i32) -> bool {
    let pair = pair as u32;
    (pair & 0xffff).max(pair >> 16) < decoder.first_special()
}
