//! `.npy` files that say what they hold, or hold it in one of the many ways that occur.

mod codes;
mod layouts;
mod ndarray;
mod numbers;
mod values;
mod vectors;
mod writing;

use crate::support::{Folder, Npy};
use tcverify::io::npy::NpyFile;
use tcverify::num::Format;
use tcverify::tensor::Tensor;

/// Reads an array as a format; the error is its message.
fn read(array: &Npy, format: Format) -> Result<Tensor, String> {
    let folder = Folder::new();
    let path = folder.save("x.npy", array);
    let file = NpyFile::open(&path).map_err(|e| format!("{e:#}"))?;
    file.tensor(format).map_err(|e| format!("{e:#}"))
}

/// All codes, in C order.
fn codes(tensor: &Tensor) -> Vec<u64> {
    let mut payload = Vec::new();
    tensor.for_each_payload_chunk(|chunk| payload.extend_from_slice(chunk));
    let code = |element: &[u8]| {
        element
            .iter()
            .rev()
            .fold(0, |code, &b| code << 8 | u64::from(b))
    };
    payload.chunks(tensor.format().bytes()).map(code).collect()
}
