//! What gives one of the two results.

use super::request::Compare;
use crate::check::{Check, CheckError, Claim, Progress, Source};
use crate::diagnose::is_fault;
use crate::identify::IdentifyError;
use crate::io;
use crate::report::{Fit, Identification, Report};

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
        memory: &mut dyn FnMut(&str) -> Option<io::Source>,
        progress: &dyn Progress,
    ) -> Result<Option<Side>, IdentifyError> {
        let Some(search) = request.search(side) else {
            return Ok(None);
        };
        let prepared = search.prepare_with(memory)?;
        let (found, checks) = prepared.choose(progress)?;
        Ok(Some(Side { found, checks }))
    }

    /// Whether something gives it.
    pub fn is_explained(&self) -> bool {
        !self.found.fits.is_empty()
    }

    pub fn fits(&self) -> &[Fit] {
        &self.found.fits
    }
}

/// What the rule of one side says of the other's result.
pub struct Judged {
    pub report: Report,
}

impl Judged {
    /// # Errors
    /// If the check cannot be run on it.
    pub fn by(
        check: &Check,
        result: &Source,
        progress: &dyn Progress,
    ) -> Result<Judged, CheckError> {
        let mut check = check.clone();
        check.claim = Claim::Tensor(result.clone());
        let report = check.prepare()?.run(progress)?;
        Ok(Judged { report })
    }

    /// Whether what gives this result is a fault, and nothing that a kernel does on purpose.
    pub fn is_faulty(&self) -> bool {
        let causes = &self.report.causes;
        let explained: u64 = causes.iter().map(|cause| cause.mismatches).sum();
        let all = match &self.report.outcome {
            crate::report::Outcome::Elements { comparison, .. } => comparison.mismatches,
            crate::report::Outcome::Digest { .. } => return false,
        };
        !causes.is_empty() && explained >= all && causes.iter().all(|cause| is_fault(&cause.kind))
    }
}
