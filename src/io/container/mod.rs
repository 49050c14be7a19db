//! Files that hold arrays: `.npy` with one, `.npz` and `.safetensors` with many, and raw dumps, of which the path says
//! all (`a.bin#64x512:bf16`).
//!
//! `model.safetensors#layer.weight` and `dump.npz#a` name one of many. A path that exists as it
//! stands is never taken apart; one that could mean two things is refused.

mod foreign;
mod naming;
mod npz;
mod raw;
mod safetensors;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use naming::split;
pub use naming::{LONGEST_PATH, name_prefix};

use self::raw::Raw;
use super::npy::Header;
use super::{Fault, FaultKind, FileError, Files, MappedFile, Source};
use crate::bail;
use crate::memory::Memory;

/// The longest names that are compared with one that is not there, and how many: every comparison takes as long as one
/// is long times the other.
const LONGEST_GUESSED: usize = 256;
const MOST_GUESSED: usize = 4096;
use crate::tensor::Bytes;

/// A file whose arrays are listed, or the one of them that a path names.
#[derive(Debug)]
pub struct Container {
    file: Arc<MappedFile>,
    contents: Contents,
    /// The one named after the `#`.
    wanted: Option<usize>,
    /// For what has to be inflated.
    memory: Memory,
}

#[derive(Debug)]
enum Contents {
    /// One array, without a name.
    Npy(Header),
    Npz(Vec<npz::Member>),
    Safetensors(Vec<safetensors::Entry>),
    /// One array, of which only the name after the `#` knows.
    Raw {
        header: Header,
        name: String,
    },
}

impl Container {
    /// Opens a file and reads what it holds. After a `#` the path may name one array.
    ///
    /// # Errors
    /// One sentence naming the file and the cause; for a name that is not there with those that are.
    pub fn open(path: &Path) -> Result<Container, FileError> {
        Container::open_in(&Files::default(), path)
    }

    pub(super) fn open_in(files: &Files, path: &Path) -> Result<Container, FileError> {
        Container::open_named(files, path).map_err(|fault| fault.of(path))
    }

    fn open_named(files: &Files, path: &Path) -> Result<Container, Fault> {
        let (on_disk, wanted) = split(path)?;
        let file = files.file(&on_disk)?;
        let raw = match &wanted {
            Some(name) => Contents::raw(&file, name)?,
            None => None,
        };
        let contents = match raw {
            Some(raw) => raw,
            None => Contents::read(&file)?,
        };
        let mut container = Container {
            file,
            contents,
            wanted: None,
            memory: files.memory().clone(),
        };
        if let Some(wanted) = wanted {
            container.wanted = Some(container.find(&wanted)?);
        }
        Ok(container)
    }

    /// What a file holds that is open already.
    pub fn of(file: MappedFile) -> Result<Container, FileError> {
        let contents = Contents::read(&file);
        let contents = contents.map_err(|fault| fault.of(file.path()))?;
        Ok(Container {
            file: Arc::new(file),
            contents,
            wanted: None,
            memory: Memory::default(),
        })
    }

    pub fn file(&self) -> &MappedFile {
        &self.file
    }

    /// The arrays that the path means, by number: the one it names, the only one, or all in the
    /// order of the file.
    pub fn meant(&self) -> Range<usize> {
        match self.wanted {
            Some(wanted) => wanted..wanted + 1,
            None => 0..self.count(),
        }
    }

    /// How many arrays the file holds.
    fn count(&self) -> usize {
        match &self.contents {
            Contents::Npy(_) | Contents::Raw { .. } => 1,
            Contents::Npz(members) => members.len(),
            Contents::Safetensors(entries) => entries.len(),
        }
    }

    /// What can be written after the `#`; nothing for a `.npy` file.
    pub fn name(&self, array: usize) -> Option<&str> {
        match &self.contents {
            Contents::Npy(_) => None,
            Contents::Raw { name, .. } => Some(name),
            Contents::Npz(members) => Some(&members[array].name),
            Contents::Safetensors(entries) => Some(&entries[array].name),
        }
    }

    /// One of the arrays.
    ///
    /// # Errors
    /// If it cannot be read, or is of a type that holds no numbers known here.
    pub fn source(&self, array: usize) -> Result<Source, FileError> {
        let path = self.file.path();
        let label = match self.name(array) {
            None => path.to_owned(),
            Some(name) => naming::joined(path, name),
        };
        let read = match &self.contents {
            Contents::Npy(header) | Contents::Raw { header, .. } => {
                Ok((header.clone(), self.file.clone() as Bytes))
            }
            Contents::Npz(members) => members[array].read(self.file.clone(), &self.memory),
            Contents::Safetensors(entries) => {
                let header = entries[array].header();
                header.map(|header| (header, self.file.clone() as Bytes))
            }
        };
        let (header, bytes) = read.map_err(|fault| FileError {
            path: path.to_owned(),
            array: self.name(array).map(str::to_owned),
            fault: Box::new(fault),
        })?;
        Ok(Source::new(label, self.file.clone(), bytes, header))
    }

