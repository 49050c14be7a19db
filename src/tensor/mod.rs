//! Tensors of raw codes, wherever their bytes live.
//!
//! A [`Tensor`] is a shape, a [`Format`] and bytes it does not interpret until asked: a memory-mapped
//! file stays mapped, in its own order and byte order, and [`Plane::code`] takes one element out.

mod planes;

use std::ops::Range;
use std::sync::Arc;

pub use planes::{Plane, Planes};
use rayon::prelude::*;

use crate::num::{Format, Rounding, convert_exact, tf32_code};

/// Bytes that outlive everyone who looks at them: a vector, or a mapped file.
pub type Bytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// How one stored element becomes a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// It is the code.
    Code,
    /// It is a number in this format; the code is the one that means the same.
    Value(Format),
    /// It is an integer in two's complement, or an unsigned one.
    Integer { signed: bool },
}

/// How elements lie in the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Bytes of one stored element: 1, 2, 4 or 8.
    pub width: usize,
    pub big_endian: bool,
    pub encoding: Encoding,
}

impl Stored {
    /// The integer that a stored element is, under [`Encoding::Integer`].
    pub fn integer(self, raw: u64) -> i128 {
        let unused = 64 - 8 * self.width as u32;
        match self.encoding {
            Encoding::Integer { signed: true } => ((raw << unused) as i64 >> unused).into(),
            _ => raw.into(),
        }
    }

    /// The code of an element that is an integer, if the format has it.
    fn integer_code(self, raw: u64, format: Format) -> Option<u64> {
        let value = i64::try_from(self.integer(raw)).ok()?;
        format.integer_code(value)
    }
}

/// The order of the elements of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The last index varies fastest.
    C,
    /// The first index varies fastest.
    Fortran,
}

/// An array of codes.
#[derive(Clone)]
pub struct Tensor {
    format: Format,
    shape: Vec<usize>,
    /// In elements.
    strides: Vec<usize>,
    order: Order,
    /// Whether the elements lie in that order without gaps; else a position counts in C order.
    dense: bool,
    stored: Stored,
    bytes: Bytes,
    start: usize,
    /// TF32 alone: round each register to nearest before use instead of ignoring its low bits.
    round_tf32: bool,
}

/// An element that its tensor's format cannot hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unrepresentable {
    pub index: Vec<usize>,
    /// The element as stored.
    pub raw: u64,
}

impl Tensor {
    /// A tensor over `bytes` from `start` on.
    ///
    /// # Errors
    /// The index of an element that has no code in `format`, the first in storage order.
    ///
    /// # Panics
    /// If the bytes are too few for the shape; readers check that first.
    pub fn new(
        format: Format,
        shape: Vec<usize>,
        order: Order,
        stored: Stored,
        bytes: Bytes,
        start: usize,
    ) -> Result<Tensor, Unrepresentable> {
        Tensor::with_rows(format, shape, order, stored, bytes, start, None)
    }

    /// The same, but only some rows, counted on from matrix to matrix, are looked at, if these lie
    /// together in the bytes: the others must not be used.
    ///
    /// # Errors
    /// As for [`Tensor::new`], of those rows.
    ///
    /// # Panics
    /// As for [`Tensor::new`].
    pub fn with_rows(
        format: Format,
        shape: Vec<usize>,
        order: Order,
        stored: Stored,
        bytes: Bytes,
        start: usize,
        rows: Option<Range<usize>>,
    ) -> Result<Tensor, Unrepresentable> {
        let tensor = Tensor {
            strides: strides(&shape, order),
            format,
            shape,
            order,
            dense: true,
            stored,
            bytes,
            start,
            round_tf32: false,
        };
        assert!(tensor.start + tensor.len() * stored.width <= tensor.bytes().len());
        let all = tensor.len();
        let positions = match rows {
            Some(rows) if order == Order::C => {
                let columns = tensor.shape.last().copied().unwrap_or(1);
                let position = |row: usize| row.saturating_mul(columns).min(all);
                position(rows.start)..position(rows.end)
            }
            _ => 0..all,
        };
        match tensor.first_unrepresentable(positions) {
            None => Ok(tensor),
            Some(bad) => Err(bad),
        }
    }

