//! A D of more bytes than are kept in memory at a time.

use std::sync::atomic::{AtomicU64, Ordering};

use tcverify::emu::{Arithmetic, Engine, Problem, Replay};
use tcverify::num::Format;
use tcverify::tensor::Tensor;

use super::operands::Dot;
use super::products::engine;
use super::tiles::rule;
use crate::support::engines::engines;

/// 69 rows of half a MiB, in three matrices: a band ends within the last.
const BATCHES: usize = 3;
const M: usize = 23;
const ROW_BYTES: usize = 1 << 19;

/// Columns of B repeat, so that every element of D is one of so many times 69.
const DISTINCT: usize = 64;

fn verify(arithmetic: &Arithmetic, with: Engine) {
    let width = arithmetic.accumulator.bytes();
    let n = ROW_BYTES / width;
    // Numbers near 1 whose products have to be rounded.
    let near_one = |format: Format, i: usize| {
        let fraction = (i as u64 + 1) * 0x0123_4567_89ab_cdef;
        let one = (format.bias() as u64) << format.fraction_bits();
        one | (fraction & ((1 << format.fraction_bits()) - 1))
    };
    let row = |i: usize| near_one(arithmetic.a, i);
    let column = |j: usize| near_one(arithmetic.b, j % DISTINCT);
    let rows: Vec<u64> = (0..BATCHES * M).map(row).collect();
    let columns: Vec<u64> = (0..BATCHES * n).map(|j| column(j % n)).collect();
    let a = Tensor::from_codes(arithmetic.a, vec![BATCHES, M, 1], &rows);
    let b = Tensor::from_codes(arithmetic.b, vec![BATCHES, 1, n], &columns);
    let replay = Replay {
        problem: Problem::new(a.planes(), b.planes(), None).expect("shapes fit"),
        arithmetic,
        convert_to: None,
        engine: with,
        kernel: None,
    };

    let (mut next, mut bands) = (0, 0);
    let progress = AtomicU64::new(0);
    let count = |work| {
        progress.fetch_add(work, Ordering::Relaxed);
    };
    let done: Result<(), ()> = replay.run(&count, |band| {
        assert_eq!(band.first_row, next);
        for elements in band.payload.chunks(ROW_BYTES) {
            let element = |j| {
                let (a, b) = (vec![row(next)], vec![column(j)]);
                engine(arithmetic, &Dot { a, b, c: 0 })
            };
            let expected: Vec<u8> = (0..DISTINCT)
                .flat_map(|j| element(j).to_le_bytes()[..width].to_vec())
                .collect();
            assert_eq!(elements.len(), ROW_BYTES);
            let mut parts = elements.chunks(expected.len());
            assert!(parts.all(|part| part == expected), "row {next}, {with:?}");
            next += 1;
        }
        bands += 1;
        Ok(())
    });
    assert_eq!(done, Ok(()));
    assert_eq!(next, BATCHES * M);
    assert!(bands > 1, "D fits one band: the test tests nothing");
    assert_eq!(progress.into_inner(), (BATCHES * M * n) as u64);
}

#[test]
fn bands_follow_each_other_without_gaps() {
    let fp64 = rule("hopper", [Format::Fp64; 2], Format::Fp64);
    verify(&fp64, Engine::Exact);
    let fp16 = rule("hopper", [Format::Fp16; 2], Format::Fp32);
    for fast in engines().into_iter().skip(1) {
        verify(&fp16, fast);
    }
}

/// Whoever receives the bands can end the replay.
#[test]
fn an_error_of_the_sink_ends_the_replay() {
    let arithmetic = rule("hopper", [Format::Fp64; 2], Format::Fp64);
    let tensor = Tensor::from_codes(Format::Fp64, vec![1, 1], &[0]);
    let replay = Replay {
        problem: Problem::new(tensor.planes(), tensor.planes(), None).expect("shapes fit"),
        arithmetic: &arithmetic,
        convert_to: None,
        engine: Engine::Exact,
        kernel: None,
    };
    assert_eq!(replay.run(&|_| {}, |_| Err("full")), Err("full"));
}
