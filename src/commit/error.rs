//! Why something is not a commitment, or a proof proves nothing.

use thiserror::Error;

use super::Hash;
use crate::io::printable;
use crate::num::Format;

/// What is wrong, to be read after the file's name.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CommitError {
    #[error("is not a commitment: {0}")]
    NotACommitment(Box<CommitError>),
    #[error("is not a proof: {0}")]
    NotAProof(Box<CommitError>),
    #[error("{}", printable(&.0.to_string()))]
    Json(serde_json::Error),
    #[error("its schema is not {expected:?}")]
    Schema { expected: &'static str },
    #[error("{operand} is {found}, but its product needs {expected}")]
    OtherOperand {
        operand: &'static str,
        found: String,
        expected: String,
    },
    #[error("missing field `{0}`")]
    MissingInput(&'static str),
    #[error("it cannot have an array `{0}`")]
    UnknownInput(&'static str),
    #[error("its product has a compressed A, which cannot be committed to")]
    Sparse,
    #[error("{shape:?} is not a shape that has lines")]
    NoLines { shape: Vec<usize> },
    #[error("its D is {d:?}, but its product gives {product:?}")]
    OtherProduct { product: Vec<usize>, d: Vec<usize> },
    #[error("{shape:?} is not the shape of a D")]
    NoShapeOfD { shape: Vec<usize> },
    #[error("a block must have at least one row")]
    EmptyBlocks,
    #[error("no memory can hold a D of shape {shape:?}")]
    TooLarge { shape: Vec<usize> },
    #[error("the rows need {bytes} bytes of memory, which the system does not provide")]
    Memory {
        bytes: usize,
        source: std::collections::TryReserveError,
    },
    #[error("it is for the root {proof}, but the commitment has {commitment}")]
    OtherRoot { proof: Hash, commitment: Hash },
    #[error("it has no blocks")]
    NoBlocks,
    #[error("its blocks are not in ascending order")]
    NotAscending,
    #[error("there is no block {block}; the commitment has 0 to {last}")]
    NoSuchBlock { block: u64, last: u64 },
    #[error("the path of block {block} has {hashes} hashes, which is not the right number")]
    PathLength { block: u64, hashes: usize },
    #[error("block {block} does not lead to the committed root")]
    LeadsElsewhere { block: u64 },
    #[error(
        "the rows are {} {:?}, but these blocks have {} {:?}",
        found.0, found.1, expected.0, expected.1
    )]
    OtherLayout {
        found: (Format, Vec<usize>),
        expected: (Format, Vec<usize>),
    },
    #[error("the rows of block {block} differ: their hash is {found}, but the proof has {proven}")]
    OtherRows {
        block: u64,
        found: Hash,
        proven: Hash,
    },
}
