//! Whether a prepared product is the one that a commitment fixes, and the commitment to it.

use std::path::Path;

use super::arrays::Array;
use super::error::CheckError;
use super::prepare::Prepared;
use crate::commit::{
    Along, COMMITMENT, CommitError, Commitment, CommittedD, CommittedInput, CommittedSchedule,
    Hash, Lines, Rows, Tree,
};
use crate::io::{Fault, FileError, MappedFile, file_sha256};
use crate::report::Committed;
use crate::role::{ByRole, Role};

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

/// An input as it is committed to by lines.
pub struct LinedInput<'a> {
    pub role: Role,
    pub array: &'a Array,
    pub lines: Lines,
}

/// About the bytes of a block of D's rows, unless it is said: of few rows, so that an element is shown
/// with little else.
const BLOCK: u64 = 4 << 10;

impl Prepared {
    /// The commitment to this product and its D.
    ///
    /// # Errors
    /// If there is no D, or it cannot be cut so.
    pub fn commitment(&self, block_rows: Option<u64>) -> Result<Commitment, CheckError> {
        let (commitment, ..) = self.commitment_and_trees(block_rows)?;
        Ok(commitment)
    }

    /// The commitment, and the trees that it was made of: those of the inputs, and of D.
    ///
    /// # Errors
    /// As of [`Prepared::commitment`].
    pub fn commitment_and_trees(
        &self,
        block_rows: Option<u64>,
    ) -> Result<(Commitment, ByRole<Tree>, Tree), CheckError> {
        if self.model.sparse().is_some() {
            let reason = "a product of a compressed A cannot be committed to: openings do not support its metadata \
                yet";
            return Err(CheckError::request("sparse_a", reason));
        }
        let (rows, d) = self.committed_rows(block_rows)?;
        let inputs = self.lined_inputs()?;
        let tree = |input: &LinedInput| input.lines.tree(&input.array.tensor);
        let trees: ByRole<_> = inputs
            .iter()
            .map(|input| (input.role, tree(input)))
            .collect();
        let fixed = inputs
            .iter()
            .map(|input| (input, trees[&input.role].root()));
        let tree = rows.tree(d);
        let commitment = self.commitment_of((&rows, tree.root()), fixed);
        Ok((commitment, trees, tree))
    }

    fn committed_rows(
        &self,
        block_rows: Option<u64>,
    ) -> Result<(Rows, &crate::tensor::Tensor), CheckError> {
        let missing = || CheckError::request("d", "`d` is missing: a commitment needs D");
        let d = self.d().ok_or_else(missing)?;
        let about = || Rows::about(BLOCK, d.format(), d.shape());
        let rows = self.blocks(Some(block_rows.unwrap_or_else(about)))?;
        Ok((rows, d))
    }

    /// How every input is cut into lines.
    ///
    /// # Errors
    /// If one cannot be.
    pub fn lined_inputs(&self) -> Result<Vec<LinedInput<'_>>, CheckError> {
        let [transpose_a, transpose_b] = self.arrays.transpose();
        let along = |turned: bool, otherwise, along| if turned { otherwise } else { along };
        let of_a = along(transpose_a, Along::Columns, Along::Rows);
        let of_b = along(transpose_b, Along::Rows, Along::Columns);
        let [scales_of_a, scales_of_b] = match self.scheduling.takes_scales() {
            true => [Along::Whole; 2],
            false => [of_a, of_b],
        };
        let inputs = self.arrays.iter().filter(|(role, _)| *role != Role::D);
        inputs
            .map(|(role, array)| {
                let along = match role {
                    Role::A => of_a,
                    Role::B => of_b,
                    Role::C => Along::Rows,
                    Role::ScaleA => scales_of_a,
                    Role::ScaleB => scales_of_b,
                    _ => Along::Whole,
                };
                let lines = Lines::new(array.tensor.format(), array.tensor.shape().to_vec(), along);
                let name = role.field();
                let fail = |error: CommitError| CheckError::array(name, name, error.to_string());
                let lines = lines.map_err(fail)?;
                Ok(LinedInput { role, array, lines })
            })
            .collect()
    }

    fn commitment_of<'a>(
        &self,
        (rows, tree): (&Rows, Hash),
        inputs: impl Iterator<Item = (&'a LinedInput<'a>, Hash)>,
    ) -> Commitment {
        let hash = |text: String| Hash::parse(&text).expect("a SHA-256");
        let inputs = inputs
            .map(|(LinedInput { role, lines, .. }, hash)| {
                let input = CommittedInput {
                    format: lines.format,
                    shape: lines.shape.clone(),
                    lines: lines.along,
                    root: lines.root(role.field(), hash),
                };
                (*role, input)
            })
            .collect();
        Commitment {
            schema: COMMITMENT.to_owned(),
            model_sha256: hash(self.model.arithmetic.sha256()),
            schedule: self
                .kernel()
                .map(|kernel| CommittedSchedule::of(kernel.spec, kernel.values)),
            product: self.product(),
            inputs,
            d: CommittedD {
                root: rows.root(tree),
                block_rows: rows.block_rows,
                format: rows.format,
                shape: rows.shape.clone(),
            },
        }
    }

    /// What a report says of the commitment that the request names; nothing without one.
    pub(super) fn confirm_committed(&self) -> Result<Option<Committed>, CheckError> {
        let (field, path) = match (&self.check.against, self.check.seed_from()) {
            (Some(path), _) => ("against", path),
            (None, Some(path)) => ("seed_from", path),
            (None, None) => return Ok(None),
        };
        let read = read_commitment(path);
        let (commitment, file_sha256) = read.map_err(CheckError::file(field))?;
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
