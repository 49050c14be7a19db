//! The part of `identify` that searches schedules of kernels.

use super::args::OperandArgs;
use super::identify::{Files, planes};
use crate::emu::schedule::{Addend, Per, Values};
use crate::emu::{Engine, Problem, Progress};
use crate::identify::{Candidate, Given, Sample, Tested, granularity, guesses, search};
use crate::num::Format;
use crate::report::SchedulesSearched;

/// What is searched.
pub struct ScheduleSearch<'a> {
    pub files: &'a Files,
    pub args: &'a OperandArgs,
    pub problem: &'a Problem<'a>,
    pub sample: &'a Sample,
    /// Multiply-adds.
    pub budget: u64,
    pub full: Option<Engine>,
}

/// Candidates, what became of them, and what is said of the search.
pub struct Found {
    pub candidates: Vec<Candidate>,
    pub tested: Vec<Tested>,
    pub report: SchedulesSearched,
}

/// Elements that a schedule is tested on first.
const FIRST: usize = 4;

/// Formats that an epilogue rounds to.
const RESULTS: [Format; 5] = [
    Format::Fp32,
    Format::Bf16,
    Format::Fp16,
    Format::E4m3,
    Format::E5m2,
];

impl ScheduleSearch<'_> {
    /// Tries the schedules of every arithmetic in `base`, those first that gave more of D by
    /// themselves.
    pub fn run(
        &self,
        base: &[Candidate],
        plain: &[Candidate],
        tested: &[Tested],
        progress: Progress,
    ) -> Found {
        let rank = |candidate: &Candidate| {
            let same = |test: &Tested| plain[test.candidate].arithmetic == candidate.arithmetic;
            tested.iter().position(same).unwrap_or(usize::MAX)
        };
        let mut arithmetics: Vec<&Candidate> = Vec::new();
        for candidate in base {
            if !arithmetics
                .iter()
                .any(|known| known.arithmetic == candidate.arithmetic)
            {
                arithmetics.push(candidate);
            }
        }
        arithmetics.sort_by_key(|candidate| rank(candidate));

        let scales = self.scales();
        let mut candidates = Vec::new();
        if self.files.scales.is_none() || scales.is_some() {
            for candidate in arithmetics {
                for result in RESULTS
                    .into_iter()
                    .filter(|&format| self.files.d.has(format))
                {
                    let list = guesses(&candidate.arithmetic, self.problem, result, scales);
                    let readable = |guess: &crate::identify::Guess| {
                        let late = guess.spec.addend == Addend::Epilogue;
                        self.c_format(candidate, late).is_some() || self.files.c.is_none()
                    };
                    let list = list.into_iter().filter(readable);
                    candidates.extend(list.map(|guess| candidate.under(guess, result)));
                }
            }
        }
        let sample = Sample {
            first: FIRST.min(self.sample.elements.len()),
            ..self.sample.clone()
        };
        let all = candidates.len();
        let cost = (sample.first * self.problem.k) as u64;
        let affordable = usize::try_from(self.budget / cost.max(1)).unwrap_or(usize::MAX);
        candidates.truncate(affordable);
        let given = |candidate: &Candidate| self.given(candidate, scales);
        let tested = search(&candidates, given, &sample, self.full, progress);
        Found {
            report: SchedulesSearched {
                tested: candidates.len(),
                untested: all - candidates.len(),
                first: sample.first,
                budget: self.budget,
            },
            candidates,
            tested,
        }
    }

    /// C as the instruction reads it, or as an epilogue does.
    fn c_format(&self, candidate: &Candidate, late: bool) -> Option<Format> {
        let c = self.files.c.as_ref()?;
        let addend = candidate.arithmetic.addend();
        if c.has(addend) {
            return Some(addend);
        }
        let readable = RESULTS.into_iter().find(|&format| c.has(format));
        readable.filter(|_| late)
    }

    fn given(&self, candidate: &Candidate, scales: Option<Per>) -> Given<'_> {
        let arithmetic = &candidate.arithmetic;
        let c = self.c_format(candidate, true);
        let formats = [
            arithmetic.a,
            arithmetic.b,
            c.unwrap_or(arithmetic.addend()),
            candidate.result(),
        ];
        let given = self.files.given(self.args, formats, None);
        let mut given = given.expect("shapes were checked, and fit every format");
        if let Some(per) = scales {
            let values = Values::default().with_scales(per, self.f32_scales(), &given.problem);
            given.values = values.expect("shapes were checked");
        }
        given
    }

    fn f32_scales(&self) -> [crate::tensor::Planes<'_>; 2] {
        let [a, b] = self.files.scales.as_ref().expect("there are scales");
        [
            planes(a, Format::Fp32, self.args.transpose_a),
            planes(b, Format::Fp32, self.args.transpose_b),
        ]
    }

    /// What shares a scale, if there are scales in f32.
    fn scales(&self) -> Option<Per> {
        let [a, b] = self.files.scales.as_ref()?;
        if !a.has(Format::Fp32) || !b.has(Format::Fp32) {
            return None;
        }
        let scales = self.f32_scales();
        let shapes = scales.map(|planes| [planes.rows(), planes.columns()]);
        let per = granularity(shapes, self.problem)?;
        let fits = Values::default()
            .with_scales(per, scales, self.problem)
            .is_ok();
        fits.then_some(per)
    }
}
