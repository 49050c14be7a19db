//! Why there is no answer.

use crate::check::CheckError;

/// Why a search cannot be prepared or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdentifyError {
    /// A file cannot be read, or the arrays do not multiply.
    #[error(transparent)]
    Operands(#[from] CheckError),
    #[error(
        "no model in the catalogue has the formats of these files; 'tcverify archs' lists the models"
    )]
    NoCandidate,
    #[error(
        "no model of {0} has the formats of these files; 'tcverify archs' lists the models; omit the architecture to \
         search all"
    )]
    NoneOf(String),
}

impl IdentifyError {
    /// The sentence, with every field called what `name` calls it.
    pub fn in_words(&self, name: impl Fn(&'static str) -> String) -> String {
        match self {
            IdentifyError::Operands(error) => error.in_words(name),
            IdentifyError::NoCandidate | IdentifyError::NoneOf(_) => self.to_string(),
        }
    }
}
