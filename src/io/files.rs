//! The files of one run: opened once, hashed once, within one limit of memory.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Container, Fault, FileError, MappedFile, Privacy, STDIN, Source, stream};
use crate::generate::Spec;
use crate::memory::{Limits, Memory};
use crate::num::Format;
use crate::role::Role;

/// Opens files. Whoever opens one again that is at rest gets the same bytes and digest; those that
/// nobody uses are kept up to a quarter of the limit.
///
/// ```
/// use tcverify::io::{Files, Privacy};
/// use tcverify::memory::Limits;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.npy");
/// # let ones = tcverify::tensor::Tensor::from_codes(tcverify::num::Format::Fp16, vec![1, 1], &[0x3c00]);
/// # tcverify::io::npy::write_npy(&ones, &mut std::fs::File::create(&path)?)?;
/// let files = Files::new(Privacy::Auto, Limits { max_bytes: 1 << 30 });
/// let a = files.source(&path)?;
/// assert!(a.file().is_private());
/// assert_eq!(a.file().sha256(), files.source(&path)?.file().sha256()); // hashed once
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Files {
    privacy: Privacy,
    memory: Memory,
    /// The oldest first.
    open: Mutex<Vec<Arc<MappedFile>>>,
    /// Who opens a path that another thread is opening waits, and finds the file open.
    turns: Mutex<HashMap<PathBuf, Arc<Mutex<()>>>>,
}

impl Files {
    pub fn new(privacy: Privacy, limits: Limits) -> Files {
        Files {
            privacy,
            memory: Memory::new(limits),
            open: Mutex::default(),
            turns: Mutex::default(),
        }
    }

    /// Of people who are not trusted, see [`Memory::strict`].
    #[must_use]
    pub fn strict(self, largest: Option<u64>) -> Files {
        Files {
            memory: Memory::strict(self.memory.limits(), largest),
            ..self
        }
    }

    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Opens `x.npy`, `x.npz#name`, `x.safetensors#name`, or `-` for a file on standard input.
    ///
    /// # Errors
    /// One sentence naming the file and the cause.
    pub fn source(&self, path: &Path) -> Result<Source, FileError> {
        Ok(self.container(path)?.only()?.called(path))
    }

    /// Opens a file and reads what arrays it holds. After a `#` the path may name one array.
    ///
    /// # Errors
    /// As [`Container::open`].
    pub fn container(&self, path: &Path) -> Result<Container, FileError> {
        Container::open_in(self, path)
    }

    /// The array that `generate:…` stands for.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn generated(
        &self,
        name: &Path,
        spec: &Spec,
        format: Format,
        role: Role,
    ) -> Result<Source, FileError> {
        let made = self.with_room(|| Source::generated(name, spec, format, role, &self.memory));
        made.map_err(|error| Fault::from(error).of(name))
    }

    /// Opens a file of any kind.
    ///
    /// # Errors
    /// As [`MappedFile::open_as`]; callers add the path.
    pub fn file(&self, path: &Path) -> Result<Arc<MappedFile>, Fault> {
        // Read but once, so it is whatever was there.
        let standard = path == Path::new(STDIN);
        let turn = self.turn(path);
        let _turn = locked(&turn);
        let there = |file: &&Arc<MappedFile>| {
            if standard {
                file.path() == path
            } else {
                file.is_at(path)
            }
        };
        let mut open = self.open();
        // Mapped for want of room, and used by nobody: there may be room now.
        open.retain(|file| file.is_kept_rightly() || Arc::strong_count(file) > 1);
        if let Some(file) = open.iter().find(there) {
            return Ok(file.clone());
        }
        drop(open);
        let file = match stream::open(path)? {
            Some(stream) => MappedFile::of_stream(path, stream::read(stream, &self.memory)?),
            None => self.read(path)?,
        };
        let file = Arc::new(file);
        let mut open = self.open();
        open.push(file.clone());
        let mut idle = 0;
        // The newest stay.
        for at in (0..open.len()).rev() {
            if Arc::strong_count(&open[at]) == 1 {
                idle += open[at].bytes().len() as u64;
                if idle > self.memory.limits().max_bytes / 4 {
                    open.remove(at);
                }
            }
        }
        Ok(file)
    }

    fn read(&self, path: &Path) -> Result<MappedFile, Fault> {
        let read = MappedFile::open_as(path, self.privacy, &self.memory);
        let short = match &read {
            Ok(file) => !file.is_private(),
            Err(fault) => fault.kind == super::FaultKind::Memory,
        };
        if short && self.release() {
            MappedFile::open_as(path, self.privacy, &self.memory)
        } else {
            read
        }
    }

    /// Once more without what is kept for nobody, if memory lacks.
    pub(super) fn with_room<T, E>(&self, work: impl Fn() -> Result<T, E>) -> Result<T, E> {
        work().or_else(|error| if self.release() { work() } else { Err(error) })
    }

    /// Lets go of what nobody uses; whether that was anything.
    fn release(&self) -> bool {
        let mut open = self.open();
        let before = open.len();
        open.retain(|file| Arc::strong_count(file) > 1);
        open.len() < before
    }

    fn open(&self) -> MutexGuard<'_, Vec<Arc<MappedFile>>> {
        locked(&self.open)
    }

    /// What whoever opens this path holds meanwhile.
    fn turn(&self, path: &Path) -> Arc<Mutex<()>> {
        let mut turns = locked(&self.turns);
        turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        turns.entry(path.to_owned()).or_default().clone()
    }
}

/// A panic elsewhere leaves nothing here half done.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
