//! Another implementation of the format: what ndarray-npy writes is read, what is written it reads.

use ndarray::{Array, Array0, Array1, Array2, Array3, ShapeBuilder, arr0};
use ndarray_npy::{WritableElement, read_npy, write_npy};
use tcverify::io::npy::NpyFile;
use tcverify::num::Format::{self, *};
use tcverify::tensor::Tensor;

use super::codes;
use crate::support::Folder;

fn written<T: WritableElement, D: ndarray::Dimension>(
    array: &Array<T, D>,
    format: Format,
) -> Tensor {
    let folder = Folder::new();
    let path = folder.path("x.npy");
    write_npy(&path, array).unwrap();
    NpyFile::open(&path).unwrap().tensor(format).unwrap()
}

#[test]
fn it_writes_and_we_read() {
    let c = Array3::from_shape_fn((2, 3, 4), |(i, j, k)| (100 * i + 10 * j + k) as f32 - 50.5);
    let mut f = Array3::zeros((2, 3, 4).f());
    f.assign(&c);
    assert!(!f.is_standard_layout());
    let expected: Vec<u64> = c.iter().map(|v| v.to_bits().into()).collect();
    for array in [&c, &f] {
        let tensor = written(array, Fp32);
        assert_eq!(tensor.shape(), [2, 3, 4]);
        assert_eq!(codes(&tensor), expected);
    }

    let doubles = f.mapv(f64::from);
    let expected: Vec<u64> = doubles.iter().map(|v| v.to_bits()).collect();
    assert_eq!(codes(&written(&doubles, Fp64)), expected);
}

#[test]
fn it_writes_integers_and_we_read_codes() {
    let words = Array2::from_shape_fn((3, 2).f(), |(i, j)| (0x3f80 + 2 * i + j) as u16);
    assert_eq!(
        codes(&written(&words, Bf16)),
        [0x3f80, 0x3f81, 0x3f82, 0x3f83, 0x3f84, 0x3f85]
    );
    let signed = words.mapv(|word| word as i16);
    assert_eq!(
        codes(&written(&signed, Bf16)),
        codes(&written(&words, Bf16))
    );
    let bytes = Array1::from_iter((0..=255).map(|byte| byte as u8));
    assert!(codes(&written(&bytes, E4m3)).into_iter().eq(0..256));
    let signed = bytes.mapv(|byte| byte as i8);
    assert!(codes(&written(&signed, E5m2)).into_iter().eq(0..256));
    assert_eq!(codes(&written(&arr0(0x3f80_0000_u32), Fp32)), [0x3f80_0000]);
}

/// Writes codes as we do and reads them as it does.
fn round<A: ndarray_npy::ReadNpyExt>(format: Format, shape: &[usize], codes: &[u64]) -> A {
    let folder = Folder::new();
    let tensor = Tensor::from_codes(format, shape.to_vec(), codes);
    let mut file = Vec::new();
    tcverify::io::npy::write_npy(&tensor, &mut file).unwrap();
    read_npy(folder.write("x.npy", file)).unwrap()
}

#[test]
fn we_write_and_it_reads() {
    let values: Vec<f32> = (0..24).map(|i| i as f32 / 7.0).collect();
    let bits: Vec<u64> = values.iter().map(|v| v.to_bits().into()).collect();
    for format in [Fp32, Tf32] {
        let array: Array3<f32> = round(format, &[2, 3, 4], &bits);
        assert!(array.iter().eq(&values));
        assert_eq!(array.shape(), [2, 3, 4]);
    }
    let bits: Vec<u64> = values.iter().map(|&v| f64::from(v).to_bits()).collect();
    let array: Array1<f64> = round(Fp64, &[24], &bits);
    assert!(
        array.iter().eq(values
            .iter()
            .map(|&v| f64::from(v))
            .collect::<Vec<_>>()
            .iter())
    );
    let scalar: Array0<f32> = round(Fp32, &[], &[0x3f80_0000]);
    assert_eq!(scalar.into_scalar(), 1.0);
    for format in [E4m3, E5m2, E3m2, E2m3, E2m1] {
        let array: Array2<u8> = round(format, &[2, 3], &[0, 1, 2, 3, 4, 15]);
        assert_eq!(array, ndarray::array![[0, 1, 2], [3, 4, 15]]);
    }
}
