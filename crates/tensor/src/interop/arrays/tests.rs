//! Arrays of other libraries keep every bit.

use ndarray::{Array2, Array3, array, s};

use super::*;
use tcverify_num::Format;

#[test]
fn arrays_come_and_go() {
    let original = Array3::from_shape_fn((2, 3, 4), |(b, i, j)| (b * 12 + i * 4 + j) as f32);
    let tensor = Tensor::from(original.clone());
    assert_eq!(
        (tensor.format(), tensor.shape()),
        (Format::Fp32, &[2, 3, 4][..])
    );
    assert_eq!(tensor.view::<f32>().unwrap(), original.view().into_dyn());
    assert_eq!(tensor.to_array::<f32>().unwrap(), original.into_dyn());
    assert!(tensor.view::<f64>().is_none() && tensor.to_array::<i32>().is_none());
}

#[test]
fn any_layout_has_the_same_elements() {
    let original = Array2::from_shape_fn((5, 7), |(i, j)| (10 * i + j) as i32);
    let fortran = Tensor::from(original.clone().reversed_axes());
    assert_eq!(fortran.view::<i32>().unwrap(), original.t().into_dyn());
    let strided = original.slice(s![..;2, 1..;3]);
    for tensor in [Tensor::from(strided), Tensor::from(strided.to_owned())] {
        assert_eq!(tensor.to_array::<i32>().unwrap(), strided.into_dyn());
    }
    // What is sliced off in front is skipped, not copied.
    let tail = original.slice_move(s![2.., ..]);
    let tensor = Tensor::from(tail.clone());
    assert_eq!(tensor.view::<i32>().unwrap(), tail.into_dyn());
}

#[test]
#[cfg(feature = "half")]
fn halves_are_codes() {
    let ones = array![[half::f16::ONE, half::f16::NEG_INFINITY]];
    let planes = Tensor::from(ones);
    assert_eq!(planes.planes().plane(0).code(0, 1), 0xfc00);
    let bf16 = Tensor::from(array![[half::bf16::from_f32(1.5)]]);
    assert_eq!(
        (bf16.format(), bf16.planes().plane(0).code(0, 0)),
        (Format::Bf16, 0x3fc0)
    );
}

#[test]
#[cfg(feature = "float8")]
fn bytes_are_codes() {
    let e4m3 = Tensor::from(array![[float8::F8E4M3::from_bits(0x7e)]]);
    assert_eq!(
        (e4m3.format(), e4m3.planes().plane(0).code(0, 0)),
        (Format::E4m3, 0x7e)
    );
    let e5m2 = Tensor::from(array![[float8::F8E5M2::from_bits(0x7c)]]);
    assert_eq!(
        (e5m2.format(), e5m2.planes().plane(0).code(0, 0)),
        (Format::E5m2, 0x7c)
    );
}
