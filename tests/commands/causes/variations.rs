//! The requested product with something done otherwise: a setting left out, operands in fewer bits or in another
//! layout, other scales, another conversion.

use super::{causes, floats_of, folder, names, save};
use crate::support::{Folder, Members, Npy, Says};

/// D as this replay gives it.
fn replay(folder: &Folder, product: &str, d: &str) {
    folder.passes(&format!("replay {product} -q -o {d}"));
}

/// The payload of an array of two-byte codes.
fn codes16(folder: &Folder, name: &str) -> Vec<u16> {
    let bytes = folder.read(name);
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let words = bytes[start..].chunks_exact(2);
    words.map(|w| u16::from_le_bytes([w[0], w[1]])).collect()
}

fn save16(folder: &Folder, name: &str, [m, n]: [usize; 2], codes: &[u16]) {
    folder.save(name, &Npy::new("<f2", &[m, n], crate::support::le16(codes)));
}

/// What the request names was left out, and the command without it finds D identical.
#[test]
fn settings_left_out() {
    let folder = folder("bf16", [48, 40, 96]);
    let bias: Vec<u32> = (0..40).map(|i| (i as f32 * 0.37 - 5.0).to_bits()).collect();
    folder.save(
        "bias.npy",
        &Npy::new("<f4", &[40], crate::support::le32(&bias)),
    );
    let base = "--arch h100 --dtype bf16 --schedule batch-invariant";
    for d_dtype in ["bf16", "fp32"] {
        replay(
            &folder,
            &format!("{base} --d-dtype {d_dtype} a.npy b.npy"),
            "d.npy",
        );
        for (given, said) in [
            ("--bias bias.npy", "The bias was left out"),
            ("--alpha 0.3", "The sum was not multiplied by alpha (0.3)"),
            ("--activation relu", "ReLU was not applied"),
        ] {
            let check = format!("{base} {given} --d-dtype {d_dtype} a.npy b.npy d.npy");
            let sentence = names(&folder, &check, "setting_ignored", true);
            assert!(sentence.starts_with(said), "{sentence}");
        }
    }
    // With the bias, nothing was left out.
    let given = format!("{base} --bias bias.npy --d-dtype fp32 a.npy b.npy");
    replay(&folder, &given, "d.npy");
    folder.passes(&format!("check {given} d.npy"));
}

/// FP32 operands that a tensor core took as TF32, rounded to nearest or not, are told without being asked for.
#[test]
fn tf32_for_fp32() {
    let folder = folder("fp32", [40, 24, 64]);
    for (input, said) in [
        ("nearest", "rounded to nearest"),
        ("truncate", "low bits ignored"),
    ] {
        let product = format!("--arch a100 --dtype tf32 --tf32-input {input} a.npy b.npy");
        replay(&folder, &product, "d.npy");
        let check = "--arch a100 --dtype fp32 a.npy b.npy d.npy";
        let sentence = names(&folder, check, "precision", true);
        sentence.says(said);
        sentence.says("allow_tf32");
        let found = folder.passes("identify a.npy b.npy d.npy --json -");
        let fits = found.json()["fits"].clone();
        let nearest = fits[0]["nearest"].as_bool().unwrap_or(false);
        assert_eq!(nearest, input == "nearest", "{fits}");
    }
    // And the reverse: all bits where TF32 was asked for.
    replay(&folder, "--arch ieee-fma --dtype fp32 a.npy b.npy", "d.npy");
    let check = "--arch a100 --dtype tf32 a.npy b.npy d.npy";
    let sentence = names(&folder, check, "precision", true);
    sentence.says("with all their bits");
}

