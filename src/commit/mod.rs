//! Commitments: what was multiplied and what came out, fixed before anyone asks.
//!
//! A [`Commitment`] names the operands, the model and D by digests; D by the root of a Merkle tree
//! over blocks of its rows, so that a few blocks can be shown to belong to it ([`Proof`]) without
//! the rest. `docs/commitment-format.md` specifies both.

mod document;
mod error;
mod hash;
mod proof;
mod rows;
mod streaming;
mod tree;

pub use document::{
    COMMITMENT, Commitment, CommittedD, CommittedInput, CommittedInputs, CommittedSchedule,
};
pub use error::CommitError;
pub use hash::Hash;
pub use proof::{BlockProof, PROOF, Proof};
pub use rows::{Rows, leaves};
pub use streaming::StreamingLeaves;
pub use tree::{Tree, leaf, node, root_of};
