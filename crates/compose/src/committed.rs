//! The commitment to what was prepared, and whether it is the one that a commitment fixes.

use std::path::Path;

use super::{Examined, Request};
use crate::check::{Array, CheckError};
use crate::commit::{CommitError, Commitment, CommittedInput, CommittedResult, Lines};
use crate::io::tree::{Rows, Tree};
use crate::io::{Fault, FileError, MappedFile};
use crate::report::Committed;
use crate::role::{ByRole, Role};

/// Reads a commitment and hashes its file.
pub fn read_commitment(path: &Path) -> Result<(Commitment, String), FileError> {
    let file = MappedFile::open(path).map_err(|fault| fault.of(path))?;
    let commitment = Commitment::parse(file.bytes());
    let commitment = commitment.map_err(|error| Fault::from(error.to_string()).of(path))?;
    let digest = file.sha256().to_owned();
    file.confirm_unchanged()?;
    Ok((commitment, digest))
}

/// An input as it is committed to by lines.
pub struct LinedInput<'a> {
    pub role: Role,
    pub array: &'a Array,
    pub lines: Lines,
}

/// Bytes of a block of the result's rows by default, about: few rows, so that an opening shows little beside its
/// element.
const BLOCK: u64 = 4 << 10;

/// The commitment to a product or an operation and its result, as it was prepared.
///
/// # Errors
/// If there is no result, or it cannot be cut so.
pub fn commitment(
    subject: &(impl Examined + ?Sized),
    block_rows: Option<u64>,
) -> Result<Commitment, CheckError> {
    let (commitment, ..) = commitment_and_trees(subject, block_rows)?;
    Ok(commitment)
}

/// The commitment, and the trees that it was made of: those of the inputs, and of the result.
pub fn commitment_and_trees(
    subject: &(impl Examined + ?Sized),
    block_rows: Option<u64>,
) -> Result<(Commitment, ByRole<Tree>, Tree), CheckError> {
    let rule = subject.committed_rule()?;
    let field = subject.result().field();
    let missing = || {
        let article = if field == "d" { "a D" } else { "a result" };
        let reason = format!("`{field}` is missing: a commitment needs {article}");
        CheckError::request(field, reason)
    };
    let given = subject.given().ok_or_else(missing)?;
    let about = || Rows::about(BLOCK, given.format(), given.shape());
    let rows = subject.blocks(Some(block_rows.unwrap_or_else(about)))?;
    let mut trees = ByRole::new();
    let mut inputs = ByRole::new();
    for LinedInput { role, array, lines } in lined_inputs(subject)? {
        let tree = lines.tree(&array.tensor);
        let input = CommittedInput {
            root: lines.root(role.field(), tree.root()),
            format: lines.format,
            shape: lines.shape,
            lines: lines.along,
        };
        inputs.insert(role, input);
        trees.insert(role, tree);
    }
    let tree = rows.tree(given);
    let commitment = Commitment {
        rule,
        inputs,
        result: CommittedResult {
            root: rows.root(tree.root()),
            block_rows: rows.block_rows,
            format: rows.format,
            shape: rows.shape,
        },
    };
    Ok((commitment, trees, tree))
}

/// How every input is cut into lines.
pub fn lined_inputs(subject: &(impl Examined + ?Sized)) -> Result<Vec<LinedInput<'_>>, CheckError> {
    let arrays = subject.by_role().iter();
    let inputs = arrays.filter(|(role, _)| !role.is_result());
    inputs
        .map(|(&role, array)| {
            let (format, shape) = (array.tensor.format(), array.tensor.shape().to_vec());
            let lines = Lines::new(format, shape, subject.along(role));
            let name = role.field();
            let fail = |error: CommitError| CheckError::array(name, name, error.to_string());
            let lines = lines.map_err(fail)?;
            Ok(LinedInput { role, array, lines })
        })
        .collect()
}

/// The commitment of a request as a report has it, once everything matches; none without one.
pub(super) fn confirm_committed(
    subject: &(impl Examined + ?Sized),
    request: &Request,
) -> Result<Option<Committed>, CheckError> {
    let Some((field, path)) = request.committed() else {
        return Ok(None);
    };
    let (commitment, file_sha256) = read_commitment(path).map_err(CheckError::file(field))?;
    let found = self::commitment(subject, Some(commitment.result.block_rows))?;
    subject.confirm_unchanged()?;
    let differences = commitment.differences(&found);
    if !differences.is_empty() {
        return Err(CheckError::NotCommitted {
            path: path.to_owned(),
            differences,
        });
    }
    Ok(Some(Committed {
        path: path.display().to_string(),
        file_sha256,
        root: commitment.result.root.to_string(),
    }))
}
