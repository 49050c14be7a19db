//! What would give a D that differs, and the check for it.

use super::choices::{EngineChoice, Tf32Input};
use super::command_line::{Verb, command_line, shell_line};
use super::prepare::Prepared;
use super::product::{
    Check, ModelSource, Naming, Operands, ScheduleRequest, ScheduleSource, Selection,
};
use super::source::Source;
use super::subject::Diagnosed;
use super::ttnn::TtnnRequest;
use crate::candidates::Name;
use crate::diagnose::{Ask, Case, Diagnosis, Finding, Setting, diagnose};
use crate::emu::Catalogue;
use crate::num::Format;
use crate::report::{Cause, Conclusion};
use crate::role::Role;

impl Prepared {
    /// What fits a D that differs, and what was tried.
    pub(super) fn diagnosed(&self, found: &Conclusion) -> Diagnosed {
        let Some(given) = self.d() else {
            return Default::default();
        };
        let choice = self.choice();
        let scaled = self.check.operands.has_scales();
        let case = Case {
            replay: self.replay(),
            given,
            tolerance: self.check.tolerance,
            comparison: &found.comparison,
            sample: &found.sample,
            architecture: &choice.architecture.name,
            rule: &|operands| {
                let model = self.check.clone().with_formats(operands).model;
                let model = model.select(scaled, &self.scheduling).ok()?;
                Some(model.arithmetic)
            },
            catalogue: Catalogue::builtin(),
        };
        let Diagnosis {
            findings,
            places,
            tried,
            untried,
        } = diagnose(&case);
        let cause = |finding: Finding| Cause {
            command: self.command(&finding.ask),
            kind: finding.kind,
            sentence: finding.sentence,
            at: finding.at,
            mismatches: finding.mismatches,
            area: finding.place,
        };
        Diagnosed {
            causes: findings.into_iter().map(cause).collect(),
            places,
            tried: tried.into_iter().map(Into::into).collect(),
            untried: untried.into_iter().map(Into::into).collect(),
        }
    }

    fn command(&self, ask: &Ask) -> Option<String> {
        // No command line names what a program holds.
        if self.check.is_in_memory() {
            return None;
        }
        let check = Check {
            selection: Selection::default(),
            naming: Naming::default(),
            against: None,
            // The engine that computes makes no difference to the bits.
            engine: EngineChoice::Fast,
            ..self.spelled_out()
        };
        let changed = self.changed(check, ask)?;
        Some(shell_line(command_line(Verb::Check, &changed)))
    }

    /// The check, changed as a finding asks; none if no request can express that.
    fn changed(&self, mut check: Check, ask: &Ask) -> Option<Check> {
        let operands = &mut check.operands;
        // What is generated depends on the operand it is for, and on the format.
        let generated = |role| matches!(operands.get(role), Some(Source::Generated(_)));
        let generated = generated(Role::A) || generated(Role::B);
        let exchange = |operands: &mut Operands| {
            let a_and_b = [Role::A, Role::B].map(|role| operands.arrays.remove(&role));
            let exchanged = [Role::B, Role::A].into_iter().zip(a_and_b);
            let exchanged = exchanged.filter_map(|(role, source)| Some((role, source?)));
            operands.arrays.extend(exchanged);
        };
        match ask {
            Ask::Nothing => return None,
            Ask::Transposed([a, b]) => {
                operands.transpose_a ^= a;
                operands.transpose_b ^= b;
            }
            Ask::Reversed | Ask::Exchanged if generated => return None,
            Ask::Reversed => {
                exchange(operands);
                (operands.transpose_a, operands.transpose_b) =
                    (!operands.transpose_b, !operands.transpose_a);
            }
            Ask::Exchanged => {
                exchange(operands);
                std::mem::swap(&mut operands.transpose_a, &mut operands.transpose_b);
            }
            Ask::WithoutC => {
                operands.arrays.remove(&Role::C);
            }
            Ask::LeftOut(setting) => {
                let given = &mut check.schedule.overrides;
                match setting {
                    Setting::Bias => {
                        operands.arrays.remove(&Role::Bias);
                        operands.bias_dtype = None;
                    }
                    Setting::Alpha => given.alpha = None,
                    Setting::Beta => given.beta = None,
                    Setting::Activation => given.activation = None,
                    Setting::ScaleResult => given.scale_result = None,
                }
            }
            Ask::Schedule { preset, overrides } => {
                check.schedule = ScheduleRequest::preset(preset, overrides);
            }
            Ask::Epilogue(epilogue) => {
                let schedule = &mut check.schedule;
                if schedule.from == ScheduleSource::Plain {
                    *schedule = ScheduleRequest::preset("plain", epilogue);
                } else {
                    let given = &mut schedule.overrides;
                    given.alpha = epilogue.alpha.or(given.alpha);
                    given.beta = epilogue.beta.or(given.beta);
                    given.activation = epilogue.activation.or(given.activation);
                }
            }
            Ask::Formats(formats) => {
                // A file that names its type cannot be read as another.
                let [a, b] = *formats;
                let readable = |(role, format)| self.arrays[role].source.tensor(format).is_ok();
                if generated || ![(Role::A, a), (Role::B, b)].into_iter().all(readable) {
                    return None;
                }
                check = check.with_formats(*formats);
            }
            Ask::Result(format) => {
                self.arrays.get(Role::D)?.source.tensor(*format).ok()?;
                check.d_dtype = Some(*format);
            }
            Ask::Tf32Nearest(nearest) => {
                operands.tf32_input = if *nearest {
                    Tf32Input::Nearest
                } else {
                    Tf32Input::Truncate
                };
            }
            Ask::AnyNan => check.tolerance.any_nan = true,
            Ask::AnyZero => check.tolerance.any_zero = true,
            Ask::Both(one, other) => {
                let check = self.changed(check, one)?;
                return self.changed(check, other);
            }
            Ask::Model {
                name,
                arithmetic,
                convert_to,
            } => {
                check = check.with_rule(name, arithmetic);
                check.d_dtype = convert_to.or(check.d_dtype);
            }
        }
        Some(check)
    }
}

impl Check {
    /// The same for operands in other formats.
    #[must_use]
    pub fn with_formats(mut self, [a, b]: [Format; 2]) -> Check {
        self.model.dtype = a;
        self.model.dtype_b = (a != b).then_some(b);
        self
    }

    /// The same by a rule of the catalogue.
    #[must_use]
    pub fn with_rule(mut self, name: &Name, arithmetic: &crate::emu::Arithmetic) -> Check {
        self = self.with_formats([arithmetic.a, arithmetic.b]);
        let model = &mut self.model;
        model.from = ModelSource::Catalogue(name.architecture.clone());
        model.instruction = Some(name.instruction.clone());
        model.acc = Some(arithmetic.accumulator);
        model.c_dtype = arithmetic.addend;
        model.scale_dtype = arithmetic.scale.map(|scale| scale.format);
        model.scale_block = arithmetic.scale.map(|scale| scale.block);
        model.ttnn = TtnnRequest::of(arithmetic);
        self
    }
}
