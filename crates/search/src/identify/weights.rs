//! A B that is held as codes of weights: what kernels make of it before the product.

use std::collections::BTreeMap;

use super::readings::Readings;
use crate::check::{CheckError, Quantised, Weights};
use crate::num::Format;
use crate::role::Role;
use crate::tensor::{Planes, Tensor};

/// Formats that weights become, which are A's.
pub const OPERANDS: [Format; 2] = [Format::Fp16, Format::Bf16];

/// Codes, scales and zero points.
pub struct WeightArrays {
    pub kind: Weights,
    pub codes: Readings,
    pub scales: Readings,
    pub zeros: Option<Readings>,
    pub transpose: bool,
    /// The codes minus zero points in each format, K x N, for kernels that scale afterwards.
    unscaled: BTreeMap<Format, Tensor>,
}

impl WeightArrays {
    pub fn new(
        kind: Weights,
        [codes, scales]: [Readings; 2],
        zeros: Option<Readings>,
        transpose: bool,
    ) -> WeightArrays {
        WeightArrays {
            kind,
            codes,
            scales,
            zeros,
            transpose,
            unscaled: BTreeMap::new(),
        }
    }

    /// B in each of these formats that the scales have, K x N, times the scales of its groups.
    ///
    /// # Errors
    /// If the arrays do not fit each other, or the scales have none of the formats.
    pub fn dequantise(
        &mut self,
        formats: impl Iterator<Item = Format>,
    ) -> Result<BTreeMap<Format, Tensor>, CheckError> {
        let mut scaled = BTreeMap::new();
        for format in formats.filter(|&format| self.scales.has(format)) {
            scaled.insert(format, self.in_format(format, true)?);
            self.unscaled.insert(format, self.in_format(format, false)?);
        }
        if scaled.is_empty() {
            let reason = "the scales of weights have A's format, fp16 or bf16: give `dtype`, or files that state it";
            return Err(CheckError::request("scale_b", reason));
        }
        Ok(scaled)
    }

    fn in_format(&self, format: Format, scaled: bool) -> Result<Tensor, CheckError> {
        let all = Quantised {
            codes: self.codes.planes(Format::Uint8, self.transpose, false),
            scales: self.scales(format),
            zeros: (self.zeros.as_ref())
                .map(|zeros| zeros.planes(Format::Uint8, self.transpose, false)),
        };
        let found = all.dequantised(self.kind, scaled);
        found.map_err(|(role, reason)| match self.of(role) {
            Some(array) => CheckError::array(role.field(), array.source.label().display(), reason),
            None => CheckError::request(role.field(), reason),
        })
    }

    fn of(&self, role: Role) -> Option<&Readings> {
        match role {
            Role::B => Some(&self.codes),
            Role::ScaleB => Some(&self.scales),
            _ => self.zeros.as_ref(),
        }
    }

    /// The codes minus zero points, K x N.
    pub fn unscaled(&self, format: Format) -> &Tensor {
        &self.unscaled[&format]
    }

    /// The scales, by groups of k and columns.
    pub fn scales(&self, format: Format) -> Planes<'_> {
        self.scales.planes(format, self.transpose, false)
    }

    /// Groups of k that share a scale.
    pub fn groups(&self) -> usize {
        self.scales(self.scales.first()).rows()
    }

    pub fn all(&self) -> impl Iterator<Item = &Readings> {
        [&self.codes, &self.scales].into_iter().chain(&self.zeros)
    }
}