    /// The only array that the path means.
    ///
    /// # Errors
    /// If it is one of many, but not which.
    pub fn only(&self) -> Result<Source, FileError> {
        match (&self.contents, self.wanted) {
            (_, Some(wanted)) => self.source(wanted),
            (Contents::Npy(_), None) => self.source(0),
            _ => {
                let which = format!("name one of its arrays, as FILE#NAME; {}", self.list());
                Err(Fault::new(FaultKind::NoSuchArray, which).of(self.file.path()))
            }
        }
    }

    fn names(&self) -> Vec<&str> {
        let all = 0..self.count();
        all.filter_map(|array| self.name(array)).collect()
    }

    fn find(&self, name: &str) -> Result<usize, Fault> {
        let none = |phrase| Err(Fault::new(FaultKind::NoSuchArray, phrase));
        if let Contents::Npy(_) = self.contents {
            return none(format!(
                "is a .npy file, whose one array has no name; leave out {:?}",
                format!("#{name}")
            ));
        }
        let names = self.names();
        if let Some(at) = names.iter().position(|&n| n == name) {
            return Ok(at);
        }
        let nearest = names
            .iter()
            .filter(|n| n.len().max(name.len()) <= LONGEST_GUESSED)
            .take(MOST_GUESSED)
            .map(|n| (strsim::jaro_winkler(n, name), n))
            .filter(|(likeness, _)| *likeness > 0.8)
            .max_by(|one, other| one.0.total_cmp(&other.0));
        let hint = nearest.map_or(String::new(), |(_, n)| {
            format!("; did you mean {:?}?", shorten(n))
        });
        none(format!(
            "has no array named {:?}{hint}; {}",
            shorten(name),
            self.list()
        ))
    }

    fn list(&self) -> String {
        /// As many as fit a terminal.
        const SHOWN: usize = 24;
        let names = self.names();
        if names.is_empty() {
            return "it has no arrays".to_owned();
        }
        let shown = names.iter().take(SHOWN);
        let shown: Vec<_> = shown.map(|name| format!("{:?}", shorten(name))).collect();
        let more = match names.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("it holds {}{more}", shown.join(", "))
    }
}

impl Contents {
    /// The elements of a raw dump, if a name is of that form and the file of no form of its own.
    fn raw(file: &MappedFile, name: &str) -> Result<Option<Contents>, Fault> {
        let bytes = file.bytes();
        let extension = file.path().extension().and_then(|e| e.to_str());
        let extension = extension.map(str::to_ascii_lowercase);
        let own = matches!(extension.as_deref(), Some("npy" | "npz" | "safetensors"))
            || bytes.starts_with(b"\x93NUMPY")
            || npz::looks_like_one(bytes)
            || safetensors::looks_like_one(bytes);
        if own {
            return Ok(None);
        }
        let Some(raw) = Raw::parse(name)? else {
            return Ok(None);
        };
        Ok(Some(Contents::Raw {
            header: raw.header(bytes.len())?,
            name: name.to_owned(),
        }))
    }

    /// The name decides, so that no file is two things; of another name the first bytes.
    fn read(file: &MappedFile) -> Result<Contents, Fault> {
        let bytes = file.bytes();
        if npz::is_pytorch(bytes) {
            bail!(
                "is a PyTorch file, and tcverify never loads a pickle; save its tensors with \
                 safetensors.torch.save_file, or each with numpy.save"
            );
        }
        let extension = file.path().extension().and_then(|e| e.to_str());
        let kind = match extension.map(str::to_ascii_lowercase).as_deref() {
            Some(known @ ("npy" | "npz" | "safetensors")) => known.to_owned(),
            _ if npz::looks_like_one(bytes) => "npz".to_owned(),
            _ if safetensors::looks_like_one(bytes) => "safetensors".to_owned(),
            Some("pt" | "pth" | "bin" | "ckpt") if npz::is_pickle(bytes) => bail!(
                "is a pickle, as PyTorch writes them, and tcverify never loads one; save its tensors with \
                 safetensors.torch.save_file, or each with numpy.save"
            ),
            Some("pt" | "pth") if !bytes.starts_with(b"\x93NUMPY") => bail!(
                "is named like a PyTorch file, and is not a .npy, .npz or .safetensors file; save its tensors with \
                 safetensors.torch.save_file, or each with numpy.save"
            ),
            _ => "npy".to_owned(),
        };
        Ok(match kind.as_str() {
            "npz" => Contents::Npz(npz::members(bytes)?),
            "safetensors" => Contents::Safetensors(safetensors::entries(bytes)?),
            _ if bytes.starts_with(b"\x93NUMPY") => Contents::Npy(Header::parse(bytes)?),
            _ => match foreign::sentence(bytes, file.path()) {
                Some(sentence) => bail!("{sentence}"),
                None => bail!(
                    "is not a .npy file: it does not start with the bytes \\x93NUMPY; raw elements are read by their \
                     shape and format, as in FILE#64x512:bf16"
                ),
            },
        })
    }
}

/// The file that a path names, without the name of an array in it.
pub fn on_disk(path: &Path) -> PathBuf {
    split(path).map_or_else(|_| path.to_owned(), |(file, _)| file)
}

/// Text from a file, fit for a message.
fn shorten(text: &str) -> String {
    if text.chars().count() <= 80 {
        return text.to_owned();
    }
    text.chars().take(77).chain("...".chars()).collect()
}
