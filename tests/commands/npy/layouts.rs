//! Orders, byte orders, ranks and versions.

use tcverify::io::npy::NpyFile;
use tcverify::num::Format::Fp32;

use super::{codes, read};
use crate::support::{Folder, Npy};

/// The elements 0, 1, 2, ... in C order, stored in Fortran order.
fn fortran(shape: &[usize]) -> Vec<u32> {
    let length: usize = shape.iter().product();
    (0..length)
        .map(|mut position| {
            // The index, first axis fastest; then its place in C order.
            let mut index = Vec::new();
            for &axis in shape {
                index.push(position % axis);
                position /= axis;
            }
            let place = |place, (i, axis): (usize, &usize)| place * axis + i;
            index.into_iter().zip(shape).fold(0, place) as u32
        })
        .collect()
}

fn little(codes: &[u32]) -> Vec<u8> {
    codes.iter().flat_map(|code| code.to_le_bytes()).collect()
}

fn big(codes: &[u32]) -> Vec<u8> {
    codes.iter().flat_map(|code| code.to_be_bytes()).collect()
}

#[test]
fn any_rank_in_any_order_and_version() {
    let shapes: [&[usize]; 8] = [
        &[],
        &[5],
        &[1, 1],
        &[3, 4],
        &[4, 1],
        &[2, 3, 4],
        &[1, 2, 1, 3],
        &[2, 3, 2, 5],
    ];
    for shape in shapes {
        let length: usize = shape.iter().product();
        let plain: Vec<u32> = (0..length as u32).collect();
        let turned = fortran(shape);
        for array in [
            Npy::new("<u4", shape, little(&plain)),
            Npy::new(">u4", shape, big(&plain)),
            Npy::fortran("<u4", shape, little(&turned)),
            Npy::fortran(">u4", shape, big(&turned)),
        ] {
            for (major, minor) in [(1, 0), (2, 0), (3, 0)] {
                let tensor = read(&array.clone().version(major, minor), Fp32).unwrap();
                assert_eq!(tensor.shape(), shape);
                assert!(codes(&tensor).into_iter().eq(0..length as u64), "{array:?}");
            }
        }
    }
}

#[test]
fn rows_columns_and_batches_are_where_they_should_be() {
    let shape = [2, 3, 4, 5];
    let plain: Vec<u32> = (0..120).collect();
    for array in [
        Npy::new("<f4", &shape, little(&plain)),
        Npy::fortran(">f4", &shape, big(&fortran(&shape))),
    ] {
        let tensor = read(&array, Fp32).unwrap();
        let planes = tensor.planes();
        assert_eq!(planes.batch_shape(), [2, 3]);
        assert_eq!((planes.rows(), planes.columns()), (4, 5));
        let turned = planes.transposed();
        for batch in 0..6 {
            for row in 0..4 {
                for column in 0..5 {
                    let expected = (batch * 20 + row * 5 + column) as u64;
                    assert_eq!(planes.plane(batch).code(row, column), expected);
                    assert_eq!(turned.plane(batch).code(column, row), expected);
                }
            }
        }
    }
}

#[test]
fn headers_may_be_unpadded_long_or_spelt_otherwise() {
    let data = little(&[7, 8]);
    for text in [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2L,), }",
        "{'shape':(2,),'descr':'<f4','fortran_order':False}",
        "{\"descr\": \"<f4\",\n\t\"fortran_order\": True, \"shape\": (2,)}",
        &format!(
            "{{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }}{}",
            " ".repeat(9000)
        ),
    ] {
        let array = Npy::with_header(text, data.clone());
        assert_eq!(codes(&read(&array, Fp32).unwrap()), [7, 8], "{text}");
    }
    // Written without padding, so that nothing is aligned.
    let text = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}";
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((text.len() as u16).to_le_bytes());
    file.extend(text);
    file.extend(data);
    assert_eq!((8 + 2 + text.len()) % 2, 1);
    let folder = Folder::new();
    let path = folder.write("x.npy", file);
    let tensor = NpyFile::open(&path).unwrap().tensor(Fp32).unwrap();
    assert_eq!(codes(&tensor), [7, 8]);
}

#[test]
fn an_array_without_elements_is_an_array() {
    let tensor = read(&Npy::new("<f4", &[0, 3], vec![]), Fp32).unwrap();
    assert_eq!(tensor.shape(), [0, 3]);
    assert!(codes(&tensor).is_empty());
}
