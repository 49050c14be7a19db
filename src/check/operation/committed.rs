//! The commitment to an operation, and whether a prepared one is what a commitment fixes.

use std::collections::BTreeMap;

use super::{PreparedOperation, fail};
use crate::check::error::CheckError;
use crate::commit::{FixedArray, Hash, OPERATION_COMMITMENT, OperationCommitment};
use crate::io::{Fault, FileError, MappedFile, file_sha256, payload_sha256};
use crate::report::CommittedOperation;

/// Fields that say how the result comes about, besides operation, variant and arrays.
const PARAMETERS: &[&str] = &[
    "arch",
    "eps",
    "softmax_scale",
    "causal",
    "layout",
    "interleaved",
    "group",
    "tile",
    "output",
];

impl PreparedOperation {
    /// The commitment to this operation and its result; nothing is computed.
    ///
    /// # Errors
    /// If there is no result, or a file has changed.
    pub fn commitment(&self) -> Result<OperationCommitment, CheckError> {
        if self.y().is_none() {
            let reason = "`y` is missing: a commitment needs a result";
            return Err(fail("y", reason));
        }
        let hash = |text: String| Hash::parse(&text).expect("a SHA-256");
        let asked = serde_json::to_value(&self.asked).unwrap_or_default();
        let said = PARAMETERS.iter().filter_map(|&name| {
            let value = asked.get(name).filter(|value| !value.is_null())?;
            Some((name.to_owned(), value.clone()))
        });
        let arrays = self.arrays().map(|(role, array)| {
            let fixed = FixedArray {
                format: array.tensor.format(),
                shape: array.tensor.shape().to_vec(),
                payload_sha256: hash(payload_sha256(&array.tensor)),
            };
            (role.field().to_owned(), fixed)
        });
        let arrays: BTreeMap<_, _> = arrays.collect();
        self.confirm_unchanged()?;
        let chosen = self.arithmetic.as_ref();
        Ok(OperationCommitment {
            schema: OPERATION_COMMITMENT.to_owned(),
            operation: self.variant.rule.operation().to_owned(),
            rule_sha256: hash(self.variant.sha256()),
            model_sha256: chosen.map(|chosen| hash(chosen.arithmetic.sha256())),
            parameters: said.collect(),
            arrays,
        })
    }

    /// The commitment that the request names, as a report has it, whatever it is of.
    pub(super) fn drawn_by(&self) -> Result<Option<CommittedOperation>, CheckError> {
        Ok(self.read_commitment()?.map(|(_, committed)| committed))
    }

    fn read_commitment(
        &self,
    ) -> Result<Option<(OperationCommitment, CommittedOperation)>, CheckError> {
        let Some(path) = &self.asked.seed_from else {
            return Ok(None);
        };
        let read = || -> Result<_, FileError> {
            let file = MappedFile::open(path).map_err(|fault| fault.of(path))?;
            let commitment = OperationCommitment::parse(file.bytes());
            let commitment = commitment.map_err(|error| Fault::from(error.to_string()).of(path))?;
            let file_sha256 = file_sha256(&file);
            file.confirm_unchanged()?;
            let path = path.display().to_string();
            Ok((commitment, CommittedOperation { path, file_sha256 }))
        };
        read().map(Some).map_err(CheckError::file("seed_from"))
    }

    /// What a report says of the commitment that the request names, which must be one to all of this.
    pub(super) fn confirm_committed(&self) -> Result<Option<CommittedOperation>, CheckError> {
        let (Some((commitment, committed)), Some(path)) =
            (self.read_commitment()?, &self.asked.seed_from)
        else {
            return Ok(None);
        };
        let differences = commitment.differences(&self.commitment()?);
        match differences.is_empty() {
            true => Ok(Some(committed)),
            false => Err(CheckError::NotCommitted {
                path: path.clone(),
                differences,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Operation;
    use crate::role::Role;

    /// A field is an array, a parameter, or says nothing of how the result comes about.
    #[test]
    fn every_field_is_committed_to_or_changes_nothing() {
        // The rule's own, by its digest.
        const RULE: &[&str] = &["operation", "variant", "variant_file"];
        // An array's own.
        const ARRAY: &[&str] = &["dtype"];
        const JUDGING: &[&str] = &[
            "y_digest",
            "nan",
            "zero",
            "rows",
            "sample",
            "seed",
            "seed_from",
            "beacon",
            "max_mismatches",
            "no_causes",
            "engine",
        ];
        let arrays: Vec<&str> = Role::OPERATION.iter().map(|role| role.field()).collect();
        let groups: [&[&str]; 5] = [RULE, ARRAY, JUDGING, PARAMETERS, &arrays];
        let mut known = groups.concat();
        let mut names = Operation::NAMES.to_vec();
        known.sort_unstable();
        names.sort_unstable();
        assert_eq!(known, names);
    }
}
