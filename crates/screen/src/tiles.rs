//! D cut into rectangles.

use std::ops::Range;

use crate::io::tree::{Hash, leaf};
use crate::num::Format;

/// How a D is cut.
#[derive(Clone, Copy, Debug)]
pub struct Tiles {
    /// Rows and columns of D.
    pub shape: [usize; 2],
    /// Rows and columns of a tile.
    pub tile: [usize; 2],
    pub format: Format,
}

impl Tiles {
    /// How many tiles a D has.
    pub fn count(&self) -> usize {
        self.shape[0].div_ceil(self.tile[0]) * self.across()
    }

    fn across(&self) -> usize {
        self.shape[1].div_ceil(self.tile[1])
    }

    /// Rows and columns of one.
    pub fn place(&self, index: usize) -> [Range<usize>; 2] {
        let at = [index / self.across(), index % self.across()];
        [0, 1].map(|axis| {
            let start = at[axis] * self.tile[axis];
            start..(start + self.tile[axis]).min(self.shape[axis])
        })
    }

    /// The elements of one, row by row.
    pub fn elements(&self, index: usize) -> impl Iterator<Item = [usize; 2]> + use<> {
        let [rows, columns] = self.place(index);
        rows.flat_map(move |row| columns.clone().map(move |column| [row, column]))
    }

    /// Bytes of one.
    pub fn bytes(&self, index: usize) -> usize {
        let [rows, columns] = self.place(index);
        rows.len() * columns.len() * self.format.bytes()
    }

    /// The payload of one, row by row.
    pub fn payload(&self, d: &[u8], index: usize) -> Vec<u8> {
        let [rows, columns] = self.place(index);
        let width = self.format.bytes();
        let row = |row| (row * self.shape[1] + columns.start) * width;
        let bytes = rows.flat_map(|r| &d[row(r)..row(r) + columns.len() * width]);
        bytes.copied().collect()
    }

    /// Puts the payload of one into D.
    pub fn put(&self, d: &mut [u8], index: usize, payload: &[u8]) {
        let [rows, columns] = self.place(index);
        let width = self.format.bytes();
        let length = columns.len() * width;
        for (row, bytes) in rows.zip(payload.chunks_exact(length)) {
            let at = (row * self.shape[1] + columns.start) * width;
            d[at..at + length].copy_from_slice(bytes);
        }
    }

    /// The hashes of all of a D's payload.
    pub fn leaves(&self, d: &[u8]) -> Vec<Hash> {
        let one = |index| leaf([&self.payload(d, index)[..]]);
        (0..self.count()).map(one).collect()
    }
}

/// The codes of a payload.
pub fn codes(format: Format, payload: &[u8]) -> impl Iterator<Item = u64> + '_ {
    payload.chunks_exact(format.bytes()).map(|bytes| {
        let mut code = [0; 8];
        code[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(code)
    })
}
