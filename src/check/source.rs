//! Where an array of a request comes from.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::io::{GENERATED, IN_MEMORY, escaped_path, printable};

/// What the text of an array begins with that a program holds in memory.
const MEMORY: &str = "memory:";

/// Where an array comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// `x.npy`, or one of many: `x.npz#name`, `x.safetensors#name`.
    File(PathBuf),
    /// `generate:…`: numbers that this text determines.
    Generated(String),
    /// The caller's memory, see [`Prepared::from_tensors`](super::Prepared::from_tensors).
    Memory,
}

impl Source {
    /// Of what a person writes: a path, or `generate:SEED:CLASS:SHAPE`.
    pub fn of(text: &OsStr) -> Source {
        match text.to_str() {
            Some(MEMORY) => Source::Memory,
            Some(text) if text.starts_with(GENERATED) => Source::Generated(text.to_owned()),
            _ => Source::File(text.into()),
        }
    }

    /// What [`Source::of`] makes this of.
    pub fn text(&self) -> OsString {
        match self {
            Source::File(path) => path.clone().into(),
            Source::Generated(text) => text.clone().into(),
            Source::Memory => MEMORY.into(),
        }
    }

    /// The file, with the name of the array in it.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Source::File(path) => Some(path),
            _ => None,
        }
    }

    /// A path that is not absolute starts in this folder.
    pub fn in_folder(&mut self, folder: &Path) {
        if let Source::File(path) = self {
            *path = folder.join(&*path);
        }
    }
}

impl From<&Path> for Source {
    fn from(path: &Path) -> Source {
        Source::File(path.to_owned())
    }
}

impl From<&str> for Source {
    fn from(path: &str) -> Source {
        Source::File(path.into())
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::File(path) => f.write_str(&escaped_path(path)),
            Source::Generated(text) => f.write_str(&printable(text)),
            Source::Memory => f.write_str(IN_MEMORY),
        }
    }
}

impl Serialize for Source {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Path::new(&self.text()).serialize(to)
    }
}

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Source, D::Error> {
        use serde::de::Error;
        let text = String::deserialize(from)?;
        if text.is_empty() {
            return Err(D::Error::custom("a path is expected"));
        }
        Ok(Source::of(text.as_ref()))
    }
}
