//! Writing a tensor as `.npy`.

use std::io::{self, Write};

use crate::num::Format;
use crate::tensor::Tensor;

/// Writes the header of an array in version 1.0, C order, little-endian: IEEE formats under their
/// NumPy types, so INT8, UINT8 and INT32; BF16 as `<V2` (what ml_dtypes writes for bfloat16), the
/// narrow formats as one code a byte. The canonical payload follows it.
///
/// # Errors
/// Those of the writer.
pub fn write_header(format: Format, shape: &[usize], out: &mut dyn Write) -> io::Result<()> {
    let descr = match format {
        Format::Fp16 => "<f2",
        Format::Fp32 | Format::Tf32 | Format::Xf32 => "<f4",
        Format::Fp64 => "<f8",
        Format::Bf16 => "<V2",
        Format::E4m3
        | Format::E5m2
        | Format::E4m3fnuz
        | Format::E5m2fnuz
        | Format::E3m2
        | Format::E2m3
        | Format::E2m1
        | Format::Uint8
        | Format::Ue8m0
        | Format::Ue4m3 => "|u1",
        Format::Int8 => "|i1",
        Format::Int32 => "<i4",
        // What ml_dtypes writes: codes, where an integer type would promise values.
        Format::Int4 | Format::Uint4 => "|V1",
    };
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
///
/// # Errors
/// Those of the writer.
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
