//! Sums over ranks, added here in the order that the source has.

use half::{bf16, f16};

use crate::support::random::Random;
use crate::support::{Folder, Npy, le16, ran};

const RANKS: usize = 8;
const EACH: usize = 60;

/// `result[left] += result[right]`, widths 2, 4, ...
fn tree<T: Copy>(mut ranks: Vec<T>, add: impl Fn(T, T) -> T) -> T {
    let mut width = 2;
    while width <= ranks.len() {
        for left in (0..ranks.len()).step_by(width) {
            ranks[left] = add(ranks[left], ranks[left + width / 2]);
        }
        width *= 2;
    }
    ranks[0]
}

/// One after another: an order that such sums show to be wrong.
fn serial<T: Copy>(ranks: Vec<T>, add: impl Fn(T, T) -> T) -> T {
    ranks.into_iter().reduce(add).expect("ranks")
}

#[test]
fn ranks_are_added_as_a_tree() {
    let folder = Folder::new();
    let mut random = Random::named("ranks");
    let numbers: Vec<f32> = (0..RANKS * EACH)
        .map(|_| random.between(0, 2_000_000) as f32 * 1e-5 - 10.0)
        .collect();
    // f32 holds such sums well enough that rounding twice changes nothing.
    let half = |x: u16, y: u16| {
        f16::from_f32(f16::from_bits(x).to_f32() + f16::from_bits(y).to_f32()).to_bits()
    };
    let brain = |x: u16, y: u16| {
        bf16::from_f32(bf16::from_bits(x).to_f32() + bf16::from_bits(y).to_f32()).to_bits()
    };
    type Case<'a> = (&'a str, fn(f32) -> u16, &'a dyn Fn(u16, u16) -> u16);
    let cases: [Case; 2] = [
        ("fp16", |x| f16::from_f32(x).to_bits(), &half),
        ("bf16", |x| bf16::from_f32(x).to_bits(), &brain),
    ];
    for (format, code, add) in cases {
        let codes: Vec<u16> = numbers.iter().map(|&number| code(number)).collect();
        let ranks = |at: usize| (0..RANKS).map(|rank| codes[rank * EACH + at]).collect();
        folder.save(
            "x.npy",
            &Npy::new("<u2", &[RANKS, 3, EACH / 3], le16(&codes)),
        );
        let judged = |order: &dyn Fn(Vec<u16>) -> u16, code: i32| {
            let y: Vec<u16> = (0..EACH).map(|at| order(ranks(at))).collect();
            folder.save("y.npy", &Npy::new("<u2", &[3, EACH / 3], le16(&y)));
            for engine in ["exact", "fast"] {
                let check = "check --op all_reduce_sum x=x.npy y=y.npy";
                ran! {folder, "{check} --dtype {format} --engine {engine}"}.expect(code);
            }
        };
        judged(&|ranks| tree(ranks, add), 0);
        judged(&|ranks| serial(ranks, add), 1);
    }
    for (shape, words) in [(&[3, 20][..], "a power of two"), (&[8], "others follow")] {
        let size = shape.iter().product::<usize>();
        folder.save("x.npy", &Npy::new("<u2", shape, vec![0; 2 * size]));
        let error = folder.stderr("check --op all_reduce_sum --dtype fp16 x=x.npy y=y.npy");
        assert!(error.contains(words), "{error}");
    }
}
