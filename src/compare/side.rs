//! What gives one of the two results.

use super::request::{Compare, Held};
use crate::check::{Check, CheckError, Claim, Prepared, Progress, Source, Tensors};
use crate::diagnose::is_fault;
use crate::identify::IdentifyError;
use crate::io::{self, Files};
use crate::report::{Fit, Identification, Outcome, Report};
use crate::role::{ByRole, Role};

/// What was found of one result.
pub struct Side {
    pub found: Identification,
    /// Of every fit the check that it is.
    pub checks: Vec<Check>,
}

impl Side {
    /// # Errors
    /// If the operands cannot be read, or do not multiply to this result.
    pub fn searched(
        request: &Compare,
        side: usize,
        held: &Held,
        progress: &dyn Progress,
    ) -> Result<Option<Side>, IdentifyError> {
        let Some(search) = request.search(side) else {
            return Ok(None);
        };
        let mut of_side = |field: &str| held[side].get(&Role::of_field(field)?).cloned();
        let prepared = search.prepare_with(&mut of_side)?;
        let (found, checks) = prepared.choose(progress)?;
        Ok(Some(Side { found, checks }))
    }

    pub fn fits(&self) -> &[Fit] {
        &self.found.fits
    }
}

/// A check of files, and of arrays that the caller holds; what a search found names files in their place.
pub fn prepared(check: &Check, arrays: ByRole<io::Source>) -> Result<Prepared, CheckError> {
    let mut check = check.clone();
    for role in arrays.keys() {
        match role {
            Role::D => check.claim = Claim::Tensor(Source::Memory),
            role => drop(check.operands.arrays.insert(*role, Source::Memory)),
        }
    }
    let held = Tensors {
        arrays,
        ..Tensors::default()
    };
    Prepared::from_tensors_in(&check, &Files::default(), held)
}

/// What the rule of one side says of the other's result.
///
/// # Errors
/// If the check cannot be run on it.
pub fn judged(
    mut check: Check,
    result: (&Source, Option<&io::Source>),
    held: &ByRole<io::Source>,
    progress: &dyn Progress,
) -> Result<Report, CheckError> {
    check.claim = Claim::Tensor(result.0.clone());
    let mut held = held.clone();
    held.remove(&Role::D);
    held.extend(result.1.map(|result| (Role::D, result.clone())));
    prepared(&check, held)?.run(progress)
}

/// Whether what gives the result of a report is a fault, and nothing that a kernel does on purpose.
pub fn is_faulty(report: &Report) -> bool {
    let causes = &report.causes;
    let explained: u64 = causes.iter().map(|cause| cause.mismatches).sum();
    let Outcome::Elements { comparison, .. } = &report.outcome else {
        return false;
    };
    let all = causes.iter().all(|cause| is_fault(&cause.kind));
    !causes.is_empty() && explained >= comparison.mismatches && all
}
