//! Logs of commitments that witnesses cosign, in C2SP's formats, so that other tools can follow them. A log is a
//! Merkle tree of RFC 6962 whose leaves are the files of commitments. A checkpoint is its size and root as a signed
//! note.
//!
//! * `note`: signed notes and the keys that sign them.
//! * `checkpoint`: checkpoints, and witnesses' cosignatures of them.
//! * `consistency`: that one tree is the beginning of another.
//! * `proof`: that a leaf is in a checkpoint's tree (`.tlog-proof`).
//! * `log`: the file of a log's leaves.
//! * `twice`: commitments in a log to one product.
//! * `published`: what a checkpoint with its cosignatures proves about the time of a commitment.
//!
//! `docs/attestations.md` says what that proves.

mod checkpoint;
mod consistency;
mod log;
mod note;
mod proof;
mod published;
mod twice;

pub use checkpoint::{Checkpoint, cosigned_text};
pub use consistency::{consistency, is_consistent};
pub use log::{LOG, Log, OpenLog};
pub use note::{Key, KeyKind, Note, NoteSignature};
pub use proof::TlogProof;
pub use published::{Published, Witness, Witnesses, posix_of, rfc3339};
pub use twice::{Committed, repeated};

/// Why something is not a log, note or proof, or proves nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlogError {
    /// It is no such document: to be read after the file's name.
    #[error("{0}")]
    Document(String),
    /// It is one, but not of this log, key or commitment.
    #[error("proves nothing: {0}")]
    ProvesNothing(String),
    #[error(transparent)]
    File(#[from] crate::io::FileError),
}

impl TlogError {
    pub fn document(reason: impl Into<String>) -> TlogError {
        TlogError::Document(reason.into())
    }

    pub fn nothing(reason: impl Into<String>) -> TlogError {
        TlogError::ProvesNothing(reason.into())
    }
}
