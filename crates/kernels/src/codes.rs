//! Codes of the columns of a strip of B, a line for every k, as vectors read them.

use std::ops::Range;

use super::platform::{Platform, Vectorized};
use super::vector::{ACROSS, Aligned, Vector, WIDEST};
use tcverify_tensor::{self as tensor, Plane};

/// Codes of the columns of a strip over a panel, k by k.
pub enum Codes<'a> {
    /// Where they lie in memory, one or two bytes each.
    Memory(tensor::Lines<'a>),
    /// Where a column lies together in memory and not a row: transposed, of the same bytes.
    Transposed { words: Vec<u64>, width: usize },
    /// Copied: the strip or panel is not full, or codes have other bytes in memory. Zeros fill lines up.
    Block(Vec<u32>),
}

impl<'a> Codes<'a> {
    /// Codes of at most `widest` bytes stay as they lie in memory, or are transposed; all others are copied.
    pub fn new(
        platform: Platform,
        plane: Plane<'a>,
        widest: usize,
        rows: Range<usize>,
        columns: Range<usize>,
        wide: usize,
    ) -> Codes<'a> {
        let (len, count) = (rows.len(), columns.len());
        if count == wide
            && let Some(lines) = plane.lines(rows.clone(), columns.clone())
            && lines.width <= widest
        {
            return Codes::Memory(lines);
        }
        if !plane.has_rows_together()
            && count == wide
            && let Some(lines) = plane.transposed().lines(columns.clone(), rows.clone())
            && lines.width <= widest
            && Transpose::suits(lines.width, len)
        {
            plane.read_ahead(rows, columns);
            let width = lines.width;
            let words = platform.vectorized(Transpose { lines, wide, len });
            return Codes::Transposed { words, width };
        }
        let mut codes = vec![0; len * wide];
        let mut line = vec![0; len * count];
        plane.read_block(rows.start, len, columns.start, count, &mut line);
        for (out, line) in codes.chunks_mut(wide).zip(line.chunks(count)) {
            out[..count].copy_from_slice(line);
        }
        Codes::Block(codes)
    }

    /// Bytes of a code, the low one first.
    pub fn width(&self) -> usize {
        match self {
            Codes::Memory(lines) => lines.width,
            Codes::Transposed { width, .. } => *width,
            Codes::Block(_) => 4,
        }
    }

    /// Where the line of the first k is, and how many bytes further every next one. All of them have been
    /// asserted to lie there: `len` of them, `wide` codes each.
    #[inline(always)]
    pub fn from(&self, len: usize, wide: usize) -> (*const u8, usize) {
        let bytes = wide * self.width();
        match self {
            Codes::Memory(lines) => {
                assert!(len == 0 || lines.of(len - 1).len() == bytes);
                (lines.start(), lines.step())
            }
            Codes::Transposed { words, .. } => {
                assert!(8 * words.len() == len * bytes);
                (words.as_ptr().cast(), bytes)
            }
            Codes::Block(codes) => {
                assert!(codes.len() == len * wide);
                (codes.as_ptr().cast(), bytes)
            }
        }
    }
}

/// Transposes columns that lie together in memory into lines: four bytes of a column are a lane, and lanes are transposed.
struct Transpose<'a> {
    /// The columns of B whose codes are read.
    lines: tensor::Lines<'a>,
    wide: usize,
    len: usize,
}

impl Transpose<'_> {
    /// Whether so many k are whole registers of every platform.
    fn suits(width: usize, len: usize) -> bool {
        (len * width).is_multiple_of(4 * WIDEST / ACROSS)
    }
}

impl Vectorized for Transpose<'_> {
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

impl Transpose<'_> {
    #[inline(always)]
    unsafe fn squares<V: Vector, const WIDTH: usize>(self) -> Vec<u64> {
        let Transpose { lines, wide, len } = self;
        // As many k as a register has bytes for.
        let run = 4 * V::LANES / WIDTH;
        assert!(wide.is_multiple_of(V::LANES) && len.is_multiple_of(run));
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
                    V::transpose(
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

/// Notes which columns have a special code. Rare, so that a look at each code is cheap enough.
#[cold]
pub fn note_specials(
    plane: Plane,
    [rows, columns]: [Range<usize>; 2],
    is_special: impl Fn(u64) -> bool,
    special: &mut [bool],
) {
    for row in rows {
        for (special, column) in special.iter_mut().zip(columns.clone()) {
            *special |= is_special(plane.code(row, column));
        }
    }
}

/// A register of a line, of codes of so many bytes.
///
/// # Safety
/// The machine must have the features that `V` needs, and the line `v + 1` registers.
#[inline(always)]
pub unsafe fn register<V: Vector, const WIDTH: usize>(line: *const u8, v: usize) -> V::I {
    // SAFETY: the caller's promise.
    unsafe {
        let from = line.add(v * V::LANES * WIDTH);
        match WIDTH {
            1 => V::load_bytes(from),
            2 => V::load_pairs(from),
            _ => V::load(from.cast()),
        }
    }
}

#[cfg(test)]
#[test]
fn columns_are_transposed() {
    use tcverify_num::Format;
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
            assert!(Transpose::suits(width, len));
            let words = platform.vectorized(Transpose { lines, wide, len });
            let transposed = Codes::Transposed { words, width };
            let (start, step) = transposed.from(len, wide);
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
