//! Two runs, from their manifests to the report.

use std::collections::BTreeMap;

use super::link::{Link, links};
use super::step::{Digests, Step};
use super::{CompareRuns, RunsError};
use crate::batch::{self, BatchError};
use crate::check::{Check, CheckError, ModelSource, Progress};
use crate::compare::document::{Differing, Side};
use crate::compare::results::Pair;
use crate::compare::runs::document::{
    COMPARED_RUNS, ComparedRuns, ComparedStep, Explanations, RunCompared, RunsVerdict, StepResult,
};
use crate::compare::{Compare, Held, Hints};
use crate::compose::{Request, identify};
use crate::engines::resources;
use crate::identify::IdentifyError;
use crate::io::Outputs;
use crate::operation::Operation;
use crate::report::Tool;
use crate::role::Role;

/// A run that was read.
struct Run {
    steps: Vec<Step>,
    about: RunCompared,
}

impl CompareRuns {
    /// No output may overwrite what it reads.
    pub fn protect(&self, outputs: &mut Outputs) -> Result<(), BatchError> {
        for path in &self.runs {
            let read = batch::read(path, self.policy.as_ref())?.whole()?;
            batch::protect(outputs, path, (&read.cases, &read.own), None);
        }
        Ok(())
    }

    /// Compares every step with its counterpart, and searches for what gives the first that differ.
    pub fn run(&self, progress: &dyn Progress) -> Result<ComparedRuns, RunsError> {
        let mut digests = Digests::default();
        let left = self.read(0, &mut digests)?;
        let right = self.read(1, &mut digests)?;
        let (linked, alone) = links(&left.steps, &right.steps);
        let mut made = BTreeMap::new();
        let mut steps = Vec::with_capacity(linked.len());
        let mut explained = 0;
        for link in linked {
            if progress.interrupted() {
                return Err(interrupted());
            }
            let both = [&left.steps[link.at[0]], &right.steps[link.at[1]]];
            let mut step = self.compared(both, &link, &made);
            // Where no element is known to differ, there is nothing to search for.
            let differs = step.result.begins() && step.differences.is_some();
            if differs && explained < self.explain {
                explained += 1;
                match self.explained(both, progress) {
                    Ok(found) => step.explanations = found,
                    Err(IdentifyError::Operands(CheckError::Interrupted)) => {
                        return Err(interrupted());
                    }
                    Err(error) => {
                        let reasons = step.reason.into_iter().chain([error.to_string()]);
                        step.reason = Some(reasons.collect::<Vec<_>>().join("; "));
                    }
                }
            }
            // Which step made what a later one reads: the first that made it.
            let results = both.map(|step| step.result.sha256.clone());
            made.entry(results).or_insert_with(|| step.name.clone());
            steps.push(step);
        }
        let finished = |run: Run, alone: &[usize]| {
            let names = alone.iter().map(|&at| run.steps[at].name().to_owned());
            RunCompared {
                alone: names.collect(),
                ..run.about
            }
        };
        let (left, right) = (finished(left, &alone[0]), finished(right, &alone[1]));
        Ok(ComparedRuns {
            schema: COMPARED_RUNS,
            tool: Tool::default(),
            verdict: RunsVerdict::of([&left, &right], &steps),
            left,
            right,
            first: steps.iter().position(|step| step.result.differs()),
            steps,
        })
    }

    fn read(&self, side: usize, digests: &mut Digests) -> Result<Run, RunsError> {
        let path = &self.runs[side];
        let read = batch::read(path, self.policy.as_ref())?.whole()?;
        let mut steps = Vec::with_capacity(read.cases.len());
        for case in read.cases {
            let place = format!("{}: case {:?}", path.display(), case.name);
            let step = Step::of(case, digests);
            steps.push(step.map_err(|error| BatchError::Case { place, error })?);
        }
        Ok(Run {
            about: RunCompared {
                path: crate::io::escaped_path(path),
                steps: steps.len(),
                missed: read.coverage.map_or(0, |coverage| coverage.missed()),
                alone: Vec::new(),
            },
            steps,
        })
    }

