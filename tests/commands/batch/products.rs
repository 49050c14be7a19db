//! Products to judge: small ones in files, with D as the program itself computes it.

use serde_json::{Value, json};

use crate::support::{Folder, Npy, halves};

/// Fills a folder with `x.npy` (4x32), `w.npy` (32x8) of FP16, and their product on an H100, `d.npy`.
pub fn small() -> Folder {
    let folder = Folder::new();
    let numbers = |count: usize, step: usize| -> Vec<u8> {
        let number = |i| (((i * step) % 97) as f32 - 48.0) / 16.0;
        halves(&(0..count).map(number).collect::<Vec<f32>>())
    };
    folder.save("x.npy", &Npy::new("<f2", &[4, 32], numbers(128, 31)));
    folder.save("w.npy", &Npy::new("<f2", &[32, 8], numbers(256, 57)));
    folder.passes("replay --arch h100 --dtype fp16 x.npy w.npy -o d.npy");
    folder
}

/// Writes a manifest of these cases.
pub fn manifest(folder: &Folder, defaults: Value, cases: Value) {
    let manifest = json!({"schema": "tcverify.manifest/1", "defaults": defaults, "cases": cases});
    folder.write("cases.json", manifest.to_string());
}

/// What most cases have in common.
pub fn usual() -> Value {
    json!({"arch": "h100", "dtype": "fp16", "a": "x.npy", "b": "w.npy", "d": "d.npy"})
}

/// A copy of a file of which one bit, so far from the end, is another.
pub fn flip(folder: &Folder, from: &str, to: &str, back: usize) {
    folder.flip(from, to, back, 1);
}
