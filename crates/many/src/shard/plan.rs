//! Who does which rows of D, and what they must find there.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::ShardError;
use crate::check::{Check, CheckError, Naming, Prepared, Progress, Subject};
use crate::envelope;
use crate::io::escaped_path;
use crate::io::tree::{Hash, Rows, leaf, leaves, row_payload};
use crate::num::Format;
use crate::report::Input;
use crate::role::{ByRole, Role};
use crate::sign::PublicKey;
use crate::tensor::{Planes, parallel};

/// Value of the `schema` field.
pub const PLAN: &str = "tcverify.plan/1";

/// One check, cut.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub check: Check,
    pub model_sha256: String,
    pub schedule_sha256: Option<String>,
    /// Format of D.
    pub format: Format,
    pub shape: Vec<usize>,
    pub block_rows: u64,
    /// As in the report of the whole.
    pub inputs: ByRole<Input>,
    /// Of D's blocks, which parts without a mismatch must have.
    pub leaves: Vec<Hash>,
    /// Whose parts are taken: anyone's, unsigned, if there are none.
    pub signers: Vec<PublicKey>,
    /// In the order of their rows.
    pub shards: Vec<Share>,
    /// Where it was read from, and the digest of that file.
    #[serde(skip)]
    pub(super) file: Option<(PathBuf, Hash)>,
}

