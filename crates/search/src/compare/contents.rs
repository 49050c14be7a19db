//! Whether two arrays hold the same, by their digests.

use crate::io::{self, FileError, payload_sha256};
use crate::num::Format;
use crate::tensor::Tensor;

/// What is known of an array's contents.
#[derive(Clone)]
pub struct Contents {
    /// SHA-256 of the elements as they are stored.
    pub sha256: String,
    /// Like the format, unknown without a file.
    pub shape: Option<Vec<usize>>,
    pub format: Option<Format>,
}

impl Contents {
    /// A whole array, whose type may state its format.
    pub fn of(array: &io::Source) -> Result<Contents, FileError> {
        let tensor = array.tensor(array.as_stored())?;
        Ok(Contents::part(array, &tensor))
    }

    /// A part of an array.
    pub fn part(array: &io::Source, tensor: &Tensor) -> Contents {
        Contents {
            sha256: payload_sha256(tensor),
            shape: Some(tensor.shape().to_vec()),
            format: array.header().descr.own_format(),
        }
    }

    /// Bytes alone do not make two arrays the same: they may be elements of another format, or of another shape.
    pub fn same(&self, other: &Contents) -> bool {
        fn agree<T: PartialEq>(one: Option<&T>, other: Option<&T>) -> bool {
            one.zip(other).is_none_or(|(one, other)| one == other)
        }
        self.sha256 == other.sha256
            && agree(self.shape.as_ref(), other.shape.as_ref())
            && agree(self.format.as_ref(), other.format.as_ref())
    }

    pub fn has_elements(&self) -> bool {
        !self.shape.iter().flatten().any(|axis| *axis == 0)
    }
}
