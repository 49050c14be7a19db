//! A request by what a library states of its kernel.

use std::path::PathBuf;

use super::error::CheckError;
use crate::io::{MAX_DOCUMENT, MAX_LOG, read_text, sha256};
use crate::kernel::{Accumulation, Partition, Scheme};

/// What a library states of its kernel, and answers to what it leaves open.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelRequest {
    pub said: KernelSaid,
    pub answers: KernelAnswers,
}

/// Where the text is.
#[derive(Clone, Debug, PartialEq)]
pub enum KernelSaid {
    /// A log line, a configuration, a kernel's name ...: what [`crate::kernel::read`] reads.
    Text(String),
    /// A log of cuBLASLt, one of whose lines is about this product.
    Log(PathBuf),
    /// A table recorded on a GPU.
    Table {
        file: PathBuf,
        /// Bytes that the library was allowed.
        workspace: Option<u64>,
    },
}

/// Answers to what the text leaves open, beside those of a schedule's own fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelAnswers {
    pub reduction: Option<Scheme>,
    pub partition: Option<Partition>,
    pub custom: Option<u32>,
    pub accumulation: Option<Accumulation>,
    pub multiprocessors: Option<u32>,
    /// Turns by which a workgroup's loop over K is rotated (AMD).
    pub rotation: Option<usize>,
    /// Slices reach the end of K, as a library without the defect of the lost tail cuts them.
    pub whole_tail: bool,
}

impl KernelSaid {
    /// The field of the request.
    pub fn field(&self) -> &'static str {
        match self {
            KernelSaid::Text(_) => "kernel",
            KernelSaid::Log(_) => "kernel_log",
            KernelSaid::Table { .. } => "kernel_table",
        }
    }

    /// The text itself, if no file holds it.
    pub fn text(&self) -> &str {
        match self {
            KernelSaid::Text(text) => text,
            _ => "",
        }
    }

    pub fn path(&self) -> Option<&PathBuf> {
        match self {
            KernelSaid::Text(_) => None,
            KernelSaid::Log(path) | KernelSaid::Table { file: path, .. } => Some(path),
        }
    }

    /// SHA-256 of the text or the file.
    pub fn sha256(&self) -> Result<String, CheckError> {
        Ok(sha256(self.content()?))
    }

    pub(super) fn content(&self) -> Result<String, CheckError> {
        let file = CheckError::file(self.field());
        match self {
            KernelSaid::Text(text) => Ok(text.clone()),
            KernelSaid::Log(path) => read_text(path, "log", MAX_LOG).map_err(file),
            KernelSaid::Table { file: path, .. } => {
                read_text(path, "kernel table", MAX_DOCUMENT).map_err(file)
            }
        }
    }
}
