//! Commitments: digests that fix the operands and the result of a product before an audit.
//!
//! A [`Commitment`] names the operands, the model and D by digests: D by the root of a Merkle tree over
//! blocks of its rows, so that a few blocks can be shown to belong to it ([`Proof`]) without the rest, and
//! operands by such trees over the lines that are multiplied ([`Lines`]), so that single elements can be
//! replayed by whoever has no more. `docs/commitment-format.md` specifies all.

mod document;
mod error;
mod hash;
mod lines;
mod parts;
mod proof;
mod rows;
mod streaming;
mod tree;

pub use document::{COMMITMENT, Commitment, CommittedRule};
pub use error::CommitError;
pub use hash::Hash;
pub use lines::{Along, Lines};
pub use parts::{CommittedInput, CommittedResult, CommittedSchedule};
pub use proof::{BlockProof, PROOF, Proof};
pub use rows::{Rows, leaves, row_payload};
pub use streaming::StreamingLeaves;
pub use tree::{Tree, consistency, is_consistent, leaf, node, path_length, root_of};

/// A root that is bound to a header, which says what its leaves mean.
fn rooted(header: &str, tree: Hash) -> Hash {
    let header = Hash::of([&[2][..], header.as_bytes()]);
    Hash::of([&[3][..], &header.0, &tree.0])
}
