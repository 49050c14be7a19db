//! All of D is another computation's.

use crate::support::{Members, Says};

use super::{causes, codes, first, folder, kinds, put, replay, save, says};
use serde_json::json;

fn float(code: u64) -> f32 {
    f32::from_bits(code as u32)
}

/// `d.float().numpy()` of a 16-bit D.
#[test]
fn a_d_that_was_widened() {
    for (narrow, shift) in [("bf16", Some(16)), ("fp16", None)] {
        let folder = folder("bf16", [32, 40, 96], 7);
        let product = format!("--arch h100 --dtype bf16 --d-dtype {narrow} a.npy b.npy");
        replay(&folder, &product, "d16.npy");
        let widen = |&code: &u64| match shift {
            Some(shift) => code << shift,
            None => u64::from(half::f16::from_bits(code as u16).to_f32().to_bits()),
        };
        let d: Vec<u64> = codes(&folder, "d16.npy", 2).iter().map(widen).collect();
        save(&folder, "<f4", &[32, 40], 4, &d);
        let check = "--arch h100 --dtype bf16 a.npy b.npy d.npy";
        let cause = first(&folder, check, "rounded_narrower");
        says(&cause, &format!("pass --d-dtype {narrow}"));
        assert!(cause["command"].is_string());
    }
}

/// Of another accumulator, which the command names with it.
#[test]
fn a_d_that_was_widened_and_of_another_model() {
    let folder = folder("fp16", [32, 40, 96], 7);
    replay(
        &folder,
        "--arch a100 --dtype fp16 --acc f16 a.npy b.npy",
        "d16.npy",
    );
    let widen = |&code: &u64| half::f16::from_bits(code as u16).to_f32().to_bits().into();
    let d: Vec<u64> = codes(&folder, "d16.npy", 2).iter().map(widen).collect();
    save(&folder, "<f4", &[32, 40], 4, &d);
    let cause = first(
        &folder,
        "--arch a100 --dtype fp16 a.npy b.npy d.npy",
        "rounded_narrower",
    );
    says(
        &cause,
        "pass --d-dtype fp16. Another unit or accumulation fits: ampere mma (-> fp16)",
    );
    assert!(cause["command"].is_string());
}

/// FP32 that is no narrower format's, but for one element.
#[test]
fn nearly_widened() {
    let folder = folder("bf16", [32, 40, 96], 7);
    replay(&folder, "--arch h100 --dtype bf16 a.npy b.npy", "d32.npy");
    let d = codes(&folder, "d32.npy", 4);
    // 11 bits of the fraction kept: one more than FP16 has.
    let d: Vec<u64> = d.iter().map(|code| code & !0xfff).collect();
    save(&folder, "<f4", &[32, 40], 4, &d);
    let causes = causes(&folder, "--arch h100 --dtype bf16 a.npy b.npy d.npy");
    assert_eq!(kinds(&causes), [""; 0]);
}

#[test]
fn codes_of_the_other_format() {
    for (stored, read) in [("bf16", "fp16"), ("fp16", "bf16")] {
        let folder = folder("fp16", [32, 40, 96], 7);
        let product = format!("--arch h100 --dtype fp16 --d-dtype {stored} a.npy b.npy");
        replay(&folder, &product, "d16.npy");
        let d = codes(&folder, "d16.npy", 2);
        save(&folder, "<u2", &[32, 40], 2, &d);
        let check = format!("--arch h100 --dtype fp16 --d-dtype {read} a.npy b.npy d.npy");
        let cause = first(&folder, &check, "result_format");
        says(
            &cause,
            &format!("D holds {stored} codes that were read as {read}"),
        );
        assert!(cause["command"].is_string());
    }
}

