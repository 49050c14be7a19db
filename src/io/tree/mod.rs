//! SHA-256 digests as values, and Merkle trees over the rows of a result.

mod hash;
mod merkle;
mod rows;

pub use hash::Hash;
pub use merkle::{Tree, leaf, leaf_hasher, node, path_length, root_of, rooted};
pub use rows::{Rows, StreamingLeaves, leaves, payload_of, row_payload};

/// Why an array cannot be cut into leaves.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// To be read after the array's name.
    #[error("{0}")]
    Shape(String),
    #[error("the rows need {bytes} bytes of memory, which the system does not provide")]
    Memory {
        bytes: usize,
        source: std::collections::TryReserveError,
    },
}

impl TreeError {
    /// No memory can hold a result of this shape.
    pub fn too_large(shape: &[usize]) -> TreeError {
        TreeError::Shape(format!("no memory can hold a D of shape {shape:?}"))
    }
}
