//! What all parts found, as one report.

use std::path::Path;

use super::{Part, Plan, ShardError};
use crate::check::{Prepared, Resources, Subject, Trace};
use crate::compose::Examined;
use crate::io::escaped_path;
use crate::report::{Merged, Report, VouchingKey};

impl Plan {
    /// Opens what the report of the whole needs: the operands if causes are searched for, else only headers.
    ///
    /// # Errors
    /// If model, schedule or shapes are no longer the plan's, or operands that are needed.
    pub fn prepare_merge(
        &self,
        parts: &[Part],
        resources: &Resources,
    ) -> Result<Prepared, ShardError> {
        let differs = parts.iter().any(|part| part.found.mismatches() > 0);
        let causes = differs && self.check.causes;
        let prepared = if causes {
            self.check.prepare(resources)?
        } else {
            self.check.prepare_rows(0..0, resources)?
        };
        self.validate(&prepared)?;
        if causes && prepared.inputs() != self.inputs {
            return Err(ShardError::Other(format!(
                "D differs, and the search for causes needs the operands, but these are not the ones that {} was \
                 made from (plan with `no_causes` to skip the search)",
                self.name()
            )));
        }
        Ok(prepared)
    }

    /// All parts, in the order of their rows.
    ///
    /// # Errors
    /// If a part is missing, appears twice, is of another plan, or is not signed as the plan requires.
    pub fn collect(&self, parts: Vec<(Part, &Path)>) -> Result<Vec<Part>, ShardError> {
        let digest = self.digest()?;
        let mut places: Vec<Option<(Part, &Path)>> = self.shards.iter().map(|_| None).collect();
        for (part, path) in parts {
            let fail = ShardError::document(path);
            if part.plan != digest {
                let reason = format!("is part of another plan (with SHA-256 {})", part.plan);
                return Err(fail(reason));
            }
            self.admits(part.signer.as_ref()).map_err(&fail)?;
            let share = self.shards.get(part.shard);
            let share = share.filter(|share| share.rows == part.rows);
            let blocks = part.rows[1]
                .saturating_sub(part.rows[0])
                .div_ceil(self.block_rows);
            if share.is_none() || part.leaves.len() as u64 != blocks {
                return Err(fail(format!(
                    "has rows or blocks that part {} of the plan does not have",
                    part.shard
                )));
            }
            let place = &mut places[part.shard];
            if let Some((_, other)) = place {
                return Err(ShardError::Other(format!(
                    "{} and {}: both are part {}",
                    escaped_path(other),
                    escaped_path(path),
                    part.shard
                )));
            }
            *place = Some((part, path));
        }
        let missing = places.iter().enumerate().filter(|(_, part)| part.is_none());
        let missing: Vec<_> = missing.map(|(i, _)| i.to_string()).collect();
        if !missing.is_empty() {
            return Err(ShardError::Other(format!(
                "{} of {} parts are missing: {}",
                missing.len(),
                places.len(),
                first_of(&missing)
            )));
        }
        Ok(places.into_iter().flatten().map(|(part, _)| part).collect())
    }
}

/// The report of the whole, from all parts in order; those in `run_again` were run again, and found to be what was
/// supplied.
///
/// # Errors
/// If a part cannot be of this plan.
pub fn merge(
    plan: &Plan,
    prepared: &Prepared,
    parts: Vec<Part>,
    run_again: &[usize],
) -> Result<Report, ShardError> {
    let no_d = || ShardError::Other("the plan's check has no D".into());
    let mut differ = prepared.differ().ok_or_else(no_d)?;
    let mut leaves = Vec::new();
    let signer = |part: &Part| part.signer.map(|key| VouchingKey(*key.bytes()));
    let signers: Vec<_> = parts.iter().map(signer).collect();
    let merged = Merged::of(&signers, run_again);
    for part in parts {
        let shard = part.shard;
        let rows = part.rows[0] as usize..part.rows[1] as usize;
        part.confirm(plan)?;
        differ.join(part.found, rows).map_err(|reason| {
            ShardError::Other(format!("part {shard} cannot belong to this plan: {reason}"))
        })?;
        leaves.extend(part.leaves);
    }
    let blocks = plan.rows().map_err(ShardError::Other)?;
    let trace = Trace::Leaves {
        rows: blocks,
        reproduced: leaves,
        given: plan.leaves.clone(),
    };
    let judged = prepared.report(plan.inputs.clone(), trace, Some(differ.conclude()))?;
    prepared.confirm_unchanged()?;
    Ok(judged.report.merged(merged))
}

impl Part {
    /// Refuses a part whose findings contradict its leaves. The leaves are those of the replay, the plan has those of D, and
    /// a block differs if and only if an element in it does.
    fn confirm(&self, plan: &Plan) -> Result<(), ShardError> {
        let fail = |reason: &str| {
            let shard = self.shard;
            let reason = format!("part {shard} contradicts the plan: {reason}");
            Err(ShardError::Other(reason))
        };
        let first = (self.rows[0] / plan.block_rows) as usize;
        let given = plan.leaves.get(first..).unwrap_or_default();
        let same: Vec<bool> = self
            .leaves
            .iter()
            .zip(given)
            .map(|(one, other)| one == other)
            .collect();
        let differing = same.iter().filter(|same| !**same).count() as u64;
        let unequal = self.found.unequal();
        if unequal == 0 && differing > 0 {
            return fail("it found no differing bit, but its leaves are not those of D");
        }
        if unequal > 0 && differing == 0 {
            return fail("it found differing bits, but its leaves are those of D");
        }
        if differing > unequal {
            return fail("it has more differing blocks than differing elements");
        }
        let columns = plan.shape.last().map_or(1, |&n| n as u64).max(1);
        let block = |position: usize| (position as u64 / columns / plan.block_rows) as usize;
        let mut blocks = self.found.named().map(block);
        let elsewhere = |block: usize| {
            let block = block.checked_sub(first);
            block
                .and_then(|block| same.get(block))
                .is_none_or(|same| *same)
        };
        if blocks.any(elsewhere) {
            fail("it names a differing element in a block whose leaf is D's")
        } else {
            Ok(())
        }
    }
}

/// The first few names, and how many more there are.
fn first_of(all: &[String]) -> String {
    match all.len() {
        0..=16 => all.join(", "),
        _ => format!("{}, ...", all[..16].join(", ")),
    }
}
