//! Writing a tensor as `.npy`.

use std::io::{self, Write};

use crate::num::Format;
use crate::tensor::Tensor;

/// Writes the header of an array in version 1.0, C order, little-endian: IEEE formats under their
/// NumPy types, so INT8, UINT8 and INT32; BF16 as `<V2` (what ml_dtypes writes for bfloat16), the
/// narrow formats as one code a byte. The canonical payload follows it.
pub fn write_header(format: Format, shape: &[usize], out: &mut dyn Write) -> io::Result<()> {
    let descr = format.npy_descr();
    let axes: Vec<_> = shape.iter().map(usize::to_string).collect();
    let comma = if axes.len() == 1 { "," } else { "" };
    let mut header = format!(
        "{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}{comma}), }}",
        axes.join(", ")
    );
    // Elements start at a multiple of 64, as NumPy has it.
    let padding = 63 - (10 + header.len()) % 64;
    header.extend(std::iter::repeat_n(' ', padding));
    header.push('\n');
    let length = u16::try_from(header.len()).expect("at most 64 axes of 20 digits");
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(header.as_bytes())
}

/// Writes a whole tensor as [`write_header`] and its canonical payload.
pub fn write_npy(tensor: &Tensor, out: &mut dyn Write) -> io::Result<()> {
    write_header(tensor.format(), tensor.shape(), out)?;
    let mut result = Ok(());
    tensor.for_each_payload_chunk(|chunk| {
        if result.is_ok() {
            result = out.write_all(chunk);
        }
    });
    result
}
