//! D of operands that were taken apart, where the request says otherwise.

use super::{caused, folder};
use crate::support::words;

#[test]
fn fp64_by_slices() {
    let folder = folder("fp64", [24, 20, 96]);
    let slices = "--arch h100 --dtype fp64 --schedule cublas-fp64-slices --slices";
    caused! {folder, "
        {slices} 8 a.npy b.npy => --arch h100 --dtype fp64 a.npy b.npy d.npy | *other_model_and_schedule
            | 8 slices of 8 bits
        {slices} 7 a.npy b.npy d.npy | *other_model_and_schedule
    "}
}

#[test]
fn fp32_by_terms() {
    let folder = folder("fp32", [24, 20, 96]);
    for schedule in words! {"cutlass-bf16x9 | cutlass-bf16x9-3-bands | triton-bf16x3 --tile-k 64"} {
        let name = schedule.split(' ').next().expect("a name");
        caused! {folder, "--arch b200 --dtype fp32 --schedule {schedule} a.npy b.npy
            => --arch b200 --dtype fp32 --schedule xla-bf16x9 --tile-k 16 a.npy b.npy d.npy
            | *other_model_and_schedule | {name}"}
    }
}
