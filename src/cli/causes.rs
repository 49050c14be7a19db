//! Likely causes, each with the command that tests it on all of D.

use std::path::Path;

use super::args::{ModelArgs, OperandArgs};
use super::command_line::{quoted_path, rule_words};
use super::inputs::Operands;
use super::schedule::{Chosen, ScheduleArgs};
use crate::causes::{Case, Change, Found, causes};
use crate::emu::{Catalogue, Choice, Replay};
use crate::generate::PREFIX;
use crate::io::Source;
use crate::num::Format;
use crate::report::{Cause, Comparison, Spread};
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
    /// What fits a D that differs.
    pub fn causes(
        &self,
        choice: &Choice,
        replay: Replay,
        given: &Tensor,
        (comparison, spread): (&Comparison, &Spread),
    ) -> Vec<Cause> {
        let case = Case {
            replay,
            given,
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
        let found = causes(&case).into_iter();
        found
            .map(|found| Cause {
                kind: found.kind,
                command: self.command(&found),
                sentence: found.sentence,
            })
            .collect()
    }

    fn model_of(&self, [a, b]: [Format; 2]) -> ModelArgs {
        ModelArgs {
            dtype: a,
            dtype_b: (a != b).then_some(b),
            ..self.model.clone()
        }
    }

    fn command(&self, found: &Found) -> Option<String> {
        let mut operands = self.operands.clone();
        let mut model = self.model.words();
        let mut schedule = self.schedule.words();
        let mut d_dtype = self.d_dtype;
        // What is generated depends on the operand it is for, and on the format.
        let generated = [&operands.a, &operands.b].into_iter().any(|path| {
            let path = path.to_str();
            path.is_some_and(|path| path.starts_with(PREFIX))
        });
        match &found.change {
            Change::None => return None,
            Change::Transposed([a, b]) => {
                operands.transpose_a ^= a;
                operands.transpose_b ^= b;
            }
            Change::Reversed | Change::Exchanged if generated => return None,
            Change::Reversed => {
                std::mem::swap(&mut operands.a, &mut operands.b);
                operands.transpose_a = !self.operands.transpose_b;
                operands.transpose_b = !self.operands.transpose_a;
            }
            Change::Exchanged => {
                std::mem::swap(&mut operands.a, &mut operands.b);
                let (a, b) = (operands.transpose_a, operands.transpose_b);
                (operands.transpose_a, operands.transpose_b) = (b, a);
            }
            Change::WithoutC => operands.c = None,
            Change::Schedule(options) => {
                schedule = options.split_whitespace().map(str::to_owned).collect();
            }
            Change::Formats([a, b]) => {
                // A file that names its type cannot be read as another.
                let readable = |file: &Source, format| file.tensor(format).is_ok();
                if generated || !readable(&self.read.a.file, *a) || !readable(&self.read.b.file, *b)
                {
                    return None;
                }
                model = self.model_of([*a, *b]).words();
            }
            Change::Model {
                name,
                arithmetic,
                convert_to,
            } => {
                model = rule_words(name, arithmetic, *convert_to);
                d_dtype = d_dtype.filter(|_| convert_to.is_none());
            }
        }
        let mut words = vec!["tcverify check".to_owned()];
        words.extend(model);
        words.extend(schedule);
        words.extend(self.policy.iter().cloned());
        if let Some(format) = d_dtype {
            words.extend(["--d-dtype".to_owned(), format.to_string()]);
        }
        words.extend(operands.words());
        words.push(quoted_path(self.d));
        Some(words.join(" "))
    }
}
