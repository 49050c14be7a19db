//! What an auditor brings: the model and the schedule that were agreed on, and arrays that are public.

use super::AuditError;
use crate::check::{Check, Model, Scheduling};
use crate::commit::{Along, Commitment};
use crate::emu::{Arithmetic, Engine, Platform};
use crate::io::printable;
use crate::num::Format;
use crate::role::{ByRole, Role};
use crate::tensor::Tensor;

/// Arrays that the auditor has all of, by the commitment's names.
pub type OwnCopies = ByRole<Tensor>;

/// The model and schedule that replay what was opened.
#[derive(Debug)]
pub struct AuditModel {
    pub model: Model,
    pub scheduling: Scheduling,
    pub(super) engine: Engine<'static>,
}

impl AuditModel {
    /// Those that a request names; its operands are not looked at. They must be able to compute what the
    /// commitment fixes.
    ///
    /// # Errors
    /// If there are none such, or the commitment is to another product.
    pub fn new(check: &Check, commitment: &Commitment) -> Result<AuditModel, AuditError> {
        let inputs = &commitment.inputs;
        let scheduling = check.schedule.resolve()?;
        scheduling.check_added(
            inputs.contains_key(&Role::Bias),
            inputs.contains_key(&Role::C),
        )?;
        let model = check
            .model
            .select(inputs.contains_key(&Role::ScaleA), &scheduling)?;
        let sha256 = model.arithmetic.sha256();
        if sha256 != commitment.model_sha256.to_string() {
            return Err(AuditError::ProvesNothing(format!(
                "the commitment is to the model of SHA-256 {}, which is not that of {} {} ({sha256})",
                commitment.model_sha256,
                printable(&model.choice().architecture.name),
                printable(&model.choice().instruction.name),
            )));
        }
        let engine = Platform::detect().map(Engine::Fast);
        let found = AuditModel {
            model,
            scheduling,
            engine: engine.unwrap_or(Engine::Exact),
        };
        found.confirm(commitment)?;
        Ok(found)
    }

    /// The arithmetic.
    pub fn arithmetic(&self) -> &Arithmetic {
        &self.model.arithmetic
    }

    /// Makes sure that formats and lengths are those of the model: others wrote the commitment.
    fn confirm(&self, commitment: &Commitment) -> Result<(), AuditError> {
        let nothing = |reason: String| Err(AuditError::ProvesNothing(reason));
        let (arithmetic, inputs) = (self.arithmetic(), &commitment.inputs);
        let (spec, product) = (self.scheduling.spec(), &commitment.product);
        let late = self.scheduling.addend_is_late();
        let scaled = inputs.contains_key(&Role::ScaleA);
        if scaled != inputs.contains_key(&Role::ScaleB) {
            return nothing("the commitment has scales of one operand alone".into());
        }
        let kernels = self.scheduling.takes_scales();
        let scale = arithmetic.scale.filter(|_| !kernels);
        if !kernels && scaled != scale.is_some() {
            return nothing("the commitment has not the scales that the model takes".into());
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
                return nothing(format!("{name} cannot be {} by this model", input.format));
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
                return nothing(format!("{name} is not cut as the scales of this model"));
            }
        }
        self.scheduling
            .check_conversion(arithmetic.accumulator, commitment.d.format)
            .map_err(AuditError::ProvesNothing)?;
        if product.k == 0 && spec.without_products.is_none() {
            return nothing("K is 0".into());
        }
        if let Some(most) = arithmetic.longest_k()
            && product.k > most
        {
            return nothing(format!(
                "K is {}, but one instruction takes {most}",
                product.k
            ));
        }
        Ok(())
    }
}
