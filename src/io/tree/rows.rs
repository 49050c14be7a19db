//! D cut into blocks of rows, whole or as its rows arrive.

use std::ops::Range;

use sha2::{Digest, Sha256};

use super::{Hash, Tree, TreeError, leaf, leaf_hasher, rooted};
use crate::num::Format;
use crate::tensor::{Planes, Tensor, parallel};

/// How D is cut: rows of all matrices of the batch are counted on, one matrix after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    pub format: Format,
    pub shape: Vec<usize>,
    /// Rows of a block; the last may have fewer.
    pub block_rows: u64,
    rows: u64,
}

impl Rows {
    /// Cuts a D of this format and shape.
    ///
    /// # Errors
    /// If it is not a stack of matrices with elements, or larger than any memory.
    pub fn new(format: Format, shape: Vec<usize>, block_rows: u64) -> Result<Rows, TreeError> {
        if shape.is_empty() || shape.contains(&0) {
            let reason = format!("{shape:?} is not the shape of a D");
            return Err(TreeError::Shape(reason));
        }
        if block_rows == 0 {
            let reason = "a block must have at least one row";
            return Err(TreeError::Shape(reason.into()));
        }
        let bytes = shape
            .iter()
            .try_fold(format.bytes() as u64, |n, &axis| n.checked_mul(axis as u64));
        let bytes = bytes.filter(|&n| i64::try_from(n).is_ok());
        if bytes.is_none() {
            return Err(TreeError::too_large(&shape));
        }
        let rows = shape[..shape.len() - 1].iter().map(|&axis| axis as u64);
        Ok(Rows {
            rows: rows.product(),
            format,
            shape,
            block_rows,
        })
    }

    /// As many rows as make a block of about a mebibyte.
    pub fn about_a_mebibyte(format: Format, shape: &[usize]) -> u64 {
        Rows::about(1 << 20, format, shape)
    }

    /// As many rows as make a block of about so many bytes.
    pub fn about(bytes: u64, format: Format, shape: &[usize]) -> u64 {
        let columns = shape.last().copied().unwrap_or(1);
        let row = (columns as u64).saturating_mul(format.bytes() as u64);
        (bytes / row.max(1)).max(1)
    }

    /// Number of rows.
    pub fn count(&self) -> u64 {
        self.rows
    }

    /// Number of blocks.
    pub fn blocks(&self) -> u64 {
        self.rows.div_ceil(self.block_rows)
    }

    /// The rows of a block.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn of_block(&self, block: u64) -> Range<u64> {
        assert!(block < self.blocks());
        let start = block * self.block_rows;
        start..self.rows.min(start.saturating_add(self.block_rows))
    }

    pub fn columns(&self) -> usize {
        self.shape[self.shape.len() - 1]
    }

    /// The root that is committed to: of the tree, bound to how D is cut and read.
    pub fn root(&self, tree: Hash) -> Hash {
        let axes: Vec<_> = self.shape.iter().map(usize::to_string).collect();
        let header = format!(
            "tcverify.commitment/1\nformat={}\nshape={}\nblock_rows={}\n",
            self.format,
            axes.join(","),
            self.block_rows
        );
        rooted(&header, tree)
    }

    /// The tree over a D.
    ///
    /// # Panics
    /// If it is not of this format and shape.
    pub fn tree(&self, d: &Tensor) -> Tree {
        assert!(d.format() == self.format && d.shape() == self.shape);
        let blocks = (0..self.blocks()).map(|block| self.of_block(block));
        Tree::new(leaves(d, &blocks.collect::<Vec<_>>()))
    }

    /// The payload of a block.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn payload(&self, d: &Tensor, block: u64) -> Vec<u8> {
        let rows = self.of_block(block);
        rows.flat_map(|row| row_payload(d.planes(), row)).collect()
    }

    /// Bytes of a block.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn bytes_of(&self, block: u64) -> u64 {
        let rows = self.of_block(block);
        (rows.end - rows.start) * self.columns() as u64 * self.format.bytes() as u64
    }

    /// The payloads of some blocks as one matrix.
    pub fn gather(&self, d: &Tensor, blocks: &[u64]) -> Result<Tensor, TreeError> {
        let ranges = blocks.iter().map(|&block| self.of_block(block));
        let rows: Vec<u64> = ranges.flatten().collect();
        let bytes = rows.len() * self.columns() * self.format.bytes();
        let mut payload = Vec::new();
        let room = payload.try_reserve_exact(bytes);
        room.map_err(|source| TreeError::Memory { bytes, source })?;
        for &row in &rows {
            payload.extend(row_payload(d.planes(), row));
        }
        let shape = vec![rows.len(), self.columns()];
        Ok(Tensor::from_payload(self.format, shape, payload))
    }
}

