//! A product as what is judged.

use super::choices::EngineChoice;
use super::command_line::{Verb, shell_line};
use super::error::CheckError;
use super::judge::Judge;
use super::part::Part;
use super::prepare::Prepared;
use super::product::{Check, ModelSource};
use super::progress::Progress;
use super::reader::Array;
use super::request::Request;
use super::subject::{Diagnosed, Explained, Subject};
use crate::commit::{Along, CommittedRule, CommittedSchedule, Hash};
use crate::emu::layout::LayoutKind;
use crate::emu::{Band, Element};
use crate::explain::{Explanation, Question, Wish, position};
use crate::num::Format;
use crate::report::{
    self, Ambiguity, Conclusion, Conversion, EngineUsed, Model, ProductRule, Rule, Verdict,
};
use crate::role::{ByRole, Role};

/// The longest K that a page explains: more takes long, and memory.
const MAX_EXPLAINED_K: usize = 1 << 20;

impl Prepared {
    /// Replays the product, compares, and reports.
    pub fn run(&self, progress: &dyn Progress) -> Result<report::Report, CheckError> {
        Judge::run(self, progress)
    }

    /// How an element of D is computed, and how it compares with the D that was read.
    pub fn explain(&self, index: &[usize], wish: Wish) -> Result<Explanation, CheckError> {
        let shape = self.problem().d_shape();
        let inside = index.len() == shape.len() && index.iter().zip(&shape).all(|(i, n)| i < n);
        if !inside {
            let reason = format!("D is {shape:?} and has no element {index:?}");
            return Err(CheckError::request("d", reason));
        }
        Ok(self.question(index, wish, |question| question.answer()))
    }

    /// Asks how an element of D is computed.
    fn question<T>(&self, index: &[usize], wish: Wish, ask: impl FnOnce(Question) -> T) -> T {
        let (choice, problem) = (self.choice(), self.problem());
        let (batch, row, column) = position(&problem, index);
        ask(Question {
            choice: &choice,
            file: self.model.file(),
            problem: &problem,
            product: self.product(),
            index: index.to_vec(),
            format: self.replay().format(),
            given: self.d().map(|d| d.planes().plane(batch).code(row, column)),
            wish,
            kernel: self.kernel().zip(self.scheduled()),
        })
    }

    /// The rule as a report has it.
    pub(super) fn product_rule(&self) -> ProductRule {
        ProductRule {
            model: Model::of(&self.choice(), self.model.file()),
            chosen: None,
            schedule: self.scheduled(),
            product: self.product(),
        }
    }
}

impl Subject for Prepared {
    fn reported_request(&self) -> Request {
        let check = Check {
            engine: EngineChoice::Fast,
            ..self.check.clone()
        };
        check.into()
    }

    fn spelled_out(&self) -> Request {
        self.spelled_out().into()
    }

    fn engine_used(&self) -> Option<EngineUsed> {
        self.device.as_ref()?.used().map(EngineUsed::from)
    }

    fn rule(&self) -> Rule {
        Rule::Product(Box::new(self.product_rule()))
    }

    fn by_role(&self) -> &ByRole<Array> {
        self.arrays.by_role()
    }

    fn result(&self) -> Role {
        Role::D
    }

    fn format(&self) -> Format {
        self.replay().format()
    }

    fn shape(&self) -> Vec<usize> {
        self.replay().shape()
    }

    fn conversion(&self) -> Option<Conversion> {
        self.conversion()
    }

    fn layout(&self) -> Option<LayoutKind> {
        let problem = self.problem();
        // In less than a tile every element is in the same few units.
        self.choice().layout().filter(|layout| {
            let [m, n] = layout.tile();
            problem.m >= m && problem.n >= n.min(8)
        })
    }

    fn work(&self, part: Option<&Part>) -> u64 {
        let replay = self.replay();
        part.map_or_else(|| replay.work(), |part| part.work(&replay.problem))
    }

