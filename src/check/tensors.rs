//! Arrays that the caller holds.

use std::collections::BTreeMap;

use crate::io::npy::Descr;
use crate::io::{FileError, Source};
use crate::num::Format;
use crate::tensor::Tensor;

/// Tensors of the caller's, for a request whose arrays are [`Source::Memory`](super::Source::Memory).
#[derive(Debug, Default)]
pub struct Tensors {
    pub a: Option<Tensor>,
    pub b: Option<Tensor>,
    pub c: Option<Tensor>,
    pub scale_a: Option<Tensor>,
    pub scale_b: Option<Tensor>,
    pub bias: Option<Tensor>,
    pub azp: Option<Tensor>,
    pub azp_adj: Option<Tensor>,
    pub d: Option<Tensor>,
    /// By field: arrays whose format is the request's choice, as a file's would be ([`Source::of_array`]).
    pub arrays: BTreeMap<&'static str, Source>,
}

impl Tensors {
    /// A product and its D.
    pub fn of(a: Tensor, b: Tensor, d: Tensor) -> Tensors {
        Tensors {
            a: Some(a),
            b: Some(b),
            d: Some(d),
            ..Tensors::default()
        }
    }

    fn slot(&mut self, field: &str) -> &mut Option<Tensor> {
        match field {
            "a" => &mut self.a,
            "b" => &mut self.b,
            "c" => &mut self.c,
            "scale_a" => &mut self.scale_a,
            "scale_b" => &mut self.scale_b,
            "bias" => &mut self.bias,
            "azp" => &mut self.azp,
            "azp_adj" => &mut self.azp_adj,
            _ => &mut self.d,
        }
    }

    /// The tensor of a field; of an array, its elements in that format.
    pub(super) fn take(
        &mut self,
        field: &str,
        format: Format,
    ) -> Result<Option<Tensor>, FileError> {
        if let Some(tensor) = self.slot(field).take() {
            return Ok(Some(tensor));
        }
        let array = self.arrays.remove(field);
        array.map(|array| array.tensor(format)).transpose()
    }

    /// The format of a tensor.
    pub(super) fn format(&mut self, field: &str) -> Option<Format> {
        self.slot(field).as_ref().map(Tensor::format)
    }

    /// The type of an array, which may not say its format.
    pub(super) fn descr(&self, field: &str) -> Option<Descr> {
        let array = self.arrays.get(field)?;
        Some(array.header().descr.clone())
    }
}