/// The hashes of some blocks of rows of a tensor.
///
/// # Panics
/// If it has no such rows.
pub fn leaves(tensor: &Tensor, blocks: &[Range<u64>]) -> Vec<Hash> {
    let columns = tensor.shape().last().copied().unwrap_or(1);
    let width = columns * tensor.format().bytes();
    if let Some(payload) = tensor.as_payload() {
        let place = |row: u64| row as usize * width;
        let hash = |rows: &Range<u64>| leaf([&payload[place(rows.start)..place(rows.end)]]);
        return parallel::map(blocks.len(), |i| hash(&blocks[i]));
    }
    let row = |row| row_payload(tensor.planes(), row);
    let hash = |rows: &Range<u64>| {
        let payloads: Vec<_> = rows.clone().map(row).collect();
        leaf(payloads.iter().map(Vec::as_slice))
    };
    parallel::map(blocks.len(), |i| hash(&blocks[i]))
}

/// The canonical payload of a row, counted through the batch.
pub fn row_payload(planes: Planes, row: u64) -> Vec<u8> {
    let (row, rows) = (row as usize, planes.rows());
    let plane = planes.plane(row / rows);
    let codes = (0..plane.columns).map(|column| plane.code(row % rows, column));
    payload_of(codes, planes.tensor().format())
}

/// Codes as bytes, little-endian, at the format's width.
pub fn payload_of(codes: impl Iterator<Item = u64>, format: Format) -> Vec<u8> {
    let codes = codes.map(u64::to_le_bytes);
    codes
        .flat_map(|code| code.into_iter().take(format.bytes()))
        .collect()
}

/// The leaves of a D that arrives row by row.
pub struct StreamingLeaves {
    /// Bytes of a block, except the last.
    block: u64,
    begun: u64,
    hash: Sha256,
    leaves: Vec<Hash>,
}

impl StreamingLeaves {
    /// From the first row of some block on.
    pub fn new(rows: &Rows) -> StreamingLeaves {
        let row = (rows.columns() * rows.format.bytes()) as u64;
        StreamingLeaves {
            block: rows.block_rows.saturating_mul(row),
            begun: 0,
            hash: leaf_hasher(),
            leaves: Vec::new(),
        }
    }

    /// The next bytes of the canonical payload.
    pub fn update(&mut self, mut payload: &[u8]) {
        while !payload.is_empty() {
            let room = usize::try_from(self.block - self.begun).unwrap_or(usize::MAX);
            let (now, rest) = payload.split_at(room.min(payload.len()));
            self.hash.update(now);
            self.begun += now.len() as u64;
            if self.begun == self.block {
                self.end();
            }
            payload = rest;
        }
    }

    fn end(&mut self) {
        let hash = std::mem::replace(&mut self.hash, leaf_hasher());
        self.leaves.push(Hash(hash.finalize().into()));
        self.begun = 0;
    }

    /// The leaves; one that has begun ends here.
    pub fn finish(mut self) -> Vec<Hash> {
        if self.begun > 0 {
            self.end();
        }
        self.leaves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_do_not_depend_on_the_pieces() {
        let rows = Rows::new(Format::Fp16, vec![7, 3], 2).unwrap();
        let payload: Vec<u8> = (0..42).collect();
        let expected: Vec<_> = payload.chunks(12).map(|block| leaf([block])).collect();
        for step in 1..=42 {
            let mut streaming = StreamingLeaves::new(&rows);
            payload
                .chunks(step)
                .for_each(|piece| streaming.update(piece));
            assert_eq!(streaming.finish(), expected, "pieces of {step}");
        }
    }
}
