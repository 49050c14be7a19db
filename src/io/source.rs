//! One array, wherever it lies: in a `.npy` file, in a container, or in memory.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::npy::{Descr, Header, payload_length, write_header};
use super::{Fault, FaultKind, FileError, Files, Generated, MappedFile};
use crate::memory::Memory;
use crate::num::Format;
use crate::role::Role;
use crate::tensor::{Bytes, Tensor};

/// What an array is called that is in no file.
pub const IN_MEMORY: &str = "(in memory)";

/// An array whose header has been read and whose size agrees with it.
#[derive(Clone)]
pub struct Source {
    /// As typed, with the name after a `#`.
    label: PathBuf,
    file: Arc<MappedFile>,
    contents: Contents,
    header: Header,
}

/// Where its elements are.
#[derive(Clone)]
enum Contents {
    /// The whole file; of a compressed member what it holds.
    Bytes(Bytes),
    /// In a program's memory.
    Tensor(Tensor),
    /// In a program's memory as a file would hold it, elements `strides` apart.
    Strided { bytes: Bytes, strides: Vec<usize> },
}

impl Source {
    pub(super) fn new(
        label: PathBuf,
        file: Arc<MappedFile>,
        bytes: Bytes,
        header: Header,
    ) -> Source {
        Source {
            label,
            file,
            contents: Contents::Bytes(bytes),
            header,
        }
    }

    /// Opens `x.npy`, `x.npz#name` or `x.safetensors#name`.
    pub fn open(path: &Path) -> Result<Source, FileError> {
        Files::default().source(path)
    }

    /// The array that a text specifies, as a file of that name.
    pub(super) fn generated(
        name: &Path,
        operand: &dyn Generated,
        format: Format,
        role: Role,
        memory: &Memory,
    ) -> Result<Source, Fault> {
        let mut start = Vec::new();
        write_header(format, operand.shape(), &mut start).expect("memory takes everything");
        let payload = payload_length(operand.shape(), format.bytes())?;
        let mut block = memory.zeroed(start.len() + payload)?;
        let (head, payload) = block.as_mut().split_at_mut(start.len());
        head.copy_from_slice(&start);
        operand.fill(format, role, payload);
        let header = Header::parse(block.as_ref()).expect("what was written is read");
        let file = Arc::new(MappedFile::of_block(name, block));
        Ok(Source::new(name.to_owned(), file.clone(), file, header))
    }

    /// A tensor as a file of this name, unchanged.
    ///
    /// # Errors
    /// If an element is not a code of its format, or no file could hold its shape.
    pub fn of_tensor(name: &Path, tensor: Tensor) -> Result<Source, FileError> {
        let mut start = Vec::new();
        write_header(tensor.format(), tensor.shape(), &mut start).expect("memory takes everything");
        let payload = tensor.len() * tensor.format().bytes();
        let header = Header::parse_start(&start, start.len() + payload);
        let header = header.map_err(|fault| fault.of(name))?;
        if let Err(bad) = tensor.validate() {
            let (index, raw, format) = (bad.index, bad.raw, tensor.format());
            let reason =
                format!("element {index:?} is 0x{raw:02x}, which is not a code of {format}");
            return Err(Fault::new(FaultKind::Elements, reason).of(name));
        }
        let file = Arc::new(MappedFile::of_tensor(name, start, tensor.clone()));
        Ok(Source {
            label: name.to_owned(),
            file,
            contents: Contents::Tensor(tensor),
            header,
        })
    }

    /// An array in a program's memory, read as a file's elements of this type would be; `strides` are in elements,
    /// the first of which is the first byte.
    ///
    /// # Errors
    /// If nothing can hold its shape, or the bytes are fewer than shape and strides ask for.
    pub fn of_array(
        name: &Path,
        descr: Descr,
        shape: Vec<usize>,
        strides: Vec<usize>,
        bytes: Bytes,
    ) -> Result<Source, FileError> {
        let fail = |reason: String| Fault::from(reason).of(name);
        payload_length(&shape, descr.width()).map_err(|fault| fault.of(name))?;
        let last = shape
            .iter()
            .zip(&strides)
            .try_fold(0usize, |last, (n, stride)| {
                last.checked_add(n.saturating_sub(1).checked_mul(*stride)?)
            });
        let end = if shape.contains(&0) {
            Some(0)
        } else {
            last.and_then(|last| last.checked_add(1)?.checked_mul(descr.width()))
        };
        let there = (*bytes).as_ref().len();
        if strides.len() != shape.len() || end.is_none_or(|end| end > there) {
            return Err(fail(format!(
                "{there} bytes are too few for an array {shape:?} with strides {strides:?}"
            )));
        }
        Ok(Source {
            label: name.to_owned(),
            file: Arc::new(MappedFile::made(name, Vec::new())),
            contents: Contents::Strided { bytes, strides },
            header: Header {
                descr,
                fortran_order: false,
                shape,
                data_start: 0,
            },
        })
    }

    /// Under the path as it was typed.
    pub(super) fn called(mut self, label: &Path) -> Source {
        label.clone_into(&mut self.label);
        self
    }

    /// What to call it: the path as typed, with the array's name.
    pub fn label(&self) -> &Path {
        &self.label
    }

    /// The file on disk.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    pub fn file(&self) -> &MappedFile {
        &self.file
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The format as which its elements keep their stored bits.
    pub fn as_stored(&self) -> Format {
        match &self.contents {
            Contents::Tensor(tensor) => tensor.format(),
            _ => self.header.descr.as_stored(),
        }
    }

    /// The array as a tensor of this format.
    ///
    /// # Errors
    /// If the stored elements cannot be codes or values of that format, naming the first that is
    /// not.
    pub fn tensor(&self, format: Format) -> Result<Tensor, FileError> {
        self.rows(format, None)
    }

    /// The array as a tensor of which only some rows are examined, and may be used.
    ///
    /// # Errors
    /// As for [`Source::tensor`], of those rows.
    pub fn rows(&self, format: Format, rows: Option<Range<usize>>) -> Result<Tensor, FileError> {
        let read = match &self.contents {
            Contents::Bytes(bytes) => self.header.rows(format, bytes.clone(), rows),
            Contents::Strided { bytes, strides } => {
                self.header.strided(format, strides.clone(), bytes.clone())
            }
            Contents::Tensor(tensor) => tensor.reread(format).ok_or_else(|| {
                let have = tensor.format();
                Fault::new(
                    FaultKind::Elements,
                    format!("is in {have}, not in {format}"),
                )
            }),
        };
        read.map_err(|fault| fault.of(&self.label))
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Source({}, {:?})", self.label.display(), self.header)
    }
}
