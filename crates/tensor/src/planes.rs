//! Tensors as stacks of matrices: parts, transposes and blocks of them, none of which moves a byte.

use std::ops::Range;

use super::{Order, Tensor, unravel};

/// A tensor seen as a stack of matrices, transposed or not.
#[derive(Clone, Copy, Debug)]
pub struct Planes<'a> {
    pub(super) tensor: &'a Tensor,
    /// Length and stride.
    pub(super) rows: (usize, usize),
    pub(super) columns: (usize, usize),
    pub(super) batch_axes: usize,
    /// The offset of the first element.
    pub(super) offset: usize,
    /// Which rows or columns of what the strides say there are, where not all are, or in another order.
    pub(super) picked: Option<Picked<'a>>,
}

/// Some rows of a matrix, or columns of one that is transposed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Picked<'a> {
    lines: &'a [u32],
    are_columns: bool,
}

impl<'a> Planes<'a> {
    /// These rows of every matrix, in this order.
    ///
    /// # Panics
    /// If there are none such, or some were picked before.
    pub fn picking(self, rows: &'a [u32]) -> Planes<'a> {
        assert!(self.picked.is_none());
        assert!(rows.iter().all(|&row| (row as usize) < self.rows.0));
        Planes {
            rows: (rows.len(), self.rows.1),
            picked: Some(Picked {
                lines: rows,
                are_columns: false,
            }),
            ..self
        }
    }

    /// Some rows of the first matrix, side by side in memory.
    pub fn gather(self, rows: &[usize]) -> Tensor {
        let plane = self.plane(0);
        let width = self.tensor.format.bytes();
        let mut payload = Vec::with_capacity(rows.len() * plane.columns * width);
        let mut codes = Vec::with_capacity(plane.columns);
        for &row in rows {
            plane.read_codes(row, 0..plane.columns, &mut codes);
            let bytes = codes.iter().map(|code| code.to_le_bytes());
            bytes.for_each(|bytes| payload.extend_from_slice(&bytes[..width]));
        }
        let shape = vec![rows.len(), plane.columns];
        Tensor::from_payload(self.tensor.format, shape, payload)
    }

    /// This view of another tensor of the same shape and strides.
    ///
    /// # Panics
    /// If these differ.
    pub fn over(self, tensor: &Tensor) -> Planes<'_> {
        assert_eq!(self.tensor.strides, tensor.strides);
        assert_eq!(self.tensor.shape, tensor.shape);
        Planes {
            tensor,
            rows: self.rows,
            columns: self.columns,
            batch_axes: self.batch_axes,
            offset: self.offset,
            picked: None,
        }
    }

    /// One matrix alone.
    pub fn matrix(self, batch: usize) -> Planes<'a> {
        Planes {
            offset: self.plane(batch).offset,
            batch_axes: 0,
            ..self
        }
    }

    /// Some rows and columns of every matrix.
    ///
    /// # Panics
    /// If there are none such.
    pub fn part(self, rows: Range<usize>, columns: Range<usize>) -> Planes<'a> {
        assert!(rows.start <= rows.end && rows.end <= self.rows());
        assert!(columns.start <= columns.end && columns.end <= self.columns());
        // Lines that were picked are cut out of the list, not out of memory.
        let (mut row, mut column) = (rows.start, columns.start);
        let picked = self.picked.map(|picked| {
            let (range, start) = if picked.are_columns {
                (columns.clone(), &mut column)
            } else {
                (rows.clone(), &mut row)
            };
            *start = 0;
            Picked {
                lines: &picked.lines[range],
                ..picked
            }
        });
        Planes {
            rows: (rows.len(), self.rows.1),
            columns: (columns.len(), self.columns.1),
            offset: self.offset + row * self.rows.1 + column * self.columns.1,
            picked,
            ..self
        }
    }

    pub fn tensor(&self) -> &'a Tensor {
        self.tensor
    }

    /// Transposed, if the matrices are stored so.
    pub fn transposed_if(self, stored: bool) -> Planes<'a> {
        if stored { self.transposed() } else { self }
    }

    pub fn transposed(self) -> Planes<'a> {
        Planes {
            rows: self.columns,
            columns: self.rows,
            picked: self.picked.map(Picked::transposed),
            ..self
        }
    }

    pub fn rows(&self) -> usize {
        self.rows.0
    }

    pub fn columns(&self) -> usize {
        self.columns.0
    }

    /// The leading axes, those of the batch.
    pub fn batch_shape(&self) -> &'a [usize] {
        &self.tensor.shape[..self.batch_axes]
    }

    /// Number of matrices.
    pub fn batches(&self) -> usize {
        self.batch_shape().iter().product()
    }

    /// One matrix of the stack; batches count in C order of the leading axes.
    pub fn plane(&self, batch: usize) -> Plane<'a> {
        let index = unravel(batch, self.batch_shape(), Order::C);
        let steps = index.iter().zip(&self.tensor.strides);
        let offset: usize = steps.map(|(i, stride)| i * stride).sum();
        Plane {
            tensor: self.tensor,
            offset: self.offset + offset,
            rows: self.rows.0,
            row_stride: self.rows.1,
            columns: self.columns.0,
            column_stride: self.columns.1,
            picked: self.picked,
        }
    }
}

impl Picked<'_> {
    fn transposed(self) -> Self {
        Picked {
            are_columns: !self.are_columns,
            ..self
        }
    }
}

/// One matrix of codes.
#[derive(Clone, Copy, Debug)]
pub struct Plane<'a> {
    tensor: &'a Tensor,
    offset: usize,
    pub rows: usize,
    row_stride: usize,
    pub columns: usize,
    column_stride: usize,
    picked: Option<Picked<'a>>,
}

