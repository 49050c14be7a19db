//! A lone mismatch in a D of few bits: other orders of adding up come before hardware faults.

use super::{change, codes, diagnosed, folder, put, save, says};
use crate::support::{Folder, words};

const PLAIN: &str = "--arch a100 --dtype bf16 --d-dtype bf16 a.npy b.npy";

/// A BF16 D of which the schedule makes exactly one element another than the plain chain does.
fn lone(schedule: &str) -> Folder {
    for seed in 0..200 {
        let folder = folder("bf16", [64, 64, 256], 1000 + 10 * seed);
        folder.replay(PLAIN, "plain.npy");
        folder.replay(&format!("{schedule} {PLAIN}"), "d.npy");
        let (plain, d) = (codes(&folder, "plain.npy", 2), codes(&folder, "d.npy", 2));
        if plain.iter().zip(&d).filter(|(x, y)| x != y).count() == 1 {
            return folder;
        }
    }
    panic!("no seed makes a lone mismatch");
}

#[test]
fn an_honest_split_is_no_flipped_bit() {
    for schedule in words! {"cutlass-splitk-parallel --split-k 2 | cublas-sliced | cutlass-splitk-parallel --split-k 4"}
    {
        diagnosed! {lone(&format!("--schedule {schedule}")), "
            {PLAIN} d.npy | other_schedule | weak evidence | only a single element distinguishes it from the request
            {PLAIN} d.npy | !bit_flipped
        "};
    }
}

/// What no order of adding up makes of an element is a flipped bit; what one could make is not called so.
#[test]
fn a_flipped_bit_of_few() {
    let folder = folder("bf16", [64, 64, 512], 5);
    folder.replay(PLAIN, "d.npy");
    let right = codes(&folder, "d.npy", 2);
    let large = |code: &&u64| f32::from_bits((**code as u32) << 16).abs() > 20.0;
    let at = right.iter().position(|code| large(&code)).unwrap();
    for (bit, kind) in [(13, "bit_flipped"), (6, "bit_flipped"), (0, "=")] {
        let mut d = right.clone();
        d[at] ^= 1 << bit;
        put(&folder, "d.npy", "d.npy", 2, &d);
        diagnosed! {folder, "{PLAIN} d.npy | {kind}"};
    }
}

/// In FP32 a lone mismatch is no other order of adding up.
#[test]
fn a_flipped_bit_of_many() {
    let folder = folder("bf16", [64, 64, 512], 5);
    let plain = "--arch a100 --dtype bf16 a.npy b.npy";
    folder.replay(plain, "d.npy");
    let mut d = codes(&folder, "d.npy", 4);
    d[1000] ^= 1;
    save(&folder, "<f4", &[64, 64], 4, &d);
    diagnosed! {folder, "{plain} d.npy | bit_flipped"};
}

/// A tile of zeros does not hide that the rest is an honest split.
#[test]
fn a_tile_beside_an_honest_split() {
    let folder = lone("--schedule cutlass-splitk-parallel --split-k 2");
    let d = codes(&folder, "d.npy", 2);
    folder.replay(PLAIN, "plain.npy");
    let plain = codes(&folder, "plain.npy", 2);
    let other = (0..4096).find(|&at| d[at] != plain[at]).unwrap();
    // Another corner than that of the lone mismatch.
    let (top, left) = (other / 64 < 32, other % 64 < 32);
    let in_tile = |at: usize| (at / 64 < 32) != top && (at % 64 < 32) != left;
    change(&folder, "d.npy", "d.npy", 2, |at, code| {
        if in_tile(at) { 0 } else { code }
    });
    let causes = diagnosed! {folder, "{PLAIN} d.npy | = unwritten, other_schedule"};
    says(&causes[1], "One element elsewhere: ");
}
