//! Input files, held in private memory or mapped, and bytes in the place of a file.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::SystemTime;

use memmap2::Mmap;
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::digest::update;
use super::{Fault, FaultKind, FileError, hex, stream};
use crate::deadline;
use crate::memory::{Block, Memory, MemoryError, Reserved};
use crate::tensor::Tensor;

/// How the bytes of files are held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Privacy {
    /// Files of up to [`PRIVATE_BYTES`] are read once, into memory of this process alone, if that is
    /// within the limits; others are mapped.
    #[default]
    Auto,
    /// Every file is read into memory of this process alone, or refused.
    Private,
}

/// The longest file that [`Privacy::Auto`] copies: 1 GiB.
pub const PRIVATE_BYTES: u64 = 1 << 30;

/// A regular file opened for reading, and what it looked like then.
#[derive(Debug)]
pub struct MappedFile {
    path: PathBuf,
    bytes: Bytes,
    origin: Origin,
    sha256: OnceLock<String>,
}

#[derive(Debug)]
enum Bytes {
    /// Another process can change them: it can write to the file.
    Mapped(Mmap, #[allow(dead_code)] Option<Reserved>),
    /// Read from a file or made by this program: nobody can change them.
    Private(Block),
    Made(Vec<u8>),
}

#[derive(Debug)]
enum Origin {
    /// A file, and how it looked when it was opened.
    Disk(Look),
    Stream,
    /// Made by this program; no file can change it.
    Made,
    /// A program's memory: the payload that would follow the bytes, which are a header.
    Tensor(Tensor),
}

/// What shows whether a file has changed, as far as the file system records it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Look {
    length: u64,
    modified: Option<SystemTime>,
    /// Device, number and the time of the last change of any kind, which cannot be set back.
    #[cfg(unix)]
    number: [i64; 4],
}

impl Look {
    pub(super) fn of(about: &Metadata) -> Look {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        Look {
            length: about.len(),
            modified: about.modified().ok(),
            #[cfg(unix)]
            number: [
                about.dev() as i64,
                about.ino() as i64,
                about.ctime(),
                about.ctime_nsec(),
            ],
        }
    }

    fn is_still_that_of(&self, path: &Path) -> bool {
        let now = std::fs::metadata(path).map(|about| Look::of(&about));
        // Another link to it, or another owner, is no other content.
        now.is_ok_and(|now| now.length == self.length && now.modified == self.modified)
    }
}

impl MappedFile {
    /// Opens a file as [`Privacy::Auto`] has it.
    ///
    /// # Errors
    /// If it is missing, unreadable, empty or not a regular file. The path is not part of the
    /// message: callers add it.
    pub fn open(path: &Path) -> Result<MappedFile, Fault> {
        MappedFile::open_as(path, Privacy::Auto, &Memory::default())
    }

    /// Opens a file.
    ///
    /// # Errors
    /// As [`MappedFile::open`], and if it is to be private and there is no memory for it.
    pub fn open_as(path: &Path, privacy: Privacy, memory: &Memory) -> Result<MappedFile, Fault> {
        let unreadable = |phrase| Fault::new(FaultKind::Unreadable, phrase);
        // Looked at first: opening a device may do something.
        let about = std::fs::metadata(path).map_err(Fault::unreadable("cannot be opened"))?;
        if about.is_dir() {
            return Err(unreadable("is a directory, not a file"));
        }
        // A pipe has no length to check a header against, and cannot be mapped.
        if !about.is_file() {
            return Err(unreadable("is not a regular file; save it to a file first"));
        }
        let file = stream::opened(path)?;
        let about = file
            .metadata()
            .map_err(Fault::unreadable("cannot be examined"))?;
        if about.len() == 0 {
            return Err(unreadable("is empty"));
        }
        let look = Look::of(&about);
        memory.admit(look.length)?;
        let block = match privacy {
            Privacy::Private => Some(room(&look, memory)?),
            Privacy::Auto if look.length > PRIVATE_BYTES => None,
            Privacy::Auto => room(&look, memory).ok(),
        };
        let bytes = match block {
            Some(block) => Bytes::Private(filled(block, &file, &look)?),
            None => {
                // SAFETY: the mapping is read-only. Bytes that another process changes under it can only
                // change what the codes are, never what is a valid value of a type here (plain integers);
                // `confirm_unchanged` turns such a change into an error before anything is reported.
                let map = unsafe { Mmap::map(&file) };
                let map = map.map_err(Fault::unreadable("cannot be mapped into memory"))?;
                Bytes::Mapped(map, memory.mapped(look.length)?)
            }
        };
        Ok(MappedFile {
            origin: Origin::Disk(look),
            ..MappedFile::made_of(path, bytes)
        })
    }

    fn made_of(path: &Path, bytes: Bytes) -> MappedFile {
        MappedFile {
            path: path.to_owned(),
            bytes,
            origin: Origin::Made,
            sha256: OnceLock::new(),
        }
    }

