//! A lone mismatch in a D of few bits: other orders of adding up come before hardware faults.

use super::{causes, codes, first, folder, kinds, put, save, says};
use crate::support::Folder;

const PLAIN: &str = "--arch a100 --dtype bf16 --d-dtype bf16 a.npy b.npy";

/// A BF16 D of which the schedule makes exactly one element another than the plain chain does.
fn lone(schedule: &str) -> Folder {
    for seed in 0..200 {
        let folder = folder("bf16", [64, 64, 256], 1000 + 10 * seed);
        folder.replay(PLAIN, "plain.npy");
        folder.replay(
            &PLAIN.replace("a.npy", &format!("{schedule} a.npy")),
            "d.npy",
        );
        let (plain, d) = (codes(&folder, "plain.npy", 2), codes(&folder, "d.npy", 2));
        if plain.iter().zip(&d).filter(|(x, y)| x != y).count() == 1 {
            return folder;
        }
    }
    panic!("no seed makes a lone mismatch");
}

#[test]
fn an_honest_split_is_no_flipped_bit() {
    for schedule in [
        "--schedule cutlass-splitk-parallel --split-k 2",
        "--schedule cublas-sliced",
        "--schedule cutlass-splitk-parallel --split-k 4",
    ] {
        let folder = lone(schedule);
        let check = format!("{PLAIN} d.npy");
        let cause = first(&folder, &check, "other_schedule");
        says(&cause, "weak evidence");
        says(
            &cause,
            "only a single element distinguishes it from the request",
        );
        let causes = causes(&folder, &check);
        assert!(!kinds(&causes).contains(&"bit_flipped"), "{causes:#?}");
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
    for (bit, kind) in [
        (13, Some("bit_flipped")),
        (6, Some("bit_flipped")),
        (0, None),
    ] {
        let mut d = right.clone();
        d[at] ^= 1 << bit;
        put(&folder, "d.npy", "d.npy", 2, &d);
        let found = causes(&folder, &format!("{PLAIN} d.npy"));
        assert_eq!(
            kinds(&found).first().copied(),
            kind,
            "bit {bit}: {found:#?}"
        );
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
    first(&folder, &format!("{plain} d.npy"), "bit_flipped");
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
    let d: Vec<u64> = (0..4096)
        .map(|at| if in_tile(at) { 0 } else { d[at] })
        .collect();
    put(&folder, "d.npy", "d.npy", 2, &d);
    let causes = causes(&folder, &format!("{PLAIN} d.npy"));
    assert_eq!(
        kinds(&causes),
        ["unwritten", "other_schedule"],
        "{causes:#?}"
    );
    says(&causes[1], "One element elsewhere: ");
}
