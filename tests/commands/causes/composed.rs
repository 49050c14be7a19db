//! Causes of two things at once, and causes under what a request names; each command is run and finds D identical.

use super::{causes, floats_of, folder, names, save};
use crate::support::{Folder, Members, Npy, Says, le16, le32};

const SHAPE: [usize; 3] = [64, 48, 256];

fn replay(folder: &Folder, product: &str, d: &str) -> Vec<u32> {
    folder.passes(&format!("replay {product} -q -o {d}"));
    floats_of(folder, d)
}

fn bias(folder: &Folder) -> Vec<f32> {
    let bias: Vec<f32> = (0..SHAPE[1]).map(|j| j as f32 * 0.37 - 9.1).collect();
    let codes: Vec<u32> = bias.iter().map(|x| x.to_bits()).collect();
    folder.save("bias.npy", &Npy::new("<f4", &[SHAPE[1]], le32(&codes)));
    bias
}

/// D with a number added to every column.
fn with_bias(d: &[u32], bias: &[f32]) -> Vec<u32> {
    let each = d.iter().enumerate();
    each.map(|(at, &x)| (f32::from_bits(x) + bias[at % bias.len()]).to_bits())
        .collect()
}

/// Whoever names a bias or a function gets the same answers as who names nothing.
#[test]
fn causes_hold_under_what_the_request_names() {
    let folder = folder("fp16", SHAPE);
    bias(&folder);
    for given in ["--bias bias.npy", "--schedule plain --activation relu"] {
        let check = format!("--arch a100 --dtype fp16 {given} a.npy b.npy");
        for (made, kind) in [
            (format!("--arch volta --dtype fp16 {given} a.npy b.npy"), "other_model"),
            (
                format!("--arch a100 --dtype fp16 {given} --schedule cutlass-splitk-parallel --split-k 4 a.npy b.npy")
                    .replace("--schedule plain ", ""),
                "other_schedule",
            ),
        ] {
            replay(&folder, &made, "d.npy");
            names(&folder, &format!("{check} d.npy"), kind, true);
        }
        // The request itself has no cause to be named.
        replay(&folder, &check, "d.npy");
        folder.passes(&format!("check {check} d.npy"));
    }
}

/// A bias that is used otherwise is told as that, not as numbers.
#[test]
fn a_bias_used_otherwise() {
    let folder = folder("fp16", SHAPE);
    let own = bias(&folder);
    let check = "--arch a100 --dtype fp16 --bias bias.npy a.npy b.npy d.npy";
    for (said, other) in [
        (
            "The bias is subtracted",
            own.iter().map(|x| -x).collect::<Vec<f32>>(),
        ),
        ("adds the bias of the first one", vec![own[0]; own.len()]),
    ] {
        let codes: Vec<u32> = other.iter().map(|x| x.to_bits()).collect();
        folder.save("other.npy", &Npy::new("<f4", &[own.len()], le32(&codes)));
        replay(
            &folder,
            "--arch a100 --dtype fp16 --bias other.npy a.npy b.npy",
            "d.npy",
        );
        let sentence = names(&folder, check, "setting_otherwise", false);
        assert!(sentence.contains(said), "{sentence}");
    }
}

/// Another product, then a bias, a factor or a ReLU that nobody named.
#[test]
fn another_product_and_an_epilogue() {
    let fp32 = folder("fp32", SHAPE);
    let own = bias(&fp32);
    let d = replay(&fp32, "--arch a100 --dtype tf32 a.npy b.npy", "d.npy");
    save(&fp32, "d.npy", [SHAPE[0], SHAPE[1]], &with_bias(&d, &own));
    let sentence = names(
        &fp32,
        "--arch a100 --dtype fp32 a.npy b.npy d.npy",
        "bias",
        false,
    );
    sentence.says("TF32");
    sentence.says("column 1: -8.73");

    let folder = folder("fp16", SHAPE);
    let check = "--arch a100 --dtype fp16 a.npy b.npy d.npy";
    let relu = "--schedule plain --activation relu a.npy b.npy";
    replay(
        &folder,
        &format!("--arch volta --dtype fp16 {relu}"),
        "d.npy",
    );
    let sentence = names(&folder, check, "other_model", true);
    sentence.begins("ReLU is applied to another product");
    // A ReLU alone is no other product.
    replay(
        &folder,
        &format!("--arch a100 --dtype fp16 {relu}"),
        "d.npy",
    );
    names(&folder, check, "relu", true);
}

