//! What gives one of the two results, and what separates two such findings.

use super::request::{Compare, Held};
use crate::check::{Check, CheckError, Expected, Prepared, Progress, Source, Tensors};
use crate::compare::document::{By, Relation, ResultFound, Searched};
use crate::compose::Examined;
use crate::diagnose::is_fault;
use crate::emu::schedule::{AddendAt, ScheduleSpec};
use crate::engines::resources;
use crate::identify::IdentifyError;
use crate::identify::document::{Fit, Identification, Identified};
use crate::io;
use crate::report::{Input, Report};
use crate::role::{ByRole, Role};

/// How many other explanations are named.
const OTHERS: usize = 3;

/// What was found of one result.
pub struct SearchedSide {
    found: Identification,
    /// The check for each fit.
    checks: Vec<Check>,
    /// The position of the fit that is reported.
    pub chosen: Option<usize>,
}

impl SearchedSide {
    /// # Errors
    /// If the operands cannot be read, or do not multiply to this result.
    pub fn searched(
        request: &Compare,
        side: usize,
        held: &Held,
        progress: &dyn Progress,
    ) -> Result<Option<SearchedSide>, IdentifyError> {
        let Some(search) = request.search(side) else {
            return Ok(None);
        };
        let mut of_side = |field: &str| held[side].get(&Role::of_field(field)?).cloned();
        let prepared = search.prepare_with(&mut of_side)?;
        let (found, checks) = prepared.choose(progress)?;
        Ok(Some(SearchedSide {
            chosen: (!found.fits.is_empty()).then_some(0),
            found,
            checks,
        }))
    }

    pub fn fits(&self) -> &[Fit] {
        &self.found.fits
    }

    /// The check of the fit that is reported.
    pub fn check(&self) -> Option<&Check> {
        self.checks.get(self.chosen?)
    }

    fn by(&self) -> Option<By> {
        let fit = self.fits().get(self.chosen?)?;
        Some(By {
            model: fit.model.clone(),
            in_full: fit.in_full,
            tested: fit.tested,
        })
    }

    fn searched_for(&self) -> Searched {
        let found = &self.found;
        let [tested, untested] = match &found.schedules {
            Some(of) => [of.tested, of.untested],
            None => [0, 0],
        };
        let others = found.fits.iter().enumerate();
        let others = others.filter(|(at, _)| Some(*at) != self.chosen);
        let others = others.map(|(_, fit)| fit.model.describe());
        Searched {
            models: found.plain,
            schedules: tested,
            untested: found.untested + untested,
            fits: found.fits.len(),
            others: others.take(OTHERS).collect(),
        }
    }
}

/// What is reported of a result, if no causes are known.
pub fn result(side: Option<&SearchedSide>, input: Input) -> ResultFound {
    ResultFound {
        input,
        searched: side.map(SearchedSide::searched_for),
        by: side.and_then(SearchedSide::by),
        causes: Vec::new(),
    }
}

/// Prepares a check in which some arrays are the caller's; a search names files instead of them.
pub fn prepared(check: &Check, arrays: ByRole<io::Source>) -> Result<Prepared, CheckError> {
    let mut check = check.clone();
    for role in arrays.keys() {
        match role {
            Role::D => check.expected = Expected::Tensor(Source::Memory),
            role => drop(check.operands.arrays.insert(*role, Source::Memory)),
        }
    }
    let held = Tensors {
        arrays,
        ..Tensors::default()
    };
    Prepared::from_tensors(&check, &resources(), held)
}

/// Judges one side's result by the other side's rule.
///
/// # Errors
/// If the check cannot be run on it.
pub fn judged(
    mut check: Check,
    result: (&Source, Option<&io::Source>),
    held: &ByRole<io::Source>,
    progress: &dyn Progress,
) -> Result<Report, CheckError> {
    check.expected = Expected::Tensor(result.0.clone());
    let mut held = held.clone();
    held.remove(&Role::D);
    held.extend(result.1.map(|result| (Role::D, result.clone())));
    prepared(&check, held)?.reported(progress)
}

/// Whether faults alone explain a report's mismatches, and nothing that a kernel does on purpose.
pub fn is_faulty(report: &Report) -> bool {
    let causes = &report.causes;
    let explained: u64 = causes.iter().map(|cause| cause.mismatches).sum();
    let Some(comparison) = report.comparison() else {
        return false;
    };
    let all = causes.iter().all(|cause| is_fault(&cause.kind));
    !causes.is_empty() && explained >= comparison.mismatches && all
}

/// How many fits of a side are examined.
const LOOKED_AT: usize = 256;

/// Two fits, one of each side, and how they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// Positions of the two fits among those of their sides.
    pub pair: [usize; 2],
    pub relation: Relation,
    /// Whether all pairs as likely differ in the same way.
    pub only: bool,
}

