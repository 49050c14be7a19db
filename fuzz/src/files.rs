//! Files of arrays.

use std::path::Path;

use tcverify::inspect::Census;
use tcverify::io::npy::write_npy;
use tcverify::io::{Container, MappedFile, payload_sha256};
use tcverify::num::Format;
use tcverify::tensor::Tensor;

use super::sentence;

/// Elements of an array that are looked at: a few bytes of a compressed archive can hold millions.
const MAX_BYTES: usize = 1 << 18;

/// A `.npy` file.
pub fn npy(data: &[u8]) {
    container("x.npy", data);
}

/// A `.npz` archive.
pub fn npz(data: &[u8]) {
    container("x.npz", data);
}

/// A `.safetensors` file.
pub fn safetensors(data: &[u8]) {
    container("x.safetensors", data);
}

fn container(name: &str, data: &[u8]) {
    let file = MappedFile::made(Path::new(name), data.to_vec());
    let container = match Container::of(file) {
        Ok(container) => container,
        Err(error) => return sentence(&format!("{error:#}")),
    };
    for array in container.meant() {
        let source = match container.source(array) {
            Ok(source) => source,
            Err(error) => {
                sentence(&format!("{error:#}"));
                continue;
            }
        };
        let count: usize = source.header().shape.iter().product();
        if count > MAX_BYTES {
            continue;
        }
        for format in Format::ALL {
            match source.tensor(format) {
                Ok(tensor) => read(&tensor),
                Err(error) => sentence(&format!("{error:#}")),
            }
        }
    }
}

/// Every way to the codes gives the same ones, and they survive being written and read again.
fn read(tensor: &Tensor) {
    let width = tensor.format().bytes();
    let mut payload = Vec::new();
    tensor.for_each_payload_chunk(|chunk| payload.extend_from_slice(chunk));
    assert_eq!(payload.len(), tensor.len() * width);
    let planes = tensor.planes();
    let mut codes = Vec::with_capacity(payload.len());
    for batch in 0..planes.batches() {
        let plane = planes.plane(batch);
        for row in 0..planes.rows() {
            for column in 0..planes.columns() {
                let code = plane.code(row, column);
                assert!(code <= tensor.format().max_code(), "{code:x}");
                codes.extend_from_slice(&code.to_le_bytes()[..width]);
            }
        }
    }
    assert!(codes == payload, "the codes are not the payload");

    let mut bytes = Vec::new();
    write_npy(tensor, &mut bytes).expect("memory takes everything");
    let file = MappedFile::made(Path::new("copy.npy"), bytes);
    let copy = Container::of(file).and_then(|container| container.only());
    let copy = copy.and_then(|source| source.tensor(tensor.format()));
    let copy = copy.expect("what was written can be read");
    assert_eq!(copy.shape(), tensor.shape());
    assert_eq!(payload_sha256(&copy), payload_sha256(tensor));
    assert_eq!(Census::of(&copy), Census::of(tensor));
}