/// FP8 sums with fast accumulation where the request has none, and the reverse.
#[test]
fn fast_accumulation() {
    let folder = folder("e4m3", [64, 48, 512]);
    for name in ["sa.npy", "sb.npy"] {
        folder.save(name, &Npy::new("<f4", &[1, 1], le32(&[0.5f32.to_bits()])));
    }
    let product = "--arch h100 --dtype e4m3 --schedule cublas-nvjet-fp8 --scale-a sa.npy --scale-b sb.npy a.npy b.npy";
    for [made, asked] in [["--set promote=never", ""], ["", "--set promote=never"]] {
        replay(&folder, &format!("{product} {made}"), "d.npy");
        let check = format!("{product} d.npy {asked}");
        let sentence = names(&folder, &check, "other_schedule", true);
        sentence.says("use_fast_accum");
    }
}

/// One number of A, blocks of rows, and C from other places, in words a person uses.
#[test]
fn places_in_words() {
    let [m, n, k] = SHAPE;
    let folder = folder("fp16", SHAPE);
    let check = "--arch a100 --dtype fp16 a.npy b.npy d.npy";
    let bytes = folder.read("a.npy");
    let words = bytes[bytes.len() - 2 * m * k..].chunks_exact(2);
    let mut a: Vec<u16> = words.map(|w| u16::from_le_bytes([w[0], w[1]])).collect();
    a[5 * k + 6] = 0x4500; // 5
    folder.save("other.npy", &Npy::new("<f2", &[m, k], le16(&a)));
    replay(&folder, "--arch a100 --dtype fp16 other.npy b.npy", "d.npy");
    let sentence = names(&folder, check, "input_changed", false);
    sentence.begins("Row 5: A[5, 6] was 5, not ");

    let right = replay(&folder, "--arch a100 --dtype fp16 a.npy b.npy", "d.npy");
    let exchanged: Vec<u32> = (0..m * n)
        .map(|at| right[((at / n) ^ 16) * n + at % n])
        .collect();
    save(&folder, "d.npy", [m, n], &exchanged);
    let sentence = names(&folder, check, "rows_permuted", false);
    let said =
        "Blocks of 16 rows are exchanged: rows 0 to 15 and 16 to 31, rows 32 to 47 and 48 to 63";
    assert!(sentence.starts_with(said), "{sentence}");

    let c = floats_of(&folder, "c.npy");
    let by_columns: Vec<u32> = (0..m * n).map(|at| c[at % n * m + at / n]).collect();
    save(&folder, "other.npy", [m, n], &by_columns);
    replay(
        &folder,
        "--arch a100 --dtype fp16 --c other.npy a.npy b.npy",
        "d.npy",
    );
    let check = "--arch a100 --dtype fp16 --c c.npy a.npy b.npy d.npy";
    let sentence = names(&folder, check, "c_otherwise", false);
    sentence.says("column by column");
}

/// Integer sums: cut, saturated, and with numbers added.
#[test]
fn integers() {
    let [m, n] = [48, 40];
    let folder = folder("int8", [m, n, 128]);
    let check = "--arch a100 --dtype int8 a.npy b.npy d.npy";
    let right = replay(&folder, "--arch a100 --dtype int8 a.npy b.npy", "d.npy");
    type Change = fn(usize, i32) -> i32;
    let changes: [(&str, &str, Change); 4] = [
        ("conversion", "cut to INT8", |_, x| i32::from(x as i8)),
        ("conversion", "saturate to INT8", |_, x| x.clamp(-128, 127)),
        ("bias", "column 1: 4", |at, x| x + 3 + (at % 40) as i32),
        ("bias", "row 1: 8", |at, x| x + 7 + (at / 40) as i32),
    ];
    for (kind, said, change) in changes {
        let d: Vec<u32> = (0..m * n)
            .map(|at| change(at, right[at] as i32) as u32)
            .collect();
        folder.save("d.npy", &Npy::new("<i4", &[m, n], le32(&d)));
        let sentence = names(&folder, check, kind, false);
        assert!(sentence.contains(said), "{sentence}");
    }
}

