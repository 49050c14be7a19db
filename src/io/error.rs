//! What is wrong with a file, as a type.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

use super::{escaped, escaped_path, printable};

/// What sort of thing is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// It is not there, is not a regular file, or the system refuses to read it.
    Unreadable,
    /// It cannot be written, or must not be.
    Unwritable,
    /// Its bytes are not those of a whole file of its kind.
    Malformed,
    /// The requested array is not there, or could be one of several.
    NoSuchArray,
    /// Its elements cannot be codes or values of the requested format.
    Elements,
    /// More memory would be needed than may be used or can be had.
    Memory,
    /// It was changed while it was being read.
    Changed,
}

/// What is wrong, without saying with which file.
///
/// `{}` is a phrase to be read after the file's name, `{:#}` has the cause behind it that
/// [`Error::source`] gives.
#[derive(Debug, thiserror::Error)]
pub struct Fault {
    pub kind: FaultKind,
    phrase: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// What is wrong with which file: `{}` is a sentence, `{:#}` has its cause behind it.
#[derive(Debug)]
pub struct FileError {
    /// As it was typed.
    pub path: PathBuf,
    /// Of many in that file.
    pub array: Option<String>,
    /// In the sentence already; its cause is this error's.
    pub fault: Box<Fault>,
}

impl Fault {
    pub fn new(kind: FaultKind, phrase: impl Into<String>) -> Fault {
        Fault {
            kind,
            phrase: phrase.into(),
            source: None,
        }
    }

    /// With the system's error.
    pub fn caused(
        kind: FaultKind,
        phrase: &str,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Fault {
        Fault {
            source: Some(source.into()),
            ..Fault::new(kind, phrase)
        }
    }

    /// The system's refusal to read it.
    pub(super) fn unreadable(phrase: &'static str) -> impl Fn(std::io::Error) -> Fault {
        move |error| Fault::caused(FaultKind::Unreadable, phrase, error)
    }

    /// Says where within the file.
    pub fn within(self, place: impl Display) -> Fault {
        Fault {
            phrase: format!("{place}: {}", self.phrase),
            ..self
        }
    }

    /// Says in which file.
    pub fn of(self, path: &Path) -> FileError {
        FileError {
            path: path.to_owned(),
            array: None,
            fault: Box::new(self),
        }
    }
}

impl From<String> for Fault {
    fn from(phrase: String) -> Fault {
        Fault::new(FaultKind::Malformed, phrase)
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&escaped(&self.phrase))?;
        causes(self, f)
    }
}

impl Error for FileError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.fault.source()
    }
}

impl Display for FileError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&escaped_path(&self.path))?;
        if let Some(array) = &self.array {
            // A name in a file can be as long as the file.
            write!(f, "#{}", printable(array))?;
        }
        write!(f, ": {}", escaped(&self.fault.phrase))?;
        causes(&self.fault, f)
    }
}

/// The rest of the chain, for `{:#}`.
fn causes(fault: &Fault, f: &mut Formatter<'_>) -> fmt::Result {
    let mut cause = fault.source();
    while let Some(error) = cause.filter(|_| f.alternate()) {
        write!(f, ": {}", escaped(&error.to_string()))?;
        cause = error.source();
    }
    Ok(())
}

/// Returns a phrase as an error of any type that can be made of one.
#[macro_export]
macro_rules! bail {
    ($($words:tt)*) => {
        return Err(format!($($words)*).into())
    };
}

/// Returns a phrase as an error unless something holds.
#[macro_export]
macro_rules! ensure {
    ($holds:expr, $($words:tt)*) => {
        if !$holds {
            $crate::bail!($($words)*)
        }
    };
}
