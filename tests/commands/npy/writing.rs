//! What is written: the header to the byte, and that it reads back.

use tcverify::io::npy::{NpyFile, write_npy};
use tcverify::num::Format::{self, *};
use tcverify::tensor::Tensor;

use super::codes;
use crate::support::Folder;

fn written(format: Format, shape: &[usize], codes: &[u64]) -> Vec<u8> {
    let mut file = Vec::new();
    let tensor = Tensor::from_codes(format, shape.to_vec(), codes);
    write_npy(&tensor, &mut file).unwrap();
    file
}

#[test]
fn the_header_is_numpys() {
    for (format, shape, descr, axes) in [
        (Fp16, &[2, 3][..], "<f2", "(2, 3)"),
        (Fp32, &[6], "<f4", "(6,)"),
        (Tf32, &[6, 1], "<f4", "(6, 1)"),
        (Fp64, &[1, 2, 3], "<f8", "(1, 2, 3)"),
        (Bf16, &[2, 3], "<V2", "(2, 3)"),
        (E4m3, &[3, 2], "|u1", "(3, 2)"),
        (E2m1, &[3, 2], "|u1", "(3, 2)"),
    ] {
        let file = written(format, shape, &[1; 6]);
        // numpy.lib.format: magic, version 1.0, length, and the dictionary, which spaces and a
        // newline fill to a multiple of 64.
        let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {axes}, }}");
        assert_eq!(&file[..10], b"\x93NUMPY\x01\x00\x76\x00");
        assert_eq!(file[10..128], *format!("{text:<117}\n").as_bytes());
        assert_eq!(file.len(), 128 + 6 * format.bytes());
    }
    let scalar = written(Fp32, &[], &[0]);
    assert!(String::from_utf8_lossy(&scalar).contains("'shape': (), }"));
}

#[test]
fn a_long_shape_takes_a_longer_header() {
    let shape = [1; 40];
    let file = written(Fp32, &shape, &[5]);
    assert_eq!(file.len() % 64, 4);
    let folder = Folder::new();
    let read = NpyFile::open(&folder.write("x.npy", file)).unwrap();
    assert_eq!(read.header().shape, shape);
    assert_eq!(codes(&read.tensor(Fp32).unwrap()), [5]);
}

#[test]
fn every_format_reads_back() {
    for format in Format::ALL {
        let expected = [0, 1, 2, 7, 9, format.max_code()];
        let folder = Folder::new();
        let path = folder.write("x.npy", written(format, &[2, 3], &expected));
        let tensor = NpyFile::open(&path).unwrap().tensor(format).unwrap();
        assert_eq!(tensor.shape(), [2, 3]);
        assert_eq!(codes(&tensor), expected, "{format}");
    }
}

#[test]
fn whatever_lay_otherwise_is_written_canonically() {
    use crate::support::Npy;
    let canonical = Npy::new(
        "<f4",
        &[2, 2],
        crate::support::floats(&[1.0, 2.0, 3.0, 4.0]),
    );
    let big: Vec<u8> = [1.0_f32, 3.0, 2.0, 4.0]
        .iter()
        .flat_map(|v| v.to_be_bytes())
        .collect();
    let other = Npy::fortran(">f4", &[2, 2], big);
    let mut file = Vec::new();
    write_npy(&super::read(&other, Fp32).unwrap(), &mut file).unwrap();
    let tail = |bytes: &[u8]| bytes[bytes.len() - 16..].to_vec();
    assert_eq!(tail(&file), tail(&canonical.bytes()));
}
