//! Headers that lie about sizes get no memory for it.

use super::{good, refused};
use crate::support::{Folder, Npy, Run, claims, read_rows, words};

fn claiming(shape: &str) -> Npy {
    let text = format!("{{'descr': '<f2', 'fortran_order': False, 'shape': {shape}, }}");
    Npy::with_header(&text, vec![0; 12])
}

const HUGE: &str = "
    (1152921504606846976, 1) | is truncated: its header declares 2305843009213693952 bytes
    (4611686018427387904,) | which no memory can hold
    (4294967296, 4294967296) | which no memory can hold
    (0, 1099511627776, 1099511627776) | which no memory can hold
    (1099511627776, 1099511627776, 0) | which no memory can hold
    (18446744073709551615,) | which no memory can hold
    (18446744073709551616,) | too large for this machine
    (1000000000000000000000000000000,) | too large for this machine
    (1099511627776, 2) | is truncated: its header declares 4398046511104 bytes of elements, the file has 12
";

#[test]
fn shapes_that_no_file_has() {
    for [shape, words] in read_rows(HUGE) {
        let folder = good();
        folder.save("a.npy", &claiming(shape));
        refused(&folder, &[words]);
    }
}

/// A device has no bytes, as far as it says, and never ends.
#[cfg(target_os = "linux")]
#[test]
fn documents_that_never_end() {
    let folder = good();
    for option in words! {"--arch ampere --schedule-file | --model | --arch ampere --kernel-table"}
    {
        claims! {folder, "check --dtype fp16 {option} /dev/zero a.npy b.npy d.npy | refused | /dev/zero
        | has more than 16777216 bytes"}
    }
}

#[test]
fn more_axes_than_numpy_has() {
    let folder = good();
    folder.save("a.npy", &claiming(&format!("({})", "1, ".repeat(65))));
    refused(&folder, &["more than 64 axes"]);
    let folder = good();
    let many = format!("({})", "1, ".repeat(20_000));
    folder.write("a.npy", claiming(&many).version(2, 0).bytes());
    claims! {folder, "digest a.npy | refused | more than 64 axes"}
}

#[test]
fn header_lengths_that_no_file_has() {
    for length in [65_537, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff_u32] {
        let folder = good();
        let mut file = Npy::new("<f2", &[2, 3], vec![0; 12]).version(2, 0).bytes();
        file[8..12].copy_from_slice(&length.to_le_bytes());
        folder.write("a.npy", file);
        refused(&folder, &[&format!("declares a header of {length} bytes")]);
    }
}

/// Runs with 400 MB of address space: nothing may be allocated on a header's word.
#[cfg(target_os = "linux")]
fn cramped(folder: &Folder, arguments: &str) -> Run {
    folder.limited("ulimit -v 400000", &format!("--threads 1 {arguments}"))
}

#[cfg(target_os = "linux")]
#[test]
fn a_lie_costs_no_memory() {
    let folder = good();
    for [shape, words] in read_rows(HUGE) {
        folder.save("a.npy", &claiming(shape));
        let check = "check --arch ampere --dtype fp16 a.npy b.npy d.npy";
        cramped(&folder, check).refuses(&["a.npy", words]);
    }
    let mut file = Npy::new("<f2", &[2, 3], vec![0; 12]).version(2, 0).bytes();
    file[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    folder.write("a.npy", file);
    cramped(&folder, "digest a.npy").refuses(&["a.npy", "declares a header of"]);
}

#[cfg(target_os = "linux")]
#[test]
fn the_limit_is_not_what_refuses() {
    let folder = good();
    cramped(
        &folder,
        "check --arch ampere --dtype fp16 a.npy b.npy d.npy",
    )
    .expect(0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_larger_than_memory_is_an_error() {
    let folder = good();
    let text = "{'descr': '<f2', 'fortran_order': False, 'shape': (536870912, 1), }";
    let path = folder.write("a.npy", Npy::with_header(text, vec![]).bytes());
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    // A hole of 1 GiB that takes no room on the disk.
    let length = file.metadata().unwrap().len() + (1 << 30);
    if file.set_len(length).is_err() {
        return;
    }
    cramped(&folder, "digest a.npy").refuses(&["a.npy", "cannot be mapped into memory"]);
}
