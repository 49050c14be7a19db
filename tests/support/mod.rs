//! What the test programs share: cases in files, wrong models, exact numbers, random bits; arrays with
//! a header of one's choice, folders to put them in, and the program itself.

#![allow(dead_code, unused_imports, unused_macros)] // each test program uses some of it

pub mod case;
mod claims;
pub mod engines;
pub mod exact;
pub mod gguf;
pub mod hidden;
mod npy;
pub mod random;
mod run;
mod scene;
pub mod vectors;
pub mod wrong;

use std::io::Write;

pub use claims::{Members, Says, filled, has, holds_all, json_of, lines, listed, read_rows, set};
pub(crate) use claims::{claims, holds, ran, rows, table, words};
pub use npy::Npy;
pub use run::{Folder, Run, fixture, sha256};

/// A line for whoever reads the log: past the capturing of passed tests.
pub fn say(line: std::fmt::Arguments) {
    writeln!(std::io::stderr(), "{line}").expect("standard error can be written");
}

/// Codes of 16 bits, little-endian.
pub fn le16(codes: &[u16]) -> Vec<u8> {
    codes.iter().flat_map(|code| code.to_le_bytes()).collect()
}

/// Codes of 32 bits, little-endian.
pub fn le32(codes: &[u32]) -> Vec<u8> {
    codes.iter().flat_map(|code| code.to_le_bytes()).collect()
}

/// Codes of 64 bits, little-endian.
pub fn le64(codes: &[u64]) -> Vec<u8> {
    codes.iter().flat_map(|code| code.to_le_bytes()).collect()
}

/// FP32 numbers, little-endian.
pub fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// FP64 numbers, little-endian.
pub fn doubles(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// FP16 numbers, little-endian.
pub fn halves(values: &[f32]) -> Vec<u8> {
    let code = |&v: &f32| half::f16::from_f32(v).to_bits().to_le_bytes();
    values.iter().flat_map(code).collect()
}

/// A good product of 2x3 by 3x2, to be spoilt: `a.npy`, `b.npy` and `d.npy`.
pub fn good() -> Folder {
    let folder = Folder::new();
    let ones = halves(&[1.0; 6]);
    folder.save("a.npy", &Npy::new("<f2", &[2, 3], ones.clone()));
    folder.save("b.npy", &Npy::new("<f2", &[3, 2], ones));
    folder.save("d.npy", &Npy::new("<f4", &[2, 2], floats(&[3.0; 4])));
    folder
}