#[test]
fn payloads_of_nans_and_signs_of_zeros() {
    let folder = folder("fp16", [16, 24, 32], 7);
    // Two rows of NaNs, two of zeros.
    let mut a = codes(&folder, "a.npy", 2);
    (0..64).for_each(|at| a[at] = if at == 5 || at == 37 { 0x7e01 } else { a[at] });
    (64..128).for_each(|at| a[at] = 0);
    put(&folder, "a.npy", "a.npy", 2, &a);
    let product = "--arch a100 --dtype fp16 a.npy b.npy";
    let check = format!("{product} d.npy");
    replay(&folder, product, "right.npy");
    let right = codes(&folder, "right.npy", 4);
    assert!(float(right[0]).is_nan() && right[50] == 0);
    let put = |wrong: &dyn Fn(u64) -> u64| {
        let d: Vec<u64> = right.iter().map(|&code| wrong(code)).collect();
        save(&folder, "<f4", &[16, 24], 4, &d);
    };
    put(&|code| {
        if float(code).is_nan() {
            0x7fc0_0000
        } else {
            code
        }
    });
    assert!(first(&folder, &check, "nan_payload")["command"].is_string());
    put(&|code| {
        if float(code) == 0.0 {
            0x8000_0000
        } else {
            code
        }
    });
    assert!(first(&folder, &check, "zero_sign")["command"].is_string());
    // A number where a NaN belongs is neither.
    put(&|code| {
        if float(code).is_nan() {
            0x3f80_0000
        } else {
            code
        }
    });
    let causes = causes(&folder, &check);
    assert!(!kinds(&causes).contains(&"nan_payload"), "{causes:?}");
}

#[test]
fn a_factor_of_the_sum() {
    for alpha in [0.3f32, -2.0, 0.088_388_346, 1.5e-3] {
        let folder = folder("fp16", [32, 40, 96], 9);
        let product = "--arch a100 --dtype fp16 a.npy b.npy";
        replay(&folder, product, "d.npy");
        let times = |&code: &u64| u64::from((alpha * float(code)).to_bits());
        let d: Vec<u64> = codes(&folder, "d.npy", 4).iter().map(times).collect();
        save(&folder, "<f4", &[32, 40], 4, &d);
        let cause = first(&folder, &format!("{product} d.npy"), "alpha");
        says(&cause, &format!("multiplied by {alpha} (alpha)"));
        assert!(cause["command"].is_string());
    }
}

/// C is not multiplied. By a power of two no product is rounded.
#[test]
fn a_factor_of_the_sum_but_not_of_c() {
    let folder = folder("fp16", [32, 40, 96], 9);
    let product = "--arch a100 --dtype fp16 a.npy b.npy";
    replay(&folder, product, "d.npy");
    let sums = codes(&folder, "d.npy", 4);
    let pairs = sums.iter().zip(codes(&folder, "c.npy", 4));
    let d = pairs.map(|(&sum, c)| u64::from((-2.0 * float(sum) + float(c)).to_bits()));
    save(&folder, "<f4", &[32, 40], 4, &d.collect::<Vec<_>>());
    let cause = first(&folder, &format!("{product} d.npy --c c.npy"), "alpha");
    says(&cause, "multiplied by -2 (alpha)");
    assert!(cause["command"].is_string());
}

#[test]
fn another_factor_in_every_row() {
    let folder = folder("fp16", [32, 40, 96], 9);
    let product = "--arch a100 --dtype fp16 a.npy b.npy";
    replay(&folder, product, "d.npy");
    let d = codes(&folder, "d.npy", 4);
    let times = |(at, &code): (usize, &u64)| {
        let alpha = 0.3 + 1e-4 * (at / 40) as f32;
        u64::from((alpha * float(code)).to_bits())
    };
    let d: Vec<u64> = d.iter().enumerate().map(times).collect();
    save(&folder, "<f4", &[32, 40], 4, &d);
    let cause = first(&folder, &format!("{product} d.npy"), "row_scales");
    says(&cause, "it gives all 1,280 elements, bit for bit");
}

