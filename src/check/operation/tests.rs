//! Verdicts on operations of two rows of numbers in files.

use std::fs::File;

use tempfile::TempDir;

use super::*;
use crate::check::verify::Verified;
use crate::io::Files;
use crate::io::npy::write_npy;
use crate::report::Verdict;
use crate::tensor::Tensor;

/// One, a result that is subnormal, one that is zero, and what is no power.
const X: [f32; 6] = [0.0, -130.0, -200.0, 1.5, 3.0, -0.25];

fn write(folder: &TempDir, name: &str, shape: [usize; 2], codes: &[u64]) -> Source {
    let path = folder.path().join(name);
    let tensor = Tensor::from_codes(Format::Fp32, shape.to_vec(), codes);
    let mut file = File::create(&path).expect("a file");
    write_npy(&tensor, &mut file).expect("a file");
    Source::File(path)
}

/// 2^x by a variant; its result by another is said to be y.
fn asked(folder: &TempDir, variant: &str, of: &str) -> Operation {
    let x: Vec<u64> = X.iter().map(|x| x.to_bits().into()).collect();
    let mut asked = Operation {
        operation: Some("ex2_approx".into()),
        variant: Some(of.into()),
        x: Some(write(folder, "x.npy", [2, 3], &x)),
        ..Operation::default()
    };
    let other = asked.prepare().expect("an operation");
    let y: Vec<u64> = (0..6)
        .map(|i| {
            let told = other.explain(&[i / 3, i % 3]).expect("an element");
            assert_eq!(told.reproduced.len(), 8);
            u64::from_str_radix(&told.reproduced, 16).expect("a code")
        })
        .collect();
    asked.y = Some(write(folder, "y.npy", [2, 3], &y));
    asked.variant = Some(variant.into());
    asked
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn one_variant_and_another() {
    let folder = folder();
    let same = asked(&folder, "ptx", "ptx")
        .prepare()
        .expect("an operation");
    assert_eq!(
        same.run(&()).expect("a verdict").verdict,
        Verdict::Identical
    );

    // The one that flushes subnormal results, from a file.
    let mut asked = asked(&folder, "ptx-ftz", "ptx");
    let file = folder.path().join("own.json");
    std::fs::write(
        &file,
        include_str!("../../ops/variants/ex2-approx--ptx-ftz.json"),
    )
    .expect("a file");
    (asked.variant, asked.variant_file) = (None, Some(file));
    let prepared = asked.prepare().expect("an operation");
    let judged = prepared.judge(true, &()).expect("a verdict");
    let report = &judged.report;
    assert_eq!(report.verdict, Verdict::Different);
    let command = report.command.as_deref().expect("files have a command");
    assert!(
        command.contains("--variant-file=") && command.contains("y="),
        "{command}"
    );
    let cause = report.causes.first().expect("the other variant");
    let command = cause.command.as_deref().expect("files have a command");
    assert!(
        command.contains("--variant=ptx ") && !command.contains("variant-file"),
        "{command}"
    );
    let page = prepared.page(&judged).expect("a page");
    assert!(page.map.is_some() && page.trace.is_some());
    let told = prepared.explain(&[0, 1]).expect("an element");
    assert_eq!(
        (told.same, told.reproduced.as_str()),
        (Some(false), "00000000")
    );
    assert!(prepared.explain(&[2, 0]).is_err() && prepared.explain(&[0]).is_err());

    let Verified { findings, .. } =
        verify_operation(report, true, &Files::default(), &()).expect("a report");
    assert!(
        findings.iter().all(|finding| finding.wrong.is_empty()),
        "{findings:?}"
    );
    assert!(
        findings
            .iter()
            .all(|finding| finding.what != "the commitment")
    );
}

/// Of what a program holds there is no command.
#[test]
fn no_command_of_tensors_in_memory() {
    let folder = folder();
    let mut asked = asked(&folder, "ptx", "ptx");
    asked.x = Some(Source::Memory);
    let x: Vec<u64> = X.iter().map(|x| x.to_bits().into()).collect();
    let tensors = OperationTensors::from([("x", Tensor::from_codes(Format::Fp32, vec![2, 3], &x))]);
    let prepared =
        PreparedOperation::new(&asked, &Files::default(), tensors).expect("an operation");
    let report = prepared.run(&()).expect("a verdict");
    assert_eq!((report.verdict, report.command), (Verdict::Identical, None));
}

/// Numbers are written as people write them, and what is wrong with an array names its file.
#[test]
fn words_of_a_norm() {
    let folder = folder();
    let ones = |count: usize| vec![0x3f80_0000; count];
    let mut asked = Operation {
        operation: Some("rms_norm".into()),
        x: Some(write(&folder, "x.npy", [2, 8], &ones(16))),
        weight: Some(write(&folder, "weight.npy", [1, 7], &ones(7))),
        eps: Some("0.00001".parse().expect("a number")),
        ..Operation::default()
    };
    let words: Vec<String> = asked
        .command_line()
        .into_iter()
        .map(|word| word.into_string().expect("plain words"))
        .collect();
    assert_eq!(words[..3], ["tcverify", "op", "rms_norm"]);
    let eps = format!("--eps={}", asked.eps.expect("it was said"));
    assert!(words.contains(&eps) && eps.len() < 16, "{words:?}");
    let refused = asked
        .prepare()
        .and_then(|prepared| prepared.run(&()).map(drop));
    let refused = refused.expect_err("a weight for every column").to_string();
    assert!(refused.contains("weight.npy"), "{refused}");
    asked.eps = None;
    assert!(
        asked
            .command_line()
            .iter()
            .all(|word| !word.to_string_lossy().contains("eps"))
    );
}
