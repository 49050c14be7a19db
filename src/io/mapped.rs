//! Input files, mapped into memory, and bytes that stand for one.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use memmap2::Mmap;

use super::{Fault, FaultKind, FileError};

/// A regular file mapped for reading, and what it looked like when it was opened.
#[derive(Debug)]
pub struct MappedFile {
    path: PathBuf,
    bytes: Bytes,
}

#[derive(Debug)]
enum Bytes {
    Mapped {
        map: Mmap,
        length: u64,
        modified: Option<SystemTime>,
    },
    /// Made by this program: nobody can change them.
    Made(Vec<u8>),
}

impl MappedFile {
    /// Maps a file.
    ///
    /// # Errors
    /// If it is missing, unreadable, empty or not a regular file. The path is not part of the
    /// message: callers add it.
    pub fn open(path: &Path) -> Result<MappedFile, Fault> {
        let unreadable = |phrase| Fault::new(FaultKind::Unreadable, phrase);
        let failed = |phrase| move |error| Fault::caused(FaultKind::Unreadable, phrase, error);
        // Looked at first: opening a pipe would wait for someone to write to it.
        let about = std::fs::metadata(path).map_err(failed("cannot be opened"))?;
        if about.is_dir() {
            return Err(unreadable("is a directory, not a file"));
        }
        // A pipe has no length to check a header against, and cannot be mapped.
        if !about.is_file() {
            return Err(unreadable("is not a regular file; save it to a file first"));
        }
        let file = File::open(path).map_err(failed("cannot be opened"))?;
        let about = file.metadata().map_err(failed("cannot be examined"))?;
        if about.len() == 0 {
            return Err(unreadable("is empty"));
        }
        // SAFETY: the mapping is read-only. Bytes that another process changes under it can only
        // change what the codes are, never what is a valid value of a type here (plain integers);
        // `confirm_unchanged` turns such a change into an error before anything is reported.
        let map = unsafe { Mmap::map(&file) };
        let map = map.map_err(failed("cannot be mapped into memory"))?;
        Ok(MappedFile {
            path: path.to_owned(),
            bytes: Bytes::Mapped {
                length: map.len() as u64,
                modified: about.modified().ok(),
                map,
            },
        })
    }

    /// Bytes that stand for a file called `name`.
    pub fn made(name: &Path, bytes: Vec<u8>) -> MappedFile {
        MappedFile {
            path: name.to_owned(),
            bytes: Bytes::Made(bytes),
        }
    }

    pub fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped { map, .. } => map,
            Bytes::Made(bytes) => bytes,
        }
    }

    /// Whether it only stands for a file.
    pub fn is_made(&self) -> bool {
        matches!(self.bytes, Bytes::Made(_))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes sure that the file still has the size and modification time it was opened with.
    ///
    /// # Errors
    /// If it was changed or removed meanwhile, so that nothing read from it can be trusted.
    pub fn confirm_unchanged(&self) -> Result<(), FileError> {
        let Bytes::Mapped {
            length, modified, ..
        } = &self.bytes
        else {
            return Ok(());
        };
        let now = std::fs::metadata(&self.path).ok();
        let same = now.is_some_and(|now| now.len() == *length && now.modified().ok() == *modified);
        if same {
            return Ok(());
        }
        let changed = "was changed while it was being read; run again when it is at rest";
        Err(Fault::new(FaultKind::Changed, changed).of(&self.path))
    }
}

impl AsRef<[u8]> for MappedFile {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}
