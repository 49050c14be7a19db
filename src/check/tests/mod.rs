//! Requests, refusals, verdicts and what reports state, of small products in memory whose D is plain integers.

mod fields;

use super::*;
use crate::emu::schedule::Overrides;
use crate::num::{F32, Format, Rounding, round_code};
use crate::report::{Outcome, Report, Verdict};
use crate::role::Role;
use crate::tensor::Tensor;

pub fn coded(format: Format, x: i64) -> u64 {
    let int32 = u64::from(x as i32 as u32);
    if format.is_integer() {
        return int32 & format.max_code();
    }
    round_code(Format::Int32, int32, format, Rounding::NearestEven, 0)
}

/// Integers in a format, of any shape of two axes.
pub fn tensor(
    format: Format,
    [rows, columns]: [usize; 2],
    number: impl Fn(usize, usize) -> i64,
) -> Tensor {
    let codes = (0..rows * columns).map(|i| coded(format, number(i / columns, i % columns)));
    Tensor::from_codes(format, vec![rows, columns], &codes.collect::<Vec<_>>())
}

fn a(row: usize, k: usize) -> i64 {
    ((row * 3 + k * 2 + row * k) % 5) as i64 - 2
}

fn b(k: usize, column: usize) -> i64 {
    ((k * 4 + column * 5 + k * column) % 7) as i64 - 3
}

pub fn sum([row, column]: [usize; 2], k: usize) -> i64 {
    (0..k).map(|k| a(row, k) * b(k, column)).sum()
}

/// A, B and the D that they make in FP32, or in INT32 of integers.
pub fn product(format: Format, [m, n, k]: [usize; 3]) -> Tensors {
    let accumulator = if format.is_integer() {
        Format::Int32
    } else {
        Format::Fp32
    };
    Tensors::of(
        tensor(format, [m, k], a),
        tensor(format, [k, n], b),
        tensor(accumulator, [m, n], |row, column| sum([row, column], k)),
    )
}

fn run(check: &Check, tensors: Tensors) -> Report {
    let prepared = Prepared::from_tensors(check, &Resources::default(), tensors).expect("a check");
    prepared.run(&()).expect("a verdict")
}

#[test]
fn as_much_is_done_as_was_promised() {
    let shape = [37, 70, 24];
    for engine in [EngineChoice::Fast, EngineChoice::Exact] {
        for (selection, elements) in [
            (Selection::default(), 37 * 70),
            (
                Selection {
                    rows: "3..12".parse().unwrap(),
                    columns: "60..".parse().unwrap(),
                    sample: None,
                },
                9 * 10,
            ),
            (
                Selection {
                    sample: Some(Draw {
                        elements: 50,
                        seed: Seed::Number(3),
                    }),
                    ..Selection::default()
                },
                50,
            ),
        ] {
            let mut check = Check::in_memory("a100", Format::Fp16);
            let all = selection.is_all();
            (check.engine, check.selection) = (engine, selection);
            let tensors = product(Format::Fp16, shape);
            let prepared =
                Prepared::from_tensors(&check, &Resources::default(), tensors).expect("a check");
            let counted = Counted::default();
            prepared.run(&counted).expect("a verdict");
            let counted = counted.counts();
            assert_eq!(counted, [elements * 24; 2], "{:?}", check.selection);
            if all {
                // A tile of 64 is padded with zeros, which are multiplied, too.
                check.schedule = ScheduleRequest::preset("cutlass-sm90", &Overrides::default());
                let prepared = Prepared::from_tensors(
                    &check,
                    &Resources::default(),
                    product(Format::Fp16, shape),
                );
                let counted = Counted::default();
                prepared.expect("a check").run(&counted).expect("a verdict");
                let counted = counted.counts();
                assert_eq!(counted, [elements * 64; 2]);
            }
        }
    }
}

