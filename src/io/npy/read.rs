//! From a header and bytes to a tensor.

use std::ops::Range;

use super::Header;
use crate::num::{Format, decimal};
use crate::tensor::{Bytes, Encoding, Order, Stored, Tensor, Unrepresentable};
use crate::{Fault, FaultKind};

impl Header {
    /// The elements behind this header as a tensor of a format.
    ///
    /// # Errors
    /// If they cannot be codes or values of that format, naming the first that is not. To be read
    /// after the file's name.
    pub fn tensor(&self, format: Format, bytes: Bytes) -> Result<Tensor, Fault> {
        self.rows(format, bytes, None)
    }

    /// The elements as a tensor of which only some rows are examined ([`Tensor::with_rows`]).
    ///
    /// # Errors
    /// As for [`Header::tensor`], of those rows.
    pub fn rows(
        &self,
        format: Format,
        bytes: Bytes,
        rows: Option<Range<usize>>,
    ) -> Result<Tensor, Fault> {
        let stored = self.descr.stored_as(format)?;
        let order = if self.fortran_order {
            Order::Fortran
        } else {
            Order::C
        };
        let shape = self.shape.clone();
        let tensor = Tensor::with_rows(format, shape, order, stored, bytes, self.data_start, rows);
        tensor.map_err(|bad| unrepresentable(&bad, stored, format))
    }

    /// The elements as a tensor, where they lie `strides` elements apart ([`Tensor::strided`]).
    pub(crate) fn strided(
        &self,
        format: Format,
        strides: Vec<usize>,
        bytes: Bytes,
    ) -> Result<Tensor, Fault> {
        let stored = self.descr.stored_as(format)?;
        let tensor = Tensor::strided(format, self.shape.clone(), strides, stored, bytes);
        tensor.map_err(|bad| unrepresentable(&bad, stored, format))
    }
}

fn unrepresentable(bad: &Unrepresentable, stored: Stored, format: Format) -> Fault {
    let phrase = match stored.encoding {
        Encoding::Value(from) => format!(
            "element {:?} is {} ({from} 0x{:0width$x}), which {format} cannot represent; tcverify never rounds its \
                     inputs",
            bad.index,
            decimal(from, bad.raw),
            bad.raw,
            width = 2 * from.bytes()
        ),
        Encoding::Integer { .. } => format!(
            "element {:?} is {}, which {format} cannot represent; its range is {} to {}",
            bad.index,
            stored.integer(bad.raw),
            decimal(format, format.max_finite(true)),
            decimal(format, format.max_finite(false)),
        ),
        Encoding::Code => format!(
            "element {:?} is 0x{:02x}, which is not a code of {format}: it has {} bits, one code per byte in the low \
                     bits{}",
            bad.index,
            bad.raw,
            format.width(),
            match format.width() {
                4 =>
                    "; bytes of two codes, as NVFP4 checkpoints have them (the low half is the even k), unpack to: \
                     numpy.stack([p & 15, p >> 4], -1).reshape(len(p), -1)",
                _ => "",
            }
        ),
    };
    Fault::new(FaultKind::Elements, phrase)
}
