//! Cuts one check into parts that run anywhere: the plan, the findings of a part, and the merged report. A merged report
//! is on all of D only if every part was signed by a key of the plan or run again. It cannot know whether a part was
//! replayed: `docs/parts.md` says what that is worth, and specifies the documents.

mod audit;
mod merge;
mod part;
mod plan;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub use audit::Audit;
pub use merge::merge;
pub use part::{PART, Part};
pub use plan::{PLAN, Plan, Share};

use crate::check::CheckError;
use crate::io::escaped_path;

/// Why a plan, a part or a merge fails.
#[derive(Debug, thiserror::Error)]
pub enum ShardError {
    #[error(transparent)]
    Check(#[from] CheckError),
    /// A plan or a part is invalid.
    #[error("{}: {reason}", escaped_path(path))]
    Document { path: PathBuf, reason: String },
    #[error("{0}")]
    Other(String),
}

impl ShardError {
    fn document(path: &Path) -> impl Fn(String) -> ShardError {
        move |reason| ShardError::Document {
            path: path.to_owned(),
            reason,
        }
    }
}
