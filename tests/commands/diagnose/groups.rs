//! Several faults at once.

use super::{causes, codes, first, folder, kinds, places, save, says, word};
use crate::support::{Folder, holds};

const CHECK: &str = "--arch a100 --dtype fp16 a.npy b.npy d.npy";
const N: usize = 160;

/// The right D, with other codes where `change` says so.
fn damaged(change: &dyn Fn(usize, usize, u64) -> u64) -> Folder {
    let folder = folder("fp16", [N, N, 64], 3);
    folder.replay("--arch a100 --dtype fp16 a.npy b.npy", "d.npy");
    let d = codes(&folder, "d.npy", 4);
    let d: Vec<u64> = (0..N * N).map(|at| change(at / N, at % N, d[at])).collect();
    save(&folder, "<f4", &[N, N], 4, &d);
    folder
}

fn tile(i: usize, j: usize) -> bool {
    (32..64).contains(&i) && (96..128).contains(&j)
}

#[test]
fn a_tile_of_zeros_and_a_flipped_bit() {
    let folder = damaged(&|i, j, code| match (i, j) {
        (5, 7) => code ^ 1 << 17,
        _ if tile(i, j) => 0,
        _ => code,
    });
    let causes = causes(&folder, CHECK);
    assert_eq!(kinds(&causes), ["unwritten", "bit_flipped"]);
    says(
        &causes[0],
        "Rows 32 to 63, columns 96 to 127 (one whole 32x32 tile): every element is +0",
    );
    says(&causes[1], "bit 17 (significand) at row 5, column 7");
    holds! {causes, "0.mismatches = 1024 | 0.area.rows = [32, 64] | 0.area.columns = [96, 128] | 1.mismatches = 1"}
}

#[test]
fn rows_columns_a_tile_and_elements_are_told_apart() {
    let folder = damaged(&|i, j, code| match (i, j) {
        (9, _) => code ^ 0x0012_3456,
        (_, 150) => code ^ 0x0065_4321,
        (100, 20) | (101, 77) => code ^ 1 << 30,
        _ if tile(i, j) => 0x7fc0_0000,
        _ => code,
    });
    let causes = causes(&folder, CHECK);
    assert_eq!(kinds(&causes), ["constant", "bit_flipped", "bit_flipped"]);
    says(&causes[0], "every element is NaN (0x7fc00000)");
    let places = places(&folder, CHECK);
    assert_eq!(places.len(), 2, "{places:#?}");
    says(
        &places[0],
        "160 mismatches lie in 1 of 160 rows of D, and every element there differs: row 9.",
    );
    says(&places[1], "column 150.");
}

/// A tile amid scattered mismatches.
#[test]
fn a_tile_in_a_crowd() {
    let folder = damaged(&|i, j, code| match word((i * N + j) as u64) % 20 {
        _ if tile(i, j) => 0,
        0 => code ^ 0x0005_a5a5,
        _ => code,
    });
    let causes = causes(&folder, CHECK);
    assert_eq!(kinds(&causes), ["unwritten"]);
    says(&causes[0], "Rows 32 to 63, columns 96 to 127");
}

#[test]
fn a_lattice() {
    let folder = damaged(&|i, j, code| match (i % 16, j % 8) {
        (3, 5) => code ^ 0x0012_3456,
        _ => code,
    });
    assert_eq!(kinds(&causes(&folder, CHECK)), [""; 0]);
    let places = places(&folder, CHECK);
    assert_eq!(places[0]["area"]["shape"], "lattice");
    says(
        &places[0],
        "every row whose index modulo 16 is 3, every column whose index modulo 8 is 5",
    );
    // One bit of a bus.
    let folder = damaged(&|i, j, code| match (i % 16, j % 8) {
        (3, 5) => code ^ 1 << 4,
        _ => code,
    });
    says(&first(&folder, CHECK, "bit_flipped"), "bit 4");
}

/// With one element that is right by itself, a tile of zeros is still one; with one that is not zero, none.
#[test]
fn nearly_a_tile_of_zeros() {
    let folder = damaged(&|i, j, code| match (i, j) {
        (40, 100) => 0x3f80_0000,
        _ if tile(i, j) => 0,
        _ => code,
    });
    assert_eq!(kinds(&causes(&folder, CHECK)), [""; 0]);
    assert_eq!(places(&folder, CHECK)[0]["area"]["shape"], "tile");
}

#[test]
fn a_tile_whose_loop_stopped_early() {
    let folder = folder("fp16", [96, 96, 256], 5);
    let product = "--arch a100 --dtype fp16 a.npy b.npy";
    folder.replay(product, "d.npy");
    let all = codes(&folder, "d.npy", 4);
    // The products of k 160 and later.
    for (name, keep) in [("a", true), ("b", false)] {
        let whole = codes(&folder, &format!("{name}.npy"), 2);
        let cut = |(at, &code): (usize, &u64)| {
            let k = if keep { at % 256 } else { at / 96 };
            if k < 160 { code } else { 0 }
        };
        let cut: Vec<u64> = whole.iter().enumerate().map(cut).collect();
        super::put(
            &folder,
            &format!("{name}.npy"),
            &format!("{name}2.npy"),
            2,
            &cut,
        );
    }
    folder.replay("--arch a100 --dtype fp16 a2.npy b2.npy", "d2.npy");
    let early = codes(&folder, "d2.npy", 4);
    let d: Vec<u64> = (0..96 * 96)
        .map(|at| match (at / 96 / 32, at % 96 / 32) {
            (1, 2) => early[at],
            _ => all[at],
        })
        .collect();
    save(&folder, "<f4", &[96, 96], 4, &d);
    let cause = first(&folder, CHECK, "stopped_early");
    assert_eq!(cause["at"], serde_json::json!([160]));
    says(&cause, "the products of k 160 to 255 are missing");
}
