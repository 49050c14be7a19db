//! Whether a prepared product is the one that a commitment fixes, and the commitment to it.

use std::path::Path;

use super::arrays::Array;
use super::error::CheckError;
use super::prepare::Prepared;
use crate::commit::{
    COMMITMENT, Commitment, CommittedD, CommittedInput, CommittedInputs, CommittedSchedule, Hash,
};
use crate::io::{Fault, FileError, MappedFile, file_sha256, payload_sha256};
use crate::report::Committed;

/// Reads a commitment and hashes its file.
///
/// # Errors
/// If it is none.
pub fn read_commitment(path: &Path) -> Result<(Commitment, String), FileError> {
    let file = MappedFile::open(path).map_err(|fault| fault.of(path))?;
    let commitment = Commitment::parse(file.bytes());
    let commitment = commitment.map_err(|error| Fault::from(error.to_string()).of(path))?;
    let digest = file_sha256(&file);
    file.confirm_unchanged()?;
    Ok((commitment, digest))
}

impl Prepared {
    /// The commitment to this product and its D.
    ///
    /// # Errors
    /// If there is no D, or it cannot be cut so.
    pub fn commitment(&self, block_rows: Option<u64>) -> Result<Commitment, CheckError> {
        let hash = |text: String| Hash::parse(&text).expect("a SHA-256");
        let input = |array: &Array| CommittedInput {
            format: array.tensor.format(),
            shape: array.tensor.shape().to_vec(),
            payload_sha256: hash(payload_sha256(&array.tensor)),
        };
        let Some(d) = self.d() else {
            return Err(CheckError::request(
                "d",
                "`d` is missing: a commitment fixes a D",
            ));
        };
        let factor = |code| format!("{code:08x}");
        let arrays = &self.arrays;
        let scales = arrays.scales.as_ref();
        let rows = self.blocks(block_rows)?;
        Ok(Commitment {
            schema: COMMITMENT.to_owned(),
            model_sha256: hash(self.model.arithmetic.sha256()),
            schedule: self.kernel().map(|kernel| CommittedSchedule {
                sha256: hash(kernel.spec.sha256()),
                alpha: factor(kernel.values.alpha),
                beta: factor(kernel.values.beta),
                scale_result: kernel.values.scale_result.map(factor),
            }),
            product: self.product(),
            inputs: CommittedInputs {
                a: input(&arrays.a),
                b: input(&arrays.b),
                c: arrays.c.as_ref().map(input),
                scale_a: scales.map(|[a, _]| input(a)),
                scale_b: scales.map(|[_, b]| input(b)),
                bias: arrays.bias.as_ref().map(input),
            },
            d: CommittedD {
                root: rows.root(rows.tree(d).root()),
                block_rows: rows.block_rows,
                format: rows.format,
                shape: rows.shape,
            },
        })
    }

    /// What a report says of the commitment that the request names; nothing without one.
    pub(super) fn confirm_commitment(&self) -> Result<Option<Committed>, CheckError> {
        let Some(path) = &self.check.against else {
            return Ok(None);
        };
        let read = read_commitment(path);
        let (commitment, file_sha256) = read.map_err(CheckError::file("against"))?;
        let found = self.commitment(Some(commitment.d.block_rows))?;
        self.confirm_unchanged()?;
        let differences = commitment.differences(&found);
        if !differences.is_empty() {
            return Err(CheckError::NotCommitted {
                path: path.clone(),
                differences,
            });
        }
        Ok(Some(Committed {
            path: path.display().to_string(),
            file_sha256,
            root: commitment.d.root.to_string(),
        }))
    }
}
