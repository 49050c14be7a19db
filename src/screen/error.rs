//! What keeps a suite from being made, run or judged.

use thiserror::Error;

use crate::check::CheckError;
use crate::io::FileError;

/// One sentence each.
#[derive(Debug, Error)]
pub enum ScreenError {
    #[error(transparent)]
    Check(#[from] CheckError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{0}")]
    Said(String),
}

impl From<String> for ScreenError {
    fn from(reason: String) -> ScreenError {
        ScreenError::Said(reason)
    }
}
