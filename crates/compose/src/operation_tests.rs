//! Verdicts on operations of two rows of numbers in files.

use std::fs::File;
use tempfile::TempDir;

use crate::Examined;
use crate::check::{Attention, Counted, Source, Strictness, Verb};
use crate::engines::resources;
use crate::io::npy::write_npy;
use crate::num::Format;
use crate::operation::{Operation, OperationTensors, PreparedOperation};
use crate::report::Verdict;
use crate::role::Role;
use crate::tensor::Tensor;
use crate::verify::verify;

/// One, a result that is subnormal, one that is zero, and what is not a power.
const X: [f32; 6] = [0.0, -130.0, -200.0, 1.5, 3.0, -0.25];

fn write(folder: &TempDir, name: &str, shape: [usize; 2], codes: &[u64]) -> Source {
    let path = folder.path().join(name);
    let tensor = Tensor::from_codes(Format::Fp32, shape.to_vec(), codes);
    let mut file = File::create(&path).expect("a file");
    write_npy(&tensor, &mut file).expect("a file");
    Source::File(path)
}

/// 2^x by a variant; its result by another is said to be y.
fn request(folder: &TempDir, variant: &str, of: &str) -> Operation {
    request_of(folder, X, [variant, of])
}

fn request_of(folder: &TempDir, x: [f32; 6], [variant, of]: [&str; 2]) -> Operation {
    let x: Vec<u64> = x.iter().map(|x| x.to_bits().into()).collect();
    let mut request = Operation {
        operation: Some("ex2_approx".into()),
        variant: Some(of.into()),
        x: Some(write(folder, "x.npy", [2, 3], &x)),
        ..Operation::default()
    };
    let other = request.prepare(&resources()).expect("an operation");
    let y: Vec<u64> = (0..6)
        .map(|i| {
            let explained = other.explain(&[i / 3, i % 3]).expect("an element");
            assert_eq!(explained.reproduced.len(), 8);
            u64::from_str_radix(&explained.reproduced, 16).expect("a code")
        })
        .collect();
    request.y = Some(write(folder, "y.npy", [2, 3], &y));
    request.variant = Some(variant.into());
    request
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn one_variant_and_another() {
    let folder = folder();
    let same = request(&folder, "ptx", "ptx")
        .prepare(&resources())
        .expect("an operation");
    assert_eq!(
        same.run(&()).expect("a verdict").verdict,
        Verdict::Identical
    );

    // The one that flushes subnormal results, from a file.
    let mut request = request(&folder, "ptx-ftz", "ptx");
    let file = folder.path().join("own.json");
    std::fs::write(
        &file,
        include_str!("../../ops/src/variants/ex2-approx--ptx-ftz.json"),
    )
    .expect("a file");
    (request.variant, request.variant_file) = (None, Some(file));
    let prepared = request.prepare(&resources()).expect("an operation");
    let mapping = prepared.mapping().expect("y is compared");
    let judged = prepared.judge(Attention::Observed(&mapping), &());
    let judged = judged.expect("a verdict");
    let report = &judged.report;
    assert_eq!(report.verdict, Verdict::Different);
    let command = report.command.as_deref().expect("files have a command");
    assert!(
        command.contains("--variant-file=") && command.contains("y="),
        "{command}"
    );
    let cause = report.causes.first().expect("the other variant");
    assert!(
        cause.sentence.contains("It gives all 6 elements"),
        "{}",
        cause.sentence
    );
    let command = cause.command.as_deref().expect("files have a command");
    assert!(
        command.contains("--variant=ptx ") && !command.contains("variant-file"),
        "{command}"
    );
    let page = prepared.page(&judged.report, Some(mapping));
    let page = page.expect("a page");
    assert!(page.map.is_some() && page.trace.is_some());
    let explained = prepared.explain(&[0, 1]).expect("an element");
    assert_eq!(
        (explained.same, explained.reproduced.as_str()),
        (Some(false), "00000000")
    );
    let deviation = explained.deviation.as_ref().expect("it differs");
    assert!(
        deviation.tried > 0 && deviation.untried == 0,
        "{deviation:?}"
    );
    let mut deviation = deviation.clone();
    let text_of = |deviation: &crate::operation::Deviation| {
        let mut text = Vec::new();
        deviation.text(&mut text).expect("memory");
        String::from_utf8(text).expect("text")
    };
    assert!(!text_of(&deviation).contains("not tried"));
    deviation.untried = 5;
    assert!(text_of(&deviation).contains("5 later operations were not tried"));
    assert!(prepared.explain(&[2, 0]).is_err() && prepared.explain(&[0]).is_err());

    let verified = verify(report, &resources(), None, &()).expect("a report");
    assert_eq!(verified.differences, [""; 0]);
}

/// Other bits of a NaN are accepted if the request says so, and the report says so.
#[test]
fn what_is_forgiven() {
    let folder = folder();
    let mut x = X;
    x[0] = f32::NAN;
    let mut request = request_of(&folder, x, ["ptx", "ptx"]);
    let prepared = request.prepare(&resources()).expect("an operation");
    let reproduced = (0..6).map(|i| {
        prepared
            .explain(&[i / 3, i % 3])
            .expect("an element")
            .reproduced
    });
    let mut y: Vec<u64> = reproduced
        .map(|code| u64::from_str_radix(&code, 16).expect("a code"))
        .collect();
    y[0] ^= 1;
    request.y = Some(write(&folder, "other.npy", [2, 3], &y));
    let verdict = |request: &Operation| {
        let prepared = request.prepare(&resources()).expect("an operation");
        prepared.run(&()).expect("a verdict").verdict
    };
    assert_eq!(verdict(&request), Verdict::Different);
    request.nan = Some(Strictness::Any);
    assert_eq!(verdict(&request), Verdict::Identical);
    (request.nan, request.zero) = (None, Some(Strictness::Any));
    assert_eq!(verdict(&request), Verdict::Different);
}

/// Of a part whole rows are computed, each once, as many as were promised.
#[test]
fn rows_of_a_part() {
    let folder = folder();
    let whole = request(&folder, "ptx", "ptx");
    let count = |change: &dyn Fn(&mut Operation)| {
        let mut request = whole.clone();
        change(&mut request);
        let counted = Counted::default();
        let prepared = request.prepare(&resources()).expect("an operation");
        prepared.run(&counted).expect("a verdict");
        counted.counts()
    };
    assert_eq!(count(&|_| {}), [6; 2]);
    assert_eq!(
        count(&|request| request.rows = Some("1..".parse().expect("rows"))),
        [3; 2]
    );
    let drawn = |elements: u64| {
        count(&move |request: &mut Operation| {
            request.sample = Some(elements);
            request.seed = Some(7);
        })
    };
    // Four of six elements are in both rows.
    assert_eq!(drawn(4), [6; 2]);
    assert_eq!(drawn(1), [3; 2]);
}

/// Of what a program holds there is no command.
#[test]
fn no_command_of_tensors_in_memory() {
    let folder = folder();
    let mut request = request(&folder, "ptx", "ptx");
    request.x = Some(Source::Memory);
    let x: Vec<u64> = X.iter().map(|x| x.to_bits().into()).collect();
    let tensors =
        OperationTensors::from([(Role::X, Tensor::from_codes(Format::Fp32, vec![2, 3], &x))]);
    let prepared = PreparedOperation::new(&request, &resources(), tensors).expect("an operation");
    let report = prepared.run(&()).expect("a verdict");
    assert_eq!((report.verdict, report.command), (Verdict::Identical, None));
}

/// Numbers are written as people write them, and what is wrong with an array names its file.
#[test]
fn words_of_a_norm() {
    let folder = folder();
    let ones = |count: usize| vec![0x3f80_0000; count];
    let mut request = Operation {
        operation: Some("rms_norm".into()),
        x: Some(write(&folder, "x.npy", [2, 8], &ones(16))),
        weight: Some(write(&folder, "weight.npy", [1, 7], &ones(7))),
        eps: Some("0.00001".parse().expect("a number")),
        ..Operation::default()
    };
    let words: Vec<String> = request
        .command_line(Verb::Check)
        .into_iter()
        .map(|word| word.into_string().expect("plain words"))
        .collect();
    assert_eq!(words[..3], ["tcverify", "check", "--op=rms_norm"]);
    let eps = format!("--eps={}", request.eps.expect("it was given"));
    assert!(words.contains(&eps) && eps.len() < 16, "{words:?}");
    let refused = request
        .prepare(&resources())
        .and_then(|prepared| prepared.run(&()).map(drop));
    let refused = refused.expect_err("a weight for every column").to_string();
    assert!(refused.contains("weight.npy"), "{refused}");
    request.eps = None;
    assert!(
        request
            .command_line(Verb::Check)
            .iter()
            .all(|word| !word.to_string_lossy().contains("eps"))
    );
}
