//! Kernels that are computed here, in arithmetic of its own: what `identify` names must compute fresh
//! operands as the kernel does. Found, tied, said not to be found: but never wrong.

use serde_json::Value;

use crate::support::hidden::machine::Machine;
use crate::support::hidden::number::{BF16, Dice, FP16, FP32, Layout, Meaning, TF32};
use crate::support::{Folder, Members, Npy, le16, ran, table};

const M: usize = 12;
const N: usize = 10;

/// Products of one element, in the order in which the unit takes them, and what joins sums.
type Kernel = fn(&Machine, &[u64], &[u64]) -> f32;

/// What may become of it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Expected {
    /// Its name, or a tie that it is part of.
    Found,
    /// No name, and the list of what is never searched has this.
    NotSearched(&'static str),
    /// No name that a check could have, and what becomes of the sums.
    Epilogue(&'static str),
}
use Expected::{Epilogue, Found, NotSearched};

/// An ordinary unit that adds eight products at a time: Ampere's, by the literature.
fn unit(operand: Layout) -> Machine {
    Machine::ordinary(operand, if operand == TF32 { 4 } else { 8 }, 24)
}

fn chain(unit: &Machine, a: &[u64], b: &[u64]) -> f32 {
    f32::from_bits(unit.dot(a, b, 0) as u32)
}

/// The k that `wanted` names.
fn of(unit: &Machine, a: &[u64], b: &[u64], wanted: impl Fn(usize) -> bool) -> f32 {
    let take = |x: &[u64]| -> Vec<u64> {
        let all = x.iter().enumerate();
        all.filter(|(k, _)| wanted(*k)).map(|(_, x)| *x).collect()
    };
    chain(unit, &take(a), &take(b))
}

/// Sums of slices of so many k.
fn slices(unit: &Machine, a: &[u64], b: &[u64], length: usize) -> Vec<f32> {
    let parts = a.chunks(length).zip(b.chunks(length));
    parts.map(|(a, b)| chain(unit, a, b)).collect()
}

fn tree(sums: &[f32]) -> f32 {
    match sums {
        [one] => *one,
        many => {
            let pairs: Vec<f32> = many.chunks(2).map(|pair| pair.iter().sum()).collect();
            tree(&pairs)
        }
    }
}

fn sliced(unit: &Machine, a: &[u64], b: &[u64], warps: usize, grain: usize) -> f32 {
    let parts = (0..warps).map(|warp| of(unit, a, b, |k| k / grain % warps == warp));
    parts.reduce(|sum, part| sum + part).expect("warps")
}

/// Of K = 512; those of `ragged` of K = 1000.
const KERNELS: [(&str, usize, Kernel, Expected); 19] = table! {
    ("one chain", 512, chain, Found),
    ("slices of 128", 512, |u, a, b| slices(u, a, b, 128).iter().sum(), Found),
    ("slices of 128, from the last", 512, |u, a, b| slices(u, a, b, 128).into_iter().rev().reduce(|x, y| x + y).unwrap(), Found),
    ("slices of 64 in a tree", 512, |u, a, b| tree(&slices(u, a, b, 64)), Found),
    ("slices of 168", 1000, |u, a, b| slices(u, a, b, 168).iter().sum(), Found),
    ("slices of 336", 1000, |u, a, b| slices(u, a, b, 336).iter().sum(), Found),
    ("sliced 2x32", 512, |u, a, b| sliced(u, a, b, 2, 32), Found),
    ("sliced 2x16", 512, |u, a, b| sliced(u, a, b, 2, 16), Found),
    ("sliced 4x16", 512, |u, a, b| sliced(u, a, b, 4, 16), Found),
    ("sliced 2x32 in slices of 256", 512,
        |u, a, b| a.chunks(256).zip(b.chunks(256)).map(|(a, b)| sliced(u, a, b, 2, 32)).sum(), Found),
    ("promoted every 64", 512, |u, a, b| slices(u, a, b, 64).iter().sum(), Found),
    ("k permuted within 16", 512, |u, a, b| {
        let at = |k: usize| k / 16 * 16 + [0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15][k % 16];
        let permuted = |x: &[u64]| -> Vec<u64> { (0..x.len()).map(|k| x[at(k)]).collect() };
        chain(u, &permuted(a), &permuted(b))
    }, NotSearched("orders of k")),
    ("from the last k to the first", 512, |u, a, b| {
        let reversed = |x: &[u64]| -> Vec<u64> { x.iter().rev().copied().collect() };
        chain(u, &reversed(a), &reversed(b))
    }, NotSearched("orders of k")),
    ("alpha 0.3", 512, |u, a, b| 0.3 * chain(u, a, b), Found),
    ("alpha 0.125", 512, |u, a, b| 0.125 * chain(u, a, b), Found),
    ("promoted every 128, alpha 0.3", 512, |u, a, b| 0.3 * slices(u, a, b, 128).iter().sum::<f32>(), Found),
    ("ReLU", 512, |u, a, b| chain(u, a, b).max(0.0), Found),
    ("a bias of 0.7", 512, |u, a, b| chain(u, a, b) + 0.7, Epilogue("0.7 is added to every element (a bias)")),
    ("unequal slices", 512, |u, a, b| {
        let part = |k: std::ops::Range<usize>| chain(u, &a[k.clone()], &b[k]);
        part(0..96) + part(96..320) + part(320..a.len())
    }, NotSearched("unequal")),
};

/// Round to nearest, ties to even, of an f32's upper half.
fn to_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

/// A folder with a.npy, b.npy and d.npy.
fn captured(kernel: Kernel, operand: Layout, k: usize, bf16: bool, seed: u64) -> Folder {
    let unit = unit(operand);
    let mut dice = Dice(seed);
    let mut number = || {
        let field = operand.bias() as u64 - dice.below(3) as u64;
        let fraction = dice.next() & ((1 << operand.fraction_bits) - 1);
        operand.code(dice.chance(2), field, fraction)
    };
    let a: Vec<u64> = (0..M * k).map(|_| number()).collect();
    // Column by column.
    let b: Vec<u64> = (0..N * k).map(|_| number()).collect();
    let mut d = Vec::new();
    for row in a.chunks(k) {
        d.extend(b.chunks(k).map(|column| kernel(&unit, row, column)));
    }
    let folder = Folder::new();
    let descr = match operand {
        TF32 => "<f4",
        BF16 => "<V2",
        _ => "<f2",
    };
    let width = if operand == TF32 { 4 } else { 2 };
    let save = |name: &str, shape: [usize; 2], codes: &[u64]| {
        let bytes = codes.iter().flat_map(|x| x.to_le_bytes()[..width].to_vec());
        folder.save(name, &Npy::new(descr, &shape, bytes.collect()));
    };
    save("a.npy", [M, k], &a);
    let rows: Vec<u64> = (0..k * N).map(|i| b[i % N * k + i / N]).collect();
    save("b.npy", [k, N], &rows);
    if bf16 {
        let codes: Vec<u16> = d.iter().map(|x| to_bf16(*x)).collect();
        folder.save("d.npy", &Npy::new("<V2", &[M, N], le16(&codes)));
    } else {
        folder.f32("d.npy", &[M, N], &d);
    }
    folder
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    Right,
    Tied,
    NotFound,
    Wrong,
}

/// What `identify` makes of a kernel, and its text.
fn judge(kernel: Kernel, operand: Layout, k: usize, bf16: bool) -> (Outcome, String) {
    let folder = captured(kernel, operand, k, bf16, 1);
    let dtype = match operand {
        FP16 => "fp16",
        BF16 => "bf16",
        _ => "tf32",
    };
    let run = ran! {folder, "identify --dtype {dtype} --json found.json a.npy b.npy d.npy"};
    assert!(matches!(run.code, Some(0 | 1)), "{}", run.stderr);
    let text = run.stdout;
    let json: Value = folder.document("found.json");
    let fits = json.list("fits");
    if fits.is_empty() {
        return (Outcome::NotFound, text);
    }
    // Fresh operands: the command that is printed, in a folder with files of the same names.
    let fresh = captured(kernel, operand, k, bf16, 2);
    let gives = |fit: &Value| {
        let command = match &fit["names"][0]["command"] {
            Value::Array(words) => words.iter().map(|w| w.as_str().unwrap()).collect(),
            text => text.as_str().unwrap().split(' ').collect::<Vec<_>>(),
        };
        assert_eq!(command[0], "tcverify", "{command:?}");
        let run = fresh.tcverify(&command[1..].join(" "));
        assert!(matches!(run.code, Some(0 | 1)), "{run:?}");
        run.code == Some(0)
    };
    let one = text.starts_with("ONE");
    let weak = text.contains("Weak evidence");
    match (one, fits.iter().take(12).any(gives)) {
        (true, true) => (Outcome::Right, text),
        (false, true) => (Outcome::Tied, text),
        // A tie that the kernel is no part of is said to be weak, or it is wrong.
        (false, false) if weak => (Outcome::NotFound, text),
        _ => (Outcome::Wrong, text),
    }
}

/// In one line.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
#[ignore = "long"]
fn hidden_kernels_get_no_wrong_name() {
    let mut counts = [0; 4];
    let mut complaints = Vec::new();
    for (name, k, kernel, expected) in KERNELS {
        for (operand, bf16) in [(FP16, false), (BF16, true)] {
            let (outcome, text) = judge(kernel, operand, k, bf16);
            counts[outcome as usize] += 1;
            let good = match (outcome, expected) {
                (Outcome::Right | Outcome::Tied, Found) => true,
                (Outcome::NotFound, NotSearched(what) | Epilogue(what)) => {
                    words(&text).contains(what)
                }
                // A D of few bits can be given by luck, which is said.
                (Outcome::Tied, NotSearched(_)) => bf16,
                _ => false,
            };
            if !good {
                let head: Vec<_> = text.lines().take(6).collect();
                complaints.push(format!(
                    "{name}, bf16 {bf16}: {outcome:?}\n{}",
                    head.join("\n")
                ));
            }
        }
    }
    let [right, tied, not_found, wrong] = counts;
    println!(
        "hidden kernels: {right} right, {tied} tied, {not_found} not found and said, {wrong} wrong"
    );
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
    assert_eq!(wrong, 0);
}

/// The unit here is the literature's: a code of its results is what its number means.
#[test]
fn the_bench_computes_sums() {
    let one = FP16.code(false, 15, 0);
    let sum = chain(&unit(FP16), &[one; 20], &[one; 20]);
    assert_eq!(sum, 20.0);
    assert!(matches!(
        FP32.read(u64::from(sum.to_bits())),
        Meaning::Finite(_)
    ));
}