/// Some rows, counted on from matrix to matrix, and what they hold: leaves as of a commitment's tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
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
    /// Cuts a check into so many parts; reads and hashes all files.
    ///
    /// # Errors
    /// If it is not a check of all of a D, or D has too few blocks.
    pub fn make(
        prepared: &Prepared,
        parts: u64,
        progress: &dyn Progress,
    ) -> Result<Plan, ShardError> {
        let check = prepared.request();
        let other = |field, reason: &str| Err(CheckError::request(field, reason).into());
        if prepared.product().sparse.is_some() {
            return other(
                "sparse_a",
                "a product of a compressed A (`sparse_a`) cannot be cut into parts",
            );
        }
        if check.against.is_some() || check.seed_from().is_some() {
            return other(
                "against",
                "`against` needs all of D, but a part sees only some of it",
            );
        }
        if !check.selection.is_all() {
            return other(
                "sample",
                "a plan covers all of D; `sample`, `rows`, `cols` and `region` are only for a single check",
            );
        }
        if prepared.d().is_none() {
            return other(
                "d_digest",
                "a plan needs D itself: a part cannot be compared with a digest of the whole",
            );
        }
        let block_rows = match check.naming {
            Naming::Tree { block_rows } => block_rows,
            Naming::Payload => None,
        };
        let rows = prepared.blocks(block_rows)?;
        let blocks = rows.blocks();
        if parts > blocks {
            let reason = format!(
                "{parts} parts of {blocks} blocks of {} rows: ask for at most as many parts as blocks, or cut D \
                 finer with `block_rows`",
                rows.block_rows
            );
            return other("block_rows", &reason);
        }
        progress.begin(parts);
        let cut = |i: u64| (u128::from(blocks) * u128::from(i) / u128::from(parts)) as u64;
        let (inputs, (shards, leaves)) = parallel::join(
            || prepared.inputs(),
            || {
                let shards = (0..parts).map(|i| {
                    let [first, last] = [cut(i), cut(i + 1) - 1].map(|block| rows.of_block(block));
                    let share = Share::of(prepared, first.start..last.end);
                    progress.advance(1);
                    share
                });
                (shards.collect::<Vec<Share>>(), prepared.given_leaves(&rows))
            },
        );
        prepared.confirm_unchanged()?;
        let replay = prepared.replay();
        Ok(Plan {
            check: Check {
                naming: Naming::Tree { block_rows },
                ..check.clone()
            },
            model_sha256: replay.arithmetic.sha256(),
            schedule_sha256: replay.kernel.map(|kernel| kernel.spec.sha256()),
            block_rows: rows.block_rows,
            format: rows.format,
            shape: rows.shape,
            inputs,
            leaves,
            signers: Vec::new(),
            shards,
            file: None,
        })
    }

    /// The document.
    ///
    /// # Errors
    /// If a path in it is not UTF-8, which no JSON holds.
    pub fn text(&self) -> Result<Vec<u8>, ShardError> {
        envelope::seal(PLAN, self)
            .map_err(|error| ShardError::Other(format!("the plan cannot be written: {error}")))
    }

    /// Reads a plan.
    ///
    /// # Errors
    /// If it is none, damaged, or does not cover D.
    pub fn read(path: &Path) -> Result<Plan, ShardError> {
        let fail = ShardError::document(path);
        let (plan, digest): (Plan, _) = envelope::read(PLAN, path).map_err(&fail)?;
        plan.covers_d().map_err(&fail)?;
        Ok(Plan {
            file: Some((path.to_owned(), digest)),
            ..plan
        })
    }

    /// Refuses a plan whose parts are not all of D.
    ///
    /// # Errors
    /// What is wrong, as words to follow its name.
    pub fn covers_d(&self) -> Result<(), String> {
        let rows = self.rows()?;
        if self.leaves.len() as u64 != rows.blocks() {
            return Err("it does not have one leaf per block of D".into());
        }
        let mut next = 0;
        for share in &self.shards {
            let [from, to] = share.rows;
            if from != next || from >= to || from % self.block_rows != 0 {
                return Err("its parts are not consecutive".into());
            }
            next = to;
        }
        let last = rows.of_block(rows.blocks() - 1);
        if next != last.end {
            return Err("its parts do not cover D".into());
        }
        Ok(())
    }

    /// Makes sure that a part bears a signature that the plan asks for.
    ///
    /// # Errors
    /// What is wrong, as words to follow its name.
    pub fn admits(&self, signer: Option<&PublicKey>) -> Result<(), String> {
        match signer {
            None if self.signers.is_empty() => Ok(()),
            None => {
                Err("is not signed, but the plan accepts only parts that its signers signed".into())
            }
            Some(_) if self.signers.is_empty() => Err(
                "is signed, but the plan names no signers, so the signature proves nothing".into(),
            ),
            Some(key) if self.signers.contains(key) => Ok(()),
            Some(key) => Err(format!(
                "is signed by {key}, which is not a signer of the plan"
            )),
        }
    }

    /// What messages call it.
    pub(super) fn name(&self) -> String {
        let file = self.file.as_ref();
        file.map_or("the plan".into(), |(path, _)| escaped_path(path))
    }

    /// The SHA-256 of its file.
    pub(super) fn digest(&self) -> Result<Hash, ShardError> {
        match &self.file {
            Some((_, digest)) => Ok(*digest),
            None => self.text().map(|text| Hash::of([&text[..]])),
        }
    }

    /// How D is cut.
    pub(super) fn rows(&self) -> Result<Rows, String> {
        let rows = Rows::new(self.format, self.shape.clone(), self.block_rows);
        rows.map_err(|error| format!("{error:#}"))
    }

    /// Makes sure that model, schedule and shapes are the plan's.
    pub(super) fn validate(&self, prepared: &Prepared) -> Result<(), ShardError> {
        let replay = prepared.replay();
        let schedule = replay.kernel.map(|kernel| kernel.spec.sha256());
        let changed = if replay.arithmetic.sha256() != self.model_sha256 {
            "the model differs from the plan's"
        } else if schedule != self.schedule_sha256 {
            "the schedule differs from the plan's"
        } else if replay.format() != self.format || replay.shape() != self.shape {
            "the format or shape of D differs from the plan's"
        } else {
            return Ok(());
        };
        Err(ShardError::Other(changed.into()))
    }
}

impl Share {
    /// The digests of some rows.
    pub(super) fn of(prepared: &Prepared, rows: Range<u64>) -> Share {
        let of = |tensor| leaves(tensor, std::slice::from_ref(&rows))[0];
        let arrays = prepared.arrays();
        let a = if arrays.transpose()[0] {
            transposed_leaf(prepared.problem().a, &rows)
        } else {
            of(&arrays[Role::A].tensor)
        };
        Share {
            rows: [rows.start, rows.end],
            a,
            c: arrays.get(Role::C).map(|c| of(&c.tensor)),
            d: prepared.d().map(of),
        }
    }
}

/// A leaf over rows that do not lie together.
fn transposed_leaf(planes: Planes, rows: &Range<u64>) -> Hash {
    let payloads: Vec<_> = rows.clone().map(|row| row_payload(planes, row)).collect();
    leaf(payloads.iter().map(Vec::as_slice))
}
