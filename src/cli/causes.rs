//! Likely causes, each with the command that tests it on all of D.

use std::path::Path;

use super::args::{ModelArgs, OperandArgs, Tf32Input};
use super::command_line::{quoted_path, rule_words};
use super::inputs::Operands;
use super::schedule::{Chosen, ScheduleArgs};
use crate::diagnose::{Ask, Case, Diagnosis, diagnose};
use crate::emu::{Catalogue, Choice, Replay};
use crate::generate::PREFIX;
use crate::io::Source;
use crate::num::Format;
use crate::report::{Cause, CauseArea, Comparison, Policy, Spread};
use crate::tensor::Tensor;

/// What was asked, to be asked otherwise.
pub struct Asked<'a> {
    pub model: &'a ModelArgs,
    pub schedule: &'a ScheduleArgs,
    pub chosen: &'a Chosen,
    pub operands: &'a OperandArgs,
    pub read: &'a Operands<'a>,
    pub d: &'a Path,
    pub d_dtype: Option<Format>,
    /// Options of the comparison.
    pub policy: Vec<String>,
}

impl Asked<'_> {
    /// What fits a D that differs, and what was tried where nothing does.
    pub fn causes(
        &self,
        choice: &Choice,
        replay: Replay,
        given: &Tensor,
        (comparison, spread): (&Comparison, &Spread),
    ) -> (Vec<Cause>, Vec<&'static str>) {
        let any = |option: &str| self.policy.iter().any(|word| word == option);
        let case = Case {
            replay,
            given,
            policy: Policy {
                any_nan: any("--nan"),
                any_zero: any("--zero"),
            },
            comparison,
            spread,
            architecture: &choice.architecture.name,
            rule: &|operands| {
                let model = self.model_of(operands);
                let choice = model.choose(self.operands.scaled(), self.chosen).ok()?;
                Some(choice.arithmetic)
            },
            catalogue: Catalogue::builtin(),
        };
        let Diagnosis {
            findings, tried, ..
        } = diagnose(&case);
        let cause = |finding: crate::diagnose::Finding| Cause {
            command: self.command(&finding.ask),
            kind: finding.kind,
            sentence: finding.sentence,
            at: finding.at,
            mismatches: finding.mismatches,
            area: finding.place.map(|area| CauseArea {
                shape: area.shape,
                rows: area.rows,
                columns: area.columns,
            }),
        };
        (findings.into_iter().map(cause).collect(), tried)
    }

    fn model_of(&self, [a, b]: [Format; 2]) -> ModelArgs {
        ModelArgs {
            dtype: a,
            dtype_b: (a != b).then_some(b),
            ..self.model.clone()
        }
    }

    fn command(&self, ask: &Ask) -> Option<String> {
        let mut words = Words {
            operands: self.operands.clone(),
            model: self.model.words(),
            schedule: self.schedule.words(),
            d_dtype: self.d_dtype,
            policy: self.policy.clone(),
        };
        self.apply(ask, &mut words)?;
        let mut all = vec!["tcverify check".to_owned()];
        all.extend(words.model);
        all.extend(words.schedule);
        all.extend(words.policy);
        if let Some(format) = words.d_dtype {
            all.extend(["--d-dtype".to_owned(), format.to_string()]);
        }
        all.extend(words.operands.words());
        all.push(quoted_path(self.d));
        Some(all.join(" "))
    }

    /// None if it cannot be asked for.
    fn apply(&self, ask: &Ask, words: &mut Words) -> Option<()> {
        let operands = &mut words.operands;
        // What is generated depends on the operand it is for, and on the format.
        let generated = [&operands.a, &operands.b].into_iter().any(|path| {
            let path = path.to_str();
            path.is_some_and(|path| path.starts_with(PREFIX))
        });
        match ask {
            Ask::Nothing => return None,
            Ask::Transposed([a, b]) => {
                operands.transpose_a ^= a;
                operands.transpose_b ^= b;
            }
            Ask::Reversed | Ask::Exchanged if generated => return None,
            Ask::Reversed => {
                std::mem::swap(&mut operands.a, &mut operands.b);
                operands.transpose_a = !self.operands.transpose_b;
                operands.transpose_b = !self.operands.transpose_a;
            }
            Ask::Exchanged => {
                std::mem::swap(&mut operands.a, &mut operands.b);
                let (a, b) = (operands.transpose_a, operands.transpose_b);
                (operands.transpose_a, operands.transpose_b) = (b, a);
            }
            Ask::WithoutC => operands.c = None,
            Ask::Schedule(options) => {
                words.schedule = options.split_whitespace().map(str::to_owned).collect();
            }
            Ask::Formats([a, b]) => {
                // A file that names its type cannot be read as another.
                let readable = |file: &Source, format| file.tensor(format).is_ok();
                if generated || !readable(&self.read.a.file, *a) || !readable(&self.read.b.file, *b)
                {
                    return None;
                }
                words.model = self.model_of([*a, *b]).words();
            }
            Ask::Result(format) => {
                Source::open(self.d).ok()?.tensor(*format).ok()?;
                words.d_dtype = Some(*format);
            }
            Ask::Tf32Nearest(nearest) => {
                operands.tf32_input = match nearest {
                    true => Tf32Input::Nearest,
                    false => Tf32Input::Truncate,
                };
            }
            Ask::AnyNan => words.policy.extend(["--nan", "any"].map(str::to_owned)),
            Ask::AnyZero => words.policy.extend(["--zero", "any"].map(str::to_owned)),
            Ask::Both(one, other) => {
                self.apply(one, words)?;
                self.apply(other, words)?;
            }
            Ask::Model {
                name,
                arithmetic,
                convert_to,
            } => {
                words.model = rule_words(name, arithmetic, *convert_to);
                if convert_to.is_some() {
                    words.d_dtype = None;
                }
            }
        }
        Some(())
    }
}

/// A command's words, as they are changed.
struct Words {
    operands: OperandArgs,
    model: Vec<String>,
    schedule: Vec<String>,
    d_dtype: Option<Format>,
    policy: Vec<String>,
}