/// Codes as they lie in memory, the low byte first.
#[derive(Clone, Copy, Debug)]
pub struct Lines<'a> {
    bytes: &'a [u8],
    step: usize,
    length: usize,
    /// Bytes of a code.
    pub width: usize,
}

impl<'a> Lines<'a> {
    /// A row of them.
    #[inline(always)]
    pub fn of(&self, row: usize) -> &'a [u8] {
        &self.bytes[row * self.step..][..self.length]
    }

    /// Where the first row is.
    pub fn start(&self) -> *const u8 {
        self.bytes.as_ptr()
    }

    /// How many bytes the next row is ahead.
    pub fn step(&self) -> usize {
        self.step
    }
}

impl<'a> Plane<'a> {
    /// `out.len()` codes of a row from `column` on. For formats of at most 32 bits.
    #[inline(always)]
    pub fn read_row(&self, row: usize, column: usize, out: &mut [u32]) {
        assert!(row < self.rows && column + out.len() <= self.columns);
        let row = match self.picked {
            None => row,
            Some(picked) if picked.are_columns => {
                let columns = picked.lines[column..].iter();
                for (out, &column) in out.iter_mut().zip(columns) {
                    let offset = row * self.row_stride + column as usize * self.column_stride;
                    *out = self.tensor.code(self.offset + offset) as u32;
                }
                return;
            }
            Some(picked) => picked.lines[row] as usize,
        };
        let offset = self.offset + row * self.row_stride + column * self.column_stride;
        self.tensor.read_run(offset, self.column_stride, out);
    }

    /// Codes of a row, of any format, in the place of what `out` had.
    pub fn read_codes(&self, row: usize, columns: Range<usize>, out: &mut Vec<u64>) {
        const RUN: usize = 64;
        out.clear();
        if self.tensor.format.bytes() > 4 {
            return out.extend(columns.map(|column| self.code(row, column)));
        }
        for first in columns.clone().step_by(RUN) {
            let run = &mut [0; RUN][..RUN.min(columns.end - first)];
            self.read_row(row, first, run);
            out.extend(run.iter().map(|&code| u64::from(code)));
        }
    }

    /// The bytes of codes, row by row; none where memory has them in another way.
    pub fn lines(&self, rows: Range<usize>, columns: Range<usize>) -> Option<Lines<'a>> {
        assert!(rows.end <= self.rows && columns.end <= self.columns);
        if self.picked.is_some() {
            return None;
        }
        let width = self.tensor.stored.width;
        let offset =
            self.offset + rows.start * self.row_stride + columns.start * self.column_stride;
        let last = rows.len().checked_sub(1)? * self.row_stride;
        let run = last + columns.len();
        Some(Lines {
            bytes: self.tensor.run_bytes(offset, self.column_stride, run)?,
            step: self.row_stride * width,
            length: columns.len() * width,
            width,
        })
    }

    pub fn transposed(self) -> Plane<'a> {
        Plane {
            rows: self.columns,
            row_stride: self.column_stride,
            columns: self.rows,
            column_stride: self.row_stride,
            picked: self.picked.map(Picked::transposed),
            ..self
        }
    }

    /// Whether a row lies together in memory rather than a column.
    pub fn has_rows_together(&self) -> bool {
        self.column_stride <= self.row_stride
    }

    /// `rows` rows from `row` on, `columns` codes of each from `column` on, row by row. Reads in the
    /// order of the memory.
    pub fn read_block(
        &self,
        row: usize,
        rows: usize,
        column: usize,
        columns: usize,
        out: &mut [u32],
    ) {
        assert_eq!(out.len(), rows * columns);
        if self.has_rows_together() || self.picked.is_some() {
            for (i, out) in out.chunks_mut(columns).enumerate() {
                self.read_row(row + i, column, out);
            }
            return;
        }
        assert!(row + rows <= self.rows && column + columns <= self.columns);
        let mut run = vec![0; rows];
        for j in 0..columns {
            let offset = self.offset + row * self.row_stride + (column + j) * self.column_stride;
            self.tensor.read_run(offset, self.row_stride, &mut run);
            for (i, &code) in run.iter().enumerate() {
                out[i * columns + j] = code;
            }
        }
    }

    /// Brings a block into the caches, in the order of the memory: what is read next in narrow strips would
    /// otherwise wait for every line of it.
    pub fn read_ahead(&self, rows: Range<usize>, columns: Range<usize>) {
        if self.picked.is_some() {
            return;
        }
        let (outer, inner, steps) = if self.has_rows_together() {
            (rows, columns, (self.row_stride, self.column_stride))
        } else {
            (columns, rows, (self.column_stride, self.row_stride))
        };
        if steps.1 != 1 {
            return; // lines between the elements would be read, too
        }
        let mut seen = 0;
        for i in outer {
            let first = self.offset + i * steps.0;
            let ends = [inner.start, inner.end - 1].map(|j| first + j * steps.1);
            seen ^= self.tensor.one_of_each_line(ends[0]..ends[1] + 1);
        }
        std::hint::black_box(seen);
    }

    #[inline]
    pub fn code(&self, row: usize, column: usize) -> u64 {
        let (row, column) = match self.picked {
            None => (row, column),
            Some(picked) if picked.are_columns => (row, picked.lines[column] as usize),
            Some(picked) => (picked.lines[row] as usize, column),
        };
        let offset = self.offset + row * self.row_stride + column * self.column_stride;
        self.tensor.code(offset)
    }
}
