//! The `.npy` format of NumPy, versions 1 to 3: a literal header, then the elements.
//!
//! The header cannot name most low-precision formats; the format comes from whoever asks for the
//! tensor ([`NpyFile::tensor`]), and is checked against what the header does say.

mod descr;
mod header;
mod write;

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};

pub use descr::Descr;
pub use header::Header;
pub use write::{write_header, write_npy};

use super::MappedFile;
use crate::num::{Format, decimal};
use crate::tensor::{Bytes, Encoding, Order, Tensor};

/// An opened `.npy` file whose header has been read and whose size agrees with it.
#[derive(Debug)]
pub struct NpyFile {
    file: Arc<MappedFile>,
    header: Header,
}

impl NpyFile {
    /// Opens a file, reads its header and checks that it holds as many bytes as that promises.
    ///
    /// # Errors
    /// One sentence naming the file and the cause.
    pub fn open(path: &Path) -> Result<NpyFile> {
        let name = || path.display().to_string();
        NpyFile::read(MappedFile::open(path).with_context(name)?)
    }

    /// A tensor as the file that [`write_npy`] would make of it, under a name of its own.
    ///
    /// # Errors
    /// None of an array that can be written.
    pub fn made(name: &Path, tensor: &Tensor) -> Result<NpyFile> {
        let mut bytes = Vec::with_capacity(128 + tensor.len() * tensor.format().bytes());
        write_npy(tensor, &mut bytes)?;
        NpyFile::read(MappedFile::made(name, bytes))
    }

    fn read(file: MappedFile) -> Result<NpyFile> {
        let name = || file.path().display().to_string();
        let header = Header::parse(file.bytes()).with_context(name)?;
        Ok(NpyFile {
            file: Arc::new(file),
            header,
        })
    }

    pub fn path(&self) -> &Path {
        self.file.path()
    }

    pub fn file(&self) -> &MappedFile {
        &self.file
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The array as a tensor of this format.
    ///
    /// # Errors
    /// If the stored elements cannot be codes or values of that format, naming the first that is
    /// not.
    pub fn tensor(&self, format: Format) -> Result<Tensor> {
        let name = || self.path().display().to_string();
        let descr = &self.header.descr;
        let stored = descr.stored_as(format).with_context(name)?;
        let order = if self.header.fortran_order {
            Order::Fortran
        } else {
            Order::C
        };
        let bytes: Bytes = self.file.clone();
        let shape = self.header.shape.clone();
        let tensor = Tensor::new(format, shape, order, stored, bytes, self.header.data_start);
        match tensor {
            Ok(tensor) => Ok(tensor),
            Err(bad) => match stored.encoding {
                Encoding::Value(from) => bail!(
                    "{}: element {:?} is {} ({from} 0x{:0width$x}), which {format} cannot represent; \
                     nothing is rounded on the way in",
                    name(),
                    bad.index,
                    decimal(from, bad.raw),
                    bad.raw,
                    width = 2 * from.bytes()
                ),
                Encoding::Integer { .. } => bail!(
                    "{}: element {:?} is {}, which {format} cannot represent; it holds {} to {}",
                    name(),
                    bad.index,
                    stored.integer(bad.raw),
                    decimal(format, format.max_finite(true)),
                    decimal(format, format.max_finite(false)),
                ),
                Encoding::Code => bail!(
                    "{}: element {:?} is 0x{:02x}, which is no code of {format}: it has {} bits, \
                     one code a byte in the low bits",
                    name(),
                    bad.index,
                    bad.raw,
                    format.width()
                ),
            },
        }
    }
}
