//! The formats a D can have, and how the right one is found.

use serde_json::{Value, json};

use crate::support::{Folder, Npy, Run, holds, sha256};

/// 1 + 2^-9 in FP32: a result that FP16 holds and BF16 rounds to 1.
fn folder(d: &Npy) -> Folder {
    let folder = Folder::new();
    let sum = [1.0, 1.0 / 512.0];
    folder.f16("a.npy", &[1, 2], &sum);
    folder.f16("b.npy", &[2, 1], &[1.0, 1.0]);
    folder.save("d.npy", d);
    folder
}

fn check(d: &Npy, rest: &str) -> Run {
    folder(d).tcverify(&format!(
        "check --arch h100 --dtype fp16 a.npy b.npy d.npy {rest}"
    ))
}

fn identical(d: &Npy, rest: &str) -> Value {
    check(d, &format!("{rest} --json -")).expect(0).json()
}

fn one_element(descr: &str, data: &[u8]) -> Npy {
    Npy::new(descr, &[1, 1], data.to_vec())
}

const FP32: [u8; 4] = [0x00, 0x40, 0x80, 0x3f];
const FP16: [u8; 2] = [0x02, 0x3c];
const BF16: [u8; 2] = [0x80, 0x3f];

#[test]
fn the_accumulators_own() {
    let report = identical(&one_element("<f4", &FP32), "");
    holds! {report, "reproduced.format = fp32 | reproduced.conversion = null"}
    identical(&one_element("<u4", &FP32), "");
    identical(&one_element("<i4", &FP32), "");
    identical(
        &one_element("<f8", &(1.0 + 1.0 / 512.0_f64).to_le_bytes()),
        "",
    );
}

#[test]
fn fp16_is_the_fp32_result_rounded_once() {
    let report = identical(&one_element("<f2", &FP16), "");
    let conversion = json!({"from": "fp32", "to": "fp16", "rounding": "rne"});
    assert_eq!(report["reproduced"]["format"], "fp16");
    assert_eq!(report["reproduced"]["conversion"], conversion);
    assert_eq!(report["reproduced"]["payload_sha256"], sha256(FP16));
}

#[test]
fn v2_is_bfloat16() {
    for descr in ["<V2", "|V2", "bfloat16"] {
        let report = identical(&one_element(descr, &BF16), "");
        assert_eq!(report["inputs"]["d"]["format"], "bf16", "{descr}");
        assert_eq!(report["reproduced"]["conversion"]["to"], "bf16");
        assert_eq!(report["reproduced"]["payload_sha256"], sha256(BF16));
    }
}

#[test]
fn integers_of_two_bytes_could_be_either() {
    for descr in ["<u2", "<i2", ">u2"] {
        let d = one_element(descr, &BF16);
        check(&d, "").refuses(&[
            "d.npy",
            descr,
            "does not distinguish fp16 from bf16",
            "--d-dtype",
        ]);
    }
    identical(&one_element("<u2", &BF16), "--d-dtype bf16");
    identical(&one_element("<u2", &FP16), "--d-dtype fp16");
    check(&one_element("<u2", &FP16), "--d-dtype bf16 -q").expect(1);
}

#[test]
fn with_an_fp16_accumulator_they_cannot() {
    let report = identical(&one_element("<u2", &FP16), "--acc f16");
    holds! {report, "inputs.d.format = fp16 | rule.model.arithmetic.accumulator = fp16"}
    assert!(report["reproduced"]["conversion"].is_null());
}

#[test]
fn an_fp32_file_may_hold_results_of_an_fp16_accumulator() {
    let report = identical(&one_element("<f4", &FP32), "--acc f16");
    assert_eq!(report["inputs"]["d"]["format"], "fp16");
    assert_eq!(report["inputs"]["d"]["payload_sha256"], sha256(FP16));
    // 1 + 2^-23 cannot come out of one.
    let d = one_element("<f4", &[0x01, 0x00, 0x80, 0x3f]);
    check(&d, "--acc f16").refuses(&["d.npy", "[0, 0]", "0x3f800001", "fp16"]);
}

#[test]
fn an_fp32_file_may_hold_rounded_results_if_told() {
    let widened = one_element("<f4", &[0x00, 0x00, 0x80, 0x3f]);
    identical(&widened, "--d-dtype bf16");
    check(&widened, "-q").expect(1);
}

#[test]
fn formats_that_no_result_has() {
    let e5m2 = one_element("<f1", &[0x3c]);
    check(&e5m2, "").refuses(&["d.npy", "e5m2", "fp32"]);
    let codes = one_element("|u1", &[0x3c]);
    check(&codes, "").refuses(&["d.npy", "1 byte", "fp32"]);
    let named = one_element("bfloat16", &BF16);
    check(&named, "--d-dtype fp16").refuses(&["d.npy", "bf16", "the request says fp16"]);
    let half = one_element("<f2", &FP16);
    check(&half, "--acc f16 --d-dtype fp32").refuses(&["fp16 accumulation", "fp32"]);
    check(&half, "--acc f16 --d-dtype bf16").refuses(&["fp16 accumulation", "bf16"]);
    check(&half, "--d-dtype fp64").refuses(&["fp32 accumulation", "fp64"]);
}

#[test]
fn fp16_accumulation_is_not_fp32_rounded() {
    // 2048 + 1 + 1 in two steps of one product each, that is K = 9 and 17: FP16 loses each 1.
    let mut a = vec![0.0; 33];
    (a[0], a[16], a[32]) = (2048.0, 1.0, 1.0);
    let folder = Folder::new();
    folder.f16("a.npy", &[1, 33], &a);
    folder.f16("b.npy", &[33, 1], &[1.0; 33]);
    folder.f16_codes("d.npy", &[1, 1], &[0x6800]);
    let check = "check --arch h100 --dtype fp16 a.npy b.npy d.npy -q";
    folder.passes(&format!("{check} --acc f16"));
    folder.differs(&format!("{check} --acc f32"));
    folder.f32("d.npy", &[1, 1], &[2050.0]);
    folder.passes(check);
}