    /// Bytes as a file called `name`.
    pub fn made(name: &Path, bytes: Vec<u8>) -> MappedFile {
        MappedFile::made_of(name, Bytes::Made(bytes))
    }

    /// Memory that is accounted for, as a file called `name`.
    pub(super) fn of_block(name: &Path, bytes: Block) -> MappedFile {
        MappedFile::made_of(name, Bytes::Private(bytes))
    }

    /// A tensor in memory: the bytes are the header of the file that would be written, the digest is that
    /// file's.
    pub(super) fn of_tensor(name: &Path, header: Vec<u8>, tensor: Tensor) -> MappedFile {
        MappedFile {
            origin: Origin::Tensor(tensor),
            ..MappedFile::made(name, header)
        }
    }

    /// What came out of a stream.
    pub(super) fn of_stream(name: &Path, bytes: Block) -> MappedFile {
        MappedFile {
            origin: Origin::Stream,
            ..MappedFile::of_block(name, bytes)
        }
    }

    pub fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped(map, _) => map,
            Bytes::Private(block) => block.as_ref(),
            Bytes::Made(bytes) => bytes,
        }
    }

    /// Whether this program made it.
    pub fn is_made(&self) -> bool {
        matches!(self.origin, Origin::Made | Origin::Tensor(_))
    }

    /// Whether no other process can change the bytes.
    pub fn is_private(&self) -> bool {
        !matches!(self.bytes, Bytes::Mapped(..))
    }

    /// Whether it is held as [`Privacy::Auto`] would have it where there is room.
    pub(super) fn is_kept_rightly(&self) -> bool {
        self.is_private() || self.bytes().len() as u64 > PRIVATE_BYTES
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The digest of the bytes, header and all: what `sha256sum` prints. Computed once.
    pub fn sha256(&self) -> &str {
        self.sha256.get_or_init(|| {
            let mut hash = Sha256::new();
            update(&mut hash, self.bytes());
            if let Origin::Tensor(tensor) = &self.origin {
                tensor.for_each_payload_chunk(|chunk| update(&mut hash, chunk));
            }
            hex(&hash.finalize())
        })
    }

    /// Whether its path still leads to this very file, as it was when it was opened.
    pub(super) fn is_as_it_was(&self) -> bool {
        let now = std::fs::metadata(&self.path).map(|about| Look::of(&about));
        now.is_ok_and(|now| matches!(&self.origin, Origin::Disk(look) if *look == now))
    }

    /// Makes sure that the file still has the size and modification time it was opened with.
    ///
    /// # Errors
    /// If it was changed or removed meanwhile: what was read from it may be neither the old content nor
    /// the new one, and is not what its name stands for any more.
    pub fn confirm_unchanged(&self) -> Result<(), FileError> {
        match &self.origin {
            Origin::Disk(look) if !look.is_still_that_of(&self.path) => {
                Err(changed().of(&self.path))
            }
            _ => Ok(()),
        }
    }
}

impl AsRef<[u8]> for MappedFile {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

fn changed() -> Fault {
    let phrase = "was changed while it was being read; run again when nothing writes to it";
    Fault::new(FaultKind::Changed, phrase)
}

impl From<MemoryError> for Fault {
    fn from(error: MemoryError) -> Fault {
        let mut fault = Fault::new(FaultKind::Memory, error.to_string());
        if let MemoryError::System { source, .. } = error {
            fault = Fault::caused(FaultKind::Memory, &fault.to_string(), source);
        }
        fault
    }
}

fn room(look: &Look, memory: &Memory) -> Result<Block, MemoryError> {
    memory.zeroed(usize::try_from(look.length).unwrap_or(usize::MAX))
}

/// Reads a whole file, which must be the same before and after.
fn filled(mut block: Block, file: &File, look: &Look) -> Result<Block, Fault> {
    /// Large enough for a disk, small enough for a cache.
    const PIECE: usize = 1 << 21;
    let pieces = block.as_mut().par_chunks_mut(PIECE).enumerate();
    let read = pieces.map(|(piece, bytes)| {
        deadline::poll();
        read_at(file, bytes, (piece * PIECE) as u64)
    });
    let read: std::io::Result<()> = read.collect();
    match read {
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Err(changed()),
        Err(error) => {
            return Err(Fault::unreadable("cannot be read")(error));
        }
        Ok(()) => {}
    }
    let now = file.metadata().map(|about| Look::of(&about));
    if now.is_ok_and(|now| now == *look) {
        Ok(block)
    } else {
        Err(changed())
    }
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], at: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

#[cfg(windows)]
fn read_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> std::io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, at)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            read => {
                at += read as u64;
                bytes = &mut bytes[read..];
            }
        }
    }
    Ok(())
}
