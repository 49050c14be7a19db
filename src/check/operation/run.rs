//! An operation as what is judged.

use super::PreparedOperation;
use super::part::{compute, computed};
use crate::check::arrays::Array;
use crate::check::asked::Request;
use crate::check::error::CheckError;
use crate::check::explained::Explained;
use crate::check::part::Part;
use crate::check::progress::Progress;
use crate::check::subject::{Diagnosed, Subject};
use crate::commit::{Along, CommittedRule};
use crate::emu::{Band, Element};
use crate::explain::Wish;
use crate::num::Format;
use crate::report::{Conclusion, Report, Rule};
use crate::role::{ByRole, Role};

impl Subject for PreparedOperation {
    fn asked(&self) -> Request {
        self.bound.asked.clone().into()
    }

    fn rule(&self) -> Rule {
        Rule::Operation(Box::new(self.bound.rule(&self.about)))
    }

    fn by_role(&self) -> &ByRole<Array> {
        &self.arrays
    }

    fn result(&self) -> Role {
        Role::Y
    }

    fn output(&self) -> Option<&'static str> {
        Some(self.output)
    }

    fn format(&self) -> Format {
        self.format
    }

    fn shape(&self) -> Vec<usize> {
        self.shape.clone()
    }

    fn work(&self, part: Option<&Part>) -> u64 {
        let all = || self.shape.iter().map(|&n| n as u64).product();
        part.map_or_else(all, |part| computed(part, &self.shape))
    }

    fn cost(&self) -> u64 {
        let job = self.job();
        let of_row = job.products().max(job.columns() as u64);
        of_row.saturating_mul(job.rows() as u64)
    }

    fn compute(&self, progress: &dyn Progress, sink: &mut dyn FnMut(Band)) {
        self.job().run(&|elements| progress.step(elements), sink);
    }

    fn compute_part(
        &self,
        part: &Part,
        progress: &dyn Progress,
        sink: &mut dyn FnMut(&[Element], &[u64]),
    ) {
        compute(part, &self.job(), progress, sink);
    }

    fn diagnosed(&self, found: &Conclusion, part: Option<&Part>) -> Diagnosed {
        if found.comparison.mismatches == 0 {
            return Diagnosed::default();
        }
        self.other_variants(&found.comparison, part)
    }

    fn explained(&self, index: &[usize], _: Wish) -> Result<Explained, CheckError> {
        let explanation = self.explain(index)?;
        Ok(Explained::Operation(Box::new(explanation)))
    }

    fn committed_rule(&self) -> Result<CommittedRule, CheckError> {
        Ok(self.bound.committed_rule())
    }

    fn along(&self, role: Role) -> Along {
        let rows = |shape: &[usize]| shape.split_last().map(|(_, rows)| rows.iter().product());
        let shape = self.arrays[&role].tensor.shape();
        let by_row = matches!(role, Role::X | Role::Other | Role::Residual | Role::Up)
            && self.bound.variant.rule.has_rows_apart()
            && shape.len() > 1
            && rows(shape) == rows(&self.shape) as Option<usize>;
        if by_row { Along::Rows } else { Along::Whole }
    }

    fn basis(&self) -> Result<String, CheckError> {
        self.bound.asked.basis()
    }
}

impl PreparedOperation {
    /// Computes the operation, compares, and reports.
    ///
    /// # Errors
    /// Why there is no verdict.
    pub fn run(&self, progress: &dyn Progress) -> Result<Report, CheckError> {
        Subject::run(self, progress)
    }
}