/// Of the likeliest pairs of fits the one with most in common.
///
/// With equal operands, a computation that fits both results on a sample does not separate them.
pub fn nearest(left: &[Fit], right: &[Fit], inputs_differ: bool) -> Option<Nearest> {
    let mut best: Option<(usize, Relation, usize, [usize; 2])> = None;
    let mut only = true;
    for (i, one) in left.iter().take(LOOKED_AT).enumerate() {
        for (j, other) in right.iter().take(LOOKED_AT).enumerate() {
            let relation = between(&one.model, &other.model);
            if relation == Relation::Same && !inputs_differ {
                continue;
            }
            let unlikely = is_unlikely(&one.model) as usize + is_unlikely(&other.model) as usize;
            let rank = (unlikely, relation, i + j, [i, j]);
            only = match best {
                Some((likelier, ..)) if unlikely > likelier => only,
                Some((as_likely, known, ..)) if unlikely == as_likely => only && relation == known,
                _ => true,
            };
            if best.is_none_or(|best| rank < best) {
                best = Some(rank);
            }
        }
    }
    best.map(|(_, relation, _, pair)| Nearest {
        pair,
        relation,
        only,
    })
}

/// Whether it is a kernel of CUDA cores with an order of its own: so many are searched that some fit what a tensor
/// core or a plain chain made.
fn is_unlikely(model: &Identified) -> bool {
    model.arithmetic.step.span() == 1 && model.schedule.is_some()
}

fn between(one: &Identified, other: &Identified) -> Relation {
    // What is done to finished sums, C included, is no order.
    let spec = |model: &Identified| {
        let spec = model.schedule.as_ref().map(|of| of.spec.clone());
        spec.unwrap_or_else(ScheduleSpec::plain)
    };
    let order = |model: &Identified| {
        let mut spec = spec(model);
        spec.epilogue.function = None;
        spec.addend = AddendAt::Start;
        spec
    };
    let end = |model: &Identified| {
        let own = model.schedule.as_ref().map(|of| &of.overrides);
        let factors = own.map(|own| (own.alpha, own.beta));
        let spec = spec(model);
        (
            factors.unwrap_or_default(),
            spec.epilogue.function,
            spec.addend,
        )
    };
    let operands = |of: &Identified| (of.arithmetic.a, of.arithmetic.b, of.nearest);
    if operands(one) != operands(other) {
        return Relation::Operands;
    }
    let unit = one.sha256 == other.sha256;
    let order = order(one) == order(other);
    let rounding = one.rounded_to == other.rounded_to;
    match (unit, order) {
        (true, true) if end(one) != end(other) => Relation::Epilogue,
        (true, true) if rounding => Relation::Same,
        (true, true) => Relation::Rounding,
        (true, false) => Relation::Order,
        (false, true) => Relation::Unit,
        (false, false) => Relation::UnitAndOrder,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emu::Catalogue;
    use crate::emu::schedule::{Overrides, Schedule};
    use crate::identify::document::IdentifiedSchedule;
    use crate::num::Format;

    /// A fit of this unit for FP16 operands, under a preset.
    fn fit(architecture: &str, instruction: &str, preset: Option<&str>) -> Fit {
        let rules = Catalogue::builtin().rules();
        let operands = match instruction {
            "ffma" => [Format::Fp32; 2],
            _ => [Format::Fp16; 2],
        };
        let mut rules = rules.filter(|(of, by, rule)| {
            let fits = rule.operands.contains(&operands) && rule.accumulator == Format::Fp32;
            of.name == architecture && by.name == instruction && fits
        });
        let (.., rule) = rules.next().expect("a rule");
        let mut arithmetic = crate::emu::Arithmetic::of(rule, operands);
        // Of the same operands, so that no relation but these is possible.
        (arithmetic.a, arithmetic.b) = (Format::Fp16, Format::Fp16);
        let schedule = preset.map(|name| {
            let preset = Schedule::preset(name).expect("a preset");
            IdentifiedSchedule {
                name: name.into(),
                title: String::new(),
                evidence: preset.evidence,
                overrides: Overrides::default(),
                summary: String::new(),
                sha256: name.into(),
                spec: preset.spec.clone(),
                omitted_k: Vec::new(),
                kernel: None,
            }
        });
        let sha256 = arithmetic.sha256();
        let model = Identified {
            arithmetic,
            sha256,
            rounded_to: None,
            nearest: false,
            summary: String::new(),
            names: Vec::new(),
            schedule,
        };
        Fit {
            model,
            tested: 1,
            in_full: true,
        }
    }

    /// Hopper's mma against Ampere's with split K: two kernels of CUDA cores have more in common, and are less likely.
    #[test]
    fn tensor_cores_and_plain_chains_come_first() {
        let hopper = fit("hopper", "mma", None);
        let ampere = fit("ampere", "mma", Some("cublas-workspace-f32"));
        let cuda =
            ["cublas-sliced", "cublas-splitk-serial"].map(|name| fit("volta", "ffma", Some(name)));
        let [one, other] = cuda;
        let left = [one.clone(), hopper];
        let right = [other.clone(), ampere.clone()];
        let found = nearest(&left, &right, false).expect("a pair");
        assert_eq!(
            (found.pair, found.relation),
            ([1, 1], Relation::UnitAndOrder)
        );
        assert!(found.only, "no pair as likely differs in less or more");
        // Without tensor cores they are all there is.
        let found = nearest(&left[..1], &right[..1], false).expect("a pair");
        assert_eq!((found.relation, found.only), (Relation::Order, true));
        // Two likely pairs that differ in different things: neither is a fact.
        let both = [
            ampere,
            fit("hopper", "mma", Some("cublas-workspace-f32")),
            other,
        ];
        let found = nearest(&left, &both, false).expect("a pair");
        assert_eq!((found.pair, found.relation), ([1, 1], Relation::Order));
        assert!(!found.only);
    }
}
