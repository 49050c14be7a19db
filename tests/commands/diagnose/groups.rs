//! Several faults at once.

use super::{change, codes, diagnosed, folder, places, save, says, word};
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
    let causes = diagnosed! {folder, "{CHECK} | = unwritten, bit_flipped
    | Rows 32 to 63, columns 96 to 127 (one whole 32x32 tile): every element is +0"};
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
    diagnosed! {folder, "{CHECK} | = constant, bit_flipped, bit_flipped | every element is NaN (0x7fc00000)"};
    let places = places(&folder, CHECK);
    assert_eq!(places.len(), 2, "{places:#?}");
    let row = "160 mismatches lie in 1 of 160 rows of D, and every element there differs: row 9.";
    says(&places[0], row);
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
    diagnosed! {folder, "{CHECK} | = unwritten | Rows 32 to 63, columns 96 to 127"};
}

#[test]
fn a_lattice() {
    let folder = damaged(&|i, j, code| match (i % 16, j % 8) {
        (3, 5) => code ^ 0x0012_3456,
        _ => code,
    });
    diagnosed! {folder, "{CHECK} | ="};
    let places = places(&folder, CHECK);
    holds! {places, "0.area.shape = lattice"}
    let modulo = "every row whose index modulo 16 is 3, every column whose index modulo 8 is 5";
    says(&places[0], modulo);
    // One bit of a bus.
    let folder = damaged(&|i, j, code| match (i % 16, j % 8) {
        (3, 5) => code ^ 1 << 4,
        _ => code,
    });
    diagnosed! {folder, "{CHECK} | bit_flipped | bit 4"};
}

/// With one element that is right by itself, a tile of zeros is still one; with one that is not zero, none.
#[test]
fn nearly_a_tile_of_zeros() {
    let folder = damaged(&|i, j, code| match (i, j) {
        (40, 100) => 0x3f80_0000,
        _ if tile(i, j) => 0,
        _ => code,
    });
    diagnosed! {folder, "{CHECK} | ="};
    holds! {places(&folder, CHECK), "0.area.shape = tile"}
}

#[test]
fn a_tile_whose_loop_stopped_early() {
    let folder = folder("fp16", [96, 96, 256], 5);
    // The products of k 160 and later.
    let kept = |k: usize, code: u64| if k < 160 { code } else { 0 };
    change(&folder, "a.npy", "a2.npy", 2, |at, code| {
        kept(at % 256, code)
    });
    change(&folder, "b.npy", "b2.npy", 2, |at, code| {
        kept(at / 96, code)
    });
    folder.replay("--arch a100 --dtype fp16 a2.npy b2.npy", "d2.npy");
    let early = codes(&folder, "d2.npy", 4);
    folder.replay("--arch a100 --dtype fp16 a.npy b.npy", "d.npy");
    change(&folder, "d.npy", "d.npy", 4, |at, code| {
        match (at / 96 / 32, at % 96 / 32) {
            (1, 2) => early[at],
            _ => code,
        }
    });
    let found =
        diagnosed! {folder, "{CHECK} | stopped_early | the products of k 160 to 255 are missing"};
    holds! {found, "0.at = [160]"}
}
