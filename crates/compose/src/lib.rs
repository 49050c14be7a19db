//! What the program makes of a prepared subject: the verdict of the core, and what stands around it.
//!
//! The core compares and judges ([`Judge`]). This room confirms commitments before it, and asks afterwards why a result
//! differs, what else would give it, and how one element is computed. It decides no verdict.
//!
//! * `request`: a product or an operation between products, for callers that need not know which.
//! * `product`, `operation`: what each of the two says beside its verdict.
//! * `committed`: the commitment to a subject, and whether it is the one that a request names.
//! * `suggest`: what would give a product's D; `variants`: the same of an operation; `ambiguity`: what else gives a D
//!   that agrees.
//! * `explained`: how one element is computed; `describe`: errors in the caller's words.
//! * [`verify`]: whether a report that somebody hands over is the one that comes out.

mod ambiguity;
mod committed;
mod describe;
mod explained;
mod nonfinite;
#[cfg(test)]
mod operation_tests;
mod operations;
mod planned;
mod product;
mod request;
mod suggest;
#[cfg(test)]
mod tests;
mod variants;
pub mod verify;

use tcverify_causes::{candidates, diagnose, explain, inspect};
use tcverify_check as check;
use tcverify_common::{deadline, role, words};
use tcverify_emu as emu;
#[cfg(test)]
use tcverify_engines as engines;
use tcverify_forms as forms;
use tcverify_io as io;
use tcverify_num as num;
use tcverify_operation as operation;
use tcverify_ops as ops;
use tcverify_provenance::commit;
use tcverify_report as report;
use tcverify_report::sample;
use tcverify_tensor as tensor;

use std::borrow::Cow;

pub use committed::{LinedInput, commitment, commitment_and_trees, lined_inputs, read_commitment};
pub use describe::describe;
pub use explained::Explained;
pub use planned::Planned;
pub use product::explanation;
pub use request::Request;
pub use suggest::diagnosis;
pub use variants::{Fit, identify};

use crate::check::{
    Attention, CheckError, Judge, Judged, Part, Progress, Resources, Subject, Trace, Verb,
    shell_line,
};
use crate::commit::{Along, CommittedRule};
use crate::deadline::interruptible;
use crate::explain::Wish;
use crate::forms::{Mapping, Pictured};
use crate::report::{Ambiguity, Cause, Conclusion, Input, Place, Report, Verdict};
use crate::role::{ByRole, Role};

/// What would give a result that differs; where nothing is known to, what was tried and refuted, and what was not
/// tried.
#[derive(Debug, Default)]
pub struct Diagnosed {
    pub causes: Vec<Cause>,
    pub places: Vec<Place>,
    pub tried: Vec<Cow<'static, str>>,
    pub untried: Vec<Cow<'static, str>>,
}

/// A subject of which more is known than its verdict.
pub trait Examined: Subject {
    /// The request as a report states it: without the engine, which makes no difference to the bits.
    fn reported_request(&self) -> Request;
    /// The reported request, with the layout of operands that a kernel text states.
    fn spelled_out(&self) -> Request {
        self.reported_request()
    }

    /// What would give a result that differs, and what was tried.
    fn diagnosed(&self, found: &Conclusion, part: Option<&Part>) -> Diagnosed;
    /// What a report of this verdict states about other arithmetics, if anything.
    fn ambiguity(&self, _: Verdict, _: Option<&Part>) -> Option<Ambiguity> {
        None
    }
    /// The command that searches for a cause where none was found.
    fn searches(&self) -> Option<String> {
        None
    }

    /// How one element is computed.
    fn explained(&self, index: &[usize], wish: Wish) -> Result<Explained, CheckError>;
    /// Steps of the chain that an explanation shows, if it shows one.
    fn explained_steps(&self) -> usize {
        0
    }
    /// Whether there are explanations at all.
    fn is_explained(&self) -> bool {
        true
    }
    /// Whether an explanation has a length that a page has room for.
    fn is_explained_on_pages(&self) -> bool {
        true
    }

    /// What a commitment fixes beside the arrays.
    fn committed_rule(&self) -> Result<CommittedRule, CheckError>;
    /// How an operand is cut, so that elements can be computed of few lines.
    fn along(&self, role: Role) -> Along;

    /// Judges it, and says what is known around the verdict; for a verdict alone, nothing.
    fn judge(&self, attention: Attention, progress: &dyn Progress) -> Result<Judged, CheckError> {
        let judged = interruptible(|| {
            let confirmed = committed::confirm_committed(self, &self.reported_request())?;
            let judged = self.verdict(confirmed, attention, progress)?;
            Ok(match attention {
                Attention::Verdict => judged,
                Attention::Report | Attention::Observed(_) => self.completed(judged),
            })
        });
        judged.unwrap_or_else(|ended| Err(CheckError::ended(ended)))
    }

