//! Who does which rows of D, and what they must find there.

use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::judge::{Judge, Setup};
use super::sealed;
use crate::commit::{Hash, Rows, leaf, leaves};
use crate::io::{MappedFile, file_sha256};
use crate::num::Format;
use crate::report::Inputs;
use crate::tensor::Planes;

/// Value of the `schema` field.
pub const PLAN: &str = "tcverify.plan/1";

/// One check, cut.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The words after `check`.
    pub check: Vec<String>,
    pub model_sha256: String,
    pub schedule_sha256: Option<String>,
    /// Of D.
    pub format: Format,
    pub shape: Vec<usize>,
    pub block_rows: u64,
    /// As in the report of the whole.
    pub inputs: Inputs,
    /// In the order of their rows.
    pub shards: Vec<Share>,
}

/// Some rows, counted on from matrix to matrix, and what they hold: leaves as of a commitment's tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// First, and one past the last.
    pub rows: [u64; 2],
    /// A's, after transposition.
    pub a: Hash,
    pub c: Option<Hash>,
    pub d: Option<Hash>,
}

impl Plan {
    /// Reads a plan; and the digest of its file.
    ///
    /// # Errors
    /// If it is none, damaged, or does not cover D.
    pub fn read(path: &Path) -> Result<(Plan, Hash)> {
        let name = || path.display().to_string();
        let read = || -> Result<(Plan, Hash)> {
            let file = MappedFile::open(path)?;
            let plan: Plan = sealed::unseal(PLAN, file.bytes())?;
            let digest = Hash::parse(&file_sha256(&file)).context("a SHA-256")?;
            file.confirm_unchanged()?;
            let rows = plan.rows()?;
            let mut next = 0;
            for share in &plan.shards {
                let [from, to] = share.rows;
                ensure!(
                    from == next && from < to && from % plan.block_rows == 0,
                    "its parts do not follow one another"
                );
                next = to;
            }
            let last = rows.of_block(rows.blocks() - 1);
            ensure!(next == last.end, "its parts do not make up D");
            Ok((plan, digest))
        };
        read().with_context(name)
    }

    /// How D is cut.
    pub fn rows(&self) -> Result<Rows> {
        Rows::new(self.format, self.shape.clone(), self.block_rows)
    }

    /// What is to be checked.
    pub fn judge(&self) -> Result<Judge> {
        Judge::parse(&self.check).context("the plan's check")
    }

    /// Makes sure that model, schedule and shapes are the plan's.
    ///
    /// # Errors
    /// Which is not.
    pub fn suits(&self, setup: &Setup) -> Result<()> {
        let replay = &setup.replay;
        ensure!(
            replay.arithmetic.sha256() == self.model_sha256,
            "the model is not the one that the plan was made for"
        );
        let schedule = replay.kernel.map(|kernel| kernel.spec.sha256());
        ensure!(
            schedule == self.schedule_sha256,
            "the schedule is not the one that the plan was made for"
        );
        ensure!(
            replay.format() == self.format && replay.shape() == self.shape,
            "D is not of the format and shape that the plan was made for"
        );
        Ok(())
    }
}

/// The digests of some rows.
pub fn slices(judge: &Judge, setup: &Setup, rows: Range<u64>) -> Share {
    let operands = setup.operands;
    let of = |tensor| leaves(tensor, std::slice::from_ref(&rows))[0];
    let a = match judge.operands.transpose_a {
        false => of(&operands.a.tensor),
        true => turned(setup.replay.problem.a, &rows),
    };
    Share {
        rows: [rows.start, rows.end],
        a,
        c: operands.c.as_ref().map(|c| of(&c.tensor)),
        d: setup.d.map(|d| of(&d.tensor)),
    }
}

/// A leaf over rows that do not lie together.
fn turned(planes: Planes, rows: &Range<u64>) -> Hash {
    let width = planes.tensor().format().bytes();
    let payload: Vec<Vec<u8>> = rows
        .clone()
        .map(|row| {
            let row = row as usize;
            let plane = planes.plane(row / planes.rows());
            let codes =
                (0..plane.columns).map(|k| plane.code(row % planes.rows(), k).to_le_bytes());
            codes
                .flat_map(|code| code.into_iter().take(width))
                .collect()
        })
        .collect();
    leaf(payload.iter().map(Vec::as_slice))
}
