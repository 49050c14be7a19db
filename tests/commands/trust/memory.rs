//! Files of one run: one account of memory, private copies, tensors of a program's own.

use tcverify::check::{Check, CheckError, Prepared, Subject, Tensors, Trace};
use tcverify::compose::Examined;
use tcverify::engines::resources;
use tcverify::io::{hex, npy::write_npy};
use tcverify::num::Format;
use tcverify::report::Verdict;
use tcverify::role::Role;
use tcverify::tensor::Tensor;

use crate::support::{Folder, Says, claims, good, sha256, words};

const CHECK: &str = "--arch a100 --dtype fp16 a.npy b.npy";

/// Every command that reads operands, for the good product.
const COMMANDS: [&str; 5] = [
    "check --arch a100 --dtype fp16 a.npy b.npy d.npy",
    "replay --arch a100 --dtype fp16 a.npy b.npy -o r.npy",
    "explain --arch a100 --dtype fp16 a.npy b.npy d.npy --at 0,0",
    "commit --arch a100 --dtype fp16 a.npy b.npy d.npy",
    "shard plan -n 1 --arch a100 --dtype fp16 a.npy b.npy d.npy -o plan.json",
];

#[test]
fn a_private_copy_or_none() {
    for command in COMMANDS {
        let folder = good();
        folder.passes(&format!("{command} --private"));
        // Mapped, as there is no room.
        folder.passes(&format!("{command} --max-memory 1"));
        claims! {folder, "{command} --max-memory 150 --private | refused | .npy | bytes of memory
        | of the allowed 150"}
    }
    let folder = good();
    folder.passes(COMMANDS[4]);
    let run = "shard run plan.json 0 -o part.json";
    claims! {folder, "
        {run} --max-memory 150 --private | refused | bytes of memory
        {run} --private | 0
        check {CHECK} d.npy --max-memory 8Q | 2 | --max-memory | 512M
    "}
}

#[test]
fn what_is_generated_is_within_the_limit() {
    let folder = good();
    let check = |limit: &str| {
        format!(
            "replay --arch a100 --dtype fp16 generate:1:normal:64x64 generate:2:normal:64x64 -o d.npy \
             --max-memory {limit}"
        )
    };
    // 8192 bytes each, and headers.
    folder.passes(&check("17k"));
    folder.tcverify(&check("16KiB")).refuses(&words! {"
        generate:2:normal:64x64 | bytes of memory | of the allowed 16384
    "});
}

/// A manifest of cases by name, A and B.
fn manifest(folder: &Folder, cases: &[(&str, &str, &str)]) {
    let cases: Vec<_> = cases
        .iter()
        .map(|(name, a, b)| serde_json::json!({"name": name, "a": a, "b": b, "d": "d.npy"}))
        .collect();
    let manifest = serde_json::json!({
        "schema": "tcverify.manifest/1",
        "defaults": {"arch": "a100", "dtype": "fp16"},
        "cases": cases,
    });
    folder.write("cases.json", manifest.to_string());
}

#[test]
fn a_case_without_memory_ends_no_batch() {
    let folder = good();
    let large = "generate:1:normal:60000x60000";
    manifest(
        &folder,
        &[
            ("one", "a.npy", "b.npy"),
            ("huge", large, large),
            ("two", "a.npy", "b.npy"),
        ],
    );
    let run = folder.fails("batch cases.json --max-memory 64M");
    run.says("3 cases: 2 identical, 0 different, 1 could not");
    run.says("7200000128 bytes of memory");
}

#[test]
fn the_cases_of_a_batch_share_their_files() {
    let folder = good();
    let sizes = ["a.npy", "b.npy", "d.npy"].map(|name| folder.read(name).len());
    let all: usize = sizes.iter().sum();
    // Side by side they would not fit, were each read by itself.
    let cases: Vec<_> = (0..24).map(|i| format!("case {i}")).collect();
    let cases: Vec<_> = cases
        .iter()
        .map(|name| (name.as_str(), "a.npy", "b.npy"))
        .collect();
    manifest(&folder, &cases);
    claims! {folder, "batch cases.json --private --max-memory {all} | 0"}
    let run = format!("batch cases.json --private --max-memory {}", all - 1);
    folder.fails(&run);
}

/// 2x3 by 3x2, all ones.
fn ones() -> [Tensor; 3] {
    let one = |shape: [usize; 2]| Tensor::from_codes(Format::Fp16, shape.into(), &[0x3c00; 6]);
    let d = Tensor::from_codes(Format::Fp32, vec![2, 2], &[0x4040_0000; 4]);
    [one([2, 3]), one([3, 2]), d]
}

#[test]
fn tensors_of_a_program_are_taken_over() {
    let [a, b, d] = ones();
    let address = a.as_payload().unwrap().as_ptr();
    let file = |tensor: &Tensor| {
        let mut bytes = Vec::new();
        write_npy(tensor, &mut bytes).unwrap();
        sha256(&bytes)
    };
    let expected = [&a, &b, &d].map(file);
    let check = Check::in_memory("a100", Format::Fp16);
    let prepared = Prepared::from_tensors(&check, &resources(), Tensors::of(a, b, d)).unwrap();
    let held = prepared.arrays()[Role::A]
        .tensor
        .as_payload()
        .unwrap()
        .as_ptr();
    assert_eq!(held, address, "copied");
    let report = prepared.run(&()).unwrap();
    assert_eq!(report.verdict, Verdict::Identical);
    let digests = report
        .inputs
        .values()
        .map(|input| input.file_sha256.clone());
    assert_eq!(digests.collect::<Vec<_>>(), expected);
}

#[test]
fn a_tensor_of_a_program_is_checked() {
    // A code of four bits in a byte: 0x1f is none.
    let e2m1 = |code| Tensor::from_codes(Format::E2m1, vec![1, 16], &[code; 16]);
    let mut check = Check::in_memory("b200", Format::E2m1);
    check.operands.transpose_b = true;
    let d = Tensor::from_codes(Format::Fp32, vec![1, 1], &[0]);
    let tensors = Tensors::of(e2m1(0x1f), e2m1(1), d);
    let error = Prepared::from_tensors(&check, &resources(), tensors)
        .unwrap_err()
        .to_string();
    error.says("element [0, 0] is 0x1f, which is not a code of e2m1");
}

#[test]
fn digests_and_comparison_agree_or_there_is_no_verdict() {
    let check = Check::in_memory("a100", Format::Fp16);
    let prepare = |wrong: bool| {
        let [a, b, d] = ones();
        let d = if wrong {
            Tensor::from_codes(Format::Fp32, vec![2, 2], &[0x4040_0001; 4])
        } else {
            d
        };
        Prepared::from_tensors(&check, &resources(), Tensors::of(a, b, d)).unwrap()
    };
    for wrong in [false, true] {
        let prepared = prepare(wrong);
        let judge = |digest: &str| {
            let mut differ = prepared.differ().unwrap();
            prepared
                .replay()
                .run(&|_| {}, |band| {
                    differ.compare(&band);
                    Ok::<(), std::convert::Infallible>(())
                })
                .unwrap();
            let found = Some(differ.conclude());
            prepared.report(prepared.inputs(), Trace::Payload(digest.to_owned()), found)
        };
        let own = prepared.inputs()[&Role::D].payload_sha256.clone();
        let other = hex(&[7; 32]);
        let (right, forged) = if wrong { (other, own) } else { (own, other) };
        assert!(judge(&right).is_ok());
        let error = judge(&forged).unwrap_err();
        assert!(matches!(error, CheckError::Contradiction { .. }));
        assert!(
            error
                .to_string()
                .starts_with("no verdict: the comparison found")
        );
        // A comparison that looked at nothing finds nothing.
        let nothing = prepared.differ().map(|differ| differ.conclude());
        let trace = Trace::Payload(right);
        assert!(prepared.report(prepared.inputs(), trace, nothing).is_err());
    }
}

#[test]
fn files_are_shared_between_checks() {
    let folder = good();
    let resources = resources();
    let path = |name: &str| folder.path(name).as_path().into();
    let check = Check::new("a100", Format::Fp16, ["a.npy", "b.npy", "d.npy"].map(path));
    let [one, two] = [(); 2].map(|()| check.prepare(&resources).unwrap());
    let bytes = |prepared: &Prepared| {
        let arrays = prepared.arrays();
        arrays
            .iter()
            .map(|(_, array)| array.source.file().bytes().as_ptr())
            .collect::<Vec<_>>()
    };
    assert_eq!(bytes(&one), bytes(&two));
    assert_eq!(one.run(&()).unwrap().verdict, Verdict::Identical);
}
