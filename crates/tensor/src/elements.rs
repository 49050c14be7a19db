//! Elements one by one: where they are, which codes they are, and whether their format has those.

use std::ops::Range;

use rayon::prelude::*;

use super::layout::unravel;
use super::{Encoding, Order, Tensor, Unrepresentable};
use tcverify_num::{Rounding, convert_exact, tf32_code};

/// Elements that are examined together.
const PIECE: usize = 1 << 14;

impl Tensor {
    /// Elements from the first to the last in memory; none if nothing could hold them.
    pub(super) fn extent(&self) -> Option<usize> {
        if self.shape.contains(&0) {
            return Some(0);
        }
        let mut steps = self.shape.iter().zip(&self.strides);
        steps.try_fold(1usize, |end, (&n, &stride)| {
            end.checked_add((n - 1).checked_mul(stride)?)
        })
    }

    /// Where in memory, in elements, the element at a position of the storage order is.
    fn offset_of(&self, position: usize) -> usize {
        if self.dense {
            return position;
        }
        let index = unravel(position, &self.shape, Order::C);
        let steps = index.iter().zip(&self.strides);
        steps.map(|(i, stride)| i * stride).sum()
    }

    /// How many elements have bits that their format ignores (TF32, XF32: the low 13 of the register).
    pub fn count_ignored_bits(&self) -> usize {
        (0..self.len())
            .into_par_iter()
            .with_min_len(PIECE)
            .filter(|&position| self.has_ignored_bits(position))
            .count()
    }

    /// Index of the first element, in storage order, with bits that its format ignores.
    pub fn first_ignored_bits(&self) -> Option<Unrepresentable> {
        (0..self.len())
            .find(|&position| self.has_ignored_bits(position))
            .map(|position| self.unrepresentable(position))
    }

    /// Only a code can have such bits; a value was found representable without them.
    fn has_ignored_bits(&self, position: usize) -> bool {
        let mask = (1u64 << self.format.ignored_bits()) - 1;
        self.stored.encoding == Encoding::Code && self.raw(self.offset_of(position)) & mask != 0
    }

    /// The code at an offset (in elements, the sum of index times stride).
    #[inline]
    pub(super) fn code(&self, offset: usize) -> u64 {
        let raw = self.raw(offset);
        let code = match self.stored.encoding {
            Encoding::Code => raw,
            // Checked for every element when the tensor was made. If the file has changed since, its
            // reader reports that, and this value is never shown.
            Encoding::Value(from) => convert_exact(from, raw, self.format).unwrap_or(0),
            Encoding::Integer { .. } => self.stored.integer_code(raw, self.format).unwrap_or(0),
        };
        if self.round_tf32 {
            tf32_code(code, Rounding::NearestAway)
        } else {
            code
        }
    }

    /// Codes at `offset`, `offset + stride`, ... of a format of at most 32 bits. Compiled where it is called:
    /// for the vectors there.
    #[inline(always)]
    pub(super) fn read_run(&self, offset: usize, stride: usize, out: &mut [u32]) {
        debug_assert!(self.format.bytes() <= 4);
        let Some(bytes) = self.run_bytes(offset, stride, out.len()) else {
            return self.read_each(offset, stride, out);
        };
        // Loops and no closures: those would be compiled apart.
        match self.stored.width {
            1 => {
                for (out, &byte) in out.iter_mut().zip(bytes) {
                    *out = byte.into();
                }
            }
            2 => {
                for (out, word) in out.iter_mut().zip(bytes.chunks_exact(2)) {
                    *out = u16::from_le_bytes([word[0], word[1]]).into();
                }
            }
            _ => {
                for (out, word) in out.iter_mut().zip(bytes.chunks_exact(4)) {
                    *out = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
                }
            }
        }
    }

    /// The bytes of `count` codes from `offset` on, if memory has just these, the low byte first.
    #[inline(always)]
    pub(super) fn run_bytes(&self, offset: usize, stride: usize, count: usize) -> Option<&[u8]> {
        let plain = self.stored.encoding == Encoding::Code
            && !self.stored.big_endian
            && !self.round_tf32
            && stride == 1;
        let width = self.stored.width;
        let start = self.start + offset * width;
        plain.then(|| &self.bytes()[start..start + count * width])
    }

