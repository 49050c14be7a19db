//! A D of more bytes than are kept in memory at a time.

use std::sync::atomic::{AtomicU64, Ordering};

use tcverify::emu::{Engine, Problem, Replay};
use tcverify::num::Format;
use tcverify::tensor::Tensor;

use super::operands::Dot;
use super::products::engine;
use super::tiles::rule;

/// 39 rows of 1 MiB in three matrices: a band ends within the last.
#[test]
fn bands_follow_each_other_without_gaps() {
    const BATCHES: usize = 3;
    const M: usize = 13;
    const N: usize = 1 << 17;
    // FP64 numbers so few that every element of D is one of 39 * 64.
    let row = |i: usize| 0x3ff0_0000_0000_0000 + (i as u64) * 0x0001_0203_0405_0607;
    let column = |j: usize| 0x4000_0000_0000_0001 + (j as u64 % 64) * 0x0000_1234_5678_9abc;

    let arithmetic = rule("hopper", [Format::Fp64; 2], Format::Fp64);
    let rows: Vec<u64> = (0..BATCHES * M).map(row).collect();
    let columns: Vec<u64> = (0..BATCHES * N).map(|j| column(j % N)).collect();
    let a = Tensor::from_codes(Format::Fp64, vec![BATCHES, M, 1], &rows);
    let b = Tensor::from_codes(Format::Fp64, vec![BATCHES, 1, N], &columns);
    let replay = Replay {
        problem: Problem::new(a.planes(), b.planes(), None).expect("shapes fit"),
        arithmetic: &arithmetic,
        convert_to: None,
        engine: Engine::Exact,
    };

    let mut next = 0;
    let mut bands = 0;
    let progress = AtomicU64::new(0);
    let count = |work| {
        progress.fetch_add(work, Ordering::Relaxed);
    };
    let done: Result<(), ()> = replay.run(&count, |band| {
        assert_eq!(band.first_row, next);
        for elements in band.payload.chunks(8 * N) {
            let dot = |j| Dot {
                a: vec![row(next)],
                b: vec![column(j)],
                c: 0,
            };
            let expected: Vec<u8> = (0..64)
                .flat_map(|j| engine(&arithmetic, &dot(j)).to_le_bytes())
                .collect();
            assert_eq!(elements.len(), 8 * N);
            assert!(elements.chunks(expected.len()).all(|part| part == expected));
            next += 1;
        }
        bands += 1;
        Ok(())
    });
    assert_eq!(done, Ok(()));
    assert_eq!((next, bands), (BATCHES * M, 2));
    assert_eq!(progress.into_inner(), (BATCHES * M * N) as u64);
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
    };
    assert_eq!(replay.run(&|_| {}, |_| Err("full")), Err("full"));
}
