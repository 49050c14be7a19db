//! Candidates under schedules of kernels.

use std::borrow::Cow;

use super::captured::Captured;
use super::readings::Readings;
use super::search::{Found, Given};
use crate::candidates::{Candidate, Guess, Wanted, granularity, guesses, tells_zeros};
use crate::emu::Problem;
use crate::emu::schedule::{
    AddendAt, BoundSchedule, Multiply, Overrides, Per, Schedule, ScheduleSpec, Values,
};
use crate::num::{F32, Format};

/// Formats that an epilogue rounds to.
pub(super) const RESULTS: [Format; 5] = [
    Format::Fp32,
    Format::Bf16,
    Format::Fp16,
    Format::E4m3,
    Format::E5m2,
];

/// What candidates under schedules are made of and tested on.
pub struct ScheduleContext<'a> {
    pub(super) captured: &'a Captured,
    pub(super) problem: Problem<'a>,
    /// What shares a scale of the kernel's.
    scales: Option<Per>,
    /// What FP8 results were multiplied by.
    scale_result: Option<F32>,
    /// With the bias, if there is one.
    values: Values,
}

impl<'a> ScheduleContext<'a> {
    pub fn new(
        captured: &'a Captured,
        problem: Problem<'a>,
        scale_result: Option<F32>,
    ) -> ScheduleContext<'a> {
        let values = Values::default();
        let values = match &captured.bias {
            Some(bias) => values.with_bias(bias.only_tensor(), &problem),
            None => Ok(values),
        };
        ScheduleContext {
            values: values.expect("shapes were checked"),
            scales: shared(captured, &problem),
            captured,
            problem,
            scale_result,
        }
    }

    /// Whether a schedule has a place for the scales that are given, and C can be read as it takes it.
    pub(super) fn can_be(&self, candidate: &Candidate, spec: &ScheduleSpec) -> bool {
        let late = spec.addend == AddendAt::Epilogue;
        let per = spec.scales.as_ref().map(|scaling| scaling.per);
        (self.captured.c.is_none() || self.c_format(candidate, late).is_some())
            && self.can_add_bias(candidate, spec)
            && (self.scales.is_none() || self.scales == per)
            && (self.scale_result.is_none() || spec.epilogue.result_scale.is_some())
    }

    /// Whether a candidate's schedule can compute this product.
    pub(super) fn takes(&self, candidate: &Candidate) -> bool {
        let Given {
            problem, values, ..
        } = self.given(candidate);
        candidate.schedule.as_ref().is_some_and(|guess| {
            let (spec, arithmetic) = (&guess.spec, &candidate.arithmetic);
            self.can_be(candidate, spec)
                && BoundSchedule::check(spec, &values, arithmetic, &problem, candidate.result())
                    .is_ok()
        })
    }

    /// With the scales of weights, if a schedule applies them to sums; none if they are not there, or do not fit.
    fn with_scales_of_weights(
        &self,
        values: &Values,
        candidate: &Candidate,
        spec: &ScheduleSpec,
    ) -> Option<Values> {
        let Some(per) = of_weights(spec) else {
            return Some(values.clone());
        };
        let scales = self
            .captured
            .weights
            .as_ref()?
            .scales(candidate.arithmetic.b);
        values
            .clone()
            .with_scales_of_b(per, scales, &self.problem)
            .ok()
    }

    /// Whether a schedule has a place for the bias, if there is one.
    fn can_add_bias(&self, candidate: &Candidate, spec: &ScheduleSpec) -> bool {
        let (arithmetic, problem) = (&candidate.arithmetic, self.problem_of(candidate));
        let values = self.with_scales_of_weights(&self.values, candidate, spec);
        let Some(values) = &values else {
            return false;
        };
        let mut results = RESULTS
            .into_iter()
            .filter(|&format| self.captured.d.has(format));
        let takes =
            |result| BoundSchedule::check(spec, values, arithmetic, &problem, result).is_ok();
        !values.has_bias() || !spec.is_in_place() && results.any(takes)
    }

    /// Schedules of this request: one chain that adds a bias, a kernel of weights.
    fn own(&self, candidate: &Candidate) -> impl Iterator<Item = Guess> {
        let of_weights = self.captured.weights.is_some();
        let names = [
            self.values.has_bias().then_some("plain"),
            of_weights.then_some("vllm-awq-gemm"),
        ];
        let rank = candidate.rank();
        names.into_iter().flatten().map(move |name| {
            let preset = Schedule::preset(name).expect("a preset");
            Guess {
                spec: preset.spec.clone(),
                preset: Cow::Borrowed(preset),
                overrides: Overrides::default(),
                rank,
                plan: None,
            }
        })
    }

    /// Every arithmetic of `base` under every schedule; those first that gave more of D by themselves.
    pub fn candidates(&self, base: &[Candidate], found: &Found) -> Vec<Candidate> {
        let rank = |candidate: &Candidate| {
            let same = |index: usize| found.candidates[index].is_like(candidate);
            let place = found.tested.iter().position(|test| same(test.candidate));
            place.unwrap_or(usize::MAX)
        };
        let mut arithmetics: Vec<&Candidate> = Vec::new();
        for candidate in base {
            let known = |known: &&Candidate| known.is_like(candidate);
            if !arithmetics.iter().any(known) {
                arithmetics.push(candidate);
            }
        }
        arithmetics.sort_by_key(|candidate| rank(candidate));
        let captured = self.captured;
        if captured.scales.is_some() && self.scales.is_none() {
            return Vec::new();
        }
        let mut candidates = Vec::new();
        let zeros = RESULTS.into_iter().filter(|&format| captured.d.has(format));
        let zeros: Vec<Format> = zeros
            .filter(|&format| tells_zeros(captured.d.tensor(format)))
            .collect();
        for candidate in arithmetics {
            let problem = self.problem_of(candidate);
            let results = RESULTS.into_iter();
            for result in results.filter(|&format| captured.d.has(format)) {
                let list = guesses(&Wanted {
                    arithmetic: &candidate.arithmetic,
                    problem: &problem,
                    result,
                    scales: self.scales,
                    zeros: zeros.contains(&result),
                    afford: &|_| true,
                });
                let guesses = self.own(candidate).chain(list);
                let possible = guesses.filter(|guess| self.can_be(candidate, &guess.spec));
                candidates.extend(possible.map(|guess| candidate.under(guess, result)));
            }
        }
        candidates
    }

    /// C as the instruction reads it, or as an epilogue does.
    fn c_format(&self, candidate: &Candidate, late: bool) -> Option<Format> {
        let c = self.captured.c.as_ref()?;
        // Slices of FP64 are added to a C of their own format.
        if candidate.reads()[0] == Format::Fp64 && candidate.schedule.is_some() {
            return c.has(Format::Fp64).then_some(Format::Fp64);
        }
        let addend = candidate.arithmetic.addend();
        if c.has(addend) {
            return Some(addend);
        }
        let readable = RESULTS.into_iter().find(|&format| c.has(format));
        readable.filter(|_| late)
    }

    /// Formats of A, B and C, as a candidate reads the files.
    fn formats(&self, candidate: &Candidate) -> [Format; 3] {
        let c = self.c_format(candidate, true);
        let c = c.unwrap_or(candidate.arithmetic.addend());
        let captured = self.captured;
        let [a, b] = candidate.reads();
        // TF32's terms are of FP32 numbers, whose codes are the same.
        let read = |readings: &Readings, format| {
            if readings.has(format) {
                format
            } else {
                Format::Fp32
            }
        };
        [read(&captured.a, a), read(&captured.b, b), c]
    }

    /// The product as a candidate reads the files; C stays as it is, if the candidate cannot read it.
    pub(super) fn problem_of(&self, candidate: &Candidate) -> Problem<'a> {
        let [a, b, c] = self.formats(candidate);
        let readable = self.captured.c.as_ref().is_none_or(|file| file.has(c));
        let c = if readable { c } else { self.captured.any()[2] };
        let problem = (self.captured).problem_of([a, b, c], candidate.nearest, None);
        problem.expect("shapes were checked, and fit every format")
    }

    pub fn given(&self, candidate: &Candidate) -> Given<'a> {
        let captured = self.captured;
        let formats @ [_, b, _] = self.formats(candidate);
        let spec = candidate.schedule.as_ref().map(|guess| &guess.spec);
        let weights = captured.weights.as_ref().zip(spec.and_then(of_weights));
        let problem = match weights {
            Some(_) => captured.unscaled_problem(formats).ok_or_else(String::new),
            None => {
                (captured.problem_of(formats, candidate.nearest, None)).map_err(|error| error.0)
            }
        };
        let problem = problem.expect("shapes were checked, and fit every format");
        let mut values = self.values.clone();
        values.scale_result = self.scale_result.map(|scale| scale.0);
        if let Some(guess) = &candidate.schedule {
            let factor = |given: Option<F32>, one: u32| given.map_or(one, |factor| factor.0);
            values.alpha = factor(guess.overrides.alpha.map(|alpha| alpha.f32), values.alpha);
            values.beta = factor(guess.overrides.beta.map(|beta| beta.f32), values.beta);
        }
        let values = match self.scales.zip(self.captured.f32_scales()) {
            Some((per, scales)) => values.with_scales(per, scales, &problem),
            None => Ok(values),
        };
        let values = match weights {
            Some((weights, per)) => {
                values.and_then(|values| values.with_scales_of_b(per, weights.scales(b), &problem))
            }
            None => values,
        };
        Given {
            problem,
            d: self.captured.d.tensor(candidate.result()),
            values: values.expect("shapes were checked"),
        }
    }
}

/// What shares a scale of weights, where a schedule applies it to sums.
fn of_weights(spec: &ScheduleSpec) -> Option<Per> {
    let scaling = spec.scales.as_ref()?;
    (scaling.multiply == Multiply::BAlone).then_some(scaling.per)
}

/// What shares a scale, if there are scales in f32.
fn shared(captured: &Captured, problem: &Problem) -> Option<Per> {
    let scales = captured.f32_scales()?;
    let shapes = scales.map(|planes| [planes.rows(), planes.columns()]);
    let per = granularity(shapes, problem)?;
    let fits = Values::default().with_scales(per, scales, problem).is_ok();
    fits.then_some(per)
}
