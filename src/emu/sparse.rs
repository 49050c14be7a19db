//! Products of a compressed A: of every four units of k two are stored, and metadata say which.
//!
//! A selector is four bits: two positions, the lower bits first. What a position stands for depends on the format: one
//! element, half of one (TF32: one of two is kept) or a pair (packed FP4 and INT4: four of eight).

use crate::common::words::{Word, words};

words! {
    /// How the metadata of a compressed A lie in memory.
    pub enum SparseLayout {
        /// Row by row: the selectors of a row one after another, the first in the lowest bits
        Words = "words",
        /// As CUTLASS's kernels of mma.sp read them and PyTorch's to_sparse_semi_structured stores them (`meta` of its CUTLASS
        /// backend): rows and columns swizzled
        Cutlass = "cutlass",
    }
}

words! {
    /// How many elements of A are kept of how many neighbours.
    pub enum Pattern {
        /// One of two (TF32: a position is half an element)
        OneOfTwo = "1:2",
        /// Two of four
        TwoOfFour = "2:4",
        /// Two pairs of four (packed FP4 and INT4)
        FourOfEight = "4:8",
    }
}

impl Pattern {
    /// `2:4`
    pub fn name(self) -> &'static str {
        self.word()
    }

    /// Elements of a chunk, and how many of them are kept.
    pub fn chunk(self) -> [usize; 2] {
        match self {
            Pattern::OneOfTwo => [2, 1],
            Pattern::TwoOfFour => [4, 2],
            Pattern::FourOfEight => [8, 4],
        }
    }

    /// The elements of a chunk that a selector keeps; none of a selector that is not legal.
    fn kept(self, selector: u8) -> Option<&'static [u32]> {
        let positions: &[u32] = match (self, selector) {
            (Pattern::OneOfTwo, 0x4) => &[0],
            (Pattern::OneOfTwo, 0xe) => &[1],
            (Pattern::TwoOfFour, 0x4) => &[0, 1],
            (Pattern::TwoOfFour, 0x8) => &[0, 2],
            (Pattern::TwoOfFour, 0xc) => &[0, 3],
            (Pattern::TwoOfFour, 0x9) => &[1, 2],
            (Pattern::TwoOfFour, 0x6) => &[2, 1],
            (Pattern::TwoOfFour, 0xd) => &[1, 3],
            (Pattern::TwoOfFour, 0xe) => &[2, 3],
            (Pattern::FourOfEight, 0x4) => &[0, 1, 2, 3],
            (Pattern::FourOfEight, 0x8) => &[0, 1, 4, 5],
            (Pattern::FourOfEight, 0xc) => &[0, 1, 6, 7],
            (Pattern::FourOfEight, 0x9) => &[2, 3, 4, 5],
            (Pattern::FourOfEight, 0x6) => &[4, 5, 2, 3],
            (Pattern::FourOfEight, 0xd) => &[2, 3, 6, 7],
            (Pattern::FourOfEight, 0xe) => &[4, 5, 6, 7],
            _ => return None,
        };
        Some(positions)
    }
}

/// Metadata as an array holds them.
#[derive(Clone, Copy, Debug)]
pub struct Metadata<'a> {
    /// Little-endian words, row by row, matrix by matrix.
    pub bytes: &'a [u8],
    /// Bytes of a word.
    pub width: usize,
    pub layout: SparseLayout,
}

