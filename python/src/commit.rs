//! Commitments: made, opened, verified.

use pyo3::prelude::*;
use tcverify::check::{CheckError, Subject};
use tcverify::commit::{Commitment, Proof};

use crate::error;
use crate::product::{Operand, Payload, payload};
use crate::request::{Arrays, Request};
use crate::watch::{attended, in_pool};

/// The commitment to a product and its D, as `tcverify commit` writes it.
#[pyfunction]
pub fn commit(
    py: Python<'_>,
    fields: &str,
    arrays: Arrays,
    block_rows: Option<u64>,
) -> PyResult<String> {
    let request = Request::new(py, fields, &arrays)?.with_formats(py)?;
    let made = attended(py, None, move |_| {
        let prepared = request.prepare()?;
        let commitment = tcverify::compose::commitment(&prepared, block_rows)?;
        prepared.confirm_unchanged()?;
        Ok(commitment)
    })?;
    let commitment = made.map_err(|error: CheckError| error::check(py, &error))?;
    let text = serde_json::to_string_pretty(&commitment).map_err(std::io::Error::from)?;
    Ok(text + "\n")
}

fn read(py: Python<'_>, commitment: &str) -> PyResult<Commitment> {
    Commitment::parse(commitment.as_bytes())
        .map_err(|error| error::commitment(py, "commitment", &error))
}

/// A proof that some blocks of rows are those of the committed D, and these rows.
#[pyfunction]
pub fn open<'py>(
    py: Python<'py>,
    commitment: &str,
    d: Operand,
    mut blocks: Vec<u64>,
) -> PyResult<(String, Payload<'py>)> {
    let commitment = read(py, commitment)?;
    let rows = commitment
        .result
        .rows()
        .map_err(|error| error::commitment(py, "commitment", &error))?;
    blocks.sort_unstable();
    blocks.dedup();
    if let Some(block) = blocks.iter().find(|&&block| block >= rows.blocks()) {
        let last = rows.blocks() - 1;
        let reason = format!("`blocks` asks for block {block}; the commitment has 0 to {last}");
        return Err(error::request(py, "blocks", reason));
    }
    let tensor = d.tensor(py, "d", Some(rows.format))?;
    if tensor.shape() != rows.shape {
        let reason = format!(
            "`d` is {:?}, committed was {:?}",
            tensor.shape(),
            rows.shape
        );
        return Err(error::not_committed(py, reason));
    }
    let tree = in_pool(|| rows.tree(&tensor));
    let root = rows.root(tree.root());
    if root != commitment.result.root {
        let committed = commitment.result.root;
        let reason = format!("the root of `d` is {root}, committed was {committed}");
        return Err(error::not_committed(py, reason));
    }
    let proof = Proof::of(root, &tree, &blocks);
    let text = serde_json::to_string_pretty(&proof).map_err(std::io::Error::from)?;
    let gathered = rows.gather(&tensor, &blocks);
    let gathered = gathered.map_err(|error| error::commitment(py, "d", &error.into()))?;
    Ok((text + "\n", payload(py, &gathered)))
}

/// Blocks that are proven, and their rows: first, and one past the last.
#[pyfunction]
pub fn verify(
    py: Python<'_>,
    commitment: &str,
    proof: &str,
    rows: Option<Operand>,
) -> PyResult<Vec<(u64, u64, u64)>> {
    let commitment = read(py, commitment)?;
    let cut = commitment
        .result
        .rows()
        .map_err(|error| error::commitment(py, "commitment", &error))?;
    let proof = Proof::parse(proof.as_bytes());
    let proof = proof.map_err(|error| error::commitment(py, "proof", &error))?;
    let rows = rows
        .map(|rows| rows.tensor(py, "rows", Some(cut.format)))
        .transpose()?;
    if let Err(why) = in_pool(|| proof.check(&commitment.result, rows.as_ref())) {
        return Err(error::not_committed(py, format!("proves nothing: {why:#}")));
    }
    let blocks = proof.blocks.iter().map(|proven| {
        let range = cut.of_block(proven.block);
        (proven.block, range.start as u64, range.end as u64)
    });
    Ok(blocks.collect())
}
