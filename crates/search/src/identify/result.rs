//! What was found, as a document.

use super::kernels::Kernels;
use super::run::{FIRST, Prepared, Searched};
use super::search::{Outcome, Tested};
use super::separate::{comparable, separate};
use crate::candidates::{Candidate, Guess, Name};
use crate::check::{Check, ScheduleRequest, Source, Tf32Input, Verb, command_line, shell_line};
use crate::emu::Arithmetic;
use crate::emu::schedule::{BoundSchedule, ScheduleSpec, Values};
use crate::forms::InWords as _;
use crate::identify::document::{
    Apart, ApartOperands, Finished, Fit, IDENTIFICATION, Identification, Identified,
    IdentifiedSchedule, NEVER_SEARCHED, Named, Other, SampleSize,
};
use crate::num::Format;
use crate::report::Tool;
use crate::role::Role;

/// Schedules that do not fit and are listed all the same, the nearest.
const DISTANT: usize = 16;

/// Pairs for which operands that separate them are searched for.
const SEPARATED: usize = 12;

/// The fewest elements of D, or of the sample, that a candidate does not give.
fn nearest(tested: &[Tested], first: usize) -> Option<u64> {
    let missed = tested.iter().filter_map(|test| match test.outcome {
        Outcome::DiffersInFull { mismatches } => Some(mismatches),
        // Of others little was examined.
        Outcome::Differs if test.tested >= first => Some((test.tested - test.agreed) as u64),
        _ => None,
    });
    missed.min()
}

impl Prepared {
    pub(super) fn describe(&self, searched: &Searched) -> Identification {
        let elements: usize = self.captured.d.source.header().shape.iter().product();
        let all = &searched.found.candidates;
        let mut others = Vec::new();
        let mut distant = 0;
        let fitting: Vec<&Tested> = searched.found.fits().collect();
        let tested = &searched.found.tested;
        for test in tested.iter().filter(|test| !test.outcome.fits()) {
            let candidate = &all[test.candidate];
            let scheduled = candidate.schedule.is_some();
            if test.outcome == Outcome::Differs && scheduled && distant >= DISTANT {
                continue;
            }
            distant += usize::from(scheduled);
            others.push(Other {
                model: self.model(candidate, &searched.kernels),
                tested: test.tested,
                agreed: test.agreed,
                mismatches: match test.outcome {
                    Outcome::DiffersInFull { mismatches } => Some(mismatches),
                    _ => None,
                },
            });
        }
        let fits = fitting.iter().map(|test| Fit {
            model: self.model(&all[test.candidate], &searched.kernels),
            tested: test.tested,
            in_full: test.outcome == Outcome::Fits || test.tested == elements,
        });
        let alone = |candidate: &Candidate| candidate.schedule.is_none();
        let plain = tested
            .iter()
            .filter(|test| alone(&all[test.candidate]))
            .count();
        let fitting = fitting.iter().map(|test| &all[test.candidate]);
        let fitting: Vec<&Candidate> = fitting.collect();
        Identification {
            schema: IDENTIFICATION.into(),
            tool: Tool::default(),
            elements: elements as u64,
            sample: SampleSize {
                seed: self.request.limits.seed,
                first: FIRST.min(searched.sample.elements.len()),
                most: searched.sample.elements.len(),
                telling_first: searched.sample.telling,
            },
            telling: searched.found.telling.len(),
            nearest_other: nearest(tested, FIRST.min(searched.sample.elements.len())),
            budget: self.request.limits.budget,
            architectures: self.architectures.clone(),
            kernel: self.request.kernel.clone(),
            plain,
            untested: all.iter().filter(|candidate| alone(candidate)).count() - plain,
            schedules: searched.schedules.clone(),
            never_searched: self.never_searched(),
            separations: self.separations(&fitting),
            fits: fits.collect(),
            finished: searched
                .finished
                .iter()
                .map(|(candidate, epilogue)| Finished {
                    model: self.model(candidate, &searched.kernels),
                    epilogue: epilogue.clone(),
                })
                .collect(),
            others,
        }
    }

    /// What this search leaves out.
    fn never_searched(&self) -> Vec<String> {
        let others = "orders that contradict the kernel text: omit --kernel";
        let others = self.kernels.is_some().then_some(others);
        let scaled = "kernels that do not scale results: omit --scale-result";
        let scaled = self.request.scale_result.map(|_| scaled);
        let counts = "kernels of weights on other numbers of multiprocessors than those of the GPUs that are listed: check \
                      --set multiprocessors=N";
        let counts = self.captured.weights.as_ref().map(|_| counts);
        // The first two are about other kernels.
        let rest = &NEVER_SEARCHED[if others.is_some() { 2 } else { 0 }..];
        let all = others.into_iter().chain(scaled).chain(counts);
        let all = all.chain(rest.iter().copied());
        all.map(str::to_owned).collect()
    }

