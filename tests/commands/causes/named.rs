//! Causes that others met and published have a name and a source; the same cause where nobody met it has none.

use super::{causes, floats_of, names, save};
use crate::support::{Folder, Npy, Says};

fn replay(folder: &Folder, product: &str, d: &str) {
    let words = format!("replay {product} -q -o {d}");
    folder.passes(&words);
}

/// FP32 scales of blocks of which the kernel kept powers of two: of both operands, or of one.
#[test]
fn scales_that_became_powers_of_two() {
    let folder = Folder::new();
    let scale = |i: usize| (0.1 + (i * 37 % 101) as f32 / 40.0).to_bits();
    let of_a: Vec<u32> = (0..64 * 4).map(scale).collect();
    let of_b: Vec<u32> = (0..4).map(|i| scale(i + 7)).collect();
    let cut = |code: u32| code & 0xff80_0000;
    let up = |code: u32| match code & 0x7f_ffff {
        0 => code,
        _ => cut(code) + 0x80_0000,
    };
    save(&folder, "sa.npy", [64, 4], &of_a);
    save(&folder, "sb.npy", [4, 1], &of_b);
    let with = |a: &str, b: &str| {
        format!(
            "--arch h100 --dtype e4m3 --schedule deepgemm-sm90 --scale-a {a} --scale-b {b} --d-dtype bf16 \
             generate:1:normal:64x512 generate:2:normal:512x128"
        )
    };
    let check = format!("{} d.npy", with("sa.npy", "sb.npy"));
    for (how, change, source) in [
        (
            "rounded up to powers of two",
            &up as &dyn Fn(u32) -> u32,
            "transformers, issue 47030",
        ),
        ("cut to powers of two", &cut, "DeepGEMM, 54e2261"),
    ] {
        let changed = |codes: &[u32]| codes.iter().map(|&code| change(code)).collect::<Vec<_>>();
        save(&folder, "oa.npy", [64, 4], &changed(&of_a));
        save(&folder, "ob.npy", [4, 1], &changed(&of_b));
        for (a, b, whose) in [
            ("oa.npy", "ob.npy", "A and B"),
            ("oa.npy", "sb.npy", "A"),
            ("sa.npy", "ob.npy", "B"),
        ] {
            replay(&folder, &with(a, b), "d.npy");
            let sentence = names(&folder, &check, "scales", false);
            let said = format!("The scales of {whose} are {how}");
            assert!(sentence.starts_with(&said), "{sentence}");
            assert!(sentence.contains(source), "{sentence}");
        }
    }
}

#[test]
fn tf32_inside_a_batch_invariant_kernel() {
    let folder = super::folder("fp32", [40, 24, 64]);
    for (input, known) in [("truncate", true), ("nearest", false)] {
        let product = format!("--arch a100 --dtype tf32 --tf32-input {input} a.npy b.npy");
        replay(&folder, &product, "d.npy");
        let check = "--arch a100 --dtype fp32 a.npy b.npy d.npy";
        let sentence = names(&folder, check, "precision", true);
        let source = "batch_invariant_ops, issues 23 and 24";
        assert_eq!(sentence.contains(source), known, "{sentence}");
    }
}

/// A whole tile of 128 by 128 in another one's place; a smaller one has no name.
#[test]
fn a_tile_at_another_tiles_place() {
    let folder = super::folder("fp16", [256, 384, 32]);
    replay(&folder, "--arch a100 --dtype fp16 a.npy b.npy", "d.npy");
    let d = floats_of(&folder, "d.npy");
    let check = "--arch a100 --dtype fp16 a.npy b.npy d.npy";
    for (side, known) in [(128, true), (64, false)] {
        let mut wrong = d.clone();
        for row in 0..side {
            for column in 0..side {
                wrong[(128 + row) * 384 + 256 + column] = d[row * 384 + column];
            }
        }
        save(&folder, "d.npy", [256, 384], &wrong);
        let sentence = names(&folder, check, "tile_moved", false);
        let source = "sglang, pull request 11368";
        assert_eq!(sentence.contains(source), known, "{sentence}");
    }
}

/// Zeros for FP4 on one GPU; elsewhere they are zeros, too, but nobody met them.
#[test]
fn fp4_that_was_not_computed() {
    let folder = Folder::new();
    save(&folder, "d.npy", [48, 40], &[0; 48 * 40]);
    for (arch, known) in [("rtx5090", true), ("b200", false)] {
        let check = format!(
            "--arch {arch} --dtype e2m1 --scale-dtype ue4m3 --scale-a generate:1:normal:48x4 --scale-b \
             generate:1:normal:4x40 generate:1:wide:48x64 generate:2:wide:64x40 d.npy"
        );
        let sentence = names(&folder, &check, "unwritten", false);
        assert!(
            sentence.contains("every element of D is +0")
                || sentence.contains("Every element of D is +0")
        );
        let source = "flashinfer, issues 2577 and 3398";
        assert_eq!(sentence.contains(source), known, "{sentence}");
    }
}