/// Other layouts of operands, k in another order, and D stored by columns.
#[test]
fn operands_read_otherwise() {
    let [m, n, k] = [48, 32, 64];
    let folder = folder("fp16", [m, n, k]);
    let a = codes16(&folder, "a.npy");
    let b = codes16(&folder, "b.npy");
    let check = "--arch a100 --dtype fp16 a.npy b.npy d.npy";
    let of = |from: &dyn Fn(usize, usize) -> usize| -> Vec<u16> {
        (0..m * k)
            .map(|i| a[from(i / k, i % k) % (m * k)])
            .collect()
    };
    for (kind, said, other) in [
        (
            "permuted_k",
            "neighbouring k are exchanged in A or in B",
            of(&|i, at| i * k + (at ^ 1)),
        ),
        (
            "permuted_k",
            "16x16 block of A is transposed",
            of(&|i, at| (i / 16 * 16 + at % 16) * k + at / 16 * 16 + i % 16),
        ),
        (
            "operand_layout",
            "read column by column",
            of(&|i, at| at * m + i),
        ),
        (
            "operand_layout",
            "rows 80 elements apart, not 64",
            of(&|i, at| i * 80 + at),
        ),
        (
            "stale_tile",
            "k 32 to 47 of A are those of k 16 to 31",
            of(&|i, at| i * k + if (32..48).contains(&at) { at - 16 } else { at }),
        ),
    ] {
        save16(&folder, "other.npy", [m, k], &other);
        replay(&folder, "--arch a100 --dtype fp16 other.npy b.npy", "d.npy");
        let sentence = names(&folder, check, kind, false);
        assert!(
            sentence.to_lowercase().contains(&said.to_lowercase()),
            "{sentence}"
        );
    }
    let columns: Vec<u16> = (0..k * n).map(|i| b[i % n * k + i / n]).collect();
    save16(&folder, "other.npy", [k, n], &columns);
    replay(&folder, "--arch a100 --dtype fp16 a.npy other.npy", "d.npy");
    let sentence = names(&folder, check, "operand_layout", false);
    sentence.begins("B's memory (64x32, row by row) was read column by column");
    replay(&folder, "--arch a100 --dtype fp16 a.npy b.npy", "good.npy");
    let good = floats_of(&folder, "good.npy");
    let across: Vec<u32> = (0..m * n).map(|i| good[i % m * n + i / m]).collect();
    save(&folder, "d.npy", [m, n], &across);
    let sentence = names(&folder, check, "operand_layout", false);
    sentence.begins("D's file holds the result column by column");
}

/// Scales of a kernel's blocks: left out, cut, those of the first block.
#[test]
fn scales_taken_otherwise() {
    let folder = Folder::new();
    for (name, seed, shape) in [("a", 1, "64x512"), ("b", 2, "512x128")] {
        let spec = format!("generate:{seed}:normal:{shape}");
        let command = format!("generate {spec} --dtype e4m3 --role {name} -q -o {name}.npy");
        folder.passes(&command);
    }
    let scale = |i: usize| 0.1 + (i * 37 % 101) as f32 / 40.0;
    let of_a: Vec<u32> = (0..64 * 4).map(|i| scale(i).to_bits()).collect();
    let of_b: Vec<u32> = (0..4).map(|i| scale(i + 7).to_bits()).collect();
    save(&folder, "sa.npy", [64, 4], &of_a);
    save(&folder, "sb.npy", [4, 1], &of_b);
    let with = |name: &str| {
        format!(
            "--arch h100 --dtype e4m3 --schedule deepgemm-sm90 --scale-a {name} --scale-b sb.npy --d-dtype bf16 a.npy \
             b.npy"
        )
    };
    let one = 1.0f32.to_bits();
    for (said, other) in [
        ("The scales of A were left out", vec![one; 256]),
        (
            "The scales of A are cut to powers of two",
            of_a.iter().map(|x| x & 0xff80_0000).collect(),
        ),
        (
            "Every block of 128 k uses the scale of A's first block",
            (0..256).map(|i| of_a[i / 4 * 4]).collect(),
        ),
        (
            "Every row of A uses the scales of the first one",
            (0..256).map(|i| of_a[i % 4]).collect(),
        ),
        (
            "A was divided by its scales",
            of_a.iter()
                .map(|x| (1.0 / f32::from_bits(*x)).to_bits())
                .collect(),
        ),
    ] {
        save(&folder, "other.npy", [64, 4], &other);
        replay(&folder, &with("other.npy"), "d.npy");
        let sentence = names(
            &folder,
            &format!("{} d.npy", with("sa.npy")),
            "scales",
            false,
        );
        assert!(sentence.starts_with(said), "{sentence}");
    }
}

