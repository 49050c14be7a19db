//! Audits between parties that do not trust each other. A beacon draws elements of a committed D, the
//! prover opens the rows and columns that they need, and the auditor replays them from these alone.
//!
//! * `challenge`: the elements, drawn by a commitment and a public beacon; `pieces`: the lines that they
//!   need.
//! * `opening`: those lines with their paths in the committed trees, as the prover writes them.
//! * `stated`: refuses what a commitment has and the auditor did not state.
//! * `open`: checks the lines and replays the elements from them; `verdict`: the result.
//!
//! `docs/audits.md` specifies the documents.

mod challenge;
mod model;
mod open;
mod opening;
mod pieces;
mod stated;
mod verdict;
mod view;

use tcverify_check as check;
use tcverify_common::{role, words};
use tcverify_compose as compose;
use tcverify_emu as emu;
use tcverify_forms as forms;
use tcverify_io as io;
use tcverify_libraries as libraries;
use tcverify_num as num;
use tcverify_operation as operation;
use tcverify_provenance::{attest, commit, tlog};
use tcverify_report as report;
use tcverify_report::sample;
use tcverify_sealed::envelope;
use tcverify_tensor as tensor;

pub use challenge::{CHALLENGE, Challenge, MOST_ELEMENTS};
pub use model::{AuditModel, OwnCopies};
pub use open::Proven;
pub use opening::{Head, OPENING, Opening};
pub use pieces::{Piece, pieces};
pub use verdict::{AUDIT, AuditReport, Wrong};

/// Why there is no challenge, no opening, or no verdict on one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// It is no such document, or of another version.
    #[error("{0}")]
    Document(String),
    /// What was given proves nothing: to be read after the file's name.
    #[error("proves nothing: {0}")]
    ProvesNothing(String),
    #[error(transparent)]
    Commit(#[from] crate::commit::CommitError),
    #[error(transparent)]
    Check(#[from] crate::check::CheckError),
}

fn nothing<T>(reason: impl Into<String>) -> Result<T, AuditError> {
    Err(AuditError::ProvesNothing(reason.into()))
}
