//! One part of a plan: replayed and compared.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Plan, ShardError, Share};
use crate::check::{Prepared, Progress, Resources, Subject};
use crate::envelope;
use crate::io::payload_sha256;
use crate::io::tree::{Hash, StreamingLeaves};
use crate::report::PartialComparison;
use crate::role::Role;
use crate::sign::{PublicKey, Signer};
use crate::tensor::parallel;

/// Value of the `schema` field.
pub const PART: &str = "tcverify.part/1";

/// What one part found.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// SHA-256 of the plan's file.
    pub plan: Hash,
    pub shard: usize,
    pub rows: [u64; 2],
    /// Of the reproduced D's blocks.
    pub leaves: Vec<Hash>,
    pub found: PartialComparison,
    /// Whose signature it bears.
    #[serde(skip)]
    pub signer: Option<PublicKey>,
}

impl Plan {
    /// The rows of a part.
    pub fn share(&self, part: usize) -> Result<&Share, ShardError> {
        self.shards.get(part).ok_or_else(|| {
            let last = self.shards.len() - 1;
            ShardError::Other(format!(
                "{}: has parts 0 to {last}, not {part}",
                self.name()
            ))
        })
    }

    /// Opens what a part reads: its rows of A, C and D, and all of B.
    ///
    /// # Errors
    /// If there is no such part, or a file is not what the plan was made of.
    pub fn prepare_part(&self, part: usize, resources: &Resources) -> Result<Prepared, ShardError> {
        let share = self.share(part)?;
        let rows = share.rows[0] as usize..share.rows[1] as usize;
        let prepared = self.check.prepare_rows(rows, resources)?;
        self.validate(&prepared)?;
        Ok(prepared)
    }

    /// Replays and compares a part.
    ///
    /// # Errors
    /// If something that it reads is not what the plan was made of.
    pub fn run_part(
        &self,
        part: usize,
        prepared: &Prepared,
        progress: &dyn Progress,
    ) -> Result<Part, ShardError> {
        let share = self.share(part)?;
        self.confirm(prepared, share)?;
        let rows = share.rows[0] as usize..share.rows[1] as usize;
        let blocks = self.rows().map_err(ShardError::Other)?;
        let mut leaves = StreamingLeaves::new(&blocks);
        let no_d = || ShardError::Other("the plan's check has no D".into());
        let mut differ = prepared.differ().ok_or_else(no_d)?;
        let replay = prepared.replay();
        let all = (self.shape.iter().rev().skip(1).product::<usize>()).max(1);
        let work = u128::from(replay.work()) * rows.len() as u128 / all as u128;
        progress.begin(work as u64);
        let done = replay.rows(rows, &|work| progress.advance(work), |band| {
            parallel::join(|| differ.compare(&band), || leaves.update(band.payload));
            Ok::<(), std::convert::Infallible>(())
        });
        let Ok(()) = done;
        prepared.confirm_unchanged()?;
        Ok(Part {
            plan: self.digest()?,
            shard: part,
            rows: share.rows,
            leaves: leaves.finish(),
            found: differ.piece(),
            signer: None,
        })
    }

    /// Makes sure that what this part reads is what the plan was made of.
    fn confirm(&self, prepared: &Prepared, share: &Share) -> Result<(), ShardError> {
        let arrays = prepared.arrays();
        let found = Share::of(prepared, share.rows[0]..share.rows[1]);
        for role in Role::PRODUCT {
            let (array, planned) = (arrays.get(*role), self.inputs.get(role));
            // Of these the part reads its rows alone.
            let same = match role {
                Role::A => found.a == share.a,
                Role::C => array.is_none() || found.c == share.c,
                Role::D => array.is_none() || found.d == share.d,
                _ => {
                    let found = array.map(|array| payload_sha256(&array.tensor));
                    found.as_ref() == planned.map(|input| &input.payload_sha256)
                }
            };
            if !same {
                let name = role.symbol();
                let path = array.map_or(Path::new(name), |array| array.source.label());
                let reason = format!("{name} is not the array that {} was made from", self.name());
                return Err(ShardError::document(path)(reason));
            }
        }
        Ok(())
    }
}

impl Part {
    /// The document, signed or not.
    pub fn text(&self, signer: Option<&Signer>) -> Result<Vec<u8>, ShardError> {
        envelope::seal_signed(PART, self, signer)
            .map_err(|error| ShardError::Other(format!("the part cannot be written: {error}")))
    }

    /// Reads a part.
    ///
    /// # Errors
    /// If it is none, damaged, or its signature is wrong.
    pub fn read(path: &Path) -> Result<Part, ShardError> {
        let read = envelope::read_signed(PART, path);
        let (part, signer, _) = read.map_err(ShardError::document(path))?;
        Ok(Part { signer, ..part })
    }
}