    #[inline(never)]
    fn read_each(&self, offset: usize, stride: usize, out: &mut [u32]) {
        for (i, out) in out.iter_mut().enumerate() {
            *out = self.code(offset + i * stride) as u32;
        }
    }

    /// Reads a byte of every line of memory that these elements lie in.
    pub(super) fn one_of_each_line(&self, offsets: Range<usize>) -> u8 {
        const LINE: usize = 64;
        let at = |offset: usize| self.start + offset * self.stored.width;
        let bytes = &self.bytes()[at(offsets.start)..at(offsets.end)];
        let lines = bytes.iter().step_by(LINE);
        lines.fold(0, |seen, byte| seen ^ byte)
    }

    #[inline]
    fn raw(&self, offset: usize) -> u64 {
        let bytes = self.bytes();
        let at = self.start + offset * self.stored.width;
        let big = self.stored.big_endian;
        match self.stored.width {
            1 => bytes[at].into(),
            2 => {
                let word = [bytes[at], bytes[at + 1]];
                if big {
                    u16::from_be_bytes(word).into()
                } else {
                    u16::from_le_bytes(word).into()
                }
            }
            4 => {
                let word = bytes[at..at + 4].try_into().expect("four bytes");
                if big {
                    u32::from_be_bytes(word).into()
                } else {
                    u32::from_le_bytes(word).into()
                }
            }
            _ => {
                let word = bytes[at..at + 8].try_into().expect("eight bytes");
                if big {
                    u64::from_be_bytes(word)
                } else {
                    u64::from_le_bytes(word)
                }
            }
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        (*self.bytes).as_ref()
    }

    /// Makes sure that elements at some positions of the storage order have codes in the format.
    ///
    /// # Errors
    /// The first that has none.
    pub(super) fn check(&self, positions: Range<usize>) -> Result<(), Unrepresentable> {
        let first = self.first_without_code(positions);
        first.map_or(Ok(()), |at| Err(self.unrepresentable(at)))
    }

    fn first_without_code(&self, positions: Range<usize>) -> Option<usize> {
        let stored_bits = 8 * self.stored.width as u32;
        let any_code = self.format.max_code() == u64::MAX >> (64 - stored_bits);
        if self.stored.encoding == Encoding::Code && any_code {
            return None;
        }
        if self.stored.encoding == Encoding::Code && self.stored.width == 1 && self.dense {
            // A byte each, as FP4 and FP6 have: all are examined together, where they lie.
            let largest = self.format.max_code();
            let bytes = &self.bytes()[self.start..][positions.clone()];
            let bad = |&byte: &u8| u64::from(byte) > largest;
            let piece = |(piece, bytes): (usize, &[u8])| {
                let highest = bytes.iter().fold(0, |highest, &byte| highest.max(byte));
                bad(&highest).then(|| piece * PIECE + bytes.iter().position(bad).unwrap_or(0))
            };
            let pieces = bytes.par_chunks(PIECE).enumerate();
            let found = pieces.find_map_first(piece);
            return found.map(|at| positions.start + at);
        }
        let bad = |&position: &usize| {
            let raw = self.raw(self.offset_of(position));
            match self.stored.encoding {
                Encoding::Code => raw > self.format.max_code(),
                Encoding::Value(from) => convert_exact(from, raw, self.format).is_err(),
                Encoding::Integer { .. } => self.stored.integer_code(raw, self.format).is_none(),
            }
        };
        positions
            .into_par_iter()
            .with_min_len(PIECE)
            .find_first(bad)
    }

    /// Makes sure that every element has a code in the format.
    ///
    /// # Errors
    /// The first that has none, in storage order.
    pub fn validate(&self) -> Result<(), Unrepresentable> {
        self.check(0..self.len())
    }

    fn unrepresentable(&self, position: usize) -> Unrepresentable {
        let index = unravel(position, &self.shape, self.order);
        let raw = self.raw(self.offset_of(position));
        Unrepresentable { index, raw }
    }
}