    fn compute(&self, progress: &dyn Progress, sink: &mut dyn FnMut(Band)) {
        let done = self.replay().run(&|work| progress.step(work), |band| {
            sink(band);
            Ok::<(), std::convert::Infallible>(())
        });
        let Ok(()) = done;
    }

    fn compute_part(
        &self,
        part: &Part,
        progress: &dyn Progress,
        sink: &mut dyn FnMut(&[Element], &[u64]),
    ) {
        part.replay(&self.replay(), progress, sink);
    }

    fn diagnosed(&self, found: &Conclusion, _: Option<&Part>) -> Diagnosed {
        self.diagnosed(found)
    }

    fn ambiguity(&self, verdict: Verdict, part: Option<&Part>) -> Option<Ambiguity> {
        self.ambiguity_of(verdict, part)
    }

    fn explained(&self, index: &[usize], wish: Wish) -> Result<Explained, CheckError> {
        let explanation = self.explain(index, wish)?;
        Ok(Explained::Product(Box::new(explanation)))
    }

    fn explained_steps(&self) -> usize {
        let first = vec![0; self.problem().d_shape().len()];
        self.question(&first, Wish::default(), |question| question.steps())
    }

    fn is_explained_on_pages(&self) -> bool {
        self.problem().k <= MAX_EXPLAINED_K
    }

    fn searches(&self) -> Option<String> {
        let request = Subject::spelled_out(self);
        Some(shell_line(request.command_line(Verb::Identify)))
    }

    fn committed_rule(&self) -> Result<CommittedRule, CheckError> {
        if self.model.sparse().is_some() {
            let reason = "a product of a compressed A cannot be committed to: openings do not support its metadata \
                yet";
            return Err(CheckError::request("sparse_a", reason));
        }
        let sha256 = self.model.arithmetic.sha256();
        Ok(CommittedRule::Product {
            model_sha256: Hash::parse(&sha256).expect("a SHA-256"),
            schedule: self
                .kernel()
                .map(|kernel| CommittedSchedule::of(kernel.spec, kernel.values)),
            product: self.product(),
        })
    }

    fn along(&self, role: Role) -> Along {
        let [transpose_a, transpose_b] = self.arrays.transpose();
        let whole = self.scheduling.takes_scales();
        match role {
            Role::ScaleA | Role::ScaleB if whole => Along::Whole,
            Role::A | Role::ScaleA if transpose_a => Along::Columns,
            Role::A | Role::ScaleA | Role::C => Along::Rows,
            Role::B | Role::ScaleB if transpose_b => Along::Rows,
            Role::B | Role::ScaleB => Along::Columns,
            _ => Along::Whole,
        }
    }

    fn basis(&self) -> Result<String, CheckError> {
        Ok(match self.scheduling.said_sha256() {
            // A kernel text determines the order of sums only together with the operands' shapes.
            Some(kernel_sha256) => {
                basis_of(&self.model.file().map(|(_, sha256)| sha256), &kernel_sha256)
            }
            // Blocks of K and a compressed A are fields of the request.
            None => basis_of(&self.model.basis(), &self.scheduling.schedule),
        })
    }
}

/// Model and schedule as one text.
fn basis_of(model: &impl serde::Serialize, schedule: &impl serde::Serialize) -> String {
    serde_json::to_string(&(model, schedule)).expect("plain data")
}

impl Check {
    /// Everything that decides a verdict, except the request's own fields and the arrays, which are not read.
    pub fn basis(&self) -> Result<String, CheckError> {
        if let Some(kernel) = self.schedule.kernel() {
            let file = match &self.model.from {
                ModelSource::File(path) => {
                    let read = super::model::read(path);
                    Some(read.map_err(CheckError::file("model"))?.1)
                }
                ModelSource::Catalogue(_) => None,
            };
            return Ok(basis_of(&file, &kernel.source.sha256()?));
        }
        let scheduling = self.schedule.resolve()?;
        let model = self.model.select(self.operands.has_scales(), &scheduling)?;
        Ok(basis_of(&model.basis(), &scheduling.schedule))
    }
}
