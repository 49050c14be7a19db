//! `check --d-digest`: a verdict without D.

use crate::support::{Folder, Says, claims, floats, holds, sha256};

fn folder() -> Folder {
    let folder = Folder::new();
    folder.f16("a.npy", &[1, 2], &[1.5, 2.0]);
    folder.f16("b.npy", &[2, 1], &[4.0, 0.25]);
    folder
}

/// 1.5 * 4 + 2 * 0.25
const D: f32 = 6.5;
const CHECK: &str = "check --arch ampere --dtype fp16 a.npy b.npy --d-digest";

#[test]
fn the_right_digest_is_identical() {
    let digest = sha256(floats(&[D]));
    let upper = digest.to_uppercase();
    for digest in [&digest, &upper, &format!("sha256:{digest}")] {
        let run = folder().passes(&format!("{CHECK} {digest}"));
        run.begins("IDENTICAL  ");
        assert_eq!(run.stderr, "");
    }
}

#[test]
fn another_digest_is_different() {
    let digest = sha256("something else");
    let run = folder().differs(&format!("{CHECK} {digest} --digests"));
    run.begins("DIFFERENT  ");
    assert!(run.stdout.contains(&digest) && run.stdout.contains(&sha256(floats(&[D]))));
}

#[test]
fn the_report_names_both_digests() {
    let digest = sha256("something else");
    let report = folder().differing(&format!("{CHECK} {digest} --json -"));
    holds! {report, "verdict = different | outcome.judged_by = digest"}
    assert_eq!(report["outcome"]["expected_payload_sha256"], digest);
    assert_eq!(report["reproduced"]["payload_sha256"], sha256(floats(&[D])));
    assert!(report["inputs"]["d"].is_null());
}

#[test]
fn the_format_of_d_counts() {
    let bf16 = sha256([0xd0, 0x40]);
    let run = |rest: &str| folder().tcverify(&format!("{CHECK} {bf16} {rest} --quiet"));
    run("--d-dtype bf16").expect(0);
    run("").expect(1);
}

#[test]
fn a_malformed_digest_is_refused() {
    for digest in ["123", "", &"g".repeat(64), &"a".repeat(63), &"é".repeat(32)] {
        let folder = folder();
        folder
            .words(CHECK.split_whitespace().chain([digest]))
            .expect(2)
            .mentions(&["--d-digest", "64 hexadecimal digits"]);
    }
}

#[test]
fn it_does_not_go_with_d_or_with_policies() {
    let digest = sha256("");
    for rest in ["d.npy", "--nan any", "--zero any"] {
        claims! {folder(), "{CHECK} {digest} {rest} | 2 | exclude each other"}
    }
}
