//! An auditor's own part: the agreed model and schedule, and public arrays.

use super::stated::{same, same_arrays};
use super::{AuditError, nothing};
use crate::check::{Check, Model, Scheduling, Source, Weights};
use crate::commit::{
    Along, Commitment, CommittedInput, CommittedResult, CommittedRule, CommittedSchedule,
};
use crate::compose::Request;
use crate::emu::schedule::{ActivationChoice, Multiply, Scaling};
use crate::emu::{Arithmetic, Engine, Engines};
use crate::io::printable;
use crate::io::tree::Hash;
use crate::libraries;
use crate::num::{F32, Factor, Format};
use crate::operation::{BoundOperation, Operation};
use crate::report::{self, Product, ProductRule, Rule};
use crate::role::{ByRole, Role};
use crate::tensor::Tensor;
use crate::words::Word;

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
    /// The schedule as the commitment has it.
    pub(super) schedule: Option<CommittedSchedule>,
    pub(super) product: Product,
    /// What B's codes stand for, where they are weights.
    pub(super) weights: Option<Weights>,
    pub(super) engine: Engine<'static>,
}

impl AuditModel {
    /// The rule that a request names, without the numbers of its arrays. It must be able to compute the committed result,
    /// and the request must state all that the commitment has.
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
                same_arrays(request, &[Role::A, Role::B], commitment)?;
                let parts = (model_sha256, schedule, product);
                let model = ProductModel::new(check, parts, commitment, engines)?;
                Ok(AuditModel::Product(Box::new(model)))
            }
            (Request::Operation(asked), CommittedRule::Operation { .. }) => {
                let first = commitment.inputs.values().next();
                let bound =
                    asked.bind(first.map_or(Format::Fp32, |input| input.format), engines)?;
                let stated = stated_operation(asked, &bound, commitment);
                same(&stated, commitment, Vec::new())?;
                same_arrays(request, &bound.arrays(), commitment)?;
                let first = bound.arrays().into_iter().next();
                let own = first.is_none_or(|role| is_own(asked.arrays().get(&role)));
                if asked.dtype.is_none() && !own {
                    return nothing("you did not state the format of the arrays (--dtype)");
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
                schedule: by.schedule.as_ref().map(|_| by.scheduling.described()),
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
        let has = |role| check.operands.has(role);
        let scheduling = check.schedule.resolve()?;
        scheduling.check_added(has(Role::Bias), has(Role::C))?;
        let model = check
            .model
            .select(has(Role::ScaleA), &scheduling, libraries::texts())?;
        let model = check
            .model
            .between_blocks(model, product.k, libraries::texts())?;
        let sha256 = model.arithmetic.sha256();
        if sha256 != committed.to_string() {
            return nothing(format!(
                "the commitment names the model with SHA-256 {committed}, but {} {} has {sha256}",
                printable(&model.choice().architecture.name),
                printable(&model.choice().instruction.name),
            ));
        }
        let operands = &check.operands;
        operands.validate(check.model.c_dtype, &model.arithmetic, &scheduling)?;
        let (stated, explained) = stated_product(check, &model, &scheduling, commitment)?;
        same(&stated, commitment, explained)?;
        let found = ProductModel {
            model,
            scheduling,
            schedule: schedule.clone(),
            product: product.clone(),
            weights: check.operands.weights,
            engine: engines.fast(None).unwrap_or(Engine::Exact),
        };
        found.confirm(commitment)?;
        Ok(found)
    }

    /// The arithmetic that answers are replayed by.
    pub(super) fn arithmetic(&self) -> &Arithmetic {
        &self.model.arithmetic
    }

    /// Makes sure that lengths are those of the model: others wrote the commitment.
    fn confirm(&self, commitment: &Commitment) -> Result<(), AuditError> {
        let (arithmetic, inputs) = (self.arithmetic(), &commitment.inputs);
        let product = &self.product;
        let spec = self.scheduling.spec();
        let scaled = inputs.contains_key(&Role::ScaleA);
        let weights = self.weights.is_some();
        if (scaled || weights) != inputs.contains_key(&Role::ScaleB) {
            return nothing("the commitment has scales of only one operand");
        }
        if weights && (scaled || !product.batch.is_empty()) {
            return nothing(
                "weights have scales of their own alone, and are multiplied in no batch",
            );
        }
        let of_b_alone = |scales: &Scaling| scales.multiply == Multiply::BAlone;
        if spec.scales.as_ref().is_some_and(of_b_alone) && !weights {
            return nothing(
                "the schedule takes the scales of weights, but there are none (--weights)",
            );
        }
        let kernels = self.scheduling.takes_scales();
        let scale = arithmetic.scale.filter(|_| !kernels);
        if !kernels && scaled != scale.is_some() {
            return nothing("the commitment lacks the scales that the model needs");
        }
        for (&role, input) in inputs.iter() {
            if !matches!(role, Role::ScaleA | Role::ScaleB) {
                continue;
            }
            let cut = input.lines()?;
            let fits = match (cut.along, scale) {
                (Along::Whole, None) => true,
                (Along::Whole, _) => weights,
                (Along::Rows | Along::Columns, Some(scale)) => {
                    cut.length() == product.k.div_ceil(scale.block)
                }
                _ => false,
            };
            if !fits {
                return nothing(format!(
                    "{} is not cut into lines as this model's scales are",
                    role.field()
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

/// The commitment that an auditor's statements about a product make, and differences that its digests hide.
fn stated_product(
    check: &Check,
    model: &Model,
    scheduling: &Scheduling,
    commitment: &Commitment,
) -> Result<(Commitment, Vec<String>), AuditError> {
    let CommittedRule::Product {
        model_sha256: _,
        schedule: committed,
        product,
    } = &commitment.rule
    else {
        return nothing("the commitment is to an operation");
    };
    let arithmetic = &model.arithmetic;
    let mut inputs = ByRole::new();
    for (&role, input) in &commitment.inputs {
        let (c_dtype, bias_dtype) = (check.model.c_dtype, check.operands.bias_dtype);
        let format = match role {
            Role::A => scheduling.read_as(arithmetic.a),
            Role::B | Role::ZeroB if check.operands.weights.is_some() => Format::Uint8,
            Role::ScaleB if check.operands.weights.is_some() => scheduling.read_as(arithmetic.a),
            Role::B => scheduling.read_as(arithmetic.b),
            Role::C if scheduling.wide_result().is_some() => Format::Fp64,
            Role::C if !scheduling.c_in_epilogue() => arithmetic.addend(),
            Role::C => float(check, (role, input), c_dtype.unwrap_or(arithmetic.addend())),
            Role::Bias => float(check, (role, input), bias_dtype.unwrap_or(Format::Fp32)),
            Role::Azp | Role::AzpAdj => Format::Int32,
            Role::ScaleA | Role::ScaleB if scheduling.takes_scales() => Format::Fp32,
            Role::ScaleA | Role::ScaleB => arithmetic.scale.map_or(Format::Fp32, |of| of.format),
            _ => return nothing(format!("no audit knows {}", role.called())),
        };
        inputs.insert(role, of_format(input, format));
    }
    let has = |role| check.operands.has(role);
    let scheduled = !scheduling.is_plain() || has(Role::Bias) || has(Role::AzpAdj);
    let mut explained = Vec::new();
    let mut schedule = (scheduled || committed.is_some())
        .then(|| CommittedSchedule::of(scheduling.spec(), &scheduling.factors()));
    if let (Some(own), Some(committed)) = (&mut schedule, committed)
        && own.sha256 != committed.sha256
        && let Some(activation) = hidden(check, committed)
    {
        let stated = check.schedule.overrides.activation;
        let word = |of: Option<ActivationChoice>| of.map_or("none", |of| of.word());
        if activation != stated {
            let option = match activation {
                Some(activation) => format!("--activation {}", activation.word()),
                None => "leave out --activation".to_owned(),
            };
            explained.push(format!(
                "activation is {} as you state it, but the commitment has {} ({option})",
                word(stated),
                word(activation)
            ));
        }
        // Then the digests say no more.
        let factors =
            |of: &CommittedSchedule| (of.alpha.clone(), of.beta.clone(), of.scale_result.clone());
        if !explained.is_empty() || factors(own) != factors(committed) {
            own.sha256 = committed.sha256;
        }
    }
    let rule = CommittedRule::Product {
        model_sha256: hash(&arithmetic.sha256()),
        schedule,
        product: Product {
            batch: product.batch.clone(),
            m: product.m,
            n: product.n,
            k: product.k,
            transpose_a: check.operands.transpose_a,
            transpose_b: check.operands.transpose_b,
            sparse: None,
            weights: check.operands.weights.map(|kind| kind.word().to_owned()),
        },
    };
    let own = scheduling.wide_result().unwrap_or(arithmetic.accumulator);
    let format = check.d_dtype.unwrap_or(own);
    let stated = Commitment {
        rule,
        inputs,
        result: result_of_format(&commitment.result, format),
    };
    Ok((stated, explained))
}

/// The activation with which the stated schedule, with the committed factors, is the committed one, if one is.
fn hidden(check: &Check, committed: &CommittedSchedule) -> Option<Option<ActivationChoice>> {
    let stated = &check.schedule.overrides;
    let code = |text: &String| {
        u32::from_str_radix(text, 16)
            .ok()
            .map(|code| F32(code).into())
    };
    // A factor of 1 that was not stated may be the default.
    let one = Factor::from(F32(1f32.to_bits()));
    let factor =
        |text: &String, stated: Option<Factor>| code(text).filter(|of| *of != one).or(stated);
    let choices = ActivationChoice::ALL
        .iter()
        .map(|(choice, ..)| Some(*choice));
    let mut choices = std::iter::once(None).chain(choices);
    choices.find(|activation| {
        let mut request = check.schedule.clone();
        request.overrides.alpha = factor(&committed.alpha, stated.alpha);
        request.overrides.beta = factor(&committed.beta, stated.beta);
        request.overrides.activation = *activation;
        let resolved = request.resolve().ok();
        resolved.is_some_and(|of| of.spec().sha256() == committed.sha256.to_string())
    })
}

/// The format of an array that may have several: an own copy states it itself.
fn float(check: &Check, (role, input): (Role, &CommittedInput), stated: Format) -> Format {
    let possible = [
        Format::Fp32,
        Format::Fp16,
        Format::Bf16,
        Format::E4m3,
        Format::E5m2,
    ];
    if is_own(check.operands.get(role)) && possible.contains(&input.format) {
        input.format
    } else {
        stated
    }
}

/// Whether an array is the auditor's own copy.
fn is_own(source: Option<&Source>) -> bool {
    matches!(source, Some(Source::File(_)))
}

/// The commitment that an auditor's statements about an operation make.
fn stated_operation(
    asked: &Operation,
    bound: &BoundOperation,
    commitment: &Commitment,
) -> Commitment {
    let needed = bound.arrays();
    let own = |role: &Role| is_own(asked.arrays().get(role));
    let inputs = commitment.inputs.iter().map(|(&role, input)| {
        // The format of the first array is that of the others, or their own.
        let stated = asked
            .dtype
            .filter(|_| needed.first() == Some(&role) && !own(&role));
        (role, of_format(input, stated.unwrap_or(input.format)))
    });
    Commitment {
        rule: bound.committed_rule(),
        inputs: inputs.collect(),
        result: result_of_format(&commitment.result, commitment.result.format),
    }
}

/// An array of this format, which is otherwise as it is committed to.
fn of_format(input: &CommittedInput, format: Format) -> CommittedInput {
    CommittedInput {
        format,
        shape: input.shape.clone(),
        lines: input.lines,
        root: input.root,
    }
}

fn result_of_format(result: &CommittedResult, format: Format) -> CommittedResult {
    CommittedResult {
        format,
        shape: result.shape.clone(),
        block_rows: result.block_rows,
        root: result.root,
    }
}

fn hash(sha256: &str) -> Hash {
    Hash::parse(sha256).expect("a SHA-256")
}
