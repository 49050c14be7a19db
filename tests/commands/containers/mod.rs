//! Arrays in `.npz` archives and `.safetensors` files, right and wrong ones.

mod held;
mod inspect;
mod mutations;
mod naming;
mod npz;
mod pickles;
mod products;
mod raw;
mod safetensors;
mod write;

use std::path::Path;

use crate::support::{Folder, Npy, floats};
use tcverify::io::{Container, payload_sha256};

/// The bytes of a small `.npy` file.
fn npy(values: &[f32]) -> Vec<u8> {
    Npy::new("<f4", &[values.len()], floats(values)).bytes()
}

/// Payload digests of every array that a path means, each read as it is stored.
fn read_all(path: &Path) -> Result<Vec<(String, String)>, String> {
    let container = Container::open(path).map_err(|e| format!("{e:#}"))?;
    let mut found = Vec::new();
    for array in container.meant() {
        let source = container.source(array).map_err(|e| format!("{e:#}"))?;
        let tensor = source.tensor(source.header().descr.as_stored());
        let tensor = tensor.map_err(|e| format!("{e:#}"))?;
        let name = container.name(array).unwrap_or_default().to_owned();
        found.push((name, payload_sha256(&tensor)));
    }
    Ok(found)
}

/// Fails unless `tcverify digest` refuses a file, or an array in it, with these words.
#[track_caller]
fn refused(folder: &Folder, path: &str, words: &[&str]) {
    let words = [&[path.split('#').next().unwrap()], words].concat();
    folder.tcverify(&format!("digest {path}")).refuses(&words);
}

/// A product of 2x3 by 3x2 in `a.npy`, `b.npy` and `d.npy`.
fn product() -> Folder {
    let folder = Folder::new();
    folder.f16("a.npy", &[2, 3], &A);
    folder.f16("b.npy", &[3, 2], &B);
    folder.f32("d.npy", &[2, 2], &D);
    folder
}

const A: [f32; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.5];
const B: [f32; 6] = [1.0, -1.0, 0.5, 2.0, 0.0, 3.0];
const D: [f32; 4] = [2.0, 12.0, 6.5, 25.5];

/// An archive of `.npy` files by name, stored or deflated.
pub fn archive(members: &[(&str, Vec<u8>)], deflated: bool) -> Vec<u8> {
    let member = |(name, bytes): &(&str, Vec<u8>)| {
        if deflated {
            write::Member::deflated(name, bytes)
        } else {
            write::Member::stored(name, bytes)
        }
    };
    write::zip(&members.iter().map(member).collect::<Vec<_>>())
}
