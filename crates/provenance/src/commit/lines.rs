//! An operand cut into the lines that a product multiplies: rows of A, columns of B.

use serde::{Deserialize, Serialize};
use sha2::Digest;

use super::{CommitError, wrong};
use crate::io::tree::{
    Hash, Tree, TreeError, leaf, leaf_hasher, leaves, payload_of, rooted, row_payload,
};
use crate::num::Format;
use crate::tensor::{Plane, Tensor, parallel};

/// Which elements of an array are a line. Rows run along its last axis and columns along the one before,
/// as it is stored; the matrices of a batch count on, one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Along {
    Rows,
    Columns,
    /// All of it is one line.
    Whole,
}

impl Along {
    fn word(self) -> &'static str {
        match self {
            Along::Rows => "rows",
            Along::Columns => "columns",
            Along::Whole => "whole",
        }
    }
}

fn no_lines<T>(shape: &[usize]) -> Result<T, CommitError> {
    wrong(format!("{shape:?} is not a shape that has lines"))
}

/// How an operand is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    pub format: Format,
    /// As stored.
    pub shape: Vec<usize>,
    pub along: Along,
    /// Lines of a matrix, and elements of a line.
    per_matrix: usize,
    length: usize,
    count: u64,
}

impl Lines {
    /// Cuts an array of this format and shape.
    ///
    /// # Errors
    /// If it has no lines, or is larger than any memory.
    pub fn new(format: Format, shape: Vec<usize>, along: Along) -> Result<Lines, CommitError> {
        let (batch, [rows, columns]) = match (along, shape.as_slice()) {
            (Along::Whole, _) => (&[][..], [1, 0]),
            (_, [batch @ .., rows, columns]) => (batch, [*rows, *columns]),
            _ => return no_lines(&shape),
        };
        let product = |axes: &[usize]| {
            let axes = axes.iter().map(|&axis| axis as u64);
            axes.clone()
                .chain([format.bytes() as u64])
                .try_fold(1u64, u64::checked_mul)
                .filter(|&n| i64::try_from(n).is_ok())
                .map(|n| n / format.bytes() as u64)
        };
        let (Some(all), Some(matrices)) = (product(&shape), product(batch)) else {
            return Err(TreeError::too_large(&shape).into());
        };
        let (per_matrix, length) = match along {
            Along::Rows => (rows, columns),
            Along::Columns => (columns, rows),
            Along::Whole => (1, all as usize),
        };
        let count = matrices.checked_mul(per_matrix as u64);
        match count {
            Some(count) if count > 0 => Ok(Lines {
                format,
                shape,
                along,
                per_matrix,
                length,
                count,
            }),
            _ => no_lines(&shape),
        }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Elements of a line.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Bytes of a line.
    pub fn bytes(&self) -> u64 {
        self.length as u64 * self.format.bytes() as u64
    }

    /// The number of a line of a matrix of the batch. One matrix may belong to all of them.
    pub fn number(&self, batch: usize, line: usize) -> u64 {
        match self.along {
            Along::Whole => 0,
            _ => (batch as u64 * self.per_matrix as u64 + line as u64) % self.count,
        }
    }

    /// The root that is committed to: of the tree, bound to the operand's name and to how it is cut and read.
    pub fn root(&self, operand: &str, tree: Hash) -> Hash {
        let axes: Vec<_> = self.shape.iter().map(usize::to_string).collect();
        let header = format!(
            "tcverify.commitment/1\noperand={operand}\nformat={}\nshape={}\nlines={}\n",
            self.format,
            axes.join(","),
            self.along.word()
        );
        rooted(&header, tree)
    }

    /// The tree over an array.
    ///
    /// # Panics
    /// If it is not of this format and shape.
    pub fn tree(&self, tensor: &Tensor) -> Tree {
        assert!(tensor.format() == self.format && tensor.shape() == self.shape);
        Tree::new(match self.along {
            Along::Rows => {
                let rows = (0..self.count).map(|row| row..row + 1);
                leaves(tensor, &rows.collect::<Vec<_>>())
            }
            Along::Columns => self.columns(tensor),
            Along::Whole => {
                let mut hash = leaf_hasher();
                tensor.for_each_payload_chunk(|chunk| hash.update(chunk));
                vec![Hash(hash.finalize().into())]
            }
        })
    }

    /// The payload of a line: its codes from the first on, little-endian, at the format's width.
    ///
    /// # Panics
    /// If there is no such line.
    pub fn payload(&self, tensor: &Tensor, line: u64) -> Vec<u8> {
        assert!(line < self.count);
        match self.along {
            Along::Whole => {
                let mut all = Vec::new();
                tensor.for_each_payload_chunk(|chunk| all.extend_from_slice(chunk));
                all
            }
            Along::Rows => row_payload(tensor.planes(), line),
            Along::Columns => {
                let (planes, line) = (tensor.planes(), line as usize);
                let plane = planes.plane(line / self.per_matrix);
                column_payload(plane, line % self.per_matrix, self.format)
            }
        }
    }

    /// The leaves of columns, some neighbouring ones at a time: those lie together in most arrays.
    fn columns(&self, tensor: &Tensor) -> Vec<Hash> {
        const TOGETHER: usize = 64;
        let planes = tensor.planes();
        let groups: Vec<(usize, usize)> = (0..planes.batches())
            .flat_map(|batch| {
                (0..self.per_matrix)
                    .step_by(TOGETHER)
                    .map(move |column| (batch, column))
            })
            .collect();
        let hashed = parallel::map(groups.len(), |i| {
            let (batch, column) = groups[i];
            let columns = TOGETHER.min(self.per_matrix - column);
            self.group(planes.plane(batch), column, columns)
        });
        hashed.concat()
    }

    fn group(&self, plane: Plane, column: usize, columns: usize) -> Vec<Hash> {
        const ROWS: usize = 1024;
        let width = self.format.bytes();
        if width > 4 {
            let hash = |column| leaf([&column_payload(plane, column, self.format)[..]]);
            return (column..column + columns).map(hash).collect();
        }
        let mut hashes = vec![leaf_hasher(); columns];
        let mut codes = vec![0; ROWS.min(plane.rows) * columns];
        let mut run = Vec::new();
        for row in (0..plane.rows).step_by(ROWS) {
            let rows = ROWS.min(plane.rows - row);
            let codes = &mut codes[..rows * columns];
            plane.read_block(row, rows, column, columns, codes);
            for (j, hash) in hashes.iter_mut().enumerate() {
                run.clear();
                for code in codes.iter().skip(j).step_by(columns) {
                    run.extend_from_slice(&code.to_le_bytes()[..width]);
                }
                hash.update(&run);
            }
        }
        hashes
            .into_iter()
            .map(|hash| Hash(hash.finalize().into()))
            .collect()
    }
}

fn column_payload(plane: Plane, column: usize, format: Format) -> Vec<u8> {
    let codes = (0..plane.rows).map(|row| plane.code(row, column));
    payload_of(codes, format)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(format: Format, shape: &[usize]) -> Tensor {
        let count: usize = shape.iter().product();
        let codes: Vec<u64> = (0..count as u64).map(|i| i * 7 % 251).collect();
        Tensor::from_codes(format, shape.to_vec(), &codes)
    }

    /// Leaves of rows and columns of every width, of one matrix and of several, are the hashes of their payloads.
    #[test]
    fn leaves_are_those_of_the_payloads() {
        for format in [Format::E4m3, Format::Bf16, Format::Fp32, Format::Fp64] {
            for shape in [&[3, 70][..], &[70, 3], &[2, 2, 5, 9], &[1500, 2]] {
                let tensor = tensor(format, shape);
                for along in [Along::Rows, Along::Columns, Along::Whole] {
                    let lines = Lines::new(format, shape.to_vec(), along).unwrap();
                    let tree = lines.tree(&tensor);
                    assert_eq!(tree.leaves().len() as u64, lines.count());
                    for line in 0..lines.count() {
                        let payload = lines.payload(&tensor, line);
                        assert_eq!(payload.len() as u64, lines.bytes());
                        assert_eq!(tree.leaves()[line as usize], leaf([&payload[..]]));
                    }
                }
            }
        }
    }

    /// A column is the row of the transpose, and not the row.
    #[test]
    fn columns_run_down() {
        let codes: Vec<u64> = (0..6).collect();
        let tensor = Tensor::from_codes(Format::Fp16, vec![2, 3], &codes);
        let line = |along, line| {
            let lines = Lines::new(Format::Fp16, vec![2, 3], along).unwrap();
            lines.payload(&tensor, line)
        };
        assert_eq!(line(Along::Columns, 1), [1, 0, 4, 0]);
        assert_eq!(line(Along::Rows, 1), [3, 0, 4, 0, 5, 0]);
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        let new = |shape: &[usize], along| Lines::new(Format::Fp16, shape.to_vec(), along);
        for shape in [&[][..], &[3], &[0, 3], &[0, 2, 2]] {
            assert!(new(shape, Along::Rows).is_err(), "{shape:?}");
        }
        for along in [Along::Rows, Along::Columns, Along::Whole] {
            assert!(new(&[usize::MAX, 2], along).is_err());
            assert!(new(&[usize::MAX, usize::MAX, 0, 1], along).is_err());
        }
        assert_eq!(new(&[4, 0], Along::Rows).unwrap().length(), 0);
    }
}
