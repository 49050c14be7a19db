//! Operands packed: words of four products, and their scales.

use super::plan::{ACROSS, PART, WORDS};
use crate::codes::{Codes, register};
use crate::platform::Vectorized;
use crate::tile::{Packed, Span};
use crate::vector::Vector;

/// Twice what a code of E2M1 means.
pub const HALVES: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/// Added to those of B, so that they are unsigned.
pub const OFFSET: i32 = 12;

/// Lines of an operand, packed: rows of A in strips of [`super::plan::ROWS`], or a strip of columns of B.
pub struct Lines {
    /// `[strip][part][line][word]` of A, `[part][word][line]` of B: four products each.
    pub words: Vec<i32>,
    /// `[strip][part][line]`, as those that follow: scales.
    pub factors: Vec<f64>,
    pub exponents: Vec<i32>,
    /// Which of sixteen numbers are not zero; none where the scale is.
    pub nonzero: Vec<i32>,
    /// Minus the sum of A's numbers times [`OFFSET`].
    pub corrections: Vec<i32>,
    /// What the scales of each strip span, those of zeros left out.
    pub spans: Vec<Span>,
    pub special: Vec<bool>,
}

impl Packed for Lines {
    fn special(&self) -> &[bool] {
        &self.special
    }
}

/// Lines of codes into words of four products.
pub struct PackB<'a> {
    pub len: usize,
    pub codes: Codes<'a>,
    pub words: &'a mut [i32],
    pub nonzero: &'a mut [i32],
}

impl Vectorized for PackB<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        // SAFETY: the same promise.
        unsafe {
            match self.codes.width() {
                1 => self.parts::<V, 1>(),
                _ => self.parts::<V, 4>(),
            }
        }
    }
}

impl PackB<'_> {
    #[inline(always)]
    unsafe fn parts<V: Vector, const WIDTH: usize>(self) {
        let (len, wide) = (self.len, ACROSS * V::LANES);
        let (start, step) = self.codes.from(len, wide);
        let parts = self.nonzero.len() / wide;
        assert!(self.codes.width() == WIDTH && parts * PART >= len);
        assert!(self.nonzero.len() == parts * wide && self.words.len() == parts * WORDS * wide);
        // SAFETY: features are the caller's promise; of the `len` lines of a strip's codes those are read that are
        // there, and every part and word is a strip wide.
        unsafe {
            for part in 0..parts {
                for v in 0..ACROSS {
                    let mut nonzero = V::splat(0);
                    for word in 0..WORDS {
                        let first = part * PART + 4 * word;
                        let mut codes = V::splat(0);
                        for (i, k) in (first..len.min(first + 4)).enumerate() {
                            let code = register::<V, WIDTH>(start.add(k * step), v);
                            codes = V::or(codes, V::shift_left(code, V::splat(8 * i as i32)));
                        }
                        let at = (part * WORDS + word) * wide + v * V::LANES;
                        V::store(self.words.as_mut_ptr().add(at), numbers::<V>(codes));
                        let four = V::shift_left(nonzeros::<V>(codes), V::splat(4 * word as i32));
                        nonzero = V::or(nonzero, four);
                    }
                    let at = part * wide + v * V::LANES;
                    V::store(self.nonzero.as_mut_ptr().add(at), nonzero);
                }
            }
        }
    }
}

/// All four bytes of every lane.
#[inline(always)]
unsafe fn in_bytes<V: Vector>(x: u8) -> V::I {
    // SAFETY: the caller's promise.
    unsafe { V::splat(i32::from_ne_bytes([x; 4])) }
}

/// Twice what each byte's code means, plus the offset: see [`HALVES`]. No byte carries into the next.
#[inline(always)]
unsafe fn numbers<V: Vector>(codes: V::I) -> V::I {
    // SAFETY: the caller's promise.
    unsafe {
        let one = in_bytes::<V>(1);
        let low = V::and(codes, one);
        let middle = V::and(V::shift_right(codes, V::splat(1)), one);
        let high = V::and(V::shift_right(codes, V::splat(2)), one);
        let sign = V::and(V::shift_right(codes, V::splat(3)), one);
        // 0, 1, 2, 3, 4 as they are; 5, 6, 7 are 6, 8, 12.
        let both = V::and(high, middle);
        let more = V::add(both, V::and(both, low));
        let magnitude = V::add(V::and(codes, in_bytes::<V>(7)), V::and(high, low));
        let magnitude = V::add(magnitude, V::add(more, more));
        let negative = V::sub(V::shift_left(sign, V::splat(8)), sign);
        let below = V::and(magnitude, negative);
        let above = V::clear(magnitude, negative);
        V::sub(V::add(in_bytes::<V>(OFFSET as u8), above), below)
    }
}

/// A bit for each byte's code that is not zero, the low ones of a lane.
#[inline(always)]
unsafe fn nonzeros<V: Vector>(codes: V::I) -> V::I {
    // SAFETY: the caller's promise.
    unsafe {
        let magnitude = V::and(codes, in_bytes::<V>(7));
        let top = V::and(V::add(magnitude, in_bytes::<V>(0x7f)), in_bytes::<V>(0x80));
        // Bits 7, 15, 23 and 31 become 0, 1, 2 and 3.
        let mut bits = V::splat(0);
        for down in [7, 14, 21, 28] {
            bits = V::or(bits, V::shift_right(top, V::splat(down)));
        }
        V::and(bits, V::splat(15))
    }
}
