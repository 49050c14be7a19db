//! Scales, integers and C of another format, on the command line.

use crate::support::{Folder, Npy, claims, ran, table};

fn bytes(shape: &[usize], codes: &[u8]) -> Npy {
    Npy::new("|u1", shape, codes.to_vec())
}

/// 1.5 * 2 in FP4, with scales 4 and 0.5 (UE8M0) or 1.5 and 2 (UE4M3).
fn folder(scales: [u8; 2]) -> Folder {
    let folder = Folder::new();
    folder.save("a.npy", &bytes(&[1, 1], &[3]));
    folder.save("b.npy", &bytes(&[1, 1], &[4]));
    folder.save("sa.npy", &bytes(&[1, 1], &scales[..1]));
    folder.save("sb.npy", &bytes(&[1, 1], &scales[1..]));
    folder
}

const SCALES: &str = "--scale-a sa.npy --scale-b sb.npy a.npy b.npy";

#[test]
fn scales_multiply() {
    for (scales, options, d) in table! {
        ([129, 126], "--dtype e2m1 --scale-dtype ue8m0 --scale-block 32", 6.0),
        ([0x3c, 0x40], "--dtype e2m1 --scale-dtype ue4m3", 9.0),
        ([129, 126], "--dtype e3m2 --dtype-b e2m1", 0.1875 * 2.0 * 2.0),
    } {
        let folder = folder(scales);
        folder.f32("d.npy", &[1, 1], &[d]);
        for arch in ["b200", "rtx5090"] {
            let report = ran! {folder, "check --arch {arch} {options} {SCALES} d.npy --json -"}
                .expect(0)
                .json();
            assert!(report["inputs"]["scale_b"]["payload_sha256"].is_string());
            assert!(report["rule"]["model"]["arithmetic"]["scale"]["block"].is_number());
        }
        // Another scale is another product.
        folder.save("sa.npy", &bytes(&[1, 1], &[scales[0] ^ 8]));
        folder.differs(&format!("check --arch b200 {options} {SCALES} d.npy"));
    }
}

