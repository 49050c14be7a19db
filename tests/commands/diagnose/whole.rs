//! All of D is another computation's.

use crate::support::{Members, Says, claims, holds, table};

use super::{change, codes, diagnosed, folder, save};

const PRODUCT: &str = "--arch a100 --dtype fp16 a.npy b.npy";
const CHECK: &str = "--arch a100 --dtype fp16 a.npy b.npy d.npy";

fn float(code: u64) -> f32 {
    f32::from_bits(code as u32)
}

/// `d.float().numpy()` of a 16-bit D.
#[test]
fn a_d_that_was_widened() {
    for (narrow, shift) in [("bf16", Some(16)), ("fp16", None)] {
        let folder = folder("bf16", [32, 40, 96], 7);
        claims! {folder, "replay --arch h100 --dtype bf16 --d-dtype {narrow} a.npy b.npy -q -o d16.npy | 0"}
        let widen = |&code: &u16| match shift {
            Some(shift) => u32::from(code) << shift,
            None => half::f16::from_bits(code).to_f32().to_bits(),
        };
        let d: Vec<u32> = folder.codes16("d16.npy").iter().map(widen).collect();
        folder.f32_codes("d.npy", &[32, 40], &d);
        diagnosed! {folder, "--arch h100 --dtype bf16 a.npy b.npy d.npy | *rounded_narrower | pass --d-dtype {narrow}"};
    }
}

