//! Lines of B, one for every k: codes of the columns of a strip, and their scales.

use std::ops::Range;

use super::Panel;
use crate::emu::fast::group::plan::GroupPlan;
use crate::emu::fast::platform::{Platform, Wide};
use crate::emu::fast::vector::WIDEST;
use crate::num::Format;
use crate::tensor::{self, Plane};

/// Codes of the columns of a strip over a panel, k by k.
pub enum Lines<'a> {
    /// As memory has them, of one or two bytes each.
    Memory(tensor::Lines<'a>),
    /// Where a column lies together in memory and not a row: turned, of the same bytes.
    Turned { words: Vec<u64>, width: usize },
    /// Copied: the strip or panel is not full, or codes have other bytes in memory. Zeros fill lines up.
    Block(Vec<u32>),
}

impl<'a> Lines<'a> {
    pub fn new(
        platform: Platform,
        plane: Plane<'a>,
        panel: &Panel,
        columns: Range<usize>,
        wide: usize,
    ) -> Lines<'a> {
        let rows = panel.start..panel.start + panel.len;
        let count = columns.len();
        if count == wide
            && let Some(lines) = plane.lines(rows.clone(), columns.clone())
            && lines.width < 4
        {
            return Lines::Memory(lines);
        }
        if !plane.has_rows_together()
            && count == wide
            && let Some(lines) = plane.transposed().lines(columns.clone(), rows.clone())
            && lines.width < 4
            && panel.len.is_multiple_of(8 * SQUARES)
        {
            plane.read_ahead(rows, columns);
            let (width, len) = (lines.width, panel.len);
            let words = platform.wide(Turn { lines, wide, len });
            return Lines::Turned { words, width };
        }
        let mut codes = vec![0; panel.len * wide];
        let mut line = vec![0; panel.len * count];
        plane.read_block(panel.start, panel.len, columns.start, count, &mut line);
        for (out, line) in codes.chunks_mut(wide).zip(line.chunks(count)) {
            out[..count].copy_from_slice(line);
        }
        Lines::Block(codes)
    }

    /// Bytes of a code, the low one first.
    pub fn width(&self) -> usize {
        match self {
            Lines::Memory(lines) => lines.width,
            Lines::Turned { width, .. } => *width,
            Lines::Block(_) => 4,
        }
    }

    /// The line of a k, counted from the panel's first.
    #[inline(always)]
    pub fn of(&self, k: usize, wide: usize) -> *const u8 {
        match self {
            Lines::Memory(lines) => lines.of(k).as_ptr(),
            Lines::Turned { words, width } => {
                let line = wide * width / 8;
                words[k * line..][..line].as_ptr().cast()
            }
            Lines::Block(codes) => codes[k * wide..][..wide].as_ptr().cast(),
        }
    }
}

/// Squares that are turned at a time.
const SQUARES: usize = 8;

/// Turns columns that lie together in memory into lines, eight bytes of codes a word.
struct Turn<'a> {
    /// Of columns.
    lines: tensor::Lines<'a>,
    wide: usize,
    len: usize,
}

impl Wide for Turn<'_> {
    type Output = Vec<u64>;

    #[inline(always)]
    fn run(self) -> Vec<u64> {
        match self.lines.width {
            1 => self.squares::<8>(),
            _ => self.squares::<4>(),
        }
    }
}

impl Turn<'_> {
    /// Squares of `N` columns and as many k: `N` codes are a word.
    #[inline(always)]
    fn squares<const N: usize>(self) -> Vec<u64> {
        let line = self.wide / N;
        let mut out = vec![0; self.len * line];
        for left in 0..line {
            let columns: [&[u8]; N] = std::array::from_fn(|i| self.lines.of(left * N + i));
            // Squares side by side, so that registers are filled.
            for first in (0..self.len / N).step_by(SQUARES) {
                let mut words = [[0; SQUARES]; N];
                for (words, column) in words.iter_mut().zip(columns) {
                    let bytes: &[u8; 8 * SQUARES] = column[8 * first..][..8 * SQUARES]
                        .try_into()
                        .expect("a panel is some squares long");
                    for (square, word) in words.iter_mut().enumerate() {
                        let bytes: [u8; 8] = std::array::from_fn(|i| bytes[8 * square + i]);
                        *word = u64::from_le_bytes(bytes);
                    }
                }
                turn(&mut words);
                for (i, words) in words.iter().enumerate() {
                    for (square, word) in words.iter().enumerate() {
                        // Bytes in the order of the memory.
                        out[((first + square) * N + i) * line + left] = word.to_le();
                    }
                }
            }
        }
        out
    }
}

/// Transposes squares: code `j` of word `i` becomes code `i` of word `j`, by exchanging halves, then quarters,
/// then eighths.
#[inline(always)]
fn turn<const N: usize>(words: &mut [[u64; SQUARES]; N]) {
    let mut step = N / 2;
    while step > 0 {
        let bits = 64 / N * step;
        let low = u64::MAX / ((1 << bits) + 1);
        for pairs in words.chunks_exact_mut(2 * step) {
            let (upper, lower) = pairs.split_at_mut(step);
            for (upper, lower) in upper.iter_mut().zip(lower) {
                for (x, y) in upper.iter_mut().zip(lower) {
                    let exchanged = (*x >> bits ^ *y) & low;
                    *x ^= exchanged << bits;
                    *y ^= exchanged;
                }
            }
        }
        step /= 2;
    }
}

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

#[cfg(test)]
#[test]
fn squares_are_turned() {
    fn holds<const N: usize>() {
        let bytes = 8 / N;
        // Of every square its own codes.
        let code =
            |i: usize, j: usize, square: usize| ((i * N + j) * SQUARES + square) as u64 % 251 + 1;
        let word =
            |i, square| (0..N).fold(0, |word, j| word | code(i, j, square) << (8 * bytes * j));
        let mut words: [[u64; SQUARES]; N] =
            std::array::from_fn(|i| std::array::from_fn(|square| word(i, square)));
        turn(&mut words);
        for (j, words) in words.iter().enumerate() {
            for (square, &word) in words.iter().enumerate() {
                let right = (0..N).fold(0, |word, i| word | code(i, j, square) << (8 * bytes * i));
                assert_eq!(word, right, "word {j} of square {square}, {N} codes a word");
            }
        }
    }
    holds::<4>();
    holds::<8>();
}
