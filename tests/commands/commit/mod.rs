//! Commitments and proofs: the tree, the documents, and the commands.

mod against;
mod documents;
mod proofs;
mod tree;

use std::sync::LazyLock;

use crate::support::{Folder, Npy, claims, floats};
use serde_json::Value;

/// Computed by `scripts/commitment_vectors.py`.
static VECTORS: LazyLock<Value> = LazyLock::new(|| {
    let text = include_str!("../../fixtures/commitment/vectors.json");
    serde_json::from_str(text).unwrap()
});

const MODEL: &str = "--arch ampere --dtype fp16";

/// A product of 10x3 by 3x2, its D, and a commitment in blocks of three rows, the last of one.
fn committed() -> Folder {
    let folder = Folder::new();
    let a: Vec<f32> = (0..30).map(|i| i as f32).collect();
    folder.f16("a.npy", &[10, 3], &a);
    folder.f16("b.npy", &[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    claims! {folder, "
        replay {MODEL} a.npy b.npy -o d.npy | 0
        commit {MODEL} a.npy b.npy d.npy --block-rows 3 -o c.json | 0
    "}
    folder
}

/// D of [`committed`] with another last element.
fn tampered(folder: &Folder) -> Vec<u8> {
    let mut d = folder.read("d.npy");
    let last = d.len() - 1;
    d[last] ^= 1;
    d
}

/// Rewrites a JSON file.
fn edit(folder: &Folder, from: &str, to: &str, change: impl FnOnce(&mut Value)) {
    let mut value: Value = folder.document(from);
    change(&mut value);
    folder.write(to, value.to_string());
}

/// FP32 numbers as a file of a column each.
fn column(values: &[f32]) -> Npy {
    Npy::new("<f4", &[values.len(), 1], floats(values))
}
