//! The `.npy` format of NumPy, versions 1 to 3: a literal header, then the elements.
//!
//! The header cannot name most low-precision formats: the caller of [`NpyFile::tensor`] names the format, which is
//! checked against the header.

mod descr;
mod header;
mod read;
mod write;

use std::path::Path;
use std::sync::Arc;

pub use descr::Descr;
pub(super) use descr::Kind;
pub use header::Header;
pub(super) use header::{MOST_AXES, payload_length};
pub use write::{write_header, write_npy};

use super::{FileError, MappedFile};
use crate::num::Format;
use crate::tensor::Tensor;

/// An opened `.npy` file whose header has been read and whose size agrees with it.
#[derive(Debug)]
pub struct NpyFile {
    file: Arc<MappedFile>,
    header: Header,
}

impl NpyFile {
    /// Opens a file, reads its header and checks that it holds as many bytes as that promises.
    pub fn open(path: &Path) -> Result<NpyFile, FileError> {
        let file = MappedFile::open(path).map_err(|fault| fault.of(path))?;
        let header = Header::parse(file.bytes()).map_err(|fault| fault.of(path))?;
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
    pub fn tensor(&self, format: Format) -> Result<Tensor, FileError> {
        self.header
            .tensor(format, self.file.clone())
            .map_err(|fault| fault.of(self.path()))
    }
}
