//! The documents of a batch: how their text is read, and why a batch cannot be judged.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::check::CheckError;
use crate::io::{FileError, MAX_LOG, escaped_path, printable, read_text};

/// Why a batch cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// A manifest, an index or a state is not what it must be.
    #[error("{}: {reason}", escaped_path(path))]
    Document { path: PathBuf, reason: String },
    /// A case says something that cannot be.
    #[error("{place}: {error}")]
    Case {
        /// The document and the case in it.
        place: String,
        error: CheckError,
    },
    /// A file or folder cannot be read.
    #[error("{0:#}")]
    File(FileError),
    /// Nobody waited for it; what had been judged is in the state, if there is one.
    #[error("interrupted before all cases were judged")]
    Interrupted,
    #[error("{0}")]
    Other(String),
}

impl BatchError {
    pub(super) fn document(path: &Path) -> impl Fn(String) -> BatchError + use<> {
        let path = path.to_owned();
        move |reason| BatchError::Document {
            path: path.clone(),
            reason,
        }
    }
}

/// The text of a document of a batch.
pub(super) fn text_of(path: &Path) -> Result<String, String> {
    let about = std::fs::metadata(path).map_err(|error| format!("cannot be opened: {error}"))?;
    if !about.is_file() {
        return Err("is not a regular file".into());
    }
    read_text(path, "document of a batch", MAX_LOG).map_err(|error| format!("{:#}", error.fault))
}

pub(super) fn json<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, String> {
    crate::words::from_json(text).map_err(|error| printable(&error))
}

/// The folder that the cases of a manifest or of a folder belong to.
pub fn root(path: &Path) -> &Path {
    if path.is_dir() {
        path
    } else {
        path.parent().unwrap_or(Path::new(""))
    }
}