    /// The report alone of [`Examined::judge`].
    fn reported(&self, progress: &dyn Progress) -> Result<Report, CheckError> {
        self.judge(Attention::Report, progress)
            .map(|judged| judged.report)
    }

    /// The report on what was found elsewhere.
    ///
    /// # Errors
    /// If what was found contradicts the digests.
    fn report(
        &self,
        inputs: ByRole<Input>,
        trace: Trace,
        found: Option<Conclusion>,
    ) -> Result<Judged, CheckError> {
        Ok(self.completed(self.concluded(inputs, trace, found)?))
    }

    /// Adds to a verdict what is known around it.
    fn completed(&self, mut judged: Judged) -> Judged {
        let (report, part) = (&mut judged.report, judged.part.as_ref());
        if let Some(found) = &judged.found
            && self.reported_request().looks_for_causes()
        {
            let Diagnosed {
                causes,
                places,
                tried,
                untried,
            } = self.diagnosed(found, part);
            if causes.is_empty() {
                (report.tried, report.untried) = (tried, untried);
            }
            (report.causes, report.places) = (causes, places);
            if nonfinite::concerns(&found.comparison.classes) {
                for (role, array) in self.by_role().iter().filter(|(role, _)| !role.is_result()) {
                    if let Some(input) = report.inputs.get_mut(role) {
                        input.nonfinite = Some(nonfinite::of(array));
                    }
                }
            }
        }
        let result = self.result();
        if let (None, Some(array), Some(input)) = (
            part,
            self.by_role().get(&result),
            report.inputs.get_mut(&result),
        ) && nonfinite::is_all(array)
        {
            input.nonfinite = Some(nonfinite::of(array));
        }
        report.ambiguity = self.ambiguity(report.verdict, part);
        judged
    }

    /// The next commands for a report with mismatches: one explains the first, and, where no cause was found, one
    /// searches for a cause.
    fn next_commands(&self, report: &Report) -> Vec<String> {
        let request = self.spelled_out();
        if report.verdict != Verdict::Different || request.is_in_memory() {
            return Vec::new();
        }
        let causeless = report.causes.is_empty() && !report.tried.is_empty();
        let first = first_mismatch(report).filter(|_| self.is_explained());
        let first = first.map(|index| {
            let index: Vec<_> = index.iter().map(usize::to_string).collect();
            let mut words = request.command_line(Verb::Explain);
            words.extend(["--at".into(), index.join(",").into()]);
            shell_line(words)
        });
        let search = if causeless { self.searches() } else { None };
        first.into_iter().chain(search).collect()
    }

    /// A map of mismatches, for whoever judges with a page in mind; none where a digest is compared.
    fn mapping(&self) -> Option<Mapping> {
        self.given().map(Mapping::of)
    }

    /// The page of what was judged: the map, and how the first mismatch is computed.
    ///
    /// # Errors
    /// If a file has changed.
    fn page(&self, report: &Report, map: Option<Mapping>) -> Result<Pictured, CheckError> {
        let first = first_mismatch(report);
        let first = first.filter(|_| self.is_explained_on_pages());
        let trace = first.map(|index| {
            let explained = self.explained(index, Wish::default())?;
            self.confirm_unchanged()?;
            Ok(explained.plain_text())
        });
        Ok(Pictured {
            trace: trace.transpose()?,
            map: map.map(Mapping::finish),
        })
    }
}

impl Request {
    /// Reads and chooses everything that it needs, with what the checks of a run share; nothing is computed.
    pub fn prepare(&self, resources: &Resources) -> Result<Box<dyn Examined>, CheckError> {
        Ok(match self {
            Request::Product(check) => Box::new(check.prepare(resources)?),
            Request::Operation(operation) => Box::new(operation.prepare(resources)?),
        })
    }

    /// Everything that decides a verdict, except the request's own fields and the arrays, which are not read.
    pub fn basis(&self, resources: &Resources) -> Result<String, CheckError> {
        match self {
            Request::Product(check) => check.basis(resources.texts),
            Request::Operation(operation) => operation.basis(),
        }
    }
}

/// Where the first mismatch is, if there is one.
fn first_mismatch(report: &Report) -> Option<&[usize]> {
    let first = report.comparison()?.first.first()?;
    Some(&first.index)
}