/// FP8 on a B200 by `mma.sync`: rows 8 to 15 add the sums of the rows above. A K of 32 ones gives 64.
#[test]
fn accumulators_that_were_overwritten() {
    let folder = Folder::new();
    let ones = |name: &str, shape: [usize; 2]| {
        let codes = vec![0x38; shape[0] * shape[1]];
        folder.save(name, &Npy::new("|u1", &shape, codes));
    };
    ones("a.npy", [16, 32]);
    ones("b.npy", [32, 8]);
    let number = |at: usize| if at / 8 < 8 { 32.0f32 } else { 64.0 };
    let d: Vec<u32> = (0..128).map(|at| number(at).to_bits()).collect();
    save(&folder, "d.npy", [16, 8], &d);
    let source = "humming, issue 87";
    let check = "--arch b200 --instruction mma --dtype e4m3 a.npy b.npy d.npy";
    let sentence = names(&folder, check, "accumulator_overwritten", false);
    assert!(sentence.contains(source), "{sentence}");
    // Several steps: the last one adds to what the row above ended with.
    let [m, n, k] = [40, 24, 96];
    for (name, role, shape) in [("a.npy", "a", [m, k]), ("b.npy", "b", [k, n])] {
        let [rows, columns] = shape;
        let words = format!(
            "generate generate:5:normal:{rows}x{columns} --dtype e4m3 --role {role} -q -o {name}"
        );
        folder.passes(&words);
    }
    let bytes = |name: &str, length: usize| {
        let bytes = folder.read(name);
        bytes[bytes.len() - length..].to_vec()
    };
    let (a, b) = (bytes("a.npy", m * k), bytes("b.npy", k * n));
    let last = a.chunks(k).flat_map(|row| row[64..].to_vec()).collect();
    folder.save("la.npy", &Npy::new("|u1", &[m, 32], last));
    folder.save("lb.npy", &Npy::new("|u1", &[32, n], b[64 * n..].to_vec()));
    let product = "--instruction mma --dtype e4m3";
    for (arch, known) in [("b200", true), ("h100", false)] {
        replay(
            &folder,
            &format!("--arch {arch} {product} a.npy b.npy"),
            "d.npy",
        );
        let right = floats_of(&folder, "d.npy");
        let above = |at: usize| right[at.saturating_sub(8 * n)];
        let c: Vec<u32> = (0..m * n).map(above).collect();
        save(&folder, "c.npy", [m, n], &c);
        let words = format!("--arch {arch} {product} --c c.npy la.npy lb.npy");
        replay(&folder, &words, "wrong.npy");
        let wrong = floats_of(&folder, "wrong.npy");
        let of = |at: usize| {
            if at / n % 16 < 8 {
                right[at]
            } else {
                wrong[at]
            }
        };
        let d: Vec<u32> = (0..m * n).map(of).collect();
        save(&folder, "d.npy", [m, n], &d);
        let check = format!("--arch {arch} {product} a.npy b.npy d.npy");
        let sentence = names(&folder, &check, "accumulator_overwritten", false);
        assert_eq!(sentence.contains(source), known, "{sentence}");
    }
    // The right D, and one whose other half is wrong, are none of it.
    let words = format!("--arch h100 {product} a.npy b.npy");
    replay(&folder, &words, "d.npy");
    let mut d = floats_of(&folder, "d.npy");
    for code in d.iter_mut().take(8 * n) {
        *code ^= 1;
    }
    save(&folder, "d.npy", [m, n], &d);
    for cause in causes(&folder, &format!("{words} d.npy")) {
        assert_ne!(cause["kind"], "accumulator_overwritten");
    }
}

#[test]
fn a_bias_after_rounding() {
    let folder = super::folder("bf16", [48, 40, 96]);
    // Numbers that BF16 holds, in either format.
    let bias: Vec<u32> = (0..40).map(|i| (i as f32 * 0.25 - 5.0).to_bits()).collect();
    let narrow: Vec<u16> = bias.iter().map(|code| (code >> 16) as u16).collect();
    let of = |descr: &str, data: Vec<u8>| Npy::new(descr, &[40], data);
    folder.save("bias.npy", &of("<f4", crate::support::le32(&bias)));
    folder.save("narrow.npy", &of("<V2", crate::support::le16(&narrow)));
    // In two operations: the product in BF16, and the bias added to that.
    let product = "--arch h100 --dtype bf16 --schedule batch-invariant --d-dtype bf16";
    replay(&folder, &format!("{product} a.npy b.npy"), "p.npy");
    let words = "replay --op bias --dtype bf16 p.npy narrow.npy -o d.npy";
    folder.passes(words);
    let check = format!("{product} --bias bias.npy a.npy b.npy d.npy");
    let sentence = names(&folder, &check, "bias_after_rounding", false);
    sentence.says("linear layers of vLLM and SGLang");
}

/// Zeros with the signs of the sums are one cause, and no factor or function that makes zeros; a D with another number is not.
#[test]
fn zeros_of_both_signs() {
    let folder = super::folder("fp16", [24, 16, 32]);
    replay(&folder, "--arch a100 --dtype fp16 a.npy b.npy", "d.npy");
    let mut zeros = floats_of(&folder, "d.npy");
    zeros.iter_mut().for_each(|code| *code &= 0x8000_0000);
    let check = "--arch a100 --dtype fp16 a.npy b.npy d.npy";
    save(&folder, "d.npy", [24, 16], &zeros);
    let sentence = names(&folder, check, "constant", false);
    assert!(
        sentence.to_lowercase().contains("is a zero, +0 or -0"),
        "{sentence}"
    );
    zeros[77] = 0x3f80_0000;
    save(&folder, "d.npy", [24, 16], &zeros);
    let text = folder.differs(&format!("check {check}")).stdout;
    text.lacks("every element of D is a zero");
}
