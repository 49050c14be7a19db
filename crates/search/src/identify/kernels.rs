//! Orders of sums that a kernel text allows: what it states is fixed, what it leaves open is tried.

use std::collections::HashSet;
use std::sync::Arc;

use super::captured::Captured;
use super::request::Formats;
use super::schedules::{RESULTS, ScheduleContext};
use super::weights::WeightArrays;
use crate::candidates::{self, Candidate, Guess};
use crate::check::{
    CheckError, KernelAnswers, KernelRequest, KernelSource, ScheduleRequest, ScheduleSource,
};
use crate::emu::Catalogue;
use crate::emu::schedule::{BoundSchedule, KTraversal, Overrides, Parts, Schedule, TileOfD};
use crate::libraries::{
    self, Accumulation, How, IfKnown, KernelError, KernelReading, Options, Plan, Product, Scheme,
    Shape, Sourced, field_error, kernel_words,
};
use crate::num::Format;
use crate::report::KernelDescription;

/// Plans, each for one architecture.
#[derive(Clone, Default)]
pub struct Kernels {
    plans: Vec<Arc<Planned>>,
}

/// One order of sums, and how it came about.
struct Planned {
    architecture: &'static str,
    plan: Plan,
    schedule: Schedule,
    description: KernelDescription,
    request: ScheduleRequest,
}

impl Kernels {
    /// Everything that a text leaves open, tried on these architectures, or on all if there are none.
    ///
    /// # Errors
    /// If it cannot be read, is about another product, or no order that it allows is known.
    pub fn of(
        stated: KernelSource,
        formats: Formats,
        captured: &Captured,
        only: &[String],
    ) -> Result<Kernels, CheckError> {
        let fault = |error| field_error("kernel", &None, error);
        let reading = libraries::read(stated.text()).map_err(fault)?;
        let problem = captured.problem(captured.any(), None);
        let problem = problem.expect("shapes were checked");
        let product = Product {
            shape: Shape {
                m: problem.m,
                n: problem.n,
                k: problem.k,
            },
            batches: problem.batches(),
            shared: captured.b.axes() == 2 && captured.a.axes() > 2,
        };
        let shape = product.under(&reading).map_err(fault)?;
        let mut options = Options {
            operands: Some(operands(&reading, shape, formats, captured)?),
            result: formats.d,
            weights: captured.weights.as_ref().map(|weights| weights.kind),
            groups: captured.weights.as_ref().map(WeightArrays::groups),
            ..Options::default()
        };
        if formats.a.is_none() {
            options.found.push("dtype");
        }
        let mut kernels = Kernels::default();
        let mut errors = kernels.collect(&stated, &reading, &shape, &options, only);
        // Kernels of weights have tiles and reductions that a bare name leaves open.
        for (text, scheme) in of_weights(captured) {
            if !text.starts_with(stated.text()) {
                continue;
            }
            let reading = libraries::read(text).expect("a name");
            options.scheme = scheme;
            options.found.extend(scheme.map(|_| "reduction"));
            let stated = KernelSource::Text(text.into());
            errors.extend(kernels.collect(&stated, &reading, &shape, &options, only));
        }
        if kernels.plans.is_empty() {
            // That a kernel is of another GPU does not tell why it has no plan on its own.
            errors.sort_by_key(|error| matches!(error, KernelError::WrongGpu { .. }));
            return Err(fault(errors.swap_remove(0)));
        }
        let known = |planned: &&Arc<Planned>| planned.result().is_none_or(|d| captured.d.has(d));
        if let (None, Some(d)) = (kernels.plans.iter().find(known), kernels.plans[0].result()) {
            let reason = format!("`kernel` says that D is {d}, but its file cannot hold that");
            return Err(CheckError::request("kernel", reason));
        }
        Ok(kernels)
    }

    /// Kernels that nothing but a search tells: those of weights with every tile and number of multiprocessors; or
    /// those of CUDA cores with the options that they really have.
    pub fn unnamed(formats: Formats, context: &ScheduleContext) -> Kernels {
        let (captured, problem) = (context.captured, &context.problem);
        let shape = &Shape {
            m: problem.m,
            n: problem.n,
            k: problem.k,
        };
        let mut kernels = Kernels::default();
        let sixteen = [Format::Fp16, Format::Bf16];
        let readable = sixteen
            .into_iter()
            .filter(|&format| captured.a.has(format) && captured.b.has(format));
        for format in readable {
            let weights = captured.weights.as_ref();
            let plain = libraries::unnamed(false).map(|text| (text, None));
            let texts: Vec<_> = match weights {
                Some(_) => of_weights(captured),
                None => plain.collect(),
            };
            for (text, scheme) in texts {
                let reading = libraries::read(text).expect("a name");
                let mut options = Options {
                    operands: Some([format; 2]),
                    result: formats.d,
                    weights: weights.map(|weights| weights.kind),
                    groups: weights.map(WeightArrays::groups),
                    scheme,
                    found: vec!["dtype"],
                    ..Options::default()
                };
                options.found.extend(scheme.map(|_| "reduction"));
                let stated = KernelSource::Text(text.into());
                // Most are for D of one row or column.
                kernels.collect(&stated, &reading, shape, &options, &[]);
            }
        }
        for planned in &mut kernels.plans {
            let planned = Arc::get_mut(planned).expect("nobody else has it");
            planned.description.is_found();
        }
        kernels
    }