    fn compared(
        &self,
        [left, right]: [&Step; 2],
        link: &Link,
        made: &BTreeMap<[String; 2], String>,
    ) -> ComparedStep {
        let (one, other) = (left.fields(), right.fields());
        let fields = one
            .keys()
            .chain(other.keys().filter(|field| !one.contains_key(*field)));
        let fields = fields.filter(|field| one.get(*field) != other.get(*field));
        let differing_fields = fields.cloned().collect();
        let mut differing = Vec::new();
        let mut from = Vec::new();
        let roles = left.operands.keys().chain(right.operands.keys());
        let roles: std::collections::BTreeSet<Role> = roles.copied().collect();
        for role in roles {
            let both = [left.operands.get(&role), right.operands.get(&role)];
            // The same file is another operand if one run transposes it.
            let transposed = match role {
                Role::A | Role::ScaleA => "transpose_a",
                Role::B | Role::ScaleB => "transpose_b",
                _ => "",
            };
            if one.get(transposed) == other.get(transposed)
                && let [Some(one), Some(other)] = both
                && one.same(other)
            {
                continue;
            }
            differing.push(role.field().to_owned());
            if let [Some(one), Some(other)] = both {
                let maker = made.get(&[one.sha256.clone(), other.sha256.clone()]);
                from.extend(
                    maker.map(|maker| format!("{} is the result of {maker}", role.field())),
                );
            }
        }
        let of_one_kind = left.kind() == right.kind();
        // Results without elements are not equal: no check accepts one.
        let equal = left.result.same(&right.result) && left.result.has_elements();
        let (result, differences, reason) = match (equal, of_one_kind) {
            (_, false) => {
                let reason = format!("{} on the left, {} on the right", left.kind(), right.kind());
                (StepResult::Unknown, None, Some(reason))
            }
            (true, true) => (StepResult::Equal, None, None),
            (false, true) => self.differing([left, right], differing.is_empty()),
        };
        ComparedStep {
            name: left.name().to_owned(),
            right_name: (left.name() != right.name()).then(|| right.name().to_owned()),
            linked_by: link.by,
            kind: left.kind().to_owned(),
            result,
            differing_operands: differing,
            differing_fields,
            from,
            differences,
            reason,
            explanations: None,
        }
    }

    /// Compares results that are stored differently, element by element.
    fn differing(
        &self,
        both: [&Step; 2],
        operands_equal: bool,
    ) -> (StepResult, Option<Differing>, Option<String>) {
        let differs = if operands_equal {
            StepResult::Begins
        } else {
            StepResult::Inherits
        };
        let Some(request) = of_results(both) else {
            let reason = "only the digest of a result is recorded".to_owned();
            return (differs, None, Some(reason));
        };
        match Pair::read(&request, &Held::default()) {
            Err(error) => (StepResult::Unknown, None, Some(error.to_string())),
            Ok(pair) => {
                let (found, _) = pair.compare(self.max_mismatches);
                let rounded = |how: &str| {
                    let side = Side::BOTH[pair.rounded?].name();
                    let format = pair.format();
                    Some(format!("{how} after the {side} one is rounded to {format}"))
                };
                match (found.comparison.mismatches, pair.rounded) {
                    // The files differ in memory layout, or name the format of the same numbers differently.
                    (0, None) => (StepResult::Equal, None, None),
                    // Later steps still read different bits.
                    (0, Some(_)) => (differs, None, rounded("equal")),
                    _ => (
                        differs,
                        Some((&found.comparison).into()),
                        rounded("compared"),
                    ),
                }
            }
        }
    }

    /// Searches for what gives each of two results.
    fn explained(
        &self,
        [left, right]: [&Step; 2],
        progress: &dyn Progress,
    ) -> Result<Option<Explanations>, IdentifyError> {
        let (one, other) = match (&left.case.request, &right.case.request) {
            (Request::Product(one), Request::Product(other)) => (one, other),
            (Request::Operation(one), Request::Operation(other)) => {
                let variants = [variants(one)?, variants(other)?];
                return Ok(Some(Explanations::Variants(variants)));
            }
            _ => return Ok(None),
        };
        let formats = |check: &Check| [Some(check.model.dtype), check.model.dtype_b];
        // A search reads both sides' operands in the same formats.
        if formats(one) != formats(other) {
            return Ok(None);
        }
        let Some(mut request) = of_results([left, right]) else {
            return Ok(None);
        };
        request.operands = Some([one.operands.clone(), other.operands.clone()]);
        request.operand_formats = formats(one);
        let hints = |check: &Check| Hints {
            architectures: match &check.model.from {
                ModelSource::Catalogue(name) => vec![name.clone()],
                ModelSource::File(_) => Vec::new(),
            },
            kernel: None,
        };
        request.hints = [hints(one), hints(other)];
        request.schedules = self.schedules;
        request.limits = self.limits;
        request.max_mismatches = self.max_mismatches;
        let compared = request.run(progress)?;
        Ok(Some(Explanations::Product(Box::new(compared))))
    }
}

fn interrupted() -> RunsError {
    IdentifyError::Operands(CheckError::Interrupted).into()
}

/// The comparison of two results, where more than their digests is recorded.
fn of_results(both: [&Step; 2]) -> Option<Compare> {
    let [Some((left, left_format)), Some((right, right_format))] = both.map(Step::array) else {
        return None;
    };
    Some(Compare {
        formats: [left_format, right_format],
        ..Compare::new([left, right])
    })
}

/// The variants of an operation that give its result.
fn variants(operation: &Operation) -> Result<Vec<String>, CheckError> {
    if operation.y.is_none() {
        return Ok(Vec::new());
    }
    let found = identify(&operation.prepare(&resources())?)?;
    let whole = found.into_iter().filter(|(_, fit)| fit.is_whole());
    Ok(whole.map(|(variant, _)| variant.name.clone()).collect())
}