/// FP32 numbers that were added to columns are always found, whatever their bits: ties of rounding are told apart.
#[test]
fn numbers_of_columns_in_fp32() {
    let [m, n, _] = SHAPE;
    let folder = folder("fp16", SHAPE);
    let right = replay(&folder, "--arch a100 --dtype fp16 a.npy b.npy", "d.npy");
    for seed in 0..8u32 {
        let mixed = |j: usize| (j as u32 + 1 + 100 * seed).wrapping_mul(2_654_435_761);
        let bias: Vec<f32> = (0..n).map(|j| mixed(j) as f32 / 3e9 - 0.7).collect();
        save(&folder, "d.npy", [m, n], &with_bias(&right, &bias));
        let found = causes(&folder, "--arch a100 --dtype fp16 a.npy b.npy d.npy");
        assert_eq!(found.len(), 1, "seed {seed}");
        assert_eq!(found[0]["kind"], "bias", "seed {seed}");
    }
}

/// A batch whose only matrix has a bias of its own, and a batch that shares one.
#[test]
fn a_bias_of_a_batch() {
    let [m, n, k] = [16, 24, 64];
    let folder = Folder::new();
    for batches in [1, 3] {
        for (role, rows, columns) in [("a", m, k), ("b", k, n)] {
            let spec = format!("generate:5:normal:{batches}x{rows}x{columns}");
            let command = format!("generate {spec} --dtype fp16 --role {role} -q -o {role}.npy");
            folder.passes(&command);
        }
        let numbers: Vec<u32> = (0..n).map(|j| (j as f32 * 0.37 - 2.0).to_bits()).collect();
        let negative: Vec<u32> = numbers.iter().map(|x| x ^ 1 << 31).collect();
        for shape in [vec![n], vec![batches, 1, n]] {
            let count = shape.iter().product::<usize>() / n;
            folder.save(
                "bias.npy",
                &Npy::new("<f4", &shape, le32(&numbers.repeat(count))),
            );
            folder.save(
                "other.npy",
                &Npy::new("<f4", &shape, le32(&negative.repeat(count))),
            );
            let product = "--arch a100 --dtype fp16 --bias other.npy a.npy b.npy";
            folder.passes(&format!("replay {product} -q -o d.npy"));
            let check = "--arch a100 --dtype fp16 --bias bias.npy a.npy b.npy d.npy";
            let sentence = names(&folder, check, "setting_otherwise", false);
            sentence.begins("The bias is subtracted");
        }
    }
}

/// What a smooth function leaves as it is within its own rounding is no evidence for the function.
#[test]
fn small_sums_have_no_soft_cap() {
    let [m, n, k] = [48, 32, 512];
    let folder = Folder::new();
    for (role, rows, columns) in [("a", m, k), ("b", k, n)] {
        // Numbers of about 2^-8: their sums lie far below any cap.
        let spec = format!("generate:7:normal:{rows}x{columns}");
        let command = format!("generate {spec} --dtype fp16 --role {role} -q -o {role}.npy");
        folder.passes(&command);
        let bytes = folder.read(&format!("{role}.npy"));
        let words = bytes[bytes.len() - 2 * rows * columns..].chunks_exact(2);
        let small = words.map(|w| u16::from_le_bytes([w[0], w[1]])).map(|code| {
            let exponent = (code >> 10 & 31).saturating_sub(10);
            code & 0x83ff | exponent << 10
        });
        let small: Vec<u16> = small.collect();
        folder.save(
            &format!("{role}.npy"),
            &Npy::new("<f2", &[rows, columns], le16(&small)),
        );
    }
    replay(
        &folder,
        "--arch a100 --dtype fp16 --schedule cutlass-splitk-parallel --split-k 4 a.npy b.npy",
        "d.npy",
    );
    names(
        &folder,
        "--arch a100 --dtype fp16 a.npy b.npy d.npy",
        "other_schedule",
        true,
    );
}

/// A bias of some rows only is no bias of all of D.
#[test]
fn a_corner_of_integers_is_not_all() {
    let [m, n] = [256, 96];
    let folder = folder("int8", [m, n, 64]);
    let right = replay(&folder, "--arch a100 --dtype int8 a.npy b.npy", "d.npy");
    let d: Vec<u32> = (0..m * n)
        .map(|at| right[at].wrapping_add(u32::from(at / n < 64)))
        .collect();
    folder.save("d.npy", &Npy::new("<i4", &[m, n], le32(&d)));
    for cause in causes(&folder, "--arch a100 --dtype int8 a.npy b.npy d.npy") {
        let sentence = cause.string("sentence");
        sentence.lacks("every element (a bias)");
    }
}
