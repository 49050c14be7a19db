//! Texts of a batch's cases: in memory, or in a file until somebody asks. A hundred thousand reports are no
//! small thing to hold.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};
use tempfile::SpooledTempFile;

/// So many bytes stay in memory before there is a file.
const IN_MEMORY: usize = 4 << 20;

/// Where texts are kept: a file without a name, once they are many.
pub struct Store(Mutex<Kept>);

struct Kept {
    file: SpooledTempFile,
    bytes: u64,
}

/// A text, in memory or in a file of its own.
#[derive(Clone)]
pub struct Stored(Place);

#[derive(Clone)]
enum Place {
    Memory(Arc<str>),
    File {
        of: Arc<Store>,
        at: u64,
        bytes: usize,
    },
}

impl Default for Store {
    fn default() -> Store {
        Store(Mutex::new(Kept {
            file: SpooledTempFile::new(IN_MEMORY),
            bytes: 0,
        }))
    }
}

impl Store {
    /// Puts a text away.
    ///
    /// # Errors
    /// Those of the file.
    pub fn keep(self: &Arc<Store>, text: &str) -> io::Result<Stored> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.bytes;
        kept.file.seek(SeekFrom::Start(at))?;
        kept.file.write_all(text.as_bytes())?;
        kept.bytes += text.len() as u64;
        Ok(Stored(Place::File {
            of: Arc::clone(self),
            at,
            bytes: text.len(),
        }))
    }

    fn read(&self, at: u64, bytes: usize) -> io::Result<String> {
        let mut text = vec![0; bytes];
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.file.seek(SeekFrom::Start(at))?;
        kept.file.read_exact(&mut text)?;
        String::from_utf8(text).map_err(io::Error::other)
    }
}

impl Stored {
    /// The text.
    ///
    /// # Errors
    /// Those of the file that it is in.
    pub fn text(&self) -> io::Result<Cow<'_, str>> {
        match &self.0 {
            Place::Memory(text) => Ok(Cow::Borrowed(text)),
            Place::File { of, at, bytes } => of.read(*at, *bytes).map(Cow::Owned),
        }
    }
}

impl From<String> for Stored {
    fn from(text: String) -> Stored {
        Stored(Place::Memory(text.into()))
    }
}

impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text() {
            Ok(text) => fmt::Debug::fmt(&*text, f),
            Err(error) => write!(f, "<{error}>"),
        }
    }
}

impl Serialize for Stored {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.text().map_err(ser::Error::custom)?)
    }
}

impl<'de> Deserialize<'de> for Stored {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Stored, D::Error> {
        String::deserialize(from).map(Stored::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_back_in_any_order() {
        let store = Arc::new(Store::default());
        let long = "\u{e9}".repeat(IN_MEMORY / 3);
        let texts = ["one", "", &long, "four"];
        let kept = texts.map(|text| store.keep(text).unwrap());
        for i in [2, 0, 3, 1, 0] {
            assert_eq!(kept[i].text().unwrap(), texts[i]);
        }
        let after = store.keep("after").unwrap();
        assert_eq!(after.text().unwrap(), "after");
        assert_eq!(kept[3].text().unwrap(), "four");
    }
}
