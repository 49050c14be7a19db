//! What stands around verdicts on small products in memory.

use super::*;
use crate::check::{Check, Prepared, ScheduleRequest, Source, Tensors};
use crate::emu::schedule::Overrides;
use crate::engines::resources;
use crate::forms::View;
use crate::num::{Format, Rounding, round_code};
use crate::tensor::Tensor;

fn coded(format: Format, x: i64) -> u64 {
    let int32 = u64::from(x as i32 as u32);
    if format.is_integer() {
        return int32 & format.max_code();
    }
    round_code(Format::Int32, int32, format, Rounding::NearestEven, 0)
}

/// Integers in a format, of any shape of two axes.
pub(crate) fn tensor(
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

pub(crate) fn sum([row, column]: [usize; 2], k: usize) -> i64 {
    (0..k).map(|k| a(row, k) * b(k, column)).sum()
}

/// A, B and the D that they make in FP32, or in INT32 of integers.
pub(crate) fn product(format: Format, [m, n, k]: [usize; 3]) -> Tensors {
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
    let prepared = Prepared::from_tensors(check, &resources(), tensors).expect("a check");
    prepared.reported(&()).expect("a verdict")
}

/// Sums that no arithmetic rounds distinguish few arithmetics; all others are named. RDNA 3's units
/// take terms of other signs as one's complements: their sums are not even exact where others' are.
#[test]
fn what_an_agreement_proves() {
    let mut check = Check::in_memory("a100", Format::Fp16);
    let report = run(&check, product(Format::Fp16, [4, 4, 16]));
    let ambiguity = report.ambiguity.as_ref().expect("D agrees");
    assert_eq!(ambiguity.elements, 16);
    // Three phases alone of each of Tenstorrent's units take no upper slices.
    assert_eq!(ambiguity.others, ambiguity.same.len() as u64 + 2 + 6);
    let names: Vec<&str> = ambiguity
        .same
        .iter()
        .map(|one| one.architecture.as_str())
        .collect();
    for name in ["volta", "hopper", "cdna1", "exact", "ieee-fma"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    assert!(!names.contains(&"rdna3"));
    assert!(
        ambiguity
            .same
            .iter()
            .all(|one| one.sha256 != report.rule.product().expect("a product").model.sha256)
    );
    // Without a C, accumulators that would take none in FP32 are others, too.
    let rounded = |c: Option<Tensor>| {
        let mut tensors = product(Format::Fp16, [4, 4, 16]);
        let d = tensor(Format::Fp16, [4, 4], |row, column| sum([row, column], 16));
        tensors = tensors.with(Role::D, d);
        let mut check = check.clone();
        if let Some(c) = c {
            check.operands.arrays.insert(Role::C, Source::Memory);
            tensors = tensors.with(Role::C, c);
        }
        run(&check, tensors).ambiguity.expect("D agrees")
    };
    let zeros = tensor(Format::Fp32, [4, 4], |_, _| 0);
    let (with_c, without) = (rounded(Some(zeros)), rounded(None));
    assert!(with_c.others >= 5 && with_c.others < without.others);
    for accumulator in [Format::Fp16, Format::Fp32] {
        let mut same = without.same.iter();
        assert!(same.any(|one| one.accumulator == accumulator));
    }
    check.ambiguity = false;
    assert!(
        run(&check, product(Format::Fp16, [4, 4, 16]))
            .ambiguity
            .is_none()
    );

    // 1 + 2^-24: rounded here, and elsewhere not.
    let half = |codes: [u64; 2], shape| Tensor::from_codes(Format::Fp16, shape, &codes);
    let one = || half([0x3c00, 0x0c00], vec![1, 2]);
    let tensors = Tensors::of(
        one(),
        half([0x3c00, 0x0c00], vec![2, 1]),
        Tensor::from_codes(Format::Fp32, vec![1, 1], &[0x3f80_0000]),
    );
    let report = run(&Check::in_memory("h100", Format::Fp16), tensors);
    assert_eq!(report.verdict, Verdict::Identical);
    let ambiguity = report.ambiguity.expect("D agrees");
    assert!(ambiguity.elements == 1 && (ambiguity.same.len() as u64) <= ambiguity.others);
}

/// One element of a long K is a long time for the exact engine: what takes more than the replay is left, and said to be.
#[test]
fn others_take_no_longer_than_the_replay() {
    let check = Check::in_memory("a100", Format::Fp16);
    let of = |k: usize| {
        let report = run(&check, product(Format::Fp16, [2, 2, k]));
        assert_eq!(report.verdict, Verdict::Identical);
        let text = format!("{:?}", View::of(&report));
        (report.ambiguity.expect("D agrees"), text)
    };
    let (short, text) = of(16);
    assert_eq!((short.elements, short.left), (4, 0));
    assert!(!text.contains("more were left"));
    let (long, text) = of(1 << 15);
    assert_eq!(long.elements, 1);
    assert!(long.left > 0 && text.contains("more were left"), "{text}");
}

/// For an exit code alone nothing is computed that does not decide it.
#[test]
fn who_reads_nothing_is_told_the_verdict_alone() {
    let check = Check::in_memory("a100", Format::Fp16);
    let right = product(Format::Fp16, [4, 4, 16]);
    let zeros = tensor(Format::Fp32, [4, 4], |_, _| 0);
    let wrong = product(Format::Fp16, [4, 4, 16]).with(Role::D, zeros);
    for (tensors, verdict) in [(right, Verdict::Identical), (wrong, Verdict::Different)] {
        let prepared = Prepared::from_tensors(&check, &resources(), tensors).unwrap();
        let [quiet, read] = [Attention::Verdict, Attention::Report]
            .map(|attention| prepared.judge(attention, &()).unwrap().report);
        assert_eq!([quiet.verdict, read.verdict], [verdict; 2]);
        assert_eq!(quiet.inputs.keys().collect::<Vec<_>>(), [&Role::D]);
        assert_eq!(read.inputs.len(), 3);
        let told = |report: &Report| {
            let found = report.causes.len() + report.tried.len() + report.places.len();
            report.ambiguity.is_some() || found > 0
        };
        assert_eq!([told(&quiet), told(&read)], [false, true]);
    }
}

/// Without products every arithmetic gives the same bits, and a report states nothing of others.
#[test]
fn nothing_is_told_of_no_products() {
    let mut check = Check::in_memory("a100", Format::Fp16);
    let empty = |shape| Tensor::from_codes(Format::Fp16, shape, &[]);
    check.schedule = ScheduleRequest::preset("cublas-sm80", &Overrides::default());
    let zeros = tensor(Format::Fp32, [3, 2], |_, _| 0);
    let tensors = Tensors::of(empty(vec![3, 0]), empty(vec![0, 2]), zeros);
    let report = run(&check, tensors);
    assert_eq!(
        (report.verdict, report.ambiguity),
        (Verdict::Identical, None)
    );
}
