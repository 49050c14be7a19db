//! Commitments: digests that fix the operands and the result of a product before an audit.
//!
//! A [`Commitment`] names the operands, the model and D by digests: D by the root of a Merkle tree over
//! blocks of its rows, so that a few blocks can be shown to belong to it ([`Proof`]) without the rest, and
//! operands by such trees over the lines that are multiplied ([`Lines`]), so that single elements can be
//! replayed by whoever has no more. `docs/commitment-format.md` specifies all.

mod document;
mod lines;
mod parts;
mod proof;

use serde::Deserialize;

use crate::io::printable;
use crate::io::tree::TreeError;
pub use document::{COMMITMENT, Commitment, CommittedRule};
pub use lines::{Along, Lines};
pub use parts::{CommittedInput, CommittedResult, CommittedSchedule};
pub use proof::{BlockProof, PROOF, Proof};

/// Why something is not a commitment, or a proof proves nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// To be read after the file's name.
    #[error("{0}")]
    Document(String),
    #[error(transparent)]
    Tree(#[from] TreeError),
}

fn wrong<T>(reason: impl Into<String>) -> Result<T, CommitError> {
    Err(CommitError::Document(reason.into()))
}

/// Reads a document of this schema.
fn document<T: for<'de> Deserialize<'de>>(
    text: &[u8],
    expected: &str,
    schema: fn(&T) -> &String,
) -> Result<T, CommitError> {
    let read = serde_json::from_slice(text);
    let read = read.or_else(|error| wrong(printable(&error.to_string())))?;
    if schema(&read) == expected {
        Ok(read)
    } else {
        wrong(format!("its schema is not {expected:?}"))
    }
}
