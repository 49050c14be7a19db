//! What is judged: a product, or an operation between products.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;

use super::error::CheckError;
use super::operation::OperationExplanation;
use super::part::Part;
use super::progress::Progress;
use super::reader::Array;
use super::request::Request;
use crate::commit::{Along, CommittedRule};

use crate::deadline::interruptible;
use crate::emu::layout::LayoutKind;
use crate::emu::{Band, Element};
use crate::explain::{Explanation, Wish, write};
use crate::io::tree::{Hash, Rows, leaves};
use crate::num::Format;
use crate::report::{
    Ambiguity, Cause, Comparator, Conclusion, Conversion, EngineUsed, Input, Place, Rule, Verdict,
};
use crate::role::{ByRole, Role};
use crate::tensor::Tensor;

/// A product or an operation between products, with everything read and chosen that it needs.
///
/// These methods are what differs between the two. What is made of them (verdict, report, page: [`Judge`](super::Judge);
/// commitments) is written once.
pub trait Subject: Sync {
    /// The request as a report states it: without the engine, which makes no difference to the bits.
    fn reported_request(&self) -> Request;
    /// The same, with the layout of operands that a kernel text states.
    fn spelled_out(&self) -> Request {
        self.reported_request()
    }
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

    /// What would give a result that differs, and what was tried.
    fn diagnosed(&self, found: &Conclusion, part: Option<&Part>) -> Diagnosed;
    /// What a report of this verdict states about other arithmetics, if anything.
    fn ambiguity(&self, _: Verdict, _: Option<&Part>) -> Option<Ambiguity> {
        None
    }
    /// How one element is computed.
    fn explained(&self, index: &[usize], wish: Wish) -> Result<Explained, CheckError>;
    /// Steps of the chain that an explanation shows, if it shows one.
    fn explained_steps(&self) -> usize {
        0
    }
    /// Whether an explanation has a length that a page has room for.
    fn is_explained_on_pages(&self) -> bool {
        true
    }
    /// The command that searches for a cause where none was found.
    fn searches(&self) -> Option<String> {
        None
    }

    /// The GPU that computes, and what it did.
    fn engine_used(&self) -> Option<EngineUsed> {
        None
    }

    /// What a commitment fixes beside the arrays.
    fn committed_rule(&self) -> Result<CommittedRule, CheckError>;
    /// How an operand is cut, so that elements can be computed of few lines.
    fn along(&self, role: Role) -> Along;

    /// Everything that decides a verdict, except the request's own fields and the arrays.
    fn basis(&self) -> Result<String, CheckError>;

    /// The captured result.
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
    fn differ(&self, map: bool) -> Option<Comparator<'_>> {
        let request = self.reported_request();
        let differ = Comparator::new(self.given()?, request.tolerance(), request.max_mismatches());
        Some(differ.counting(self.layout()).mapping(map))
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

/// What would give a result that differs; where nothing is known to, what was tried and refuted, and what was not
/// tried.
#[derive(Debug, Default)]
pub struct Diagnosed {
    pub causes: Vec<Cause>,
    pub places: Vec<Place>,
    pub tried: Vec<Cow<'static, str>>,
    pub untried: Vec<Cow<'static, str>>,
}

/// How one element is computed.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Explained {
    Product(Box<Explanation>),
    Operation(Box<OperationExplanation>),
}

impl Explained {
    /// Whether the captured result has these bits, if there is one.
    pub fn same(&self) -> Option<bool> {
        match self {
            Explained::Product(product) => product.given.as_ref().map(|given| given.same),
            Explained::Operation(operation) => operation.same,
        }
    }

    /// The text for people.
    pub fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Explained::Product(product) => write(product, out),
            Explained::Operation(operation) => operation.text(out),
        }
    }

    /// The same without colours.
    pub fn plain_text(&self) -> String {
        let mut text = Vec::new();
        self.text(&mut text).expect("memory takes everything");
        String::from_utf8_lossy(&strip_ansi_escapes::strip(text)).into_owned()
    }
}
