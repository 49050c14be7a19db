//! Products whose D is computed in several bands, and several blocks of columns.

use tcverify::emu::{Engine, Problem, Replay};
use tcverify::kernels::Platform;
use tcverify::num::Format;
use tcverify::tensor::Tensor;

use super::models::{self, Model};
use super::operands::{Kind, operand};
use crate::support::random::Random;

/// A band of 64 rows ends within the second matrix of the batch. The exact engine computes the rows
/// around the ends of bands and matrices, each by itself.
#[test]
fn rows_around_the_ends_of_bands() {
    let shape @ [_, m, n, k] = [2, 50, 132_000, 3];
    let (mut a, mut b, c) = operands(shape);
    a[63 * k] = 0x7e00; // NaN in a band's last row,
    a[64 * k] = 0x7c00; // infinity in the first of the next,
    b[8191] = 0x7c00; // and in a block's last column
    let expected = [0, 49, 50, 62, 63, 64, 65, 99].map(|row| {
        let a = &a[row * k..][..k];
        let b = &b[row / m * k * n..][..k * n];
        let c = &c[4 * row * n..][..4 * n];
        (row, product(Engine::Exact, [1, 1, n, k], a, b, c).0)
    });
    for platform in Platform::available() {
        let (d, bands) = product(platform.engine(), shape, &a, &b, &c);
        assert_eq!(bands, 2);
        for (row, expected) in &expected {
            let found = &d[4 * row * n..][..4 * n];
            let byte = found.iter().zip(expected).position(|(x, y)| x != y);
            assert_eq!(byte, None, "{} row {row}", platform.name());
        }
    }
}

/// Whole matrices make a band where they are small; the exact engine computes each by itself.
#[test]
fn bands_of_small_matrices() {
    let shape @ [batches, m, n, k] = [75, 33, 130, 5];
    let (mut a, mut b, c) = operands(shape);
    a[61 * m * k] = 0x7e00; // NaN in a band's first matrix
    b[60 * k * n] = 0x7c00; // and infinity in the last of the one before
    let expected = (0..batches).map(|i| {
        let a = &a[i * m * k..][..m * k];
        let b = &b[i * k * n..][..k * n];
        let c = &c[4 * i * m * n..][..4 * m * n];
        product(Engine::Exact, [1, m, n, k], a, b, c).0
    });
    let expected: Vec<Vec<u8>> = expected.collect();
    for platform in Platform::available() {
        let (d, bands) = product(platform.engine(), shape, &a, &b, &c);
        assert_eq!(bands, 2);
        for (i, (found, expected)) in d.chunks(4 * m * n).zip(&expected).enumerate() {
            assert_eq!(found, expected, "{} matrix {i}", platform.name());
        }
    }
}

/// Codes of A and B, and the payload of C.
fn operands([batches, m, n, k]: [usize; 4]) -> (Vec<u64>, Vec<u64>, Vec<u8>) {
    let mut random = Random::seeded(5);
    let a = operand(Kind::Wide, Format::Fp16, true, batches * m, k, &mut random);
    let b = operand(Kind::Wide, Format::Fp16, false, batches * n, k, &mut random);
    let c = (0..batches * m * n).flat_map(|_| (random.bits() as f32 / 1e15 - 9e3).to_le_bytes());
    (a, b, c.collect())
}

/// D's payload and the number of its bands.
fn product(
    engine: Engine,
    [batches, m, n, k]: [usize; 4],
    a: &[u64],
    b: &[u64],
    c: &[u8],
) -> (Vec<u8>, usize) {
    let Model { arithmetic, .. } = models::named("hopper wgmma fp16*fp16->fp32");
    let a = Tensor::from_codes(Format::Fp16, vec![batches, m, k], a);
    let b = Tensor::from_codes(Format::Fp16, vec![batches, k, n], b);
    let c = Tensor::from_payload(Format::Fp32, vec![batches, m, n], c.to_vec());
    let replay = Replay {
        problem: Problem::new(a.planes(), b.planes(), Some(c.planes())).expect("the shapes fit"),
        arithmetic: &arithmetic,
        convert_to: None,
        engine,
        kernel: None,
    };
    let (mut d, mut bands) = (Vec::new(), 0);
    let done = replay.run(&|_| {}, |band| {
        d.extend_from_slice(band.payload);
        bands += 1;
        Ok::<(), ()>(())
    });
    done.expect("the sink takes everything");
    (d, bands)
}
