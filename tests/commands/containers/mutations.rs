//! Every small thing that can be wrong with a container, tried in turn.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::write::{Member, safetensors, zip, zip_as};
use super::{npy, read_all};
use crate::support::{Folder, floats};

/// Small containers of every kind.
fn seeds() -> [(&'static str, Vec<u8>); 4] {
    let (one, two) = (npy(&[1.0, -2.5]), npy(&[3.0]));
    let stored = [Member::stored("a.npy", &one), Member::stored("b.npy", &two)];
    let deflated = [
        Member::deflated("a.npy", &one),
        Member::stored("b.npy", &two),
    ];
    let large = stored.clone().map(|m| Member { zip64: true, ..m });
    let model = safetensors(&[
        ("a", "F32", &[2, 1], &floats(&[1.0, -2.5])),
        ("b", "BF16", &[1], &[0, 0x3f]),
    ]);
    [
        ("x.npz", zip(&stored)),
        ("x.npz", zip(&deflated)),
        ("x.npz", zip_as(&large, true)),
        ("x.safetensors", model),
    ]
}

/// Reads a file: what it holds, or nothing, but with a sentence.
fn survives(path: &Path, bytes: &[u8], what: &str) -> Option<Vec<String>> {
    // A new file each time: some file systems hasten to store one that is written over.
    let _ = std::fs::remove_file(path);
    std::fs::write(path, bytes).unwrap();
    let read = catch_unwind(AssertUnwindSafe(|| read_all(path)));
    match read.unwrap_or_else(|_| panic!("{what}: panics")) {
        Ok(found) => Some(found.into_iter().map(|(_, digest)| digest).collect()),
        Err(message) => {
            let told = message.split_once(": ").map(|(_, cause)| cause);
            assert!(told.is_some_and(|c| !c.is_empty()), "{what}: {message:?}");
            let printable = message.chars().all(|c| !c.is_control());
            assert!(printable && message.len() < 900, "{what}: {message:?}");
            None
        }
    }
}

#[test]
fn any_byte_changed() {
    let folder = Folder::new();
    for (name, good) in seeds() {
        let path = folder.path(name);
        let digests = survives(&path, &good, "unchanged").expect("the seed is good");
        for at in 0..good.len() {
            let old = good[at];
            let values = [
                0,
                0xff,
                b'{',
                b'9',
                b'"',
                old ^ 1,
                old ^ 0x80,
                old.wrapping_add(1),
            ];
            for new in values.into_iter().filter(|&new| new != old) {
                let mut bad = good.clone();
                bad[at] = new;
                let what = format!("{name}: byte {at} is 0x{new:02x}");
                let found = survives(&path, &bad, &what);
                // An archive's checksum covers all of an array: it is the same or refused.
                if let (Some(found), "x.npz") = (found, name) {
                    assert!(
                        found.iter().all(|d| digests.contains(d)),
                        "{what}: {found:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn cut_short_anywhere_or_too_long() {
    let folder = Folder::new();
    for (name, good) in seeds() {
        let path = folder.path(name);
        for length in 0..good.len() {
            let what = format!("{name} cut to {length} bytes");
            let found = survives(&path, &good[..length], &what);
            assert_eq!(found, None, "{what}: is taken");
        }
        for more in 1..=40 {
            let long = [good.as_slice(), &[0; 40][..more]].concat();
            let what = format!("{name} {more} bytes too long");
            assert_eq!(survives(&path, &long, &what), None, "{what}: is taken");
        }
    }
}

#[test]
fn a_byte_taken_out_or_put_in() {
    let folder = Folder::new();
    for (name, good) in seeds() {
        let path = folder.path(name);
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad.remove(at);
            let what = format!("{name} without byte {at}");
            assert_eq!(survives(&path, &bad, &what), None, "{what}: is taken");
            let mut bad = good.clone();
            bad.insert(at, b'0');
            survives(&path, &bad, &format!("{name} with a byte more at {at}"));
        }
    }
}
