//! A product as what is judged.

use super::choices::EngineChoice;
use super::error::CheckError;
use super::judge::{Attention, Judge};
use super::kernel::KernelTexts;
use super::part::Part;
use super::prepare::Prepared;
use super::product::{Check, ModelSource};
use super::progress::Progress;
use super::reader::Array;
use super::subject::{Subject, Terms};
use crate::emu::layout::LayoutKind;
use crate::emu::{Band, Element};
use crate::num::Format;
use crate::report::{self, Conversion, EngineUsed, Model, ProductRule, Rule, Tolerance};
use crate::role::{ByRole, Role};

impl Prepared {
    /// Replays the product, compares, and reports, without causes.
    pub fn run(&self, progress: &dyn Progress) -> Result<report::Report, CheckError> {
        let judged = self.verdict(None, Attention::Report, progress)?;
        Ok(judged.report)
    }

    /// The request as a report states it: without the engine, which makes no difference to the bits.
    pub fn reported_check(&self) -> Check {
        Check {
            engine: EngineChoice::Fast,
            ..self.check.clone()
        }
    }

    /// The rule as a report has it.
    pub fn product_rule(&self) -> ProductRule {
        ProductRule {
            model: Model::of(&self.choice(), self.model.file()),
            chosen: None,
            schedule: self.scheduled(),
            product: self.product(),
        }
    }
}

impl Subject for Prepared {
    fn terms(&self) -> Result<Terms, CheckError> {
        let check = self.reported_check();
        Ok(Terms {
            called: "D",
            request: serde_json::to_value(&check).ok(),
            command: check.check_command(),
            committed: check.committed().map(|(field, _)| field),
            expected: check.expected,
            selection: check.selection,
            naming: check.naming,
        })
    }

    fn tolerance(&self) -> Tolerance {
        self.check.tolerance
    }

    fn max_mismatches(&self) -> usize {
        self.check.max_mismatches
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
    pub fn basis(&self, texts: &dyn KernelTexts) -> Result<String, CheckError> {
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
        let scaled = self.operands.has_scales();
        let model = self.model.select(scaled, &scheduling, texts)?;
        Ok(basis_of(&model.basis(), &scheduling.schedule))
    }
}
