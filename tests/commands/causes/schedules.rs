//! A kernel that adds up otherwise.

use super::{causes, folder};
use crate::support::{Folder, Members, claims};

fn made(schedule: &str) -> Folder {
    let folder = folder("bf16", [24, 40, 640]);
    claims! {folder, "replay --arch ampere --dtype bf16 {schedule} a.npy b.npy -q -o d.npy | 0"}
    folder
}

/// Whatever schedule was asked for, the one that fits is named, and its command finds D identical.
#[test]
fn the_schedule_that_fits_is_named() {
    let sliced = "--schedule cublas-sliced";
    let slices = "--schedule cutlass-splitk-parallel --tile-k 64 --split-k 4";
    for (true_one, asked) in [(sliced, ""), (slices, ""), (sliced, slices), ("", slices)] {
        let folder = made(true_one);
        let check = format!("--arch ampere --dtype bf16 {asked} a.npy b.npy d.npy");
        let causes = causes(&folder, &check);
        assert_eq!(causes.len(), 1, "{true_one}: {causes:?}");
        assert_eq!(causes[0]["kind"], "other_schedule");
        let command = causes[0].string("command");
        assert!(command.contains(true_one), "{command}");
        let arguments = command.strip_prefix("tcverify ").unwrap();
        folder.passes(arguments);
    }
}

/// Sums that are multiplied belong to their schedule alone.
#[test]
fn nothing_is_supposed_of_sums_with_factors() {
    let folder = made("--schedule cutlass-sm80 --alpha 3");
    let check = "--arch ampere --dtype bf16 --schedule cutlass-sm80 --alpha 2 a.npy b.npy d.npy";
    let causes = causes(&folder, check);
    assert!(causes.iter().all(|cause| cause["kind"] != "other_schedule"));
}
