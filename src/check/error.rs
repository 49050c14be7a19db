//! Why there is no verdict.

use std::path::PathBuf;

use crate::deadline::Ended;
use crate::io::{FileError, escaped_path};

/// Why a check cannot be prepared or run. Reasons call fields of a request by their names in backticks,
/// such as `` `scale_a` ``; callers replace these by names of their own.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// Fields contradict each other, or ask for the impossible.
    #[error("{reason}")]
    Request {
        /// The one to mend.
        field: &'static str,
        reason: String,
    },
    /// A file cannot be read, or does not hold what it must.
    #[error("{error:#}")]
    File {
        field: &'static str,
        error: FileError,
    },
    /// An array is not what the request needs it to be.
    #[error("{name}: {reason}")]
    Array {
        field: &'static str,
        /// The path of its file.
        name: String,
        reason: String,
    },
    /// The arrays do not multiply.
    #[error("{names}: {reason}")]
    Shapes {
        /// Which array is which file.
        names: String,
        reason: String,
    },
    /// Digests and comparison contradict each other about the same D: its bytes were changed meanwhile, or this
    /// program is wrong.
    #[error(
        "no verdict: {reason}; either D changed while it was read, or this is a bug in tcverify: please report it"
    )]
    Contradiction { reason: &'static str },
    /// Nobody waited for it ([`Progress::interrupted`](super::Progress::interrupted)).
    #[error("interrupted before the result was ready")]
    Interrupted,
    /// What computes failed, or computes wrong.
    #[error("no verdict: {reason}")]
    Engine { reason: String },
    /// Something is not what was committed to.
    #[error("differs from the commitment {}: {}", escaped_path(path), differences.join("; "))]
    NotCommitted {
        path: PathBuf,
        differences: Vec<String>,
    },
}

impl CheckError {
    /// Why work ended.
    pub fn ended(ended: Ended) -> CheckError {
        match ended {
            Ended::Interrupted => CheckError::Interrupted,
            Ended::Failed(reason) => CheckError::Engine { reason },
        }
    }

    pub fn request(field: &'static str, reason: impl Into<String>) -> CheckError {
        CheckError::Request {
            field,
            reason: reason.into(),
        }
    }

    pub fn missing(field: &'static str) -> CheckError {
        CheckError::request(field, format!("`{field}` is missing"))
    }

    /// A size that is 0.
    pub fn zero(field: &'static str) -> CheckError {
        CheckError::request(field, format!("`{field}` is 0; it must be at least 1"))
    }

    pub fn exclusive(one: &str, other: &'static str) -> CheckError {
        let reason = format!("`{one}` and `{other}` exclude each other; give one of them");
        CheckError::request(other, reason)
    }

    pub fn needs(one: &'static str, other: &str) -> CheckError {
        CheckError::request(one, format!("`{one}` needs `{other}`, which is missing"))
    }

    /// What is wrong with a field, as another error states it.
    pub fn of<E: std::fmt::Display>(field: &'static str) -> impl Fn(E) -> CheckError {
        move |reason| CheckError::request(field, reason.to_string())
    }

    /// Puts the field's name before what is wrong with it.
    pub fn in_field<E: std::fmt::Display>(field: &'static str) -> impl Fn(E) -> CheckError {
        move |reason| CheckError::request(field, format!("`{field}`: {reason}"))
    }

    pub fn file(field: &'static str) -> impl FnOnce(FileError) -> CheckError {
        move |error| CheckError::File { field, error }
    }

    pub fn array(
        field: &'static str,
        name: impl std::fmt::Display,
        reason: impl Into<String>,
    ) -> CheckError {
        CheckError::Array {
            field,
            name: name.to_string(),
            reason: reason.into(),
        }
    }

    /// The field of the request that is to be mended, where it is one.
    pub fn field(&self) -> Option<&'static str> {
        match self {
            CheckError::Request { field, .. }
            | CheckError::File { field, .. }
            | CheckError::Array { field, .. } => Some(field),
            CheckError::Shapes { .. }
            | CheckError::Contradiction { .. }
            | CheckError::Interrupted
            | CheckError::Engine { .. }
            | CheckError::NotCommitted { .. } => None,
        }
    }
}
