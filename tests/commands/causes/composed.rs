//! Causes of two things at once, and causes under what a request names; each command is run and finds D identical.

use super::{caused, causes, folder};
use crate::support::{Folder, Members, Says, claims, rows, table};

const SHAPE: [usize; 3] = [64, 48, 256];

const PLAIN: &str = "--arch a100 --dtype fp16 a.npy b.npy";

/// `right.npy`: the product as it is asked for, and its codes.
fn right(folder: &Folder, product: &str) -> Vec<u32> {
    folder.replay(product, "right.npy");
    folder.codes32("right.npy")
}

fn bias(folder: &Folder) -> Vec<f32> {
    let bias: Vec<f32> = (0..SHAPE[1]).map(|j| j as f32 * 0.37 - 9.1).collect();
    folder.f32("bias.npy", &[SHAPE[1]], &bias);
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
    for [given, same] in rows! {"
        --bias bias.npy | --bias bias.npy
        --schedule plain --activation relu | --activation relu
    "}
    {
        caused! {folder, "
            --arch volta --dtype fp16 {given} a.npy b.npy => {PLAIN} {given} d.npy | *other_model
            {PLAIN} {same} --schedule cutlass-splitk-parallel --split-k 4 => {PLAIN} {given} d.npy | *other_schedule
        "}
        // The request itself has no cause to be named.
        claims! {folder, "
            replay {PLAIN} {given} -q -o d.npy | 0
            check {PLAIN} {given} d.npy | 0
        "}
    }
}

/// A bias that is used otherwise is told as that, not as numbers.
#[test]
fn a_bias_used_otherwise() {
    let folder = folder("fp16", SHAPE);
    let own = bias(&folder);
    let negative = own.iter().map(|x| -x).collect();
    for (said, other) in table! {
        ("The bias is subtracted", negative),
        ("adds the bias of the first one", vec![own[0]; own.len()]),
    } {
        folder.f32("other.npy", &[own.len()], &other);
        caused! {folder, "{PLAIN} --bias other.npy => {PLAIN} --bias bias.npy d.npy | setting_otherwise | {said}"}
    }
}

/// Another product, then a bias, a factor or a ReLU that nobody named.
#[test]
fn another_product_and_an_epilogue() {
    let fp32 = folder("fp32", SHAPE);
    let own = bias(&fp32);
    let d = right(&fp32, "--arch a100 --dtype tf32 a.npy b.npy");
    fp32.f32_codes("d.npy", &SHAPE[..2], &with_bias(&d, &own));
    caused! {fp32, "--arch a100 --dtype fp32 a.npy b.npy d.npy | bias | TF32 | column 1: -8.73"}

    let folder = folder("fp16", SHAPE);
    let relu = "--schedule plain --activation relu a.npy b.npy";
    caused! {folder, "
        --arch volta --dtype fp16 {relu} => {PLAIN} d.npy | *other_model | ^ReLU is applied to another product
        # A ReLU alone is no other product.
        --arch a100 --dtype fp16 {relu} => {PLAIN} d.npy | *relu
    "}
}

/// FP8 sums with fast accumulation where the request has none, and the reverse.
#[test]
fn fast_accumulation() {
    let folder = folder("e4m3", [64, 48, 512]);
    for name in ["sa.npy", "sb.npy"] {
        folder.f32(name, &[1, 1], &[0.5]);
    }
    let product = "--arch h100 --dtype e4m3 --schedule cublas-nvjet-fp8 --scale-a sa.npy --scale-b sb.npy a.npy b.npy";
    caused! {folder, "
        {product} --set promote=never => {product} d.npy | *other_schedule | use_fast_accum
        {product} => {product} d.npy --set promote=never | *other_schedule | use_fast_accum
    "}
}

/// One number of A, blocks of rows, and C from other places, in words a person uses.
#[test]
fn places_in_words() {
    let [m, n, k] = SHAPE;
    let folder = folder("fp16", SHAPE);
    folder.with_codes16("a.npy", "other.npy", |a| a[5 * k + 6] = 0x4500); // 5
    caused! {folder, "--arch a100 --dtype fp16 other.npy b.npy => {PLAIN} d.npy | input_changed
    | ^Row 5: A[5, 6] was 5, not"}
    let right = right(&folder, PLAIN);
    folder.with_codes32("right.npy", "d.npy", |d| {
        *d = (0..m * n)
            .map(|at| right[((at / n) ^ 16) * n + at % n])
            .collect();
    });
    caused! {folder, "{PLAIN} d.npy | rows_permuted
    | ^Blocks of 16 rows are exchanged: rows 0 to 15 and 16 to 31, rows 32 to 47 and 48 to 63"}
    folder.with_codes32("c.npy", "other.npy", |c| {
        *c = (0..m * n).map(|at| c[at % n * m + at / n]).collect();
    });
    caused! {folder, "{PLAIN} --c other.npy => {PLAIN} --c c.npy d.npy | c_otherwise | column by column"}
}

/// Integer sums: cut, saturated, and with numbers added.
#[test]
fn integers() {
    let folder = folder("int8", [48, 40, 128]);
    let product = "--arch a100 --dtype int8 a.npy b.npy";
    folder.replay(product, "right.npy");
    type Change = fn(usize, i32) -> i32;
    for (kind, said, change) in table! {
        ("conversion", "cut to INT8", (|_, x| i32::from(x as i8)) as Change),
        ("conversion", "saturate to INT8", |_, x| x.clamp(-128, 127)),
        ("bias", "column 1: 4", |at, x| x + 3 + (at % 40) as i32),
        ("bias", "row 1: 8", |at, x| x + 7 + (at / 40) as i32),
    } {
        folder.with_codes32("right.npy", "d.npy", |d| {
            for (at, x) in d.iter_mut().enumerate() {
                *x = change(at, *x as i32) as u32;
            }
        });
        caused! {folder, "{product} d.npy | {kind} | {said}"}
    }
}

/// FP32 numbers that were added to columns are always found, whatever their bits: ties of rounding are told apart.
#[test]
fn numbers_of_columns_in_fp32() {
    let folder = folder("fp16", SHAPE);
    let right = right(&folder, PLAIN);
    for seed in 0..8u32 {
        let mixed = |j: usize| (j as u32 + 1 + 100 * seed).wrapping_mul(2_654_435_761);
        let bias: Vec<f32> = (0..SHAPE[1]).map(|j| mixed(j) as f32 / 3e9 - 0.7).collect();
        folder.f32_codes("d.npy", &SHAPE[..2], &with_bias(&right, &bias));
        let found = causes(&folder, &format!("{PLAIN} d.npy"));
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
        folder.generate(&format!(
            "a fp16 5:normal:{batches}x{m}x{k} | b fp16 5:normal:{batches}x{k}x{n}"
        ));
        let numbers: Vec<f32> = (0..n).map(|j| j as f32 * 0.37 - 2.0).collect();
        let negative: Vec<f32> = numbers.iter().map(|x| -x).collect();
        for shape in [vec![n], vec![batches, 1, n]] {
            let count = shape.iter().product::<usize>() / n;
            folder.f32("bias.npy", &shape, &numbers.repeat(count));
            folder.f32("other.npy", &shape, &negative.repeat(count));
            caused! {folder, "{PLAIN} --bias other.npy => {PLAIN} --bias bias.npy d.npy | setting_otherwise
            | ^The bias is subtracted"}
        }
    }
}

/// What a smooth function leaves as it is within its own rounding is no evidence for the function.
#[test]
fn small_sums_have_no_soft_cap() {
    let folder = Folder::new();
    folder.generate("a fp16 7:normal:48x512 | b fp16 7:normal:512x32");
    for name in ["a.npy", "b.npy"] {
        // Numbers of about 2^-8: their sums lie far below any cap.
        folder.with_codes16(name, name, |codes| {
            for code in codes {
                *code = *code & 0x83ff | (*code >> 10 & 31).saturating_sub(10) << 10;
            }
        });
    }
    caused! {folder, "{PLAIN} --schedule cutlass-splitk-parallel --split-k 4 => {PLAIN} d.npy | *other_schedule"}
}

/// A bias of some rows only is no bias of all of D.
#[test]
fn a_corner_of_integers_is_not_all() {
    let folder = folder("int8", [256, 96, 64]);
    let product = "--arch a100 --dtype int8 a.npy b.npy";
    folder.replay(product, "d.npy");
    folder.with_codes32("d.npy", "d.npy", |d| {
        d[..64 * 96].iter_mut().for_each(|x| *x = x.wrapping_add(1));
    });
    for cause in causes(&folder, &format!("{product} d.npy")) {
        cause.string("sentence").lacks("every element (a bias)");
    }
}