#[test]
fn the_text_names_the_scales() {
    let folder = folder([0x3c, 0x40]);
    folder.f32("d.npy", &[1, 1], &[9.0]);
    claims! {folder, "check --arch b200 --dtype e2m1 --scale-dtype ue4m3 {SCALES} d.npy | 0
    | e2m1*e2m1, scales ue4m3 per 16 -> fp32"}
}

#[test]
fn what_scales_need_is_said() {
    let folder = folder([127, 127]);
    claims! {folder, r"
        each replay --arch b200 ~ -o d.npy
        --dtype e2m1 {SCALES} | refused | several ways | ue8m0 per 32 | ue4m3 per 16 | --scale-dtype
        --dtype fp16 {SCALES} | 2 | fp16*fp16 with scales | tcgen05-mxf4\_ | scales ue8m0 per 32
        --dtype e2m1 --scale-dtype ue4m3 a.npy b.npy | refused | --scale-dtype | --scale-a
    "}
    folder.save("sa.npy", &bytes(&[1, 2], &[127, 127]));
    claims! {folder, "replay --arch b200 --dtype e4m3 {SCALES} -o d.npy | refused | the scales of A are 1x2 | 32 k
    | 1x1 | sa.npy"}
}

#[test]
fn one_scale_file_alone_is_a_mistake_of_usage() {
    claims! {folder([127, 127]), "replay --arch b200 --dtype e4m3 --scale-a sa.npy a.npy b.npy -o d.npy | 2 | --scale-b"}
}

#[test]
fn transposed_operands_have_transposed_scales() {
    let folder = Folder::new();
    folder.save("a.npy", &bytes(&[2, 32], &[0x38; 64]));
    folder.save("b.npy", &bytes(&[3, 32], &[0x38; 96]));
    folder.save("sa.npy", &bytes(&[2, 1], &[127, 128]));
    folder.save("sb.npy", &bytes(&[3, 1], &[127, 128, 129]));
    let d = [32.0, 64.0, 128.0, 64.0, 128.0, 256.0];
    folder.f32("d.npy", &[2, 3], &d);
    let check = "check --arch rtx5090 --dtype e4m3 --transpose-b";
    folder.passes(&format!("{check} {SCALES} d.npy"));
}

#[test]
fn integers_of_any_width_are_numbers() {
    let folder = Folder::new();
    let save = |name: &str, descr: &str, shape: [usize; 2], bytes: &[u8]| {
        folder.save(name, &Npy::new(descr, &shape, bytes.to_vec()));
    };
    let long = |numbers: [i64; 2]| numbers.map(i64::to_le_bytes).concat();
    save("a.npy", "<i8", [1, 2], &long([-128, 3]));
    save("b.npy", "|i1", [2, 1], &[0x80, 0xff]);
    save("c.npy", "<i4", [1, 1], &i32::MAX.to_le_bytes());
    save("d.npy", "<i4", [1, 1], &(i32::MIN + 16380).to_le_bytes());
    save("e.npy", "<i8", [1, 2], &long([-129, 3]));
    claims! {folder, "
        check --arch a100 --dtype int8 --c c.npy a.npy b.npy d.npy | 0
        check --arch a100 --dtype int8 --instruction mma-satfinite --c c.npy a.npy b.npy d.npy | 1 | 2147483647
        replay --arch a100 --dtype int8 e.npy b.npy -o f.npy | refused | e.npy | [0, 0] | -129 | -128 to 127
    "}
}

#[test]
fn integers_written_are_read_back() {
    let folder = Folder::new();
    folder.save("a.npy", &bytes(&[1, 1], &[200]));
    claims! {folder, "
        replay --arch h100 --dtype uint8 a.npy a.npy -o d.npy | 0
        check --arch h100 --dtype uint8 a.npy a.npy d.npy | 0
    "}
}

#[test]
fn c_and_d_of_two_formats() {
    let folder = Folder::new();
    folder.f16_codes("a.npy", &[1, 1], &[0x3c01]);
    folder.f16_codes("d.npy", &[1, 1], &[0x4001]);
    folder.f32("c.npy", &[1, 1], &[1.0]);
    folder.f16("row.npy", &[1, 17], &[1.0; 17]);
    folder.f16("column.npy", &[17, 1], &[1.0; 17]);
    let check = "check --arch gpgpu-sim --dtype fp16 --acc f16 --c-dtype f32";
    claims! {folder, "
        {check} --c c.npy a.npy a.npy d.npy | 0
        {check} row.npy column.npy d.npy | refused | K=17 needs chaining | takes 16 k | cannot feed its C
    "}
}

/// No published result of a V100 has C and D of two formats: an FP16 C starts sums of FP32 as the number it is, and an
/// FP32 C that FP16 lacks is refused.
#[test]
fn volta_with_c_and_d_of_two_formats() {
    let folder = Folder::new();
    for (name, code) in [("a.npy", 0x3c01), ("c16.npy", 0x3c00), ("d16.npy", 0x4001)] {
        folder.f16_codes(name, &[1, 1], &[code]);
    }
    // 2 + 2^-9 + 2^-20, which the simulator cuts to FP16 before it adds C.
    for (name, code) in [
        ("c32.npy", 0x3f80_0000),
        ("odd.npy", 0x3f80_0008),
        ("d32.npy", 0x4000_2004),
    ] {
        folder.f32_codes(name, &[1, 1], &[code]);
    }
    claims! {folder, "
        each check --dtype fp16 --arch ~
        volta --acc f32 --c c16.npy a.npy a.npy d32.npy | 0
        volta --acc f16 --c c16.npy a.npy a.npy d16.npy | 0
        volta --acc f32 --c c32.npy a.npy a.npy d32.npy | 0
        volta --acc f16 --c c32.npy a.npy a.npy d16.npy | 0
        gpgpu-sim --acc f32 --c-dtype f16 --c c16.npy a.npy a.npy d32.npy | 1
        volta --acc f16 --c odd.npy a.npy a.npy d16.npy | refused | c | fp16 cannot represent
        volta --acc f16 --c-dtype f32 --c odd.npy a.npy a.npy d16.npy | 2 | fp16 accumulation and C of fp32
    "}
}

/// Checkpoints store scales without a sign as E4M3: the same numbers are read, and a negative one is none of them.
#[test]
fn scales_without_a_sign_may_be_stored_as_e4m3() {
    let folder = Folder::new();
    folder.generate("
        a e2m1 1:normal:16x64 | b e2m1 2:normal:64x8 | scale-a ue4m3 3:normal:16x4 | scale-b ue4m3 4:normal:4x8
    ");
    let format = "--arch b200 --dtype e2m1 --scale-dtype ue4m3 --scale-b sb.npy a.npy b.npy";
    folder.replay(&format!("{format} --scale-a sa.npy"), "d.npy");
    let scales = folder.payload("sa.npy");
    for (name, code) in [
        ("sa.bin", scales[5]),
        ("negative.bin", 0xb8),
        ("other.bin", 0x7e),
    ] {
        folder.write(name, [&scales[..5], &[code], &scales[6..]].concat());
    }
    claims! {folder, "
        check {format} d.npy --scale-a sa.bin#16x4:e4m3 | 0 | ^IDENTICAL
        check {format} d.npy --scale-a negative.bin#16x4:e4m3 | 2 | [1, 1] is -1 | ue4m3 cannot represent
        check {format} d.npy --scale-a other.bin#16x4:e4m3 | 1
    "}
}
