//! An operation as what is judged.

use super::PreparedOperation;
use super::bound::BoundOperation;
use super::deviation::deviation;
use super::explain::OperationExplanation;
use super::part::{compute, computed};
use crate::check::{
    Array, Attention, CheckError, Judge, MAX_MISMATCHES, Part, Progress, Subject, Terms,
};
use crate::emu::{Band, Element, shape_text};
use crate::num::{Format, decimal};
use crate::report::{Report, Rule, Tolerance};
use crate::role::{ByRole, Role};
use crate::tensor::Tensor;

impl Subject for PreparedOperation {
    fn terms(&self) -> Result<Terms, CheckError> {
        let request = &self.bound.request;
        Ok(Terms {
            called: "the result",
            expected: request.expected()?,
            selection: request.selection()?,
            naming: request.judging().naming(),
            committed: request.committed().map(|(field, _)| field),
            request: serde_json::to_value(request).ok(),
            command: request.check_command(),
        })
    }

    fn tolerance(&self) -> Tolerance {
        self.bound.request.judging().tolerance()
    }

    fn max_mismatches(&self) -> usize {
        self.bound.request.max_mismatches.unwrap_or(MAX_MISMATCHES)
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

    fn basis(&self) -> Result<String, CheckError> {
        self.bound.request.basis()
    }
}

impl PreparedOperation {
    /// Computes the operation, compares, and reports, without causes.
    pub fn run(&self, progress: &dyn Progress) -> Result<Report, CheckError> {
        let judged = self.verdict(None, Attention::Report, progress)?;
        Ok(judged.report)
    }

    /// The operation with the rule that computes it.
    pub fn bound(&self) -> &BoundOperation {
        &self.bound
    }
}

/// A row of an array, counted on over all leading axes.
pub fn row_of(array: &Tensor, row: usize) -> Vec<u32> {
    let planes = array.planes();
    let mut codes = vec![0; planes.columns()];
    let plane = planes.plane(row / planes.rows());
    plane.read_row(row % planes.rows(), 0, &mut codes);
    codes
}

/// Operations that are listed.
const ROOM: usize = 100_000;

impl PreparedOperation {
    /// How the row of an element is computed.
    pub fn explain(&self, index: &[usize]) -> Result<OperationExplanation, CheckError> {
        let job = self.job();
        let inside =
            index.len() == job.shape.len() && index.iter().zip(&job.shape).all(|(i, n)| i < n);
        if !inside {
            let shape = shape_text(&job.shape);
            let reason = format!("the result is {shape} and has no element {index:?}");
            return Err(CheckError::request("y", reason));
        }
        let position = index
            .iter()
            .zip(&job.shape)
            .fold(0, |at, (i, n)| at * n + i);
        let (row, column) = (position / job.columns(), position % job.columns());
        let (events, not_listed, codes) = job.trace(row, ROOM);
        let code = u64::from(codes[column]);
        let width = 2 * job.format.bytes();
        let captured = self.given().map(|y| row_of(y, row));
        let given = captured.as_ref().map(|row| u64::from(row[column]));
        let tolerance = self.tolerance();
        let same = given.map(|given| tolerance.accepts(job.format, code, given));
        let deviation = match &captured {
            Some(given) if same == Some(false) => {
                Some(deviation(&job, row, (&events, &codes), given))
            }
            _ => None,
        };
        self.confirm_unchanged()?;
        Ok(OperationExplanation {
            schema: "tcverify.operation-explanation/1",
            operation: self.bound.variant.rule.operation().to_owned(),
            variant: self.bound.variant.name.clone(),
            about: job.about.clone(),
            index: index.to_vec(),
            reproduced: format!("{code:0width$x}"),
            reproduced_value: decimal(job.format, code),
            same,
            deviation,
            given: given.map(|given| format!("{given:0width$x}")),
            events,
            not_listed,
        })
    }
}