/// Alpha, beta and C of a schedule, and zero points of integers, are in D.
#[test]
fn factors_and_zero_points() {
    let [m, n, k] = [5, 6, 16];
    let mut check = Check::in_memory("a100", Format::Fp16);
    check.schedule = ScheduleRequest::preset(
        "cublas-sm80",
        &Overrides {
            alpha: Some(F32(0x4000_0000).into()),
            beta: Some(F32(0x4040_0000).into()),
            ..Overrides::default()
        },
    );
    check.operands.arrays.insert(Role::C, Source::Memory);
    let of = |d: &dyn Fn(usize, usize) -> i64| {
        let c = |row: usize, column: usize| (row + 7 * column) as i64;
        let tensors = product(Format::Fp16, [m, n, k])
            .with(Role::C, tensor(Format::Fp32, [m, n], c))
            .with(Role::D, tensor(Format::Fp32, [m, n], d));
        run(&check, tensors).verdict
    };
    let right = |row, column| 2 * sum([row, column], k) + 3 * (row + 7 * column) as i64;
    assert_eq!(of(&right), Verdict::Identical);
    assert_eq!(of(&|row, column| sum([row, column], k)), Verdict::Different);

    // Integers become f32 even if nothing else is done with them.
    let mut check = Check::in_memory("a100", Format::Int8);
    check.schedule = ScheduleRequest::preset("cutlass-sm90", &Overrides::default());
    let d = tensor(Format::Fp32, [m, n], |row, column| sum([row, column], k));
    let tensors = product(Format::Int8, [m, n, k]).with(Role::D, d);
    assert_eq!(run(&check, tensors).verdict, Verdict::Identical);

    let mut check = Check::in_memory("a100", Format::Int8);
    check.schedule = ScheduleRequest::preset("vllm-int8-azp-token", &Overrides::default());
    for role in [Role::ScaleA, Role::ScaleB, Role::Azp, Role::AzpAdj] {
        check.operands.arrays.insert(role, Source::Memory);
    }
    let of = |azp: i64| {
        let adj = |_: usize, column: usize| column as i64 - 2;
        let d = |row: usize, column: usize| {
            let off = 3 * row as i64 * adj(row, column);
            (sum([row, column], k) - off) * 2 * (1 << (row % 3))
        };
        let tensors = product(Format::Int8, [m, n, k])
            .with(
                Role::ScaleA,
                tensor(Format::Fp32, [m, 1], |row, _| 1 << (row % 3)),
            )
            .with(Role::ScaleB, tensor(Format::Fp32, [1, n], |_, _| 2))
            .with(
                Role::Azp,
                tensor(Format::Int32, [m, 1], |row, _| azp * row as i64),
            )
            .with(Role::AzpAdj, tensor(Format::Int32, [1, n], adj))
            .with(Role::D, tensor(Format::Fp16, [m, n], d));
        run(&check, tensors).verdict
    };
    assert_eq!([of(3), of(2)], [Verdict::Identical, Verdict::Different]);
}

/// Mismatches are counted by the instruction's unit where D has at least a tile.
#[test]
fn units_of_a_tile() {
    for (shape, counted) in [([16, 8, 8], true), ([15, 8, 8], false), ([16, 7, 8], false)] {
        let mut check = Check::in_memory("a100", Format::Fp16);
        check.causes = false;
        let [m, n, k] = shape;
        let wrong =
            |row, column| sum([row, column], k) + i64::from([row, column] == [m - 1, n - 1]);
        let d = tensor(Format::Fp32, [m, n], wrong);
        let tensors = product(Format::Fp16, shape).with(Role::D, d);
        let report = run(&check, tensors);
        let Outcome::Elements { comparison, .. } = report.outcome else {
            panic!("D was given");
        };
        assert_eq!(comparison.mismatches, 1);
        assert_eq!(comparison.units.is_some(), counted, "{shape:?}");
    }
}

/// A report names the file of a model, by its path and digest.
#[test]
fn a_model_of_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("own.json");
    let text = include_str!("../../emu/catalogue/ampere.json");
    std::fs::write(&path, text).expect("a file");
    let mut check = Check::in_memory("a100", Format::Fp16);
    let report = run(&check, product(Format::Fp16, [2, 2, 8]));
    assert_eq!(model_of(&report).file, None);
    check.model.from = ModelSource::File(path.clone());
    let prepared = Prepared::from_tensors(
        &check,
        &Resources::default(),
        product(Format::Fp16, [2, 2, 8]),
    );
    let prepared = prepared.expect("a check");
    let (file, sha256) = prepared.model().file().expect("a file");
    assert_eq!(file, path.display().to_string());
    assert_eq!(sha256, crate::io::sha256(text));
    let from_file = prepared.run(&()).expect("a verdict");
    assert!(model_of(&from_file).file.is_some());
    assert_eq!(model_of(&from_file).sha256, model_of(&report).sha256);
}

fn model_of(report: &Report) -> &crate::report::Model {
    &report.rule.product().expect("a product").model
}