#[test]
fn operands_rounded_to_tf32_first() {
    let folder = folder("fp32", [24, 24, 64], 9);
    let product = "--arch a100 --dtype tf32 a.npy b.npy";
    // Ties away from zero, by hand.
    for name in ["a", "b"] {
        let all = codes(&folder, &format!("{name}.npy"), 4);
        let nearest: Vec<u64> = all.iter().map(|code| (code + 0x1000) & !0x1fff).collect();
        put(
            &folder,
            &format!("{name}.npy"),
            &format!("{name}2.npy"),
            4,
            &nearest,
        );
    }
    replay(&folder, "--arch a100 --dtype tf32 a2.npy b2.npy", "d.npy");
    let cause = first(&folder, &format!("{product} d.npy"), "tf32_input");
    assert!(cause.string("command").contains("--tf32-input nearest"));
    replay(&folder, product, "d.npy");
    first(
        &folder,
        &format!("{product} d.npy --tf32-input nearest"),
        "tf32_input",
    );
}

/// The last r products are missing: by one chain, and by the slices that cuBLAS's defect has.
#[test]
fn a_dropped_remainder_of_k() {
    for (k, lost, options) in [
        (264, 8, ""),
        (1000, 104, ""),
        // floor(584 / 9) rounded up to 64 makes nine slices of 64.
        (
            584,
            8,
            "--schedule cutlass-splitk-parallel --split-k 9 --tile-k 64",
        ),
    ] {
        let folder = folder("fp16", [16, 24, k], 13);
        let left = k - lost;
        let a = codes(&folder, "a.npy", 2);
        let a: Vec<u64> = (0..16 * left)
            .map(|at| a[at / left * k + at % left])
            .collect();
        save(&folder, "<f2", &[16, left], 2, &a);
        folder.rename("d.npy", "a2.npy");
        let b = codes(&folder, "b.npy", 2);
        save(&folder, "<f2", &[left, 24], 2, &b[..left * 24]);
        folder.rename("d.npy", "b2.npy");
        replay(
            &folder,
            &format!("--arch a100 --dtype fp16 {options} a2.npy b2.npy"),
            "d.npy",
        );
        let cause = first(
            &folder,
            "--arch a100 --dtype fp16 a.npy b.npy d.npy",
            "dropped_remainder",
        );
        assert_eq!(cause["at"], json!([left]), "{cause}");
        says(&cause, &format!("last {lost} of {k} products are missing"));
        // Fewer k than slices of 64 were lost.
        let sentence = cause.string("sentence");
        assert_eq!(sentence.contains("ALGO 66"), k == 584, "{sentence}");
        assert_eq!(
            options.is_empty(),
            !cause.string("sentence").contains("9 slices")
        );
    }
}

/// A function that leaves every examined element as it is explains none of the others.
#[test]
fn what_no_examined_element_tells() {
    let folder = folder("fp16", [200, 200, 64], 13);
    for name in ["a.npy", "b.npy"] {
        let positive = codes(&folder, name, 2).into_iter();
        let positive: Vec<u64> = positive.map(|code| code & 0x7fff).collect();
        put(&folder, name, name, 2, &positive);
    }
    replay(&folder, "--arch a100 --dtype fp16 a.npy b.npy", "d.npy");
    let mut d = codes(&folder, "d.npy", 4);
    // Every third row that is examined is a multiple of 25.
    for i in 0..40 {
        d[(25 * (i % 8) + 5) * 200 + 37 * i % 200] ^= 0x0005_a5a5 + i as u64;
    }
    save(&folder, "<f4", &[200, 200], 4, &d);
    let causes = causes(&folder, "--arch a100 --dtype fp16 a.npy b.npy d.npy");
    assert_eq!(kinds(&causes), [""; 0]);
}

/// There is no K shorter than 1.
#[test]
fn one_product() {
    let folder = folder("fp16", [64, 64, 1], 13);
    replay(&folder, "--arch a100 --dtype fp16 a.npy b.npy", "d.npy");
    let mut d = codes(&folder, "d.npy", 4);
    for i in 0..60 {
        d[(i * 37 % 64) * 64 + i * 13 % 64] ^= 3 + 2 * (i as u64 % 5);
    }
    save(&folder, "<f4", &[64, 64], 4, &d);
    let run = folder.tcverify("check --arch a100 --dtype fp16 a.npy b.npy d.npy");
    let run = run.expect(1).stdout;
    run.lacks("K is too long");
}