    /// Adds the plans for every architecture of the catalogue, or for these; returns why some have none.
    fn collect(
        &mut self,
        stated: &KernelSource,
        reading: &KernelReading,
        shape: &Shape,
        options: &Options,
        only: &[String],
    ) -> Vec<KernelError> {
        let mut errors = Vec::new();
        let wanted = |name: &String| only.is_empty() || only.contains(name);
        let architectures = Catalogue::builtin().architectures().iter();
        for architecture in architectures.filter(|one| wanted(&one.name)) {
            let mut options = options.clone();
            options
                .on(&architecture.name)
                .expect("it is of the catalogue");
            options.found.push("arch");
            let plans = reading.candidates(shape, &options);
            let plans = plans.unwrap_or_else(|error| {
                errors.push(error);
                Vec::new()
            });
            for plan in plans {
                match plan.schedule() {
                    Err(error) => errors.push(error),
                    Ok(schedule) => self.plans.push(Arc::new(Planned {
                        architecture: &architecture.name,
                        description: kernel_words(reading, &plan, stated, None),
                        request: request(&plan, stated),
                        schedule,
                        plan,
                    })),
                }
            }
        }
        errors
    }

    /// Every arithmetic of `base` under every plan that is for it, except those that compute what `known` does.
    pub fn candidates(
        &self,
        context: &ScheduleContext,
        base: &[Candidate],
        known: &[Candidate],
    ) -> Vec<Candidate> {
        let k = context.problem.k;
        let operands = |candidate: &Candidate| [candidate.arithmetic.a, candidate.arithmetic.b];
        let wanted = |candidate: &&Candidate| {
            let of = |planned: &Arc<Planned>| planned.operands() == Some(operands(candidate));
            candidate.arithmetic.step.span() == 1 && self.plans.iter().any(of)
        };
        let mut seen: HashSet<_> = known
            .iter()
            .filter(wanted)
            .filter_map(|candidate| digest(candidate, k))
            .collect();
        let mut found: Vec<Candidate> = Vec::new();
        for (index, planned) in self.plans.iter().enumerate() {
            for candidate in base {
                for result in RESULTS {
                    let Some(one) = planned.under(index, candidate, result, context) else {
                        continue;
                    };
                    let same = found.iter_mut().find(|other| {
                        other.arithmetic == one.arithmetic
                            && other.convert_to == one.convert_to
                            && other.schedule.as_ref().map(|guess| &guess.spec)
                                == one.schedule.as_ref().map(|guess| &guess.spec)
                    });
                    match same {
                        Some(same) => {
                            let fresh = |name: &_| !same.names.contains(name);
                            let more: Vec<_> = one.names.into_iter().filter(fresh).collect();
                            same.names.extend(more);
                        }
                        None if digest(&one, k).is_none_or(|digest| seen.insert(digest)) => {
                            found.push(one);
                        }
                        None => {}
                    }
                }
            }
        }
        found
    }

    /// What was stated, found and assumed of a plan.
    pub fn description(&self, plan: usize) -> &KernelDescription {
        &self.plans[plan].description
    }

    /// The schedule of a plan as a check requests it.
    pub fn request(&self, plan: usize) -> ScheduleRequest {
        self.plans[plan].request.clone()
    }
}

impl Planned {
    fn operands(&self) -> Option<[Format; 2]> {
        self.plan.settings.operands.value()
    }

    /// D's format, if the text says it.
    fn result(&self) -> Option<Format> {
        self.plan.settings.result.value()
    }

