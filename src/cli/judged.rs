//! From what a replay found to a report.

use anyhow::Result;

use super::causes::Asked;
use super::command_line::quoted_path;
use super::inputs::{Operand, Operands};
use super::judge::{Found, Judge, Setup, Strictness};
use super::schedule::Chosen;
use crate::commit::Tree;
use crate::emu::{Choice, Replay};
use crate::num::Rounding;
use crate::report::{
    Cause, Conclusion, Conversion, Inputs, MismatchMap, Model, Outcome, Report, Reproduced,
    ReproducedTree, Scheduled, Tool, Verdict,
};

impl Judge {
    /// The report on what was found, and the map if there is one.
    ///
    /// # Errors
    /// None of what was set up.
    pub fn report(
        &self,
        setup: &Setup,
        inputs: Inputs,
        found: Found,
        conclusion: Option<Conclusion>,
    ) -> Result<(Report, Option<MismatchMap>)> {
        let (replay, schedule) = (setup.replay, setup.schedule);
        let (mut digest, mut tree, mut sample) = (None, None, None);
        match found {
            Found::All(all) => digest = Some(all),
            Found::Leaves(rows, leaves) => {
                tree = Some(ReproducedTree {
                    block_rows: rows.block_rows,
                    root: rows.root(Tree::new(leaves).root()).to_string(),
                });
            }
            Found::Sample(part) => sample = Some(*part),
        }
        let mut causes = Vec::new();
        let mut map = None;
        let (outcome, same) = match (conclusion, &self.d_digest) {
            (Some(conclusion), _) => {
                if let (Some(d), false) = (setup.d, self.no_causes) {
                    causes = self.causes(
                        setup.operands,
                        setup.choice,
                        schedule,
                        replay,
                        d,
                        &conclusion,
                    );
                }
                map = conclusion.map;
                let comparison = conclusion.comparison;
                let same = comparison.mismatches == 0;
                let outcome = Outcome::Elements {
                    nan: self.nan.name(),
                    zero: self.zero.name(),
                    comparison: Box::new(comparison),
                };
                (outcome, same)
            }
            (None, Some(expected)) => {
                let expected_payload_sha256 = expected.clone();
                let outcome = Outcome::Digest {
                    expected_payload_sha256,
                };
                (outcome, Some(expected) == digest.as_ref())
            }
            (None, None) => unreachable!("clap asks for D or its digest"),
        };
        let report = Report {
            schema: crate::report::SCHEMA,
            tool: Tool::default(),
            verdict: if same {
                Verdict::Identical
            } else {
                Verdict::Different
            },
            model: Model::of(setup.choice),
            schedule: replay.kernel.map(|kernel| {
                let span = replay.arithmetic.step.span();
                Scheduled::of(&schedule.schedule, &schedule.given, kernel.values)
                    .omitting(kernel.omitted(replay.problem.k, span))
            }),
            product: setup.operands.product()?,
            commitment: None,
            inputs,
            reproduced: Reproduced {
                format: replay.format(),
                shape: replay.shape(),
                payload_sha256: digest,
                tree,
                sample,
                conversion: replay.convert_to.map(|to| Conversion {
                    from: replay.arithmetic.accumulator,
                    to,
                    rounding: Rounding::NearestEven,
                }),
            },
            outcome,
            causes,
        };
        Ok((report, map))
    }

    /// What would give a D that differs.
    fn causes(
        &self,
        operands: &Operands,
        choice: &Choice,
        schedule: &Chosen,
        replay: Replay,
        d: &Operand,
        found: &Conclusion,
    ) -> Vec<Cause> {
        let policies = [("--nan", self.nan), ("--zero", self.zero)].into_iter();
        let policies = policies.filter(|(_, how)| *how == Strictness::Any);
        let asked = Asked {
            model: &self.model,
            schedule: &self.schedule,
            chosen: schedule,
            operands: &self.operands,
            read: operands,
            d: d.file.path(),
            d_dtype: self.d_dtype,
            policy: policies
                .flat_map(|(option, how)| [option.to_owned(), how.name().to_owned()])
                .collect(),
        };
        asked.causes(
            choice,
            replay,
            &d.tensor,
            (&found.comparison, &found.spread),
        )
    }

    /// The command that explains the first mismatch.
    pub fn explain(&self, report: &Report) -> Option<String> {
        let Outcome::Elements { comparison, .. } = &report.outcome else {
            return None;
        };
        let first = comparison.first.first()?;
        let mut words = vec!["tcverify explain".to_owned()];
        words.extend(self.model.words());
        words.extend(self.schedule.words());
        if let Some(format) = self.d_dtype {
            words.extend(["--d-dtype".to_owned(), format.to_string()]);
        }
        words.extend(self.operands.words());
        words.extend(self.d.as_deref().map(quoted_path));
        let index: Vec<_> = first.index.iter().map(usize::to_string).collect();
        words.extend(["--at".to_owned(), index.join(",")]);
        Some(words.join(" "))
    }
}
