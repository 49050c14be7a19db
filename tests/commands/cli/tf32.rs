//! TF32 operands are FP32 registers with 13 bits too many.

use serde_json::{Value, json};

use crate::support::{Folder, Npy, Run, claims, floats, halves, le32, ran, sha256, words};

/// 1, and 1 with just the highest of the bits that TF32 lacks, and with the lowest.
const A: [u32; 3] = [0x3f80_0000, 0x3f80_1000, 0x3f80_0001];

fn folder(a: &Npy) -> Folder {
    let folder = Folder::new();
    folder.save("a.npy", a);
    folder.f32("b.npy", &[1, 1], &[1.0]);
    folder
}

fn replay(folder: &Folder, how: &str) -> Run {
    ran! {folder, "replay --arch ampere --dtype tf32 {how} a.npy b.npy -o d.npy"}
}

/// Replays, checks the replay against itself, and returns its payload and that report.
fn round(how: &str) -> (Vec<u8>, Value) {
    let folder = folder(&Npy::new("<f4", &[3, 1], le32(&A)));
    replay(&folder, how).expect(0);
    let run = ran! {folder, "check --arch ampere --dtype tf32 {how} a.npy b.npy d.npy --json -"};
    let d = folder.read("d.npy");
    (d[d.len() - 12..].to_vec(), run.expect(0).json())
}

#[test]
fn truncation_is_what_the_hardware_does() {
    for how in ["", "--tf32-input truncate"] {
        let (d, report) = round(how);
        assert_eq!(d, le32(&[0x3f80_0000; 3]));
        let low_bits = json!({"elements": 2, "treatment": "truncate"});
        assert_eq!(report["inputs"]["a"]["tf32_low_bits"], low_bits);
        // The digest is of the registers as they are.
        assert_eq!(report["inputs"]["a"]["payload_sha256"], sha256(le32(&A)));
        let none = json!({"elements": 0, "treatment": "truncate"});
        assert_eq!(report["inputs"]["b"]["tf32_low_bits"], none);
    }
}

#[test]
fn rounding_to_nearest_gives_other_bits() {
    let (d, report) = round("--tf32-input nearest");
    assert_eq!(d, le32(&[0x3f80_0000, 0x3f80_2000, 0x3f80_0000]));
    let low_bits = json!({"elements": 2, "treatment": "nearest"});
    assert_eq!(report["inputs"]["a"]["tf32_low_bits"], low_bits);
}

#[test]
fn the_text_says_it_too() {
    let folder = folder(&Npy::new("<f4", &[3, 1], le32(&A)));
    replay(&folder, "").expect(0);
    let check = "check --arch ampere --dtype tf32 a.npy b.npy d.npy";
    claims! {folder, "{check} | 0 | 2 elements of A had more bits than TF32 | !elements of B"}
}

#[test]
fn exactness_can_be_demanded() {
    let low = folder(&Npy::new("<f4", &[3, 1], le32(&A)));
    replay(&low, "--tf32-input exact")
        .refuses(&words! {"a.npy | 2 of 3 elements | [1, 0] | 0x3f801000"});
    let clean = folder(&Npy::new("<f4", &[1, 1], floats(&[1.5])));
    replay(&clean, "--tf32-input exact").expect(0);
}

#[test]
fn numbers_of_another_width_have_no_such_bits() {
    // The codes of FP16 numbers are not registers, whatever their low bits are.
    let halves = folder(&Npy::new(
        "<f2",
        &[2, 1],
        halves(&[1.0 + 1.0 / 1024.0, 3.0]),
    ));
    replay(&halves, "--tf32-input exact").expect(0);
    let double = 1.0 + 1.0 / 1024.0_f64;
    let exact = folder(&Npy::new("<f8", &[1, 1], double.to_le_bytes().to_vec()));
    replay(&exact, "--tf32-input exact").expect(0);
    // FP64 is only taken if TF32 holds it, and then has nothing to lose.
    let finer = folder(&Npy::new("<f8", &[1, 1], 1.1_f64.to_le_bytes().to_vec()));
    replay(&finer, "").refuses(&["a.npy", "[0, 0]", "1.1", "tf32"]);
}

#[test]
fn the_option_is_refused_where_it_means_nothing() {
    Folder::new()
        .tcverify("replay --arch a100 --dtype fp16 --tf32-input nearest a.npy b.npy -o d.npy")
        .refuses(&["--tf32-input nearest", "fp16"]);
}
