//! The files of one run: opened once, hashed once, within one limit of memory.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use super::console::locked;
use super::{
    Container, Fault, FaultKind, FileError, Generator, MappedFile, Privacy, STDIN, Source, stream,
};
use crate::memory::{Limits, Memory};
use crate::num::Format;
use crate::role::Role;

/// Opens files. A file that is opened again unchanged has the same bytes and digest; unused files are kept up to a
/// quarter of the limit.
///
/// ```
/// use tcverify_io::{Files, Privacy};
/// use tcverify_io::memory::Limits;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.npy");
/// # let ones = tcverify_tensor::Tensor::from_codes(tcverify_num::Format::Fp16, vec![1, 1], &[0x3c00]);
/// # tcverify_io::npy::write_npy(&ones, &mut std::fs::File::create(&path)?)?;
/// let files = Files::new(Privacy::Auto, Limits { max_bytes: 1 << 30 });
/// let a = files.source(&path)?;
/// assert!(a.file().is_private());
/// assert_eq!(a.file().sha256(), files.source(&path)?.file().sha256()); // hashed once
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Files {
    privacy: Privacy,
    memory: Memory,
    open: Mutex<Open>,
    /// A thread that opens a path which another one is opening waits, and finds the file open.
    turns: Mutex<HashMap<PathBuf, Arc<Mutex<()>>>>,
    generator: &'static dyn Generator,
}

impl Default for Files {
    fn default() -> Files {
        Files::new(Privacy::default(), Limits::default())
    }
}

impl Files {
    pub fn new(privacy: Privacy, limits: Limits) -> Files {
        Files {
            privacy,
            memory: Memory::new(limits),
            open: Mutex::default(),
            turns: Mutex::default(),
            generator: &(),
        }
    }

    /// With operands that this one generates.
    #[must_use]
    pub fn generating(self, generator: &'static dyn Generator) -> Files {
        Files { generator, ..self }
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
    pub fn source(&self, path: &Path) -> Result<Source, FileError> {
        Ok(self.container(path)?.only()?.called(path))
    }

    /// Opens a file and reads what arrays it holds. After a `#` the path may name one array.
    pub fn container(&self, path: &Path) -> Result<Container, FileError> {
        Container::open_in(self, path)
    }

    /// The array that `generate:…` specifies.
    pub fn generated(&self, text: &str, format: Format, role: Role) -> Result<Source, FileError> {
        let name = Path::new(text);
        let operand = self.generator.read(text).map_err(Fault::from);
        let operand = operand.map_err(|fault| fault.of(name))?;
        let taken = operand.takes(format);
        taken.map_err(|reason| Fault::new(FaultKind::Elements, reason).of(name))?;
        let make = || Source::generated(name, &*operand, format, role, &self.memory);
        // Once more without unused files, if memory lacks.
        let made = make().or_else(|fault| if self.release() { make() } else { Err(fault) });
        made.map_err(|fault| fault.of(name))
    }

    /// Opens a file of any kind.
    pub fn file(&self, path: &Path) -> Result<Arc<MappedFile>, Fault> {
        // It can be read only once, so it is what was there.
        let standard = path == Path::new(STDIN);
        let turn = self.turn(path);
        let _turn = locked(&turn);
        let known = self.open().by_path.get(path).map(|(_, file)| file.clone());
        if let Some(file) = known.filter(|file| standard || file.is_as_it_was()) {
            // Mapped for lack of memory, and used by nobody else: there may be room now.
            if file.is_kept_rightly() || Arc::strong_count(&file) > 2 {
                return Ok(file);
            }
        }
        self.open().forget(path);
        let file = match stream::open(path)? {
            Some(stream) => MappedFile::of_stream(path, stream::read(stream, &self.memory)?),
            None => self.read(path)?,
        };
        let file = Arc::new(file);
        let mut open = self.open();
        open.keep(file.clone());
        let most = self.memory.limits().max_bytes / 4;
        if open.cost > most {
            // Half of it, so that the next files find room without a search through all others.
            open.release(most / 2);
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

    /// Closes unused files; returns whether there were any.
    fn release(&self) -> bool {
        self.open().release(0)
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        locked(&self.open)
    }

    /// The lock that is held while this path is opened.
    fn turn(&self, path: &Path) -> Arc<Mutex<()>> {
        let mut turns = locked(&self.turns);
        turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        turns.entry(path.to_owned()).or_default().clone()
    }
}

/// Open files, of each path the one opened last. A batch has hundreds of thousands: opening one more looks at no other.
#[derive(Debug, Default)]
struct Open {
    /// With its turn among all that were opened.
    by_path: HashMap<PathBuf, (u64, Arc<MappedFile>)>,
    turns: u64,
    cost: u64,
}

impl Open {
    fn keep(&mut self, file: Arc<MappedFile>) {
        self.cost += cost(&file);
        self.turns += 1;
        let path = file.path().to_owned();
        self.by_path.insert(path, (self.turns, file));
    }

    fn forget(&mut self, path: &Path) {
        if let Some((_, file)) = self.by_path.remove(path) {
            self.cost -= cost(&file);
        }
    }

    /// Closes unused files, except this many bytes of the newest; returns whether there were any.
    fn release(&mut self, spared: u64) -> bool {
        let files = self.by_path.iter();
        let idle = files.filter(|(_, (_, file))| Arc::strong_count(file) == 1);
        let idle = idle.map(|(path, (turn, file))| (*turn, cost(file), path.clone()));
        let mut idle: Vec<(u64, u64, PathBuf)> = idle.collect();
        idle.sort_unstable();
        let (mut newer, before) = (0, self.by_path.len());
        for (_, cost, path) in idle.into_iter().rev() {
            newer += cost;
            if newer > spared {
                self.forget(&path);
            }
        }
        self.by_path.len() < before
    }
}

/// What keeping a file counts for. Small ones count for more than they take: reading them again takes no time.
fn cost(file: &MappedFile) -> u64 {
    file.bytes().len().max(1 << 18) as u64
}
