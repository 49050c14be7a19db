//! An auditor's own part: the agreed model and schedule, and public arrays.

use super::{AuditError, nothing};
use crate::check::{BoundOperation, Check, Model, Request, Scheduling};
use crate::commit::{Along, Commitment, CommittedRule, CommittedSchedule, Hash};
use crate::emu::{Arithmetic, Engine, Engines};
use crate::io::printable;
use crate::num::Format;
use crate::report::{self, Product, ProductRule, Rule, Scheduled};
use crate::role::{ByRole, Role};
use crate::tensor::Tensor;

/// Arrays that the auditor has all of, by the commitment's names.
pub type OwnCopies = ByRole<Tensor>;

/// The rule by which opened elements are computed.
#[derive(Debug)]
pub enum AuditModel {
    Product(Box<ProductModel>),
    Operation(Box<BoundOperation>),
}

/// Model and schedule of a product.
#[derive(Debug)]
pub struct ProductModel {
    pub model: Model,
    pub scheduling: Scheduling,
    /// As committed.
    pub(super) schedule: Option<CommittedSchedule>,
    pub(super) product: Product,
    pub(super) engine: Engine<'static>,
}

impl AuditModel {
    /// The rule that a request names, without its arrays. It must be able to compute the committed result.
    ///
    /// # Errors
    /// If there is no such rule, or the commitment is to something else.
    pub fn new(
        request: &Request,
        commitment: &Commitment,
        engines: &dyn Engines,
    ) -> Result<AuditModel, AuditError> {
        match (request, &commitment.rule) {
            (
                Request::Product(check),
                CommittedRule::Product {
                    model_sha256,
                    schedule,
                    product,
                },
            ) => {
                let parts = (model_sha256, schedule, product);
                let model = ProductModel::new(check, parts, commitment, engines)?;
                Ok(AuditModel::Product(Box::new(model)))
            }
            (Request::Operation(asked), CommittedRule::Operation { .. }) => {
                let first = commitment.inputs.values().next();
                let bound =
                    asked.bind(first.map_or(Format::Fp32, |input| input.format), engines)?;
                // What is compared: operation, rule, model and parameters.
                let found = Commitment {
                    rule: bound.committed_rule(),
                    ..commitment.clone()
                };
                let differences = commitment.differences(&found);
                if !differences.is_empty() {
                    return nothing(format!(
                        "the commitment is to another operation than you name: {}",
                        differences.join("; ")
                    ));
                }
                Ok(AuditModel::Operation(Box::new(bound)))
            }
            (Request::Product(_), CommittedRule::Operation { .. }) => {
                nothing("the commitment is to an operation: name it with --op")
            }
            (Request::Operation(_), CommittedRule::Product { .. }) => {
                nothing("the commitment is to a product, not to an operation (--op)")
            }
        }
    }

    /// The rule as a report has it.
    pub fn rule(&self, about: &str) -> Rule {
        match self {
            AuditModel::Product(by) => Rule::Product(Box::new(ProductRule {
                model: report::Model::of(&by.model.choice(), by.model.file()),
                chosen: None,
                schedule: by
                    .schedule
                    .as_ref()
                    .map(|_| Scheduled::plainly(&by.scheduling.schedule)),
                product: by.product.clone(),
            })),
            AuditModel::Operation(by) => Rule::Operation(Box::new(by.rule(about))),
        }
    }
}

impl ProductModel {
    fn new(
        check: &Check,
        (committed, schedule, product): (&Hash, &Option<CommittedSchedule>, &Product),
        commitment: &Commitment,
        engines: &dyn Engines,
    ) -> Result<ProductModel, AuditError> {
        let inputs = &commitment.inputs;
        let scheduling = check.schedule.resolve()?;
        scheduling.check_added(
            inputs.contains_key(&Role::Bias),
            inputs.contains_key(&Role::C),
        )?;
        let model = check
            .model
            .select(inputs.contains_key(&Role::ScaleA), &scheduling)?;
        let model = check.model.between_blocks(model, product.k)?;
        let sha256 = model.arithmetic.sha256();
        if sha256 != committed.to_string() {
            return nothing(format!(
                "the commitment names the model with SHA-256 {committed}, but {} {} has {sha256}",
                printable(&model.choice().architecture.name),
                printable(&model.choice().instruction.name),
            ));
        }
        let found = ProductModel {
            model,
            scheduling,
            schedule: schedule.clone(),
            product: product.clone(),
            engine: engines.fast(None).unwrap_or(Engine::Exact),
        };
        found.confirm(commitment)?;
        Ok(found)
    }

    /// The arithmetic.
    pub(super) fn arithmetic(&self) -> &Arithmetic {
        &self.model.arithmetic
    }

    /// Makes sure that formats and lengths are those of the model: others wrote the commitment.
    fn confirm(&self, commitment: &Commitment) -> Result<(), AuditError> {
        let (arithmetic, inputs) = (self.arithmetic(), &commitment.inputs);
        let product = &self.product;
        let spec = self.scheduling.spec();
        let late = self.scheduling.c_in_epilogue();
        let scaled = inputs.contains_key(&Role::ScaleA);
        if scaled != inputs.contains_key(&Role::ScaleB) {
            return nothing("the commitment has scales of only one operand");
        }
        let kernels = self.scheduling.takes_scales();
        let scale = arithmetic.scale.filter(|_| !kernels);
        if !kernels && scaled != scale.is_some() {
            return nothing("the commitment lacks the scales that the model needs");
        }
        for (&role, input) in inputs.iter() {
            let name = role.field();
            let expected: &[Format] = match role {
                Role::A => &[arithmetic.a],
                Role::B => &[arithmetic.b],
                Role::Azp | Role::AzpAdj => &[Format::Int32],
                Role::C if !late => &[arithmetic.addend()],
                Role::C | Role::Bias => &[
                    Format::Fp32,
                    Format::Fp16,
                    Format::Bf16,
                    Format::E4m3,
                    Format::E5m2,
                ],
                _ => match scale {
                    Some(scale) => &[scale.format],
                    None => &[Format::Fp32],
                },
            };
            if !expected.contains(&input.format) {
                return nothing(format!("{name} cannot be {} for this model", input.format));
            }
            if !matches!(role, Role::ScaleA | Role::ScaleB) {
                continue;
            }
            let cut = input.lines()?;
            let fits = match (cut.along, scale) {
                (Along::Whole, None) => true,
                (Along::Rows | Along::Columns, Some(scale)) => {
                    cut.length() == product.k.div_ceil(scale.block)
                }
                _ => false,
            };
            if !fits {
                return nothing(format!(
                    "{name} is not cut into lines as this model's scales are"
                ));
            }
        }
        self.scheduling
            .check_conversion(arithmetic.accumulator, commitment.result.format)
            .map_err(AuditError::ProvesNothing)?;
        let (from, to) = (arithmetic.accumulator, commitment.result.format);
        if from != to && arithmetic.step.rounds_results(to).is_none() {
            return nothing(format!(
                "it is not known how this unit stores {from} sums as {to}"
            ));
        }
        if product.k == 0 && spec.without_products.is_none() {
            return nothing("K is 0");
        }
        if let Some(most) = arithmetic.longest_k()
            && product.k > most
        {
            return nothing(format!(
                "K is {}, but an instruction of this model takes at most {most} and cannot be chained",
                product.k
            ));
        }
        Ok(())
    }
}
