//! Products whose D is computed in several bands, and several blocks of columns.

use tcverify::emu::{Engine, Platform, Problem, Replay};
use tcverify::num::Format;
use tcverify::tensor::Tensor;

use super::models::{self, Model};
use super::operands::{Kind, operand};
use crate::support::random::Random;

const BATCHES: usize = 2;
const M: usize = 50;
const N: usize = 132_000;
const K: usize = 3;
/// Bytes of a row of D.
const ROW: usize = 4 * N;

/// A band of 64 rows ends within the second matrix of the batch. The exact engine computes the rows
/// around the ends of bands and matrices, each by itself.
#[test]
fn rows_around_the_ends_of_bands() {
    let model = models::named("hopper wgmma fp16*fp16->fp32");
    let mut random = Random::seeded(5);
    let mut a = operand(Kind::Wide, Format::Fp16, true, BATCHES * M, K, &mut random);
    let mut b = operand(Kind::Wide, Format::Fp16, false, BATCHES * N, K, &mut random);
    a[63 * K] = 0x7e00; // NaN in a band's last row,
    a[64 * K] = 0x7c00; // infinity in the first of the next,
    b[8191] = 0x7c00; // and in a block's last column
    let c: Vec<u8> = (0..BATCHES * M * N)
        .flat_map(|_| (random.bits() as f32 / 1e15 - 9e3).to_le_bytes())
        .collect();

    let expected = [0, 49, 50, 62, 63, 64, 65, 99].map(|row| {
        let a = &a[row * K..][..K];
        let b = &b[row / M * K * N..][..K * N];
        let (d, _) = product(&model, Engine::Exact, [1, 1], a, b, &c[row * ROW..][..ROW]);
        (row, d)
    });
    for platform in Platform::available() {
        let engine = Engine::Fast(platform);
        let (d, bands) = product(&model, engine, [BATCHES, M], &a, &b, &c);
        assert_eq!(bands, 2);
        for (row, expected) in &expected {
            let found = &d[row * ROW..][..ROW];
            let byte = found.iter().zip(expected).position(|(x, y)| x != y);
            assert_eq!(byte, None, "{} row {row}", platform.name());
        }
    }
}

/// D's payload and the number of its bands.
fn product(
    model: &Model,
    engine: Engine,
    [batches, m]: [usize; 2],
    a: &[u64],
    b: &[u64],
    c: &[u8],
) -> (Vec<u8>, usize) {
    let a = Tensor::from_codes(Format::Fp16, vec![batches, m, K], a);
    let b = Tensor::from_codes(Format::Fp16, vec![batches, K, N], b);
    let c = Tensor::from_payload(Format::Fp32, vec![batches, m, N], c.to_vec());
    let replay = Replay {
        problem: Problem::new(a.planes(), b.planes(), Some(c.planes())).expect("the shapes fit"),
        arithmetic: &model.arithmetic,
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
