//! The same matrix, stored in other ways.

use std::sync::Arc;

use tcverify::num::{Format, convert_exact};
use tcverify::tensor::{Encoding, Order, Stored, Tensor};

use crate::support::random::Random;

/// How an operand lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Layout {
    /// Stored with rows and columns exchanged.
    pub transposed: bool,
    pub fortran: bool,
    pub big_endian: bool,
    /// Stored as numbers of a wider format.
    pub widened: bool,
    /// Bytes before the first element.
    pub start: usize,
}

impl Layout {
    pub fn random(random: &mut Random) -> Layout {
        Layout {
            transposed: random.once_in(2),
            fortran: random.once_in(2),
            big_endian: random.once_in(3),
            widened: random.once_in(3),
            start: random.below(3),
        }
    }

    /// A tensor of these matrices, given one after the other and row by row.
    pub fn store(
        self,
        format: Format,
        batch: &[usize],
        (rows, columns): (usize, usize),
        codes: &[u64],
    ) -> Tensor {
        let encoding = match format {
            _ if !self.widened => Encoding::Code,
            // An FP32 number is a TF32 register, not another number's.
            Format::Tf32 | Format::Fp32 => Encoding::Value(Format::Fp64),
            Format::Fp64 => Encoding::Code,
            _ => Encoding::Value(Format::Fp32),
        };
        let stored = match encoding {
            Encoding::Code => format,
            Encoding::Value(wider) => wider,
            Encoding::Integer { .. } => unreachable!("no integers here"),
        };
        let matrices: usize = batch.iter().product();
        let size = rows * columns;
        // A batch in Fortran order: its last axis varies slowest.
        let position = |matrix: usize, row: usize, column: usize| {
            let (rows, columns, row, column) = if self.transposed {
                (columns, rows, column, row)
            } else {
                (rows, columns, row, column)
            };
            if !self.fortran {
                return matrix * size + row * columns + column;
            }
            let (mut place, mut step, mut rest) = (0, matrices, matrix);
            for &length in batch.iter().rev() {
                step /= length;
                place += rest % length * step;
                rest /= length;
            }
            place + (row + column * rows) * matrices
        };
        let width = stored.bytes();
        let mut bytes = vec![0xa5; self.start + codes.len() * width];
        for (index, &code) in codes.iter().enumerate() {
            let (matrix, element) = (index / size, index % size);
            let raw = match encoding {
                Encoding::Code => code,
                Encoding::Value(wider) => convert_exact(format, code, wider).expect("wider"),
                Encoding::Integer { .. } => unreachable!("no integers here"),
            };
            let at = self.start + width * position(matrix, element / columns, element % columns);
            let out = &mut bytes[at..at + width];
            out.copy_from_slice(&raw.to_le_bytes()[..width]);
            if self.big_endian {
                out.reverse();
            }
        }
        let mut shape = batch.to_vec();
        shape.extend(if self.transposed {
            [columns, rows]
        } else {
            [rows, columns]
        });
        let order = if self.fortran {
            Order::Fortran
        } else {
            Order::C
        };
        let stored = Stored {
            width,
            big_endian: self.big_endian,
            encoding,
        };
        Tensor::new(format, shape, order, stored, Arc::new(bytes), self.start)
            .expect("the codes are the format's")
    }
}
