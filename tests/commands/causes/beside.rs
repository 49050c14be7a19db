//! A change of finished sums, or of their places, with damage beside it: both are named, and what nothing explains is not.

use super::{causes, folder};
use crate::support::{Folder, Members, claims, table};

const M: usize = 48;
const N: usize = 80;

type Change = fn(&[u32], usize) -> u32;
type Damage = fn(&mut [u32]);

/// What happens to the sums, by the element's position, and the causes that are true.
const CHANGES: [(&str, Change, &[&str]); 5] = table! {
    ("numbers of columns", |d, at| (f32::from_bits(d[at]) + ((at % N) as f32 * 0.37 - 9.1)).to_bits(), &["bias"]),
    ("numbers of rows", |d, at| (f32::from_bits(d[at]) + ((at / N) as f32 * 0.41 - 3.3)).to_bits(), &["bias"]),
    ("a leaky ReLU", |d, at| match f32::from_bits(d[at]) { x if x > 0.0 => d[at], x => (0.1 * x).to_bits() },
        &["activation"]),
    ("columns reversed", |d, at| d[at / N * N + (N - 1 - at % N)], &["columns_permuted"]),
    ("clipped", |d, at| f32::from_bits(d[at]).clamp(-2.0, 2.0).to_bits(), &["clipped"]),
};

const DAMAGES: [(&str, Damage, &str); 2] = table! {
    ("a bit", |d| d[37 * N + 71] ^= 1 << 27, "bit_flipped"),
    ("a tile not written", |d| (16..32).for_each(|i| d[i * N + 32..][..16].fill(0)), "unwritten"),
};

fn kinds(folder: &Folder) -> Vec<String> {
    let causes = causes(folder, "--arch a100 --dtype fp16 a.npy b.npy d.npy");
    let kind = |cause: &serde_json::Value| cause.string("kind").to_owned();
    causes.iter().map(kind).collect()
}

#[test]
fn a_change_and_what_it_leaves_are_both_named() {
    let folder = folder("fp16", [M, N, 64]);
    claims! {folder, "replay --arch a100 --dtype fp16 a.npy b.npy -q -o right.npy | 0"}
    let right = folder.codes32("right.npy");
    for (change, changed, known) in CHANGES {
        let changed: Vec<u32> = (0..M * N).map(|at| changed(&right, at)).collect();
        for (damage, damaged, then) in DAMAGES {
            let mut d = changed.clone();
            damaged(&mut d);
            folder.f32_codes("d.npy", &[M, N], &d);
            let found = kinds(&folder);
            let [first, second] = &found[..] else {
                panic!("{change}, then {damage}: {found:?}");
            };
            assert!(
                known.contains(&first.as_str()),
                "{change}, then {damage}: {found:?}"
            );
            assert_eq!(second, then, "{change}, then {damage}");
        }
    }
}

/// A third of D is no rest: nothing is named for what no change gives.
#[test]
fn a_change_of_a_part_of_d_is_not_told_of_all() {
    let folder = folder("fp16", [M, N, 64]);
    claims! {folder, "replay --arch a100 --dtype fp16 a.npy b.npy -q -o right.npy | 0"}
    let mut d = folder.codes32("right.npy");
    for (at, x) in d.iter_mut().enumerate() {
        let noise = (at as u32).wrapping_mul(2_654_435_761);
        *x = match noise % 3 {
            0 => *x ^ (noise >> 20 | 1),
            _ => (f32::from_bits(*x) + ((at % N) as f32 * 0.37 - 9.1)).to_bits(),
        };
    }
    folder.f32_codes("d.npy", &[M, N], &d);
    let found = kinds(&folder);
    assert!(found.is_empty(), "{found:?}");
}
