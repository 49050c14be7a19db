//! Causes that others met and published have a name and a source; the same cause where nobody met it has none.

use super::{caused, causes};
use crate::support::{Folder, Npy, claims, le16, table};

/// FP32 scales of blocks of which the kernel kept powers of two: of both operands, or of one.
#[test]
fn scales_that_became_powers_of_two() {
    let folder = Folder::new();
    let scale = |i: usize| 0.1 + (i * 37 % 101) as f32 / 40.0;
    let of_a: Vec<f32> = (0..64 * 4).map(scale).collect();
    folder.f32("sa.npy", &[64, 4], &of_a);
    folder.f32("sb.npy", &[4, 1], &[7, 8, 9, 10].map(scale));
    let of = "--arch h100 --dtype e4m3 --schedule deepgemm-sm90 --d-dtype bf16 generate:1:normal:64x512 \
              generate:2:normal:512x128";
    let check = format!("{of} --scale-a sa.npy --scale-b sb.npy d.npy");
    type Change = fn(u32) -> u32;
    for (how, change, source) in table! {
        ("rounded up to powers of two", (|code| (code + 0x7f_ffff) & 0xff80_0000) as Change, "transformers, issue 47030"),
        ("cut to powers of two", |code| code & 0xff80_0000, "DeepGEMM, 54e2261"),
    } {
        for (from, to) in [("sa.npy", "oa.npy"), ("sb.npy", "ob.npy")] {
            folder.with_codes32(from, to, |all| {
                all.iter_mut().for_each(|code| *code = change(*code))
            });
        }
        caused! {folder, "
            {of} --scale-a oa.npy --scale-b ob.npy => {check} | scales | ^The scales of A and B are {how} | {source}
            {of} --scale-a oa.npy --scale-b sb.npy => {check} | scales | ^The scales of A are {how} | {source}
            {of} --scale-a sa.npy --scale-b ob.npy => {check} | scales | ^The scales of B are {how} | {source}
        "}
    }
}

#[test]
fn tf32_inside_a_batch_invariant_kernel() {
    let folder = super::folder("fp32", [40, 24, 64]);
    let check = "--arch a100 --dtype fp32 a.npy b.npy d.npy";
    caused! {folder, "
        --arch a100 --dtype tf32 --tf32-input truncate a.npy b.npy => {check} | *precision
            | batch_invariant_ops, issues 23 and 24
        --arch a100 --dtype tf32 --tf32-input nearest a.npy b.npy => {check} | *precision
            | !batch_invariant_ops, issues 23 and 24
    "}
}

/// A whole tile of 128 by 128 in another one's place; a smaller one has no name.
#[test]
fn a_tile_at_another_tiles_place() {
    let folder = super::folder("fp16", [256, 384, 32]);
    folder.replay("--arch a100 --dtype fp16 a.npy b.npy", "right.npy");
    for (side, known) in [(128, ""), (64, "!")] {
        folder.with_codes32("right.npy", "d.npy", |d| {
            for row in 0..side {
                d.copy_within(row * 384..row * 384 + side, (128 + row) * 384 + 256);
            }
        });
        caused! {folder, "--arch a100 --dtype fp16 a.npy b.npy d.npy | tile_moved | {known}sglang, pull request 11368"}
    }
}

/// Zeros for FP4 on one GPU; elsewhere they are zeros, too, but nobody met them.
#[test]
fn fp4_that_was_not_computed() {
    let folder = Folder::new();
    folder.f32("d.npy", &[48, 40], &[0.0; 48 * 40]);
    let of = "--dtype e2m1 --scale-dtype ue4m3 --scale-a generate:1:normal:48x4 --scale-b generate:1:normal:4x40 \
              generate:1:wide:48x64 generate:2:wide:64x40 d.npy";
    caused! {folder, "
        --arch rtx5090 {of} | unwritten | element of D is +0 | flashinfer, issues 2577 and 3398
        --arch b200 {of} | unwritten | element of D is +0 | !flashinfer, issues 2577 and 3398
    "}
}

/// FP8 on a B200 by `mma.sync`: rows 8 to 15 add the sums of the rows above. A K of 32 ones gives 64.
#[test]
fn accumulators_that_were_overwritten() {
    let folder = Folder::new();
    let codes = |name: &str, shape: [usize; 2], codes: Vec<u8>| {
        folder.save(name, &Npy::new("|u1", &shape, codes))
    };
    codes("a.npy", [16, 32], vec![0x38; 512]);
    codes("b.npy", [32, 8], vec![0x38; 256]);
    folder.f32("d.npy", &[16, 8], &[[32.0; 64], [64.0; 64]].concat());
    let product = "--instruction mma --dtype e4m3";
    caused! {folder, "--arch b200 {product} a.npy b.npy d.npy | accumulator_overwritten | humming, issue 87"}
    // Several steps: the last one adds to what the row above ended with.
    let [m, n, k] = [40, 24, 96];
    folder.generate(&format!(
        "a e4m3 5:normal:{m}x{k} | b e4m3 5:normal:{k}x{n}"
    ));
    let (a, b) = (folder.payload("a.npy"), folder.payload("b.npy"));
    codes(
        "la.npy",
        [m, 32],
        a.chunks(k).flat_map(|row| row[64..].to_vec()).collect(),
    );
    codes("lb.npy", [32, n], b[64 * n..].to_vec());
    for (arch, known) in [("b200", ""), ("h100", "!")] {
        folder.replay(&format!("--arch {arch} {product} a.npy b.npy"), "right.npy");
        folder.with_codes32("right.npy", "c.npy", |c| {
            *c = (0..m * n).map(|at| c[at.saturating_sub(8 * n)]).collect();
        });
        folder.replay(
            &format!("--arch {arch} {product} --c c.npy la.npy lb.npy"),
            "wrong.npy",
        );
        let wrong = folder.codes32("wrong.npy");
        folder.with_codes32("right.npy", "d.npy", |d| {
            (0..m * n)
                .filter(|at| at / n % 16 >= 8)
                .for_each(|at| d[at] = wrong[at]);
        });
        caused! {folder, "--arch {arch} {product} a.npy b.npy d.npy | accumulator_overwritten | {known}humming, issue 87"}
    }
    // The right D, and one whose other half is wrong, are none of it.
    folder.with_codes32("right.npy", "d.npy", |d| {
        d[..8 * n].iter_mut().for_each(|code| *code ^= 1)
    });
    for cause in causes(&folder, &format!("--arch h100 {product} a.npy b.npy d.npy")) {
        assert_ne!(cause["kind"], "accumulator_overwritten");
    }
}

#[test]
fn a_bias_after_rounding() {
    let folder = super::folder("bf16", [48, 40, 96]);
    // Numbers that BF16 holds, in either format.
    let bias: Vec<f32> = (0..40).map(|i| i as f32 * 0.25 - 5.0).collect();
    folder.f32("bias.npy", &[40], &bias);
    let narrow: Vec<u16> = bias.iter().map(|x| (x.to_bits() >> 16) as u16).collect();
    folder.save("narrow.npy", &Npy::new("<V2", &[40], le16(&narrow)));
    // In two operations: the product in BF16, and the bias added to that.
    let product = "--arch h100 --dtype bf16 --schedule batch-invariant --d-dtype bf16 a.npy b.npy";
    claims! {folder, "
        replay {product} -q -o p.npy | 0
        replay --op bias --dtype bf16 p.npy narrow.npy -o d.npy | 0
    "}
    caused! {folder, "{product} d.npy --bias bias.npy | bias_after_rounding | linear layers of vLLM and SGLang"}
}

/// Zeros with the signs of the sums are one cause, and no factor or function that makes zeros; a D with another number is not.
#[test]
fn zeros_of_both_signs() {
    let folder = super::folder("fp16", [24, 16, 32]);
    let check = "--arch a100 --dtype fp16 a.npy b.npy d.npy";
    folder.replay("--arch a100 --dtype fp16 a.npy b.npy", "d.npy");
    folder.with_codes32("d.npy", "d.npy", |d| {
        d.iter_mut().for_each(|code| *code &= 0x8000_0000)
    });
    caused! {folder, "{check} | constant | is a zero, +0 or -0"}
    folder.with_codes32("d.npy", "d.npy", |d| d[77] = 0x3f80_0000);
    claims! {folder, "check {check} | 1 | !every element of D is a zero"}
}