    fn separations(&self, fitting: &[&Candidate]) -> Vec<Apart> {
        let k = self.captured.a.source.header();
        let k = if self.request.operands.transpose_a {
            k.shape[k.shape.len() - 2]
        } else {
            k.shape[k.shape.len() - 1]
        };
        let hex = |format: Format, code: u64| {
            let width = 2 * format.bytes();
            format!("{code:0width$x}")
        };
        let others = fitting.iter().enumerate().skip(1).take(SEPARATED);
        let apart = others.map(|(i, other)| Apart {
            between: [0, i],
            comparable: comparable(fitting[0], other),
            operands: separate(fitting[0], other, k).map(|dot| {
                let [format_a, format_b] = other.reads();
                let codes = |format: Format, codes: &[u64]| {
                    codes.iter().map(|&code| hex(format, code)).collect()
                };
                ApartOperands {
                    a: codes(format_a, &dot.a),
                    b: codes(format_b, &dot.b),
                    c: hex(other.arithmetic.addend(), dot.c),
                    results: dot.results.map(|code| hex(other.result(), code)),
                }
            }),
        });
        apart.collect()
    }

    /// The checks that fits are, each by that of its names which is known best.
    pub(super) fn checks(&self, searched: &Searched) -> Vec<Check> {
        let fits = searched.found.fits();
        let checks = fits.map(|test| {
            let candidate = &searched.found.candidates[test.candidate];
            // Of equals the first.
            let names = candidate.names.iter().rev();
            let name = names.max_by_key(|name| name.evidence);
            let name = name.expect("a candidate has a name");
            self.check(name, candidate, &searched.kernels)
        });
        checks.collect()
    }

    /// The check that a fit is.
    fn check(&self, name: &Name, candidate: &Candidate, kernels: &Kernels) -> Check {
        let mut operands = self.request.operands.clone();
        let mut d = self.request.d.clone();
        // What a program holds, a command finds under its field's name, if it is saved so.
        for (role, source) in operands.arrays.iter_mut().chain([(&Role::D, &mut d)]) {
            if *source == Source::Memory {
                let name = role.symbol().to_lowercase();
                *source = Source::File(format!("{name}.npy").into());
            }
        }
        let [a, b] = [Role::A, Role::B].map(|role| operands.arrays[&role].clone());
        let sources = [a, b, d];
        let mut check = Check::new(&name.architecture, candidate.arithmetic.a, sources);
        check = check.with_rule(
            [&name.architecture, &name.instruction],
            &candidate.arithmetic,
        );
        check = check.with_formats(candidate.reads());
        check.operands = operands;
        if candidate.nearest {
            check.operands.tf32_input = Tf32Input::Nearest;
        }
        check.d_dtype = candidate.convert_to.or(self.request.formats.d);
        if let Some(guess) = &candidate.schedule {
            check.schedule = self.schedule(guess, kernels);
        }
        check
    }

    /// The schedule as a check requests it.
    fn schedule(&self, guess: &Guess, kernels: &Kernels) -> ScheduleRequest {
        let mut schedule = match guess.plan {
            Some(plan) => kernels.request(plan),
            None => ScheduleRequest::preset(&guess.preset.name, &guess.overrides),
        };
        schedule.overrides.scale_result = self.request.scale_result;
        schedule
    }

    /// The k that a schedule leaves out of this product, by the first tile of D.
    fn omitted(&self, spec: &ScheduleSpec, arithmetic: &Arithmetic) -> Vec<[usize; 2]> {
        let problem = self.problem();
        let values = Values::default();
        let kernel = BoundSchedule::new(spec, &values, &problem);
        kernel.omitted(problem.k, arithmetic.step.span())
    }

    fn model(&self, candidate: &Candidate, kernels: &Kernels) -> Identified {
        let arithmetic = candidate.arithmetic.clone();
        let names = candidate.names.iter().map(|name| Named {
            architecture: name.architecture.clone(),
            instruction: name.instruction.clone(),
            evidence: name.evidence,
            command: shell_line(command_line(
                Verb::Check,
                &self.check(name, candidate, kernels),
            )),
        });
        Identified {
            names: names.collect(),
            sha256: arithmetic.sha256(),
            // Sums of slices are put together in FP64, and no sum is rounded to it.
            rounded_to: candidate.convert_to.filter(|&to| to != Format::Fp64),
            nearest: candidate.nearest,
            summary: arithmetic.step.summary(),
            arithmetic,
            schedule: candidate.schedule.as_ref().map(|guess| IdentifiedSchedule {
                name: guess.preset.name.clone(),
                title: guess.preset.title.clone(),
                evidence: guess.preset.evidence,
                overrides: self.schedule(guess, kernels).overrides,
                summary: guess.spec.in_words(),
                sha256: guess.spec.sha256(),
                omitted_k: self.omitted(&guess.spec, &candidate.arithmetic),
                spec: guess.spec.clone(),
                kernel: guess.plan.map(|plan| {
                    let mut description = kernels.description(plan).clone();
                    // Where several compute the same, none is found.
                    let mut pairs = candidate.names.windows(2);
                    let one = pairs.all(|two| two[0].architecture == two[1].architecture);
                    description
                        .settings
                        .retain(|setting| one || !setting.is_found("GPU"));
                    description
                }),
            }),
        }
    }
}
