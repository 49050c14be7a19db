//! What is known of an operation beside its verdict.

use super::{Diagnosed, Examined, Explained, Request, variants};
use crate::check::{CheckError, Part, Subject};
use crate::commit::{Along, CommittedRule};
use crate::explain::Wish;
use crate::operation::PreparedOperation;
use crate::report::Conclusion;
use crate::role::Role;

impl Examined for PreparedOperation {
    fn reported_request(&self) -> Request {
        self.bound().request().clone().into()
    }

    fn diagnosed(&self, found: &Conclusion, part: Option<&Part>) -> Diagnosed {
        if found.comparison.mismatches == 0 {
            return Diagnosed::default();
        }
        variants::other_variants(self, &found.comparison, part)
    }

    fn explained(&self, index: &[usize], _: Wish) -> Result<Explained, CheckError> {
        let explanation = self.explain(index)?;
        Ok(Explained::Operation(Box::new(explanation)))
    }

    fn committed_rule(&self) -> Result<CommittedRule, CheckError> {
        Ok(self.bound().committed_rule())
    }

    fn along(&self, role: Role) -> Along {
        let rows = |shape: &[usize]| shape.split_last().map(|(_, rows)| rows.iter().product());
        let shape = self.by_role()[&role].tensor.shape();
        let by_row = matches!(role, Role::X | Role::Other | Role::Residual | Role::Up)
            && self.bound().variant().rule.has_rows_apart()
            && shape.len() > 1
            && rows(shape) == rows(&self.shape()) as Option<usize>;
        if by_row { Along::Rows } else { Along::Whole }
    }
}
