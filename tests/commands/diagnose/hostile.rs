//! D's that could mislead, or take for ever.

use crate::support::{Members, claims, holds, table, words};

use std::time::Instant;

use super::{causes, change, codes, diagnosed, folder, kinds, save, word};

const PRODUCT: &str = "--arch a100 --dtype fp16 a.npy b.npy";
const CHECK: &str = "--arch a100 --dtype fp16 a.npy b.npy d.npy";

#[test]
fn all_of_d_is_one_number() {
    let folder = folder("fp16", [32, 40, 24], 3);
    for (code, kind) in
        table! {(0, "unwritten"), (0x7fff_ffff, "constant"), (0x8000_0000, "constant")}
    {
        save(&folder, "<f4", &[32, 40], 4, &[code; 1280]);
        let found = diagnosed! {folder, "{CHECK} | {kind} | ^Every element of D is"};
        holds! {found, "0.mismatches = 1280"}
    }
}

#[test]
fn all_of_d_is_wrong() {
    let folder = folder("fp16", [600, 500, 128], 3);
    let d: Vec<u64> = (0..300_000).map(|at| word(at) & 0xffff_ffff).collect();
    save(&folder, "<f4", &[600, 500], 4, &d);
    let start = Instant::now();
    diagnosed! {folder, "{CHECK} | ="};
    // Scattered, every other element: more places than are kept.
    folder.replay(PRODUCT, "right.npy");
    // Of those, then, each with the same bit.
    for (bits, kinds) in [(0x0005_a5a5, ""), (1 << 9, "bit_flipped")] {
        let even = |at: usize| u64::from((at / 500 + at).is_multiple_of(2));
        let every_other = |at: usize, code: u64| code ^ (bits * even(at));
        change(&folder, "right.npy", "d.npy", 4, every_other);
        diagnosed! {folder, "{CHECK} | = {kinds}"};
    }
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

#[test]
fn small_ds() {
    for shape in [[1, 1, 1], [1, 1, 64], [1, 9, 5], [9, 1, 5], [2, 2, 1]] {
        let folder = folder("fp16", shape, 3);
        folder.replay(PRODUCT, "d.npy");
        let right = codes(&folder, "d.npy", 4);
        for wrong in [0x0005_a5a5, 1 << 30, 0x7fff_ffff] {
            let d: Vec<u64> = right.iter().map(|code| code ^ wrong).collect();
            save(&folder, "<f4", &shape[..2], 4, &d);
            let found = causes(&folder, CHECK);
            assert!(found.len() <= right.len().max(1), "{shape:?}: {found:?}");
            let places =
                words! {"rows | columns | tile | rectangle | lattice | bit_flipped | constant"};
            let placed = kinds(&found).iter().all(|kind| places.contains(kind));
            assert!(placed, "{shape:?}: {found:?}");
        }
    }
}

/// Many matrices of one element each.
#[test]
fn a_batch_of_single_elements() {
    let folder = crate::support::Folder::new();
    folder.generate("a fp16 3:normal:50000x1x4 | b fp16 3:normal:50000x4x1");
    let d: Vec<u64> = (0..50_000).map(|at| word(at) & 0xffff_ffff).collect();
    save(&folder, "<f4", &[50_000, 1, 1], 4, &d);
    diagnosed! {folder, "{CHECK} | ="};
}

/// NaNs and infinities among the operands are no reason to name anything.
#[test]
fn specials_everywhere() {
    let folder = folder("fp16", [32, 40, 24], 3);
    change(&folder, "a.npy", "a.npy", 2, |at, code| match at % 7 {
        0 => [0x7c00, 0xfc00, 0x7e00][at % 3],
        _ => code,
    });
    folder.replay(PRODUCT, "d.npy");
    change(&folder, "d.npy", "d.npy", 4, |at, code| {
        code ^ (word(at as u64) % 2) << 22
    });
    causes(&folder, CHECK);
}

/// What a merge of parts says is what a check of the whole says, places and all.
#[test]
fn parts_say_the_same() {
    let folder = folder("fp16", [96, 96, 32], 3);
    folder.replay(PRODUCT, "d.npy");
    let mut d = codes(&folder, "d.npy", 4);
    for (i, j) in (32..64).flat_map(|i| (0..32).map(move |j| (i, j))) {
        d[i * 96 + j] = 0;
    }
    d[7 * 96 + 50] ^= 1 << 20;
    save(&folder, "<f4", &[96, 96], 4, &d);
    let whole = diagnosed! {folder, "{CHECK} | = unwritten, bit_flipped"};
    claims! {folder, "shard plan --shards 5 --block-rows 16 -o plan.json {CHECK} | 0"}
    let mut parts = String::new();
    for i in 0..5 {
        folder.passes(&format!("shard run plan.json {i} -o part{i}.json"));
        parts += &format!(" part{i}.json");
    }
    let merged = folder.differing(&format!("shard merge plan.json{parts} -o -"));
    assert_eq!(merged.list("causes"), &whole);
}
