//! Why something is no commitment, or a proof proves nothing.

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
    #[error("{operand} is {found}, of a product that makes {expected}")]
    OtherOperand {
        operand: &'static str,
        found: String,
        expected: String,
    },
    #[error("missing field `{0}`")]
    MissingInput(&'static str),
    #[error("`{0}` is no array of it")]
    UnknownInput(&'static str),
    #[error("{shape:?} is the shape of nothing that has lines")]
    NoLines { shape: Vec<usize> },
    #[error("its D is {d:?}, but its product is {product:?}")]
    OtherProduct { product: Vec<usize>, d: Vec<usize> },
    #[error("{shape:?} is no shape of a D")]
    NoShapeOfD { shape: Vec<usize> },
    #[error("a block must have a row")]
    EmptyBlocks,
    #[error("{shape:?} is the shape of no D that a memory can hold")]
    TooLarge { shape: Vec<usize> },
    #[error("the rows take {bytes} bytes of memory, which cannot be had")]
    Memory {
        bytes: usize,
        source: std::collections::TryReserveError,
    },
    #[error("it is for the root {proof}, the commitment has {commitment}")]
    OtherRoot { proof: Hash, commitment: Hash },
    #[error("it has no blocks")]
    NoBlocks,
    #[error("its blocks are not in ascending order")]
    NotAscending,
    #[error("there is no block {block}; the commitment has 0 to {last}")]
    NoSuchBlock { block: u64, last: u64 },
    #[error("the path of block {block} has {hashes} hashes, which is not its length")]
    PathLength { block: u64, hashes: usize },
    #[error("block {block} does not lead to the committed root")]
    LeadsElsewhere { block: u64 },
    #[error(
        "the rows are {} {:?}; of these blocks they are {} {:?}",
        found.0, found.1, expected.0, expected.1
    )]
    OtherLayout {
        found: (Format, Vec<usize>),
        expected: (Format, Vec<usize>),
    },
    #[error("the rows of block {block} are others: their hash is {found}, the proof has {proven}")]
    OtherRows {
        block: u64,
        found: Hash,
        proven: Hash,
    },
}
