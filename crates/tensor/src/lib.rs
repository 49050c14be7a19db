//! Tensors of raw codes, wherever their bytes live. A transpose, a part or a batch reads the codes of the one it was taken
//! from. No arithmetic is known here.
//!
//! A [`Tensor`] is a shape, a [`Format`] and bytes it does not interpret until asked: a memory-mapped
//! file stays mapped, in its own order and byte order, and [`Plane::code`] takes one element out.

mod elements;
pub mod interop;
mod layout;
pub mod parallel;
mod planes;
mod problem;
#[cfg(test)]
mod tests;
mod wide;

use std::ops::Range;
use std::sync::Arc;

pub use layout::{Encoding, Order, Stored, same_longer_axes, shape_text, unravel};
use layout::{lies_in, longer_axes, strides};
pub use planes::{Lines, Plane, Planes};
pub use problem::{Block, Problem, ScalePlanes, ShapeError};
pub use wide::{Vectors, Wide};

use tcverify_num::Format;

/// Bytes that outlive everyone who looks at them: a vector, or a mapped file.
pub type Bytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

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

    /// A tensor of which only some rows, counted on from matrix to matrix, are examined, if these lie
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
        tensor.check(positions)?;
        Ok(tensor)
    }

    /// A tensor whose elements lie `strides` elements apart from index to index of each axis, from the first byte
    /// on: with gaps, or several at one place (0 repeats an axis).
    ///
    /// # Errors
    /// As for [`Tensor::new`]; the first in C order if they do not lie one after another.
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
        tensor.validate()?;
        Ok(tensor)
    }

    /// The same elements, with axes of length 1 elsewhere, more or fewer of them; none if other axes differ.
    pub fn with_axes(&self, shape: &[usize]) -> Option<Tensor> {
        if !same_longer_axes(&self.shape, shape) {
            return None;
        }
        let [from, to] = [&self.shape[..], shape].map(longer_axes);
        // Those of an axis of one do not matter.
        let mut strides = strides(shape, self.order);
        for (from, to) in from.zip(to) {
            strides[to] = self.strides[from];
        }
        Some(Tensor {
            shape: shape.to_vec(),
            strides,
            ..self.clone()
        })
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

    /// How its elements are stored, in which order, and their bytes; none if those do not lie one after another.
    #[cfg(feature = "ndarray")]
    pub(crate) fn parts(&self) -> Option<(Stored, Order, &[u8])> {
        self.dense
            .then(|| (self.stored, self.order, self.elements()))
    }

    /// The bytes of elements that lie one after another.
    fn elements(&self) -> &[u8] {
        &self.bytes()[self.start..][..self.len() * self.stored.width]
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

    /// The codes as those of another format of their width, if they were stored as codes.
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
        let equally_wide =
            self.format.bytes() == format.bytes() && self.format.max_code() == format.max_code();
        (codes && equally_wide).then(|| Tensor {
            format,
            stored: Stored {
                encoding: Encoding::Code,
                ..self.stored
            },
            ..self.clone()
        })
    }

    /// The tensor, its TF32 or XF32 registers rounded to nearest, ties away from zero (PTX
    /// `cvt.rna.tf32.f32`), before use.
    pub fn rounding_tf32(mut self) -> Tensor {
        self.round_tf32 = matches!(self.format, Format::Tf32 | Format::Xf32);
        self
    }

    /// The tensor with or without that rounding; none if that changes nothing.
    pub fn with_tf32_rounding(&self, round: bool) -> Option<Tensor> {
        let possible = matches!(self.format, Format::Tf32 | Format::Xf32);
        (possible && self.round_tf32 != round).then(|| Tensor {
            round_tf32: round,
            ..self.clone()
        })
    }

    /// The elements' bytes if they already are the canonical payload: C order, little-endian codes.
    pub fn as_payload(&self) -> Option<&[u8]> {
        let single = self.shape.iter().filter(|&&n| n > 1).count() <= 1;
        let canonical = self.dense
            && (self.order == Order::C || single)
            && self.stored.encoding == Encoding::Code
            && (!self.stored.big_endian || self.stored.width == 1)
            && !self.round_tf32;
        canonical.then(|| self.elements())
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
            picked: None,
        }
    }
}

impl std::fmt::Debug for Tensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tensor({} {:?})", self.format, self.shape)
    }
}
