//! Tensors whose elements lie apart.

use super::*;

const BYTES: Stored = Stored {
    width: 1,
    big_endian: false,
    encoding: Encoding::Code,
};

fn numbered(format: Format, shape: &[usize], strides: &[usize]) -> Tensor {
    let bytes: Bytes = Arc::new((0..24).collect::<Vec<u8>>());
    Tensor::strided(format, shape.into(), strides.into(), BYTES, bytes).unwrap()
}

fn payload(tensor: &Tensor) -> Vec<u8> {
    let mut all = Vec::new();
    tensor.for_each_payload_chunk(|chunk| all.extend_from_slice(chunk));
    all
}

#[test]
fn elements_with_gaps_and_repeated_ones_are_read_in_place() {
    let gaps = numbered(Format::E4m3, &[2, 3], &[12, 2]);
    assert_eq!(payload(&gaps), [0, 2, 4, 12, 14, 16]);
    assert!(gaps.as_payload().is_none());
    let mut block = [0; 4];
    gaps.planes().plane(0).read_block(0, 2, 1, 2, &mut block);
    assert_eq!(block, [2, 4, 14, 16]);
    let turned = gaps.planes().transposed().plane(0);
    assert_eq!((turned.code(2, 1), turned.rows), (16, 3));
    let repeated = numbered(Format::E4m3, &[2, 2, 2], &[0, 2, 1]);
    assert_eq!(payload(&repeated), [0, 1, 2, 3, 0, 1, 2, 3]);
}

#[test]
fn axes_of_one_come_and_go() {
    let gaps = numbered(Format::E4m3, &[3, 1, 4], &[8, 5, 2]);
    for shape in [&[3, 4][..], &[1, 3, 4], &[3, 1, 1, 4, 1]] {
        let other = gaps.with_axes(shape).expect("the same longer axes");
        assert_eq!((other.shape(), payload(&other)), (shape, payload(&gaps)));
    }
    let matrix = gaps.with_axes(&[3, 4]).unwrap();
    assert_eq!(matrix.planes().plane(0).code(2, 1), 18);
    for shape in [&[4, 3][..], &[12], &[3, 4, 2], &[3], &[]] {
        assert!(gaps.with_axes(shape).is_none(), "{shape:?}");
    }
}

#[test]
fn elements_without_gaps_are_the_payload_whatever_the_strides_of_single_axes() {
    let dense = numbered(Format::E4m3, &[1, 4, 6], &[7, 6, 1]);
    assert_eq!(dense.as_payload().unwrap().len(), 24);
    let fortran = numbered(Format::E4m3, &[4, 6], &[1, 4]);
    assert_eq!(payload(&fortran)[..3], [0, 4, 8]);
}

#[test]
fn what_lies_in_the_gaps_is_not_looked_at() {
    // Codes of E2M1 end at 15.
    let few = numbered(Format::E2m1, &[2, 2], &[8, 7]);
    assert_eq!(payload(&few), [0, 7, 8, 15]);
    let bytes: Bytes = Arc::new((0..24).collect::<Vec<u8>>());
    let bad = Tensor::strided(Format::E2m1, vec![2, 2], vec![12, 5], BYTES, bytes);
    let bad = bad.unwrap_err();
    assert_eq!((bad.index, bad.raw), (vec![1, 1], 17));
}

#[test]
#[should_panic]
fn bytes_that_are_too_few_are_no_tensor() {
    numbered(Format::E4m3, &[2, 3], &[12, 6]);
}

#[test]
fn the_first_byte_that_is_no_code_is_found_wherever_it_is() {
    let columns = 20_011;
    let first_of = |bad: &[usize], shape: [usize; 2]| {
        let mut bytes = vec![0x0f; 3 + 2 * columns];
        bad.iter().for_each(|&at| bytes[3 + at] = 0x10);
        // Before the first element anything may stand.
        bytes[0] = 0xff;
        let shape = shape.into();
        let tensor = Tensor::new(Format::E2m1, shape, Order::C, BYTES, Arc::new(bytes), 3);
        tensor.map(drop).map_err(|bad| bad.index)
    };
    let shape = [2, columns];
    assert_eq!(first_of(&[], shape), Ok(()));
    assert_eq!(
        first_of(&[2 * columns - 1], shape),
        Err(vec![1, columns - 1])
    );
    assert_eq!(first_of(&[columns + 5, 7, 16_384], shape), Err(vec![0, 7]));
    assert_eq!(first_of(&[33_000, 16_390], shape), Err(vec![0, 16_390]));
}

#[test]
fn rows_are_read_as_codes_whatever_their_width() {
    for (format, width) in [(Format::Bf16, 130), (Format::Fp64, 5)] {
        let codes: Vec<u64> = (0..2 * width).map(|i| 0x3f80 + i as u64).collect();
        let tensor = Tensor::from_codes(format, vec![2, width], &codes);
        let plane = tensor.planes().plane(0);
        let mut read = vec![7; 3];
        plane.read_codes(1, 1..width, &mut read);
        assert_eq!(read, codes[width + 1..]);
        let turned = plane.transposed();
        turned.read_codes(3, 0..2, &mut read);
        assert_eq!(read, [codes[3], codes[width + 3]]);
        turned.read_codes(3, 1..1, &mut read);
        assert!(read.is_empty());
    }
}
