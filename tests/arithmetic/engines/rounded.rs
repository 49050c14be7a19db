//! Products whose sums are rounded: parts and elements are those of D, and engines round alike.

use serde_json::json;

use tcverify::emu::schedule::{BoundSchedule, Values};
use tcverify::emu::{Catalogue, Element, Engine, Problem, Replay};
use tcverify::kernels::Platform;
use tcverify::num::{Format, Rounding, round_code};
use tcverify::random::SplitMix64;
use tcverify::tensor::Tensor;

use super::integers::{Integers, spec};

/// Where sums are rounded, each tile in its own way: a part, wherever it begins, and an element are those of D.
#[test]
fn parts_of_tiles() {
    let [m, n, k] = [5, 11, 201];
    let mut random = SplitMix64(3);
    let mut tensor = |shape: [usize; 2]| {
        let codes = (0..shape[0] * shape[1]).map(|_| 0x3000 | random.word() & 0x8fff);
        let codes: Vec<u64> = codes.collect();
        Tensor::from_codes(Format::Fp16, shape.to_vec(), &codes)
    };
    let (a, b) = (tensor([m, k]), tensor([k, n]));
    let problem = Problem::new(a.planes(), b.planes(), None).expect("shapes that fit");
    let split = json!({
        "parts": {"kind": "tiles", "tile": [2, 3], "raster": "along_rows", "groups": [
            {"tiles": 2, "parts": {"kind": "whole"}},
            {"tiles": null, "parts": {"kind": "shared", "workers": 7}},
        ]},
        "merge": {"kind": "sum", "order": "serial", "start": "first"},
    });
    let spec = spec(&json!({"tile_k": 8, "split": split}));
    let values = Values::default();
    let a100 = Catalogue::builtin().find("a100").expect("of the catalogue");
    let choice = a100.select(None, [Format::Fp16; 2], None).expect("a rule");
    let engines = Platform::available().into_iter().map(Platform::engine);
    for engine in engines.chain([Engine::Exact]) {
        let replay = Replay {
            problem,
            arithmetic: &choice.arithmetic,
            convert_to: None,
            engine,
            kernel: Some(BoundSchedule::new(&spec, &values, &problem)),
        };
        let all = replay.collect(&|_| {});
        let code = |row, column| all.planes().plane(0).code(row, column);
        let bare = Replay {
            kernel: None,
            ..replay
        };
        let bare = bare.collect(&|_| {});
        let plain = |row, column| bare.planes().plane(0).code(row, column);
        // One chain in the first two tiles, more in others: some of those differ.
        let places = || (0..m).flat_map(|row| (0..n).map(move |column| (row, column)));
        let differ = |&(row, column): &(usize, usize)| code(row, column) != plain(row, column);
        assert!(
            places()
                .filter(differ)
                .all(|(row, column)| row > 1 || column > 5)
        );
        assert!(places().filter(differ).count() > 8);
        for (row, column) in places() {
            let wanted: Vec<u64> = (row..m)
                .flat_map(|row| (column..n).map(move |column| (row, column)))
                .map(|(row, column)| code(row, column))
                .collect();
            let found = replay.part(0, row..m, column..n, &|_| {});
            assert_eq!(found, wanted, "{engine:?} from {row}, {column}");
            let alone = replay.elements(&[Element {
                batch: 0,
                row,
                column,
            }]);
            assert_eq!(alone, [code(row, column)], "{engine:?} {row}, {column}");
        }
    }
}

/// The epilogue's formats, and those that are none of an f32: the engines round alike, once.
#[test]
fn results_are_rounded_alike() {
    for (architecture, format) in [
        ("a100", Format::Fp64),
        ("a100", Format::Fp16),
        ("ieee-fma", Format::Bf16),
    ] {
        let mut product = Integers::new(architecture, format, [1, 3, 4, 6]);
        // Sums that no narrower format holds: 1 + 2^-12, and what lies beyond.
        let codes = [1.0f64, 4097.0 / 4096.0, -65519.9, 1e9].map(|x| {
            let target = product.arithmetic.accumulator;
            round_code(Format::Fp64, x.to_bits(), target, Rounding::NearestEven, 0)
        });
        let tensor = |count: usize| (0..count).map(|i| codes[i % 4]).collect::<Vec<_>>();
        product.c = Tensor::from_codes(product.arithmetic.accumulator, vec![3, 4], &tensor(12));
        let (a, b) = (
            Tensor::from_codes(format, vec![3, 6], &[0; 18]),
            Tensor::from_codes(format, vec![6, 4], &[0; 24]),
        );
        let problem =
            Problem::new(a.planes(), b.planes(), Some(product.c.planes())).expect("shapes");
        for to in [Format::Fp16, Format::Bf16] {
            let expected: Vec<u64> = tensor(12)
                .iter()
                .map(|&code| {
                    round_code(
                        product.arithmetic.accumulator,
                        code,
                        to,
                        Rounding::NearestEven,
                        0,
                    )
                })
                .collect();
            let engines = Platform::available().into_iter().map(Platform::engine);
            for engine in engines.chain([Engine::Exact]) {
                let replay = Replay {
                    problem,
                    arithmetic: &product.arithmetic,
                    convert_to: Some(to),
                    engine,
                    kernel: None,
                };
                let found = replay.part(0, 0..3, 0..4, &|_| {});
                assert_eq!(found, expected, "{architecture} {format} {engine:?} {to}");
            }
        }
    }
}
