//! A D of two matrices in which ten elements differ, for tests.

use crate::num::Format;
use crate::tensor::Tensor;

pub const SHAPE: [usize; 3] = [2, 4, 5];
pub const COLUMNS: usize = 5;
/// What is reproduced: 40 numbers around 1.
pub fn reproduced() -> Vec<u32> {
    (0..40).map(|i| 0x3f80_0000 + 16 * i).collect()
}

/// What is given instead of it, by position. Rows 0 to 2 hold the first four of them.
const GIVEN: [(usize, u32); 10] = [
    (1, 0x3f80_0011),
    (6, 0xbf80_0060),
    (13, 0x7fc0_0000),
    (14, 0x3f80_00e5),
    (15, 0x0000_0000),
    (22, 0x7f80_0000),
    (26, 0x3f80_01a3),
    (27, 0x3f80_01ad),
    (29, 0x3f80_01cf),
    (39, 0x3f80_0271),
];

pub fn payload(codes: &[u32]) -> Vec<u8> {
    codes.iter().flat_map(|code| code.to_le_bytes()).collect()
}

pub fn given() -> Tensor {
    let mut codes = reproduced();
    GIVEN.iter().for_each(|&(at, code)| codes[at] = code);
    Tensor::from_payload(Format::Fp32, SHAPE.to_vec(), payload(&codes))
}
