//! D of operands that were taken apart, where the request says otherwise.

use super::{folder, names};
use crate::support::{Folder, Says, words};

fn replayed(folder: &Folder, options: &str) {
    folder.passes(&format!("replay {options} a.npy b.npy -q -o d.npy"));
}

#[test]
fn fp64_by_slices() {
    let folder = folder("fp64", [24, 20, 96]);
    replayed(
        &folder,
        "--arch h100 --dtype fp64 --schedule cublas-fp64-slices --slices 8",
    );
    let native = "--arch h100 --dtype fp64 a.npy b.npy d.npy";
    let sentence = names(&folder, native, "other_model_and_schedule", true);
    sentence.says("8 slices of 8 bits");
    let seven =
        "--arch h100 --dtype fp64 --schedule cublas-fp64-slices --slices 7 a.npy b.npy d.npy";
    names(&folder, seven, "other_model_and_schedule", true);
}

#[test]
fn fp32_by_terms() {
    let folder = folder("fp32", [24, 20, 96]);
    for schedule in words! {"cutlass-bf16x9 | cutlass-bf16x9-3-bands | triton-bf16x3 --tile-k 64"} {
        replayed(
            &folder,
            &format!("--arch b200 --dtype fp32 --schedule {schedule}"),
        );
        let sentence = names(
            &folder,
            "--arch b200 --dtype fp32 --schedule xla-bf16x9 --tile-k 16 a.npy b.npy d.npy",
            "other_model_and_schedule",
            true,
        );
        let name = schedule.split(' ').next().expect("a name");
        assert!(sentence.contains(name), "{sentence}");
    }
}
