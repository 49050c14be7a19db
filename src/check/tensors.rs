//! Arrays that the caller holds.

use crate::io::npy::Descr;
use crate::io::{FileError, Source};
use crate::num::Format;
use crate::role::{ByRole, Role};
use crate::tensor::Tensor;

/// Tensors of the caller's, for a request whose arrays are [`Source::Memory`](super::Source::Memory).
#[derive(Debug, Default)]
pub struct Tensors {
    pub tensors: ByRole<Tensor>,
    /// Arrays whose format is the request's choice, as a file's would be ([`Source::of_array`]).
    pub arrays: ByRole<Source>,
}

impl Tensors {
    /// A product and its D.
    pub fn of(a: Tensor, b: Tensor, d: Tensor) -> Tensors {
        Tensors::from_iter([(Role::A, a), (Role::B, b), (Role::D, d)])
    }

    /// With another array, or another one in its place.
    #[must_use]
    pub fn with(mut self, role: Role, tensor: Tensor) -> Tensors {
        self.tensors.insert(role, tensor);
        self
    }

    /// The tensor of a role; of an array, its elements in that format.
    pub(super) fn take(&mut self, role: Role, format: Format) -> Result<Option<Tensor>, FileError> {
        if let Some(tensor) = self.tensors.remove(&role) {
            return Ok(Some(tensor));
        }
        let array = self.arrays.remove(&role);
        array.map(|array| array.tensor(format)).transpose()
    }

    /// The format of a tensor.
    pub(super) fn format(&self, role: Role) -> Option<Format> {
        self.tensors.get(&role).map(Tensor::format)
    }

    /// The type of an array, which may not determine its format.
    pub(super) fn descr(&self, role: Role) -> Option<Descr> {
        let array = self.arrays.get(&role)?;
        Some(array.header().descr.clone())
    }
}

impl FromIterator<(Role, Tensor)> for Tensors {
    fn from_iter<I: IntoIterator<Item = (Role, Tensor)>>(all: I) -> Tensors {
        Tensors {
            tensors: all.into_iter().collect(),
            arrays: ByRole::new(),
        }
    }
}