/// Of another accumulator, which the command names with it.
#[test]
fn a_d_that_was_widened_and_of_another_model() {
    let folder = folder("fp16", [32, 40, 96], 7);
    folder.replay("--arch a100 --dtype fp16 --acc f16 a.npy b.npy", "d16.npy");
    let widen = |&code: &u16| half::f16::from_bits(code).to_f32().to_bits();
    let d: Vec<u32> = folder.codes16("d16.npy").iter().map(widen).collect();
    folder.f32_codes("d.npy", &[32, 40], &d);
    diagnosed! {folder, "{CHECK} | *rounded_narrower
    | pass --d-dtype fp16. Another unit or accumulation fits: ampere mma (-> fp16)"};
}

/// FP32 that is no narrower format's, but for one element.
#[test]
fn nearly_widened() {
    let folder = folder("bf16", [32, 40, 96], 7);
    folder.replay("--arch h100 --dtype bf16 a.npy b.npy", "d.npy");
    // 11 bits of the fraction kept: one more than FP16 has.
    change(&folder, "d.npy", "d.npy", 4, |_, code| code & !0xfff);
    diagnosed! {folder, "--arch h100 --dtype bf16 a.npy b.npy d.npy | ="};
}

#[test]
fn codes_of_the_other_format() {
    for (stored, read) in [("bf16", "fp16"), ("fp16", "bf16")] {
        let folder = folder("fp16", [32, 40, 96], 7);
        let product = "--arch h100 --dtype fp16 a.npy b.npy --d-dtype";
        folder.replay(&format!("{product} {stored}"), "d16.npy");
        save(&folder, "<u2", &[32, 40], 2, &codes(&folder, "d16.npy", 2));
        diagnosed! {folder, "{product} {read} d.npy | *result_format
        | D holds {stored} codes that were read as {read}"};
    }
}

#[test]
fn payloads_of_nans_and_signs_of_zeros() {
    let folder = folder("fp16", [16, 24, 32], 7);
    // Two rows of NaNs, two of zeros.
    change(&folder, "a.npy", "a.npy", 2, |at, code| match at {
        5 | 37 => 0x7e01,
        64..128 => 0,
        _ => code,
    });
    folder.replay(PRODUCT, "right.npy");
    let right = folder.codes32("right.npy");
    assert!(f32::from_bits(right[0]).is_nan() && right[50] == 0);
    let put = |wrong: fn(f32) -> bool, other: u64| {
        change(&folder, "right.npy", "d.npy", 4, |_, code| {
            if wrong(float(code)) { other } else { code }
        });
    };
    put(f32::is_nan, 0x7fc0_0000);
    diagnosed! {folder, "{CHECK} | *nan_payload"};
    put(|x| x == 0.0, 0x8000_0000);
    diagnosed! {folder, "{CHECK} | *zero_sign"};
    // A number where a NaN belongs is neither.
    put(f32::is_nan, 0x3f80_0000);
    diagnosed! {folder, "{CHECK} | !nan_payload"};
}

#[test]
fn a_factor_of_the_sum() {
    for alpha in [0.3f32, -2.0, 0.088_388_346, 1.5e-3] {
        let folder = folder("fp16", [32, 40, 96], 9);
        folder.replay(PRODUCT, "d.npy");
        change(&folder, "d.npy", "d.npy", 4, |_, code| {
            (alpha * float(code)).to_bits().into()
        });
        diagnosed! {folder, "{CHECK} | *alpha | multiplied by {alpha} (alpha)"};
    }
}

/// C is not multiplied. By a power of two no product is rounded.
#[test]
fn a_factor_of_the_sum_but_not_of_c() {
    let folder = folder("fp16", [32, 40, 96], 9);
    folder.replay(PRODUCT, "d.npy");
    let c = codes(&folder, "c.npy", 4);
    change(&folder, "d.npy", "d.npy", 4, |at, sum| {
        (-2.0 * float(sum) + float(c[at])).to_bits().into()
    });
    diagnosed! {folder, "{CHECK} --c c.npy | *alpha | multiplied by -2 (alpha)"};
}

#[test]
fn another_factor_in_every_row() {
    let folder = folder("fp16", [32, 40, 96], 9);
    folder.replay(PRODUCT, "d.npy");
    change(&folder, "d.npy", "d.npy", 4, |at, code| {
        let alpha = 0.3 + 1e-4 * (at / 40) as f32;
        (alpha * float(code)).to_bits().into()
    });
    diagnosed! {folder, "{CHECK} | row_scales | it gives all 1,280 elements, bit for bit"};
}

#[test]
fn operands_rounded_to_tf32_first() {
    let folder = folder("fp32", [24, 24, 64], 9);
    let product = "--arch a100 --dtype tf32 a.npy b.npy";
    // Ties away from zero, by hand.
    for (from, to) in [("a.npy", "a2.npy"), ("b.npy", "b2.npy")] {
        change(&folder, from, to, 4, |_, code| (code + 0x1000) & !0x1fff);
    }
    let found = diagnosed! {folder, "--arch a100 --dtype tf32 a2.npy b2.npy => {product} d.npy | *tf32_input"};
    found[0].string("command").says("--tf32-input nearest");
    diagnosed! {folder, "{product} => {product} d.npy --tf32-input nearest | tf32_input"};
}

/// The last r products are missing: by one chain, and by the slices that cuBLAS's defect has.
#[test]
fn a_dropped_remainder_of_k() {
    for (k, lost, options) in table! {
        (264, 8, ""),
        (1000, 104, ""),
        // floor(584 / 9) rounded up to 64 makes nine slices of 64.
        (584, 8, "--schedule cutlass-splitk-parallel --split-k 9 --tile-k 64"),
    } {
        let folder = folder("fp16", [16, 24, k], 13);
        let left = k - lost;
        let (a, b) = (folder.codes16("a.npy"), folder.codes16("b.npy"));
        let a: Vec<u16> = a.chunks(k).flat_map(|row| row[..left].to_vec()).collect();
        folder.f16_codes("a2.npy", &[16, left], &a);
        folder.f16_codes("b2.npy", &[left, 24], &b[..left * 24]);
        let found = diagnosed! {folder, "--arch a100 --dtype fp16 {options} a2.npy b2.npy => {CHECK}
        | dropped_remainder | last {lost} of {k} products are missing"};
        holds! {found, "0.at = [{left}]"}
        // Fewer k than slices of 64 were lost.
        let sentence = found[0].string("sentence");
        assert_eq!(sentence.contains("ALGO 66"), k == 584, "{sentence}");
        assert_eq!(sentence.contains("9 slices"), !options.is_empty());
    }
}

/// A function that leaves every examined element as it is explains none of the others.
#[test]
fn what_no_examined_element_tells() {
    let folder = folder("fp16", [200, 200, 64], 13);
    for name in ["a.npy", "b.npy"] {
        change(&folder, name, name, 2, |_, code| code & 0x7fff);
    }
    folder.replay(PRODUCT, "d.npy");
    folder.with_codes32("d.npy", "d.npy", |d| {
        // Every third row that is examined is a multiple of 25.
        for i in 0..40 {
            d[(25 * (i % 8) + 5) * 200 + 37 * i % 200] ^= 0x0005_a5a5 + i as u32;
        }
    });
    diagnosed! {folder, "{CHECK} | ="};
}

/// There is no K shorter than 1.
#[test]
fn one_product() {
    let folder = folder("fp16", [64, 64, 1], 13);
    folder.replay(PRODUCT, "d.npy");
    folder.with_codes32("d.npy", "d.npy", |d| {
        for i in 0..60 {
            d[(i * 37 % 64) * 64 + i * 13 % 64] ^= 3 + 2 * (i as u32 % 5);
        }
    });
    claims! {folder, "check --arch a100 --dtype fp16 a.npy b.npy d.npy | 1 | !K is too long"}
}
