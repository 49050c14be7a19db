//! One element of a prepared product, step by step.

use super::error::CheckError;
use super::prepare::Prepared;
use crate::explain::{Explanation, Question, Wish};

impl Prepared {
    /// How an element of D comes about, and how it compares with the D that was read.
    pub fn explain(&self, index: &[usize], wish: Wish) -> Result<Explanation, CheckError> {
        let shape = self.problem().d_shape();
        let inside = index.len() == shape.len() && index.iter().zip(&shape).all(|(i, n)| i < n);
        if !inside {
            let reason = format!("D is {shape:?} and has no element {index:?}");
            return Err(CheckError::request("d", reason));
        }
        Ok(self.question(index, wish, |question| question.answer()))
    }

    /// Asks how an element of D comes about.
    pub(super) fn question<T>(
        &self,
        index: &[usize],
        wish: Wish,
        ask: impl FnOnce(Question) -> T,
    ) -> T {
        let given = self.d().map(|d| {
            let planes = d.planes();
            let (batch, element) = index.split_at(index.len() - 2);
            let sizes = batch.iter().zip(planes.batch_shape());
            let batch = sizes.fold(0, |at, (i, n)| at * n + i);
            planes.plane(batch).code(element[0], element[1])
        });
        let (choice, problem) = (self.choice(), self.problem());
        ask(Question {
            choice: &choice,
            file: self.model.file(),
            problem: &problem,
            product: self.product(),
            index: index.to_vec(),
            format: self.replay().format(),
            given,
            wish,
            kernel: self.kernel().zip(self.scheduled()),
        })
    }
}
