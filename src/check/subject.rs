//! What is judged: a product, or an operation between products.

use serde_json::Value;

use super::error::CheckError;
use super::part::Part;
use super::product::{Expected, Naming, Selection};
use super::progress::Progress;
use super::reader::Array;

use crate::deadline::interruptible;
use crate::emu::layout::LayoutKind;
use crate::emu::{Band, Element};
use crate::io::tree::{Hash, Rows, leaves};
use crate::num::Format;
use crate::report::{Comparator, Conversion, EngineUsed, Input, Rule, Tolerance};
use crate::role::{ByRole, Role};
use crate::tensor::Tensor;

/// What a request asks of its judge, and how a report repeats it.
#[derive(Debug)]
pub struct Terms {
    /// What messages call the result.
    pub called: &'static str,
    /// The result that the request claims.
    pub expected: Expected,
    /// Which part of the result is compared.
    pub selection: Selection,
    /// Which digest names the reproduced result.
    pub naming: Naming,
    /// The field that names a commitment, which everything must match.
    pub committed: Option<&'static str>,
    /// The request's fields; none if a path in it is not UTF-8.
    pub request: Option<Value>,
    /// The shell command that asks for it; none if an array is in a program's memory.
    pub command: Option<String>,
}

/// A product or another computation, with everything read and chosen that it needs.
///
/// These methods are what differs between them. The verdict is written once ([`Judge`](super::Judge)).
pub trait Subject: Sync {
    /// What the request asks of its judge.
    ///
    /// # Errors
    /// If its fields contradict each other.
    fn terms(&self) -> Result<Terms, CheckError>;
    /// How bits are compared.
    fn tolerance(&self) -> Tolerance;
    /// How many mismatches a report lists.
    fn max_mismatches(&self) -> usize;
    /// By what it is computed.
    fn rule(&self) -> Rule;
    /// All arrays that were read, the captured result last.
    fn by_role(&self) -> &ByRole<Array>;

    /// Which array the result is.
    fn result(&self) -> Role;
    /// Which of several results it is.
    fn output(&self) -> Option<&'static str> {
        None
    }
    fn format(&self) -> Format;
    fn shape(&self) -> Vec<usize>;
    /// How the result is rounded once more when it is computed.
    fn conversion(&self) -> Option<Conversion> {
        None
    }
    /// Where mismatches are counted by unit.
    fn layout(&self) -> Option<LayoutKind> {
        None
    }

    /// How much is to be computed, in the unit of `compute`'s progress.
    fn work(&self, part: Option<&Part>) -> u64;
    /// Products of numbers that all of the result takes; of what multiplies nothing, elements.
    fn cost(&self) -> u64 {
        self.work(None)
    }
    /// Computes the result, from the first row to the last.
    fn compute(&self, progress: &dyn Progress, sink: &mut dyn FnMut(Band));
    /// Computes a part of it, and hands over its elements in their order.
    fn compute_part(
        &self,
        part: &Part,
        progress: &dyn Progress,
        sink: &mut dyn FnMut(&[Element], &[u64]),
    );

    /// The GPU that computes, and what it did.
    fn engine_used(&self) -> Option<EngineUsed> {
        None
    }

    /// Everything that decides a verdict, except the request's own fields and the arrays.
    fn basis(&self) -> Result<String, CheckError>;

    /// The captured result, unless a digest stands in for it.
    fn given(&self) -> Option<&Tensor> {
        self.by_role()
            .get(&self.result())
            .map(|array| &array.tensor)
    }

    /// Computes all of the result and hands it to `sink` from the first row to the last.
    ///
    /// # Errors
    /// If it was interrupted, or a file was changed meanwhile.
    fn stream(
        &self,
        progress: &dyn Progress,
        sink: &mut dyn FnMut(Band),
    ) -> Result<(), CheckError> {
        progress.begin(self.work(None));
        let done = interruptible(|| self.compute(progress, sink));
        self.confirm_unchanged()?;
        done.map_err(CheckError::ended)
    }

    /// What compares the captured result, if it is there.
    fn differ(&self) -> Option<Comparator<'_>> {
        let differ = Comparator::new(self.given()?, self.tolerance(), self.max_mismatches());
        Some(differ.counting(self.layout()))
    }

    /// The arrays as a report has them; hashes them.
    fn inputs(&self) -> ByRole<Input> {
        let arrays = self.by_role().iter();
        arrays
            .map(|(role, array)| (*role, array.describe()))
            .collect()
    }

    /// Makes sure that no file has changed since it was opened.
    fn confirm_unchanged(&self) -> Result<(), CheckError> {
        for (role, array) in self.by_role() {
            let unchanged = array.source.file().confirm_unchanged();
            unchanged.map_err(CheckError::file(role.field()))?;
        }
        Ok(())
    }

    /// How the result is cut into blocks.
    ///
    /// # Errors
    /// If none can be cut so.
    fn blocks(&self, block_rows: Option<u64>) -> Result<Rows, CheckError> {
        let shape = self.shape();
        let about = Rows::about_a_mebibyte(self.format(), &shape);
        let rows = Rows::new(self.format(), shape, block_rows.unwrap_or(about));
        rows.map_err(CheckError::of("block_rows"))
    }

    /// The leaves of the captured result, cut so; none if there is none.
    fn given_leaves(&self, rows: &Rows) -> Vec<Hash> {
        let blocks: Vec<_> = (0..rows.blocks())
            .map(|block| rows.of_block(block))
            .collect();
        self.given().map_or(Vec::new(), |d| leaves(d, &blocks))
    }
}