    /// A tensor whose elements lie `strides` elements apart from index to index of each axis, from the first byte
    /// on: with gaps, or several at one place (0 repeats an axis).
    ///
    /// # Errors
    /// As for [`Tensor::new`]; the first in C order if they do not lie one after the other.
    ///
    /// # Panics
    /// If the bytes are too few for the shape and strides.
    pub fn strided(
        format: Format,
        shape: Vec<usize>,
        strides: Vec<usize>,
        stored: Stored,
        bytes: Bytes,
    ) -> Result<Tensor, Unrepresentable> {
        assert_eq!(shape.len(), strides.len());
        for order in [Order::C, Order::Fortran] {
            if lies_in(order, &shape, &strides) {
                return Tensor::new(format, shape, order, stored, bytes, 0);
            }
        }
        let tensor = Tensor {
            format,
            shape,
            strides,
            order: Order::C,
            dense: false,
            stored,
            bytes,
            start: 0,
            round_tf32: false,
        };
        let end = tensor.extent().and_then(|n| n.checked_mul(stored.width));
        assert!(end.is_some_and(|end| end <= tensor.bytes().len()));
        match tensor.first_unrepresentable(0..tensor.len()) {
            None => Ok(tensor),
            Some(bad) => Err(bad),
        }
    }

    /// Elements from the first to the last in memory; none if nothing could hold them.
    fn extent(&self) -> Option<usize> {
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

    /// A tensor in canonical layout (C order, little-endian codes) that owns its bytes.
    ///
    /// # Panics
    /// If `payload` is not as long as the shape asks.
    pub fn from_payload(
        format: Format,
        shape: Vec<usize>,
        payload: impl AsRef<[u8]> + Send + Sync + 'static,
    ) -> Tensor {
        assert_eq!(
            payload.as_ref().len(),
            shape.iter().product::<usize>() * format.bytes()
        );
        Tensor {
            strides: strides(&shape, Order::C),
            format,
            shape,
            order: Order::C,
            dense: true,
            stored: Stored {
                width: format.bytes(),
                big_endian: false,
                encoding: Encoding::Code,
            },
            bytes: Arc::new(payload),
            start: 0,
            round_tf32: false,
        }
    }

    /// A tensor that owns these codes, given in C order.
    pub fn from_codes(format: Format, shape: Vec<usize>, codes: &[u64]) -> Tensor {
        let bytes = format.bytes();
        let mut payload = Vec::with_capacity(codes.len() * bytes);
        for code in codes {
            payload.extend_from_slice(&code.to_le_bytes()[..bytes]);
        }
        Tensor::from_payload(format, shape, payload)
    }

    /// How its elements are stored, in which order, and their bytes; none if those do not lie one after the other.
    #[cfg(feature = "ndarray")]
    pub(crate) fn parts(&self) -> Option<(Stored, Order, &[u8])> {
        let bytes = (*self.bytes).as_ref();
        let end = self.start + self.len() * self.stored.width;
        self.dense
            .then(|| (self.stored, self.order, &bytes[self.start..end]))
    }

    pub fn format(&self) -> Format {
        self.format
    }

    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Number of elements.
    #[allow(clippy::len_without_is_empty)] // readers refuse tensors without elements
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// The same codes as those of another format of their width, if they were stored as codes.
    pub fn reread(&self, format: Format) -> Option<Tensor> {
        if format == self.format {
            return Some(self.clone());
        }
        let codes = match self.stored.encoding {
            Encoding::Code => true,
            // In two's complement, so the code itself.
            Encoding::Integer { .. } => self.stored.width == format.bytes(),
            Encoding::Value(_) => false,
        };
        let alike =
            self.format.bytes() == format.bytes() && self.format.max_code() == format.max_code();
        (codes && alike).then(|| Tensor {
            format,
            stored: Stored {
                encoding: Encoding::Code,
                ..self.stored
            },
            ..self.clone()
        })
    }

    /// The same tensor, its TF32 or XF32 registers rounded to nearest, ties away from zero (PTX
    /// `cvt.rna.tf32.f32`), before use.
    pub fn rounding_tf32(mut self) -> Tensor {
        self.round_tf32 = matches!(self.format, Format::Tf32 | Format::Xf32);
        self
    }

    /// The same, with or without that rounding; none if that changes nothing.
    pub fn with_tf32_rounding(&self, round: bool) -> Option<Tensor> {
        let possible = matches!(self.format, Format::Tf32 | Format::Xf32);
        (possible && self.round_tf32 != round).then(|| Tensor {
            round_tf32: round,
            ..self.clone()
        })
    }

    /// How many elements have bits that their format ignores (TF32, XF32: the low 13 of the register).
    pub fn count_ignored_bits(&self) -> usize {
        (0..self.len())
            .into_par_iter()
            .with_min_len(1 << 14)
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
    fn code(&self, offset: usize) -> u64 {
        let raw = self.raw(offset);
        let code = match self.stored.encoding {
            Encoding::Code => raw,
            // Checked for every element when the tensor was made. Should the file have been changed
            // since, whoever mapped it reports that, and this value is never shown.
            Encoding::Value(from) => convert_exact(from, raw, self.format).unwrap_or(0),
            Encoding::Integer { .. } => self.stored.integer_code(raw, self.format).unwrap_or(0),
        };
        if self.round_tf32 {
            tf32_code(code, Rounding::NearestAway)
        } else {
            code
        }
    }

    /// Codes at `offset`, `offset + stride`, ... of a format of at most 32 bits.
    fn read_run(&self, offset: usize, stride: usize, out: &mut [u32]) {
        debug_assert!(self.format.bytes() <= 4);
        let plain = self.stored.encoding == Encoding::Code
            && !self.stored.big_endian
            && !self.round_tf32
            && stride == 1;
        if !plain {
            for (i, out) in out.iter_mut().enumerate() {
                *out = self.code(offset + i * stride) as u32;
            }
            return;
        }
        let width = self.stored.width;
        let start = self.start + offset * width;
        let bytes = &self.bytes()[start..start + out.len() * width];
        let words = out.iter_mut();
        match width {
            1 => words.zip(bytes).for_each(|(out, &byte)| *out = byte.into()),
            2 => words.zip(bytes.chunks_exact(2)).for_each(|(out, word)| {
                *out = u16::from_le_bytes([word[0], word[1]]).into();
            }),
            _ => words.zip(bytes.chunks_exact(4)).for_each(|(out, word)| {
                *out = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            }),
        }
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

    fn bytes(&self) -> &[u8] {
        (*self.bytes).as_ref()
    }

    fn first_unrepresentable(&self, positions: Range<usize>) -> Option<Unrepresentable> {
        let stored_bits = 8 * self.stored.width as u32;
        let any_code = self.format.max_code() == u64::MAX >> (64 - stored_bits);
        if self.stored.encoding == Encoding::Code && any_code {
            return None;
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
            .with_min_len(1 << 14)
            .find_first(bad)
            .map(|position| self.unrepresentable(position))
    }

    /// Makes sure that every element has a code in the format.
    ///
    /// # Errors
    /// The first that has none, in storage order.
    pub fn validate(&self) -> Result<(), Unrepresentable> {
        self.first_unrepresentable(0..self.len())
            .map_or(Ok(()), Err)
    }

    fn unrepresentable(&self, position: usize) -> Unrepresentable {
        let index = unravel(position, &self.shape, self.order);
        let raw = self.raw(self.offset_of(position));
        Unrepresentable { index, raw }
    }

    /// The elements' bytes if they already are the canonical payload: C order, little-endian codes.
    pub fn as_payload(&self) -> Option<&[u8]> {
        let single = self.shape.iter().filter(|&&n| n > 1).count() <= 1;
        let canonical = self.dense
            && (self.order == Order::C || single)
            && self.stored.encoding == Encoding::Code
            && (!self.stored.big_endian || self.stored.width == 1)
            && !self.round_tf32;
        canonical.then(|| {
            let end = self.start + self.len() * self.stored.width;
            &self.bytes()[self.start..end]
        })
    }

    /// Hands the canonical payload, piece by piece, to `sink`.
    pub fn for_each_payload_chunk(&self, mut sink: impl FnMut(&[u8])) {
        if let Some(payload) = self.as_payload() {
            return sink(payload);
        }
        let rows = self.planes();
        let mut buffer = Vec::new();
        for batch in 0..rows.batches() {
            let plane = rows.plane(batch);
            for row in 0..plane.rows {
                buffer.clear();
                for column in 0..plane.columns {
                    let code = plane.code(row, column).to_le_bytes();
                    buffer.extend_from_slice(&code[..self.format.bytes()]);
                }
                sink(&buffer);
            }
        }
    }

    /// The tensor as a stack of matrices: the last two axes are rows and columns, the others the
    /// batch. A vector counts as one row, a scalar as a 1 x 1 matrix.
    pub fn planes(&self) -> Planes<'_> {
        let axis = |from_last: usize| {
            let rank = self.shape.len();
            match rank.checked_sub(from_last) {
                Some(axis) => (self.shape[axis], self.strides[axis]),
                None => (1, 0),
            }
        };
        Planes {
            tensor: self,
            rows: axis(2),
            columns: axis(1),
            batch_axes: self.shape.len().saturating_sub(2),
            offset: 0,
        }
    }
}

impl std::fmt::Debug for Tensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tensor({} {:?})", self.format, self.shape)
    }
}

/// Whether elements so far apart lie one after the other in this order. Of an axis of one no stride counts.
fn lies_in(order: Order, shape: &[usize], found: &[usize]) -> bool {
    let wanted = strides(shape, order);
    let mut axes = shape.iter().zip(wanted.iter().zip(found));
    axes.all(|(&n, (wanted, found))| n <= 1 || wanted == found)
}

fn strides(shape: &[usize], order: Order) -> Vec<usize> {
    let mut strides = vec![0; shape.len()];
    let mut next = 1;
    let mut place = |axis: usize| {
        strides[axis] = next;
        next *= shape[axis];
    };
    match order {
        Order::C => (0..shape.len()).rev().for_each(&mut place),
        Order::Fortran => (0..shape.len()).for_each(&mut place),
    }
    strides
}

/// `2500x1x16`; an array without axes is a `scalar`.
pub fn shape_text(shape: &[usize]) -> String {
    if shape.is_empty() {
        return "scalar".to_owned();
    }
    let parts: Vec<_> = shape.iter().map(usize::to_string).collect();
    parts.join("x")
}

/// The index of the element at `position` of an array stored in this order.
pub fn unravel(mut position: usize, shape: &[usize], order: Order) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    let mut take = |axis: usize| {
        index[axis] = position % shape[axis];
        position /= shape[axis];
    };
    match order {
        Order::C => (0..shape.len()).rev().for_each(&mut take),
        Order::Fortran => (0..shape.len()).for_each(&mut take),
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: Stored = Stored {
        width: 1,
        big_endian: false,
        encoding: Encoding::Code,
    };

    fn numbered(format: Format, shape: &[usize], strides: &[usize]) -> Tensor {
        let bytes: Bytes = Arc::new((0..24).collect::<Vec<u8>>());
        Tensor::strided(format, shape.into(), strides.into(), BYTES, bytes).unwrap()
    }

    fn payload(tensor: &Tensor) -> Vec<u8> {
        let mut all = Vec::new();
        tensor.for_each_payload_chunk(|chunk| all.extend_from_slice(chunk));
        all
    }

    #[test]
    fn elements_with_gaps_and_repeated_ones_are_read_in_place() {
        let gaps = numbered(Format::E4m3, &[2, 3], &[12, 2]);
        assert_eq!(payload(&gaps), [0, 2, 4, 12, 14, 16]);
        assert!(gaps.as_payload().is_none());
        let mut block = [0; 4];
        gaps.planes().plane(0).read_block(0, 2, 1, 2, &mut block);
        assert_eq!(block, [2, 4, 14, 16]);
        let turned = gaps.planes().transposed().plane(0);
        assert_eq!((turned.code(2, 1), turned.rows), (16, 3));
        let repeated = numbered(Format::E4m3, &[2, 2, 2], &[0, 2, 1]);
        assert_eq!(payload(&repeated), [0, 1, 2, 3, 0, 1, 2, 3]);
    }

    #[test]
    fn elements_without_gaps_are_the_payload_whatever_the_strides_of_single_axes() {
        let dense = numbered(Format::E4m3, &[1, 4, 6], &[7, 6, 1]);
        assert_eq!(dense.as_payload().unwrap().len(), 24);
        let fortran = numbered(Format::E4m3, &[4, 6], &[1, 4]);
        assert_eq!(payload(&fortran)[..3], [0, 4, 8]);
    }

    #[test]
    fn what_lies_in_the_gaps_is_not_looked_at() {
        // Codes of E2M1 end at 15.
        let few = numbered(Format::E2m1, &[2, 2], &[8, 7]);
        assert_eq!(payload(&few), [0, 7, 8, 15]);
        let bytes: Bytes = Arc::new((0..24).collect::<Vec<u8>>());
        let bad = Tensor::strided(Format::E2m1, vec![2, 2], vec![12, 5], BYTES, bytes);
        let bad = bad.unwrap_err();
        assert_eq!((bad.index, bad.raw), (vec![1, 1], 17));
    }

    #[test]
    #[should_panic]
    fn bytes_that_are_too_few_are_no_tensor() {
        numbered(Format::E4m3, &[2, 3], &[12, 6]);
    }
}
