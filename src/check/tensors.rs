//! Arrays that the caller holds.

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
    pub d: Option<Tensor>,
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
            _ => &mut self.d,
        }
    }

    pub(super) fn take(&mut self, field: &str) -> Option<Tensor> {
        self.slot(field).take()
    }

    pub(super) fn format(&mut self, field: &str) -> Option<Format> {
        self.slot(field).as_ref().map(Tensor::format)
    }
}