/// FP8 results that are not saturated are a policy of conversions, and no flipped bit.
#[test]
fn conversions_that_do_not_saturate() {
    let folder = folder("fp16", [32, 24, 64]);
    let product = "--arch a100 --dtype fp16 --schedule cutlass-sm80 --alpha 4000";
    replay(
        &folder,
        &format!("{product} --d-dtype e4m3 a.npy b.npy"),
        "d.npy",
    );
    replay(&folder, &format!("{product} a.npy b.npy"), "wide.npy");
    let wide = floats_of(&folder, "wide.npy");
    let mut d = folder.read("d.npy");
    let start = d.len() - wide.len();
    let mut beyond = 0;
    for (code, wide) in d[start..].iter_mut().zip(wide) {
        if f32::from_bits(wide).abs() > 464.0 {
            *code |= 1;
            beyond += 1;
        }
    }
    assert!(beyond > 8);
    folder.write("d.npy", d);
    let check = format!("{product} --d-dtype e4m3 a.npy b.npy d.npy");
    let sentence = names(&folder, &check, "conversion", false);
    sentence.says("become NaN instead of saturating");
}

/// ReLU and a second fault: both are told, each with what it explains.
#[test]
fn two_things_at_once() {
    let [m, n] = [64, 48];
    let folder = folder("bf16", [m, n, 64]);
    replay(&folder, "--arch a100 --dtype bf16 a.npy b.npy", "good.npy");
    let mut d: Vec<u32> = floats_of(&folder, "good.npy")
        .into_iter()
        .map(|x| if x >> 31 == 1 { 0 } else { x })
        .collect();
    // A row that was written to the next one.
    let row = d[5 * n..6 * n].to_vec();
    d[6 * n..7 * n].copy_from_slice(&row);
    save(&folder, "d.npy", [m, n], &d);
    let found = causes(&folder, "--arch a100 --dtype bf16 a.npy b.npy d.npy");
    let kinds: Vec<&str> = found.iter().map(|cause| cause.string("kind")).collect();
    assert_eq!(kinds, ["relu", "row_moved"], "{found:#?}");
    let explained: u64 = found.iter().map(|cause| cause.number("mismatches")).sum();
    let run = folder.differs("check --arch a100 --dtype bf16 a.npy b.npy d.npy --json -");
    assert_eq!(
        run.json()["mismatch_count"].as_u64().unwrap_or(explained),
        explained
    );
    // Without the second, ReLU alone is a command.
    d[6 * n..7 * n].copy_from_slice(&{
        let good = floats_of(&folder, "good.npy");
        good[6 * n..7 * n]
            .iter()
            .map(|x| if x >> 31 == 1 { 0 } else { *x })
            .collect::<Vec<_>>()
    });
    save(&folder, "d.npy", [m, n], &d);
    names(
        &folder,
        "--arch a100 --dtype bf16 a.npy b.npy d.npy",
        "relu",
        true,
    );
}

/// Factors of any value and a bias a column, with an FP32 D.
#[test]
fn numbers_of_an_epilogue() {
    let folder = folder("bf16", [64, 48, 96]);
    let base = "--arch a100 --dtype bf16";
    for beta in ["0.7", "3", "1.5"] {
        let product = format!("{base} --schedule cutlass-sm80 --beta {beta} --c c.npy a.npy b.npy");
        replay(&folder, &product, "d.npy");
        let check = format!("{base} --schedule cutlass-sm80 --c c.npy a.npy b.npy d.npy");
        let sentence = names(&folder, &check, "alpha_beta", true);
        sentence.says(&format!("C by {beta} (beta)"));
    }
    let bias: Vec<u32> = (0..48)
        .map(|i| ((i * 29 % 31) as f32 * 0.173 - 2.1).to_bits())
        .collect();
    folder.save(
        "bias.npy",
        &Npy::new("<f4", &[48], crate::support::le32(&bias)),
    );
    replay(
        &folder,
        &format!("{base} --schedule batch-invariant --bias bias.npy a.npy b.npy"),
        "d.npy",
    );
    let sentence = names(&folder, &format!("{base} a.npy b.npy d.npy"), "bias", false);
    sentence.says("one number per column");
}
