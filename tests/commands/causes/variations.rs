//! The requested product with something done otherwise: a setting left out, operands in fewer bits or in another
//! layout, other scales, another conversion.

use super::{caused, causes, folder, names};
use crate::support::{Folder, Members, claims, rows, table};

/// What the request names was left out, and the command without it finds D identical.
#[test]
fn settings_left_out() {
    let folder = folder("bf16", [48, 40, 96]);
    let bias: Vec<f32> = (0..40).map(|i| i as f32 * 0.37 - 5.0).collect();
    folder.f32("bias.npy", &[40], &bias);
    for d_dtype in ["bf16", "fp32"] {
        let base = format!(
            "--arch h100 --dtype bf16 --schedule batch-invariant --d-dtype {d_dtype} a.npy b.npy"
        );
        caused! {folder, "
            {base} => {base} d.npy --bias bias.npy | *setting_ignored | ^The bias was left out
            {base} d.npy --alpha 0.3 | *setting_ignored | ^The sum was not multiplied by alpha (0.3)
            {base} d.npy --activation relu | *setting_ignored | ^ReLU was not applied
        "}
        // With the bias, nothing was left out.
        claims! {folder, "replay {base} --bias bias.npy -q -o d.npy | 0
        check {base} --bias bias.npy d.npy | 0"}
    }
}

/// FP32 operands that a tensor core took as TF32, rounded to nearest or not, are told without being asked for.
#[test]
fn tf32_for_fp32() {
    let folder = folder("fp32", [40, 24, 64]);
    for [input, said] in rows! {"
        nearest | rounded to nearest
        truncate | low bits ignored
    "}
    {
        caused! {folder, "--arch a100 --dtype tf32 --tf32-input {input} a.npy b.npy
        => --arch a100 --dtype fp32 a.npy b.npy d.npy | *precision | {said} | allow_tf32"}
        let fits = folder.json("identify a.npy b.npy d.npy --json -")["fits"].clone();
        let nearest = fits[0]["nearest"].as_bool().unwrap_or(false);
        assert_eq!(nearest, input == "nearest", "{fits}");
    }
    // And the reverse: all bits where TF32 was asked for.
    caused! {folder, "--arch ieee-fma --dtype fp32 a.npy b.npy => --arch a100 --dtype tf32 a.npy b.npy d.npy | *precision
    | with all their bits"}
}

/// Other layouts of operands, k in another order, and D stored by columns.
#[test]
fn operands_read_otherwise() {
    let [m, n, k] = [48, 32, 64];
    let folder = folder("fp16", [m, n, k]);
    let plain = "--arch a100 --dtype fp16";
    let (a, b) = (folder.codes16("a.npy"), folder.codes16("b.npy"));
    type From = fn(usize, usize) -> usize;
    for (kind, said, from) in table! {
        ("permuted_k", "^Neighbouring k are exchanged in A or in B", (|i, at| i * 64 + (at ^ 1)) as From),
        ("permuted_k", "16x16 block of A is transposed", |i, at| (i / 16 * 16 + at % 16) * 64 + at / 16 * 16 + i % 16),
        ("operand_layout", "read column by column", |i, at| at * 48 + i),
        ("operand_layout", "rows 80 elements apart, not 64", |i, at| i * 80 + at),
        ("stale_tile", "^K 32 to 47 of A are those of k 16 to 31", |i, at| i * 64 + if (32..48).contains(&at) { at - 16 } else { at }),
    } {
        let other: Vec<u16> = (0..m * k)
            .map(|i| a[from(i / k, i % k) % (m * k)])
            .collect();
        folder.f16_codes("other.npy", &[m, k], &other);
        caused! {folder, "{plain} other.npy b.npy => {plain} a.npy b.npy d.npy | {kind} | {said}"}
    }
    let columns: Vec<u16> = (0..k * n).map(|i| b[i % n * k + i / n]).collect();
    folder.f16_codes("other.npy", &[k, n], &columns);
    caused! {folder, "{plain} a.npy other.npy => {plain} a.npy b.npy d.npy | operand_layout
    | ^B's memory (64x32, row by row) was read column by column"}
    folder.replay(&format!("{plain} a.npy b.npy"), "d.npy");
    folder.with_codes32("d.npy", "d.npy", |d| {
        *d = (0..m * n).map(|i| d[i % m * n + i / m]).collect();
    });
    caused! {folder, "{plain} a.npy b.npy d.npy | operand_layout | ^D's file holds the result column by column"}
}

/// Scales of a kernel's blocks: left out, cut, those of the first block.
#[test]
fn scales_taken_otherwise() {
    let folder = Folder::new();
    folder.generate("a e4m3 1:normal:64x512 | b e4m3 2:normal:512x128");
    let scale = |i: usize| 0.1 + (i * 37 % 101) as f32 / 40.0;
    let of_a: Vec<f32> = (0..64 * 4).map(scale).collect();
    folder.f32("sa.npy", &[64, 4], &of_a);
    folder.f32("sb.npy", &[4, 1], &[7, 8, 9, 10].map(scale));
    let of = "--arch h100 --dtype e4m3 --schedule deepgemm-sm90 --scale-b sb.npy --d-dtype bf16 a.npy b.npy";
    type Other = fn(&[f32], usize) -> f32;
    for (said, other) in table! {
        ("The scales of A were left out", (|_, _| 1.0) as Other),
        ("The scales of A are cut to powers of two", |all, i| f32::from_bits(all[i].to_bits() & 0xff80_0000)),
        ("Every block of 128 k uses the scale of A's first block", |all, i| all[i / 4 * 4]),
        ("Every row of A uses the scales of the first one", |all, i| all[i % 4]),
        ("A was divided by its scales", |all, i| 1.0 / all[i]),
    } {
        let other: Vec<f32> = (0..256).map(|i| other(&of_a, i)).collect();
        folder.f32("other.npy", &[64, 4], &other);
        caused! {folder, "{of} --scale-a other.npy => {of} --scale-a sa.npy d.npy | scales | ^{said}"}
    }
}

/// FP8 results that are not saturated are a policy of conversions, and no flipped bit.
#[test]
fn conversions_that_do_not_saturate() {
    let folder = folder("fp16", [32, 24, 64]);
    let product = "--arch a100 --dtype fp16 --schedule cutlass-sm80 --alpha 4000 a.npy b.npy";
    folder.replay(&format!("{product} --d-dtype e4m3"), "d.npy");
    folder.replay(product, "wide.npy");
    let wide = folder.codes32("wide.npy");
    folder.with_payload("d.npy", "d.npy", |d| {
        let all = d
            .iter_mut()
            .zip(wide)
            .filter(|(_, wide)| f32::from_bits(*wide).abs() > 464.0);
        assert!(all.map(|(code, _)| *code |= 1).count() > 8);
    });
    caused! {folder, "{product} --d-dtype e4m3 d.npy | conversion | become NaN instead of saturating"}
}

/// ReLU and a second fault: both are told, each with what it explains.
#[test]
fn two_things_at_once() {
    let n = 48;
    let folder = folder("bf16", [64, n, 64]);
    let check = "--arch a100 --dtype bf16 a.npy b.npy d.npy";
    folder.replay("--arch a100 --dtype bf16 a.npy b.npy", "good.npy");
    let relu = |d: &mut Vec<u32>| d.iter_mut().filter(|x| **x >> 31 == 1).for_each(|x| *x = 0);
    folder.with_codes32("good.npy", "d.npy", |d| {
        relu(d);
        // A row that was written to the next one.
        d.copy_within(5 * n..6 * n, 6 * n);
    });
    let found = causes(&folder, check);
    let kinds: Vec<&str> = found.iter().map(|cause| cause.string("kind")).collect();
    assert_eq!(kinds, ["relu", "row_moved"], "{found:#?}");
    let explained: u64 = found.iter().map(|cause| cause.number("mismatches")).sum();
    let report = folder.differing(&format!("check {check} --json -"));
    let all = report["mismatch_count"].as_u64().unwrap_or(explained);
    assert_eq!(all, explained);
    // Without the second, ReLU alone is a command.
    folder.with_codes32("good.npy", "d.npy", relu);
    names(&folder, check, "relu", true);
}

/// Factors of any value and a bias a column, with an FP32 D.
#[test]
fn numbers_of_an_epilogue() {
    let folder = folder("bf16", [64, 48, 96]);
    let base = "--arch a100 --dtype bf16 a.npy b.npy";
    for beta in ["0.7", "3", "1.5"] {
        caused! {folder, "{base} --schedule cutlass-sm80 --beta {beta} --c c.npy
        => {base} d.npy --schedule cutlass-sm80 --c c.npy | *alpha_beta | C by {beta} (beta)"}
    }
    let bias: Vec<f32> = (0..48)
        .map(|i| (i * 29 % 31) as f32 * 0.173 - 2.1)
        .collect();
    folder.f32("bias.npy", &[48], &bias);
    caused! {folder, "{base} --schedule batch-invariant --bias bias.npy => {base} d.npy | bias | one number per column"}
}