impl Metadata<'_> {
    /// For every element of A the row of B that it belongs to; `shape` is A's as it is stored: matrices, rows, columns.
    ///
    /// # Errors
    /// Too few or too many words, or an illegal selector.
    pub fn rows_of_b(
        &self,
        [matrices, m, k]: [usize; 3],
        pattern: Pattern,
    ) -> Result<Vec<u32>, String> {
        let [of, kept] = pattern.chunk();
        let per_word = 2 * self.width;
        let chunks = k / kept;
        if !k.is_multiple_of(kept) || !chunks.is_multiple_of(per_word) {
            return Err(format!(
                "rows of {k} elements at {} do not fill complete words of {per_word} selectors",
                pattern.name()
            ));
        }
        let words = chunks / per_word;
        let want = matrices * m * words * self.width;
        if self.bytes.len() != want {
            return Err(format!(
                "it has {} words of {} bits; {} rows of {k} elements at {} have {}",
                self.bytes.len() / self.width,
                8 * self.width,
                matrices * m,
                pattern.name(),
                want / self.width
            ));
        }
        let place = self.place(m, words)?;
        let mut rows = Vec::with_capacity(matrices * m * k);
        for (matrix, row) in (0..matrices * m).map(|row| (row / m, row % m)) {
            for chunk in 0..chunks {
                let word = matrix * m * words + place(row, chunk / per_word);
                let nibble = chunk % per_word;
                let byte = self.bytes[word * self.width + nibble / 2];
                let selector = byte >> (4 * (nibble % 2)) & 15;
                let positions = pattern.kept(selector).ok_or_else(|| {
                    format!(
                        "the selector of row {row}, chunk {chunk} is 0x{selector:x}, which is not one of {}",
                        pattern.name()
                    )
                })?;
                let first = u32::try_from(chunk * of).map_err(|_| "K is too large".to_owned())?;
                rows.extend(positions.iter().map(|position| first + position));
            }
        }
        Ok(rows)
    }

    /// The position in memory of the word of a row and a column of words.
    fn place(
        &self,
        m: usize,
        words: usize,
    ) -> Result<impl Fn(usize, usize) -> usize + use<>, String> {
        let group = 64 / self.width;
        let swizzled = self.layout == SparseLayout::Cutlass;
        if swizzled
            && (![2, 4].contains(&self.width) || !m.is_multiple_of(32) || !words.is_multiple_of(2))
        {
            return Err(format!(
                "CUTLASS's metadata have 16-bit or 32-bit words, a multiple of 32 rows, and an even number of words \
                 per row; these are {m} rows of {words} words of {} bits",
                8 * self.width
            ));
        }
        Ok(move |row: usize, column: usize| {
            if !swizzled {
                return row * words + column;
            }
            // Rows of a group are interleaved by eights; then two by two words are transposed.
            let row = row / group * group + row % 8 * (group / 8) + row % group / 8;
            let (row, column) = match (row % 2, column % 2) {
                (0, 1) => (row + 1, column - 1),
                (1, 0) => (row - 1, column + 1),
                _ => (row, column),
            };
            column / 2 * 2 * m + 2 * row + column % 2
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Offsets that PyTorch gathers the metadata of 32 rows by 128 columns of FP16 from, as its source lists them: first
    /// row of words, then the next.
    #[test]
    fn cutlass_swizzles_as_pytorch_gathers() {
        let (m, k) = (64, 256);
        for (width, magic) in [(2, 8), (4, 4)] {
            let words = k / (8 * width);
            let bytes = vec![0; m * words * width];
            let metadata = Metadata {
                bytes: &bytes,
                width,
                layout: SparseLayout::Cutlass,
            };
            let place = metadata.place(m, words).unwrap();
            // `sparse_semi_structured_to_dense`: tmp1 to tmp5 added up.
            let quarter: &[usize] = if width == 2 {
                &[0, 1, 4, 5]
            } else {
                &[0, 1, 32, 33]
            };
            let mut seen = vec![false; m * words];
            for row in 0..m {
                for column in 0..words {
                    let expected = column % 2 * 2
                        + column / 2 * 2 * m
                        + row % 8 * magic
                        + quarter[row / 8 % 4]
                        + row / 32 * 64;
                    assert_eq!(
                        place(row, column),
                        expected,
                        "width {width} row {row} column {column}"
                    );
                    seen[expected] = true;
                }
            }
            assert!(seen.iter().all(|&seen| seen));
        }
    }

    #[test]
    fn selectors_keep_what_they_say() {
        for (pattern, selector, kept) in [
            (Pattern::TwoOfFour, 0x9, Some(&[1, 2][..])),
            (Pattern::TwoOfFour, 0x6, Some(&[2, 1])),
            (Pattern::TwoOfFour, 0x5, None),
            (Pattern::OneOfTwo, 0xe, Some(&[1])),
            (Pattern::OneOfTwo, 0x8, None),
            (Pattern::FourOfEight, 0xd, Some(&[2, 3, 6, 7])),
        ] {
            assert_eq!(pattern.kept(selector), kept, "{pattern:?} {selector:x}");
        }
        // Everything that is legal is two different positions.
        let legal = (0..16).filter(|&s| Pattern::TwoOfFour.kept(s).is_some());
        assert_eq!(legal.collect::<Vec<_>>(), [4, 6, 8, 9, 12, 13, 14]);
    }
}