    /// An arithmetic under this plan, if it is the plan's, and the files can have its formats.
    fn under(
        &self,
        index: usize,
        candidate: &Candidate,
        result: Format,
        context: &ScheduleContext,
    ) -> Option<Candidate> {
        let arithmetic = &candidate.arithmetic;
        let own = [arithmetic.a, arithmetic.b];
        let wanted = self.operands().is_none_or(|operands| operands == own);
        let possible = self.result().is_none_or(|stated| stated == result);
        if !wanted || !possible || !context.captured.d.has(result) {
            return None;
        }
        let by = self.plan.model().instruction;
        let own = |instruction: &str| {
            by.is_none_or(|by| {
                let variant = instruction.strip_prefix(by);
                variant.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
            })
        };
        let names = candidate.names.iter();
        let names = names.filter(|name| name.architecture == self.architecture);
        let names: Vec<_> = names
            .filter(|name| own(&name.instruction))
            .cloned()
            .collect();
        let spec = &self.schedule.spec;
        if names.is_empty() || !context.can_be(candidate, spec) {
            return None;
        }
        let problem = context.problem_of(candidate);
        BoundSchedule::check_compatible(spec, arithmetic, &problem, result).ok()?;
        let guess = Guess {
            preset: std::borrow::Cow::Owned(self.schedule.clone()),
            overrides: Overrides::default(),
            spec: spec.clone(),
            rank: index,
            plan: Some(index),
        };
        let named = Candidate {
            names,
            ..candidate.clone()
        };
        Some(named.under(guess, result))
    }
}

/// Names of kernels of weights, if B is held as such, with the ways in which their blocks are added.
fn of_weights(captured: &Captured) -> Vec<(&'static str, Option<Scheme>)> {
    let schemes = [None, Some(Scheme::OutputType)];
    let texts = libraries::unnamed(true).filter(|_| captured.weights.is_some());
    texts
        .flat_map(|text| schemes.map(|scheme| (text, scheme)))
        .collect()
}

/// Equal for candidates that compute the same on a product of this K.
fn digest(candidate: &Candidate, k: usize) -> Option<[u64; 2]> {
    let spec = &candidate.schedule.as_ref()?.spec;
    let span = candidate.arithmetic.step.span();
    let walk = KTraversal::new(spec, k, span, TileOfD::ONLY).ok()?;
    // Tiles of D may have orders of their own.
    let split = spec.split.as_ref();
    let tiled = split.filter(|split| matches!(split.parts, Parts::Tiles { .. }));
    let rest = serde_json::to_string(&(&spec.epilogue, &spec.scales, tiled)).ok()?;
    let arithmetic = candidate.arithmetic.sha256();
    Some(candidates::digest((
        (arithmetic, candidate.nearest),
        candidate.result(),
        walk,
        rest,
    )))
}

/// Formats of A and B: those given, or those that the text states, or the only ones that the files can have.
fn operands(
    reading: &KernelReading,
    shape: Shape,
    formats: Formats,
    captured: &Captured,
) -> Result<[Format; 2], CheckError> {
    let given = formats.a.map(|a| [a, formats.b.unwrap_or(a)]);
    let stated = reading.operands(shape);
    if let (None, Some(stated)) = (given, stated) {
        for (name, format, readings) in
            [("A", stated[0], &captured.a), ("B", stated[1], &captured.b)]
        {
            if !readings.has(format) {
                let reason =
                    format!("`kernel` says that {name} is {format}, but its file cannot hold that");
                return Err(CheckError::request("kernel", reason));
            }
        }
    }
    if let Some(operands) = given.or(stated) {
        return Ok(operands);
    }
    match (captured.a.only(), captured.b.only()) {
        (Some(a), Some(b)) => Ok([a, b]),
        _ => Err(CheckError::request(
            "dtype",
            "neither `kernel` nor the files determine the operands' format; give `dtype`",
        )),
    }
}

/// The plan as a check requests it: the text, with what was found.
fn request(plan: &Plan, stated: &KernelSource) -> ScheduleRequest {
    fn found<T: Copy>(setting: &Option<Sourced<T>>) -> Option<T> {
        let found = setting.as_ref().filter(|setting| setting.how == How::Found);
        found.map(|setting| setting.value)
    }
    let settings = &plan.settings;
    let accumulation = found(&settings.fast_accumulation).map(|fast| {
        if fast {
            Accumulation::Fast
        } else {
            Accumulation::Slow
        }
    });
    let kernel = KernelRequest {
        source: stated.clone(),
        answers: KernelAnswers {
            reduction: found(&settings.scheme),
            partition: found(&settings.partition),
            custom: found(&settings.custom),
            multiprocessors: found(&settings.multiprocessors),
            accumulation,
            ..KernelAnswers::default()
        },
    };
    ScheduleRequest {
        from: ScheduleSource::Kernel(Box::new(kernel)),
        overrides: Overrides {
            split_k: found(&settings.split_k),
            tile_k: found(&settings.tile_k),
            instruction_k: found(&settings.instruction_k),
            ..Overrides::default()
        },
    }
}
