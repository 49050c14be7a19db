//! Lines of B, one for every k: codes of the columns of a strip, and their scales.

use std::ops::Range;

use super::panel::Panel;
use crate::group::plan::GroupPlan;
use crate::platform::{Platform, Vectorized};
use crate::vector::{ACROSS, Aligned, Vector, WIDEST};
use tcverify_num::Format;
use tcverify_tensor::{self as tensor, Plane};

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
            && Turn::suits(lines.width, panel.len)
        {
            plane.read_ahead(rows, columns);
            let (width, len) = (lines.width, panel.len);
            let words = platform.vectorized(Turn { lines, wide, len });
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

    /// Where the line of the panel's first k is, and how many bytes further every next one. All of them have been
    /// asserted to lie there: `len` of them, `wide` codes each.
    #[inline(always)]
    pub fn from(&self, len: usize, wide: usize) -> (*const u8, usize) {
        let bytes = wide * self.width();
        match self {
            Lines::Memory(lines) => {
                assert!(len == 0 || lines.of(len - 1).len() == bytes);
                (lines.start(), lines.step())
            }
            Lines::Turned { words, .. } => {
                assert!(8 * words.len() == len * bytes);
                (words.as_ptr().cast(), bytes)
            }
            Lines::Block(codes) => {
                assert!(codes.len() == len * wide);
                (codes.as_ptr().cast(), bytes)
            }
        }
    }
}

/// Turns columns that lie together in memory into lines: four bytes of a column are a lane, and lanes are transposed.
struct Turn<'a> {
    /// Of columns.
    lines: tensor::Lines<'a>,
    wide: usize,
    len: usize,
}

impl Turn<'_> {
    /// Whether so many k are whole registers of every platform.
    fn suits(width: usize, len: usize) -> bool {
        (len * width).is_multiple_of(4 * WIDEST / ACROSS)
    }
}

impl Vectorized for Turn<'_> {
    type Output = Vec<u64>;

    #[inline(always)]
    unsafe fn run<V: Vector>(self) -> Vec<u64> {
        // SAFETY: the same promise.
        unsafe {
            match self.lines.width {
                1 => self.squares::<V, 1>(),
                _ => self.squares::<V, 2>(),
            }
        }
    }
}

impl Turn<'_> {
    #[inline(always)]
    unsafe fn squares<V: Vector, const WIDTH: usize>(self) -> Vec<u64> {
        let Turn { lines, wide, len } = self;
        // As many k as a register has bytes for.
        let run = 4 * V::LANES / WIDTH;
        assert!(wide == ACROSS * V::LANES && len.is_multiple_of(run));
        let mut words = vec![0u64; len * wide * WIDTH / 8];
        let out = words.as_mut_ptr().cast::<u8>();
        let mut square = Aligned([0i32; SQUARE * SQUARE]);
        for left in (0..wide).step_by(V::LANES) {
            let last = lines.of(left + V::LANES - 1);
            assert!(lines.of(left).len() == len * WIDTH && last.len() == len * WIDTH);
            let column = lines.of(left).as_ptr();
            for first in (0..len).step_by(run) {
                // SAFETY: features are the caller's promise. All of `LANES` columns, a step apart, have
                // been asserted to lie in the memory over `len` codes; a square has room for the widest
                // register's; every line of `out` has `wide` codes, of which `LANES` from `left` on are written.
                unsafe {
                    V::turn(
                        column.add(first * WIDTH),
                        lines.step(),
                        square.0.as_mut_ptr(),
                    );
                    for i in 0..V::LANES {
                        let mut lanes = V::load(square.0.as_ptr().add(i * V::LANES));
                        for part in 0..4 / WIDTH {
                            let k = first + i * 4 / WIDTH + part;
                            let to = out.add((k * wide + left) * WIDTH);
                            if WIDTH == 1 {
                                V::store_bytes(to, V::and(lanes, V::splat(0xff)));
                                lanes = V::shift_right(lanes, V::splat(8));
                            } else {
                                V::store_pairs(to, V::and(lanes, V::splat(0xffff)));
                                lanes = V::shift_right(lanes, V::splat(16));
                            }
                        }
                    }
                }
            }
        }
        words
    }
}

/// Lanes of the widest register.
const SQUARE: usize = WIDEST / ACROSS;

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
fn columns_are_turned() {
    use tcverify_num::random::SplitMix64;
    use tcverify_tensor::Tensor;

    let len = 192;
    for format in [Format::E4m3, Format::Fp16] {
        for platform in Platform::with_emulated() {
            let wide = ACROSS * platform.lanes();
            let mut random = SplitMix64(7);
            let codes: Vec<_> = (0..(wide + 1) * len)
                .map(|_| random.word() & format.max_code())
                .collect();
            // Columns of B lie together.
            let tensor = Tensor::from_codes(format, vec![wide + 1, len], &codes);
            let plane = tensor.planes().plane(0);
            let lines = plane.lines(1..wide + 1, 0..len).expect("whole bytes");
            let width = lines.width;
            assert!(Turn::suits(width, len));
            let words = platform.vectorized(Turn { lines, wide, len });
            let turned = Lines::Turned { words, width };
            let (start, step) = turned.from(len, wide);
            for k in 0..len {
                // SAFETY: a line is so many bytes.
                let line = unsafe {
                    std::slice::from_raw_parts(start.wrapping_add(k * step), wide * width)
                };
                for (column, bytes) in line.chunks_exact(width).enumerate() {
                    let code = bytes
                        .iter()
                        .rev()
                        .fold(0, |code, &b| code << 8 | u64::from(b));
                    let right = codes[(column + 1) * len + k];
                    assert_eq!(code, right, "{} k {k}, column {column}", platform.name());
                }
            }
        }
    }
}
