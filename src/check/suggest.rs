//! What would give a D that differs, and the check that asks for it.

use super::command_line::{Verb, command_line, shell_line};
use super::fields::Fields;
use super::prepare::Prepared;
use super::request::{Check, ModelSource, Naming, ScheduleRequest, ScheduleSource, Scope};
use super::source::Source;
use super::words::EngineChoice;
use crate::causes::{Case, Change, causes};
use crate::emu::Catalogue;
use crate::identify::Name;
use crate::num::Format;
use crate::report::{Cause, Conclusion, Outcome, Report};

impl Prepared {
    /// What fits a D that differs.
    pub(super) fn causes(&self, found: &Conclusion) -> Vec<Cause> {
        let Some(given) = self.d() else {
            return Vec::new();
        };
        let choice = self.choice();
        let scaled = self.check.operands.scales.is_some();
        let case = Case {
            replay: self.replay(),
            given,
            comparison: &found.comparison,
            spread: &found.spread,
            architecture: &choice.architecture.name,
            rule: &|operands| {
                let model = self.check.clone().with_formats(operands).model;
                let model = model.select(scaled, &self.scheduling).ok()?;
                Some(model.arithmetic)
            },
            catalogue: Catalogue::builtin(),
        };
        let cause = |found: crate::causes::Found| Cause {
            kind: found.kind,
            command: self.command(&found.change),
            sentence: found.sentence,
        };
        causes(&case).into_iter().map(cause).collect()
    }

    fn command(&self, change: &Change) -> Option<String> {
        let changed = self.changed(change)?;
        Some(shell_line(command_line(Verb::Check, &changed)))
    }

    /// The check of all of D that asks for something else.
    fn changed(&self, change: &Change) -> Option<Check> {
        let mut check = Check {
            scope: Scope::default(),
            naming: Naming::default(),
            against: None,
            // Who computes makes no difference to the bits.
            engine: EngineChoice::Fast,
            ..self.check.clone()
        };
        let operands = &mut check.operands;
        // What is generated depends on the operand it is for, and on the format.
        let generated = |source: &Source| matches!(source, Source::Generated(_));
        let generated = generated(&operands.a) || generated(&operands.b);
        match change {
            Change::None => return None,
            Change::Transposed([a, b]) => {
                operands.transpose_a ^= a;
                operands.transpose_b ^= b;
            }
            Change::Reversed | Change::Exchanged if generated => return None,
            Change::Reversed => {
                std::mem::swap(&mut operands.a, &mut operands.b);
                (operands.transpose_a, operands.transpose_b) =
                    (!operands.transpose_b, !operands.transpose_a);
            }
            Change::Exchanged => {
                std::mem::swap(&mut operands.a, &mut operands.b);
                std::mem::swap(&mut operands.transpose_a, &mut operands.transpose_b);
            }
            Change::WithoutC => operands.c = None,
            Change::Schedule(options) => check.schedule = request_of(options),
            Change::Formats(formats) => {
                // A file that names its type cannot be read as another.
                let arrays = [&self.arrays.a, &self.arrays.b].into_iter().zip(formats);
                let readable = |(array, format): (&super::arrays::Array, &Format)| {
                    array.source.tensor(*format).is_ok()
                };
                if generated || !arrays.into_iter().all(readable) {
                    return None;
                }
                check = check.with_formats(*formats);
            }
            Change::Model {
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

    /// The command that explains the first mismatch of a report.
    pub fn explain_command(&self, report: &Report) -> Option<String> {
        let Outcome::Elements { comparison, .. } = &report.outcome else {
            return None;
        };
        let first = comparison.first.first()?;
        let index: Vec<_> = first.index.iter().map(usize::to_string).collect();
        let mut words = command_line(Verb::Explain, &self.check);
        words.extend(["--at".into(), index.join(",").into()]);
        Some(shell_line(words))
    }
}

impl Check {
    /// The same of operands in other formats.
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
        self
    }

    /// The same by one chain over K.
    #[must_use]
    pub fn without_schedule(mut self) -> Check {
        self.schedule.from = ScheduleSource::Plain;
        self
    }
}

/// The schedule that options of a command line name.
pub fn request_of(options: &str) -> ScheduleRequest {
    let words: Vec<_> = options.split_whitespace().collect();
    let fields = words.chunks_exact(2).map(|pair| {
        let name = pair[0].trim_start_matches('-').replace('-', "_");
        let value = match pair[1].parse::<u64>() {
            Ok(number) => number.into(),
            Err(_) => pair[1].into(),
        };
        (name, value)
    });
    let fields: serde_json::Map<String, serde_json::Value> = fields.collect();
    let fields: Fields = serde_json::from_value(fields.into()).expect("options of a schedule");
    fields.schedule_request()
}
