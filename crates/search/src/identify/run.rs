//! A search, from files to what fits.

use super::captured::Captured;
use super::common::SharedWork;
use super::emulations;
use super::kernels::Kernels;
use super::request::{Identify, IdentifyError, Schedules};
use super::sample::Sample;
use super::schedules::ScheduleContext;
use super::search::{Budget, Found, Given, Search, Which};
use crate::candidates::{Candidate, Conditions, Name, candidates};
use crate::check::{Check, CheckError, EngineChoice, KernelSource, Progress};
use crate::deadline::interruptible;
use crate::emu::schedule::Values;
use crate::emu::{Catalogue, Engine, Engines, Problem, Replay, Scale};
use crate::engines;
use crate::identify::document::{Identification, SchedulesSearched};
use crate::io;
use crate::num::Format;
use crate::role::Role;

/// Elements every model is tested on.
pub(super) const FIRST: usize = 64;

/// Elements every schedule is tested on.
const FEW: usize = 4;

/// Elements on which candidates under schedules share sums.
const TOGETHER: usize = 64;

/// Elements among which those that tell candidates apart are searched.
const POOL: usize = 1 << 14;

/// A search that owns what it read.
pub struct Prepared {
    pub(super) request: Identify,
    /// What the kernel text allows, if there is one.
    pub(super) kernels: Option<Kernels>,
    /// The only architectures that are examined, if not all are.
    pub(super) architectures: Vec<String>,
    pub(super) captured: Captured,
    pub(super) engine: Engine<'static>,
}

impl Identify {
    /// Reads the files.
    pub fn prepare(&self) -> Result<Prepared, IdentifyError> {
        self.prepare_with(&mut |_| None)
    }

    /// Reads the files; arrays that are [`Source::Memory`](crate::check::Source::Memory) come from the caller, by their fields.
    ///
    /// # Errors
    /// As of [`Identify::prepare`]; or an array is missing.
    pub fn prepare_with(
        &self,
        memory: &mut dyn FnMut(&str) -> Option<io::Source>,
    ) -> Result<Prepared, IdentifyError> {
        self.prepare_by(engines::here(), memory)
    }

    /// Reads the files; arrays that are [`Source::Memory`](crate::check::Source::Memory) come from the caller, by their
    /// fields.
    ///
    /// # Errors
    /// If an array cannot be read, or is missing.
    pub fn prepare_by(
        &self,
        engines: &dyn Engines,
        memory: &mut dyn FnMut(&str) -> Option<io::Source>,
    ) -> Result<Prepared, IdentifyError> {
        if self.operands.has(Role::SparseA) {
            let reason =
                "`sparse_a`: the search does not cover products of a compressed A; name the model";
            return Err(CheckError::request("sparse_a", reason).into());
        }
        let kernels = [
            ("kernel", self.kernel.is_some()),
            ("scale_result", self.scale_result.is_some()),
            ("bias", self.operands.has(Role::Bias)),
        ];
        let kernels = kernels.iter().find(|(_, given)| *given);
        if let Some((field, _)) = kernels.filter(|_| self.schedules == Schedules::Never) {
            let reason = format!(
                "`{field}` applies to kernels, but this search excludes schedules of kernels"
            );
            return Err(CheckError::request(field, reason).into());
        }
        let architectures = self.architectures.iter().map(|name| {
            let found = Catalogue::builtin().find(name);
            let found = found.map_err(CheckError::of("arch"))?;
            Ok(found.name.clone())
        });
        let mut architectures = architectures.collect::<Result<Vec<_>, CheckError>>()?;
        architectures.sort();
        architectures.dedup();
        let captured = Captured::read(self, memory)?;
        let kernel = self.kernel.clone().map(KernelSource::Text);
        let kernel = kernel.map(|text| Kernels::of(text, self.formats, &captured, &architectures));
        let engine = match self.engine {
            EngineChoice::Exact => Engine::Exact,
            // No GPU computes here.
            EngineChoice::Fast | EngineChoice::Auto => {
                engines.fast(None).map_err(CheckError::of("engine"))?
            }
            _ => return Err(CheckError::request("engine", EngineChoice::ON_CPU).into()),
        };
        Ok(Prepared {
            request: self.clone(),
            kernels: kernel.transpose()?,
            architectures,
            captured,
            engine,
        })
    }
}

/// Everything that was tested.
pub(super) struct Searched {
    /// Models alone, then those under schedules.
    pub found: Found,
    /// The plans of candidates that have one.
    pub kernels: Kernels,
    pub schedules: Option<SchedulesSearched>,
    /// Those that give D except an epilogue that no check asks for, and which.
    pub finished: Vec<(Candidate, String)>,
    pub sample: Sample,
}

impl Prepared {
    /// # Errors
    /// If no model has the formats, a file has changed since it was opened, or it was interrupted.
    pub fn run(&self, progress: &dyn Progress) -> Result<Identification, IdentifyError> {
        Ok(self.describe(&self.searched(progress)?))
    }

    /// Searches, and returns with the result the checks that fit, in its order.
    pub fn choose(
        &self,
        progress: &dyn Progress,
    ) -> Result<(Identification, Vec<Check>), IdentifyError> {
        let searched = self.searched(progress)?;
        Ok((self.describe(&searched), self.checks(&searched)))
    }

    fn searched(&self, progress: &dyn Progress) -> Result<Searched, IdentifyError> {
        let found = interruptible(|| self.search(progress));
        found.unwrap_or_else(|ended| Err(CheckError::ended(ended).into()))
    }

    fn search(&self, progress: &dyn Progress) -> Result<Searched, IdentifyError> {
        let limits = self.request.limits;
        progress.begin(limits.budget);
        let mut budget = Budget::new(limits.budget);
        let captured = &self.captured;
        let has_c = |format| captured.c.as_ref().is_none_or(|c| c.has(format));
        let has_d = |format| captured.d.has(format);
        let multiplies = self.problem().k > 0;
        // Only schedules define a D without products.
        let plain = if multiplies {
            self.without_schedule(&has_c, &has_d, &|scale| captured.has_scales(scale))
        } else {
            Vec::new()
        };
        let given = |candidate: &Candidate| self.given(candidate);
        let sample = self.sample(&plain, &mut budget, progress);
        // A kernel text fixes the kernel, and only schedules scale results and add a bias.
        let is_fixed = self.is_of_kernels();
        let plain = if is_fixed { Vec::new() } else { plain };
        let mut kernels = self.kernels.clone().unwrap_or_default();
        let alone = Search {
            given: &given,
            sample: &sample,
            first: FIRST,
            engine: self.engine,
            progress,
            products: self.problem().k,
            common: None,
        };
        let mut found = alone.tested(limits.quick, plain, &mut budget);
        let mut scheduled = None;
        let (mut finished, mut left) = (Vec::new(), 0);
        if self.wants_schedules(&found) {
            // Any accumulator whose sums an epilogue turns into this D, and no scales of its own.
            let base = self.without_schedule(&|_| true, &|_| true, &|scale| scale.is_none());
            let context = ScheduleContext::new(captured, self.problem(), self.request.scale_result);
            let more = match self.kernels {
                Some(_) => kernels.candidates(&context, &base, &[]),
                None => {
                    let mut more = context.candidates(&base, &found);
                    kernels = Kernels::unnamed(self.request.formats, &context);
                    more.extend(kernels.candidates(&context, &base, &more));
                    more
                }
            };
            let given = |candidate: &Candidate| context.given(candidate);
            let first = &sample.elements[..TOGETHER.min(sample.elements.len())];
            // Kernels of weights multiply one of two Bs.
            let shares = captured.weights.is_none();
            let common = shares.then(|| SharedWork::of(&more, first));
            let under = Search {
                given: &given,
                first: FEW,
                common: common.as_ref(),
                ..alone
            };
            let mut more = under.tested(limits.quick, more, &mut budget);
            let fits = |more: &Found| found.fits().chain(more.fits()).next().is_some();
            let free =
                self.kernels.is_none() && captured.scales.is_none() && !is_fixed && multiplies;
            if free && (self.is_fp64() || !fits(&more)) {
                let candidates = emulations::candidates(&context, &|format| self.units_of(format));
                let under = Search {
                    common: None,
                    products: emulations::products(&candidates, &context),
                    ..under
                };
                more.append(under.tested(limits.quick, candidates, &mut budget));
            }
            if free && !fits(&more) {
                let all = found.candidates.iter().chain(&more.candidates);
                let epilogues = self.epilogues(&context, all.collect(), progress);
                let under = Search {
                    common: None,
                    ..under
                };
                more.append(under.tested(limits.quick, epilogues.candidates, &mut budget));
                finished = epilogues.others;
                left = epilogues.left;
            }
            under.rivals(&mut more, &mut budget);
            scheduled = Some(more);
        }
        alone.rivals(&mut found, &mut budget);
        if !limits.quick {
            alone.in_full(Which::Near, &mut found, &mut budget);
        }
        let mut schedules = None;
        if let Some(more) = scheduled {
            schedules = Some(SchedulesSearched {
                tested: more.tested.len(),
                untested: more.candidates.len() - more.tested.len() + left,
                first: FEW.min(sample.elements.len()),
            });
            found.append(more);
        }
        if found.candidates.is_empty() && self.kernels.is_some() {
            let reason = "no model in the catalogue computes these files in an order that `kernel` allows; 'tcverify \
                          kernels explain' explains that text";
            return Err(CheckError::request("kernel", reason).into());
        }
        if found.candidates.is_empty() && !multiplies {
            let reason = "K is 0, and no schedule that defines D without products fits these files and this request";
            return Err(
                CheckError::array("a", self.captured.a.source.label().display(), reason).into(),
            );
        }
        if found.candidates.is_empty() {
            return Err(if self.architectures.is_empty() {
                IdentifyError::NoCandidate
            } else {
                IdentifyError::NoneOf(self.architectures.join(", "))
            });
        }
        found.sort(FIRST);
        for readings in captured.all() {
            let unchanged = readings.source.file().confirm_unchanged();
            unchanged.map_err(CheckError::file(readings.role.field()))?;
        }
        Ok(Searched {
            found,
            kernels,
            schedules,
            finished,
            sample,
        })
    }

    /// The problem in some of its formats.
    pub(super) fn problem(&self) -> Problem<'_> {
        let problem = self.captured.problem(self.captured.any(), None);
        problem.expect("shapes were checked")
    }

    /// Candidates without a schedule whose formats fit the files, C, D and scales.
    fn without_schedule(
        &self,
        c: &dyn Fn(Format) -> bool,
        d: &dyn Fn(Format) -> bool,
        scale: &dyn Fn(Option<Scale>) -> bool,
    ) -> Vec<Candidate> {
        let conditions = Conditions {
            // They are so many that they are tried only where an architecture is named.
            blocks: !self.architectures.is_empty(),
            a: &|format| self.captured.a.has(format),
            b: &|format| self.captured.b.has(format),
            c,
            d,
            scale,
            k: self.problem().k,
        };
        let found = self.on_architectures(&conditions);
        let rounds = |one: &Candidate| self.captured.rounds([one.arithmetic.a, one.arithmetic.b]);
        let and_nearest = |one: Candidate| {
            let nearest = rounds(&one).then(|| Candidate {
                nearest: true,
                ..one.clone()
            });
            std::iter::once(one).chain(nearest)
        };
        found.into_iter().flat_map(and_nearest).collect()
    }

    /// Units that multiply this format, and sum in one that nothing rounds.
    fn units_of(&self, operands: Format) -> Vec<Candidate> {
        let is_it = |format| format == operands;
        self.on_architectures(&Conditions {
            blocks: false,
            a: &is_it,
            b: &is_it,
            c: &|_| true,
            d: &|format| matches!(format, Format::Fp32 | Format::Int32),
            scale: &|scale| scale.is_none(),
            k: self.problem().k,
        })
    }

    /// Candidates on the architectures that are examined.
    fn on_architectures(&self, conditions: &Conditions) -> Vec<Candidate> {
        let mut found = candidates(Catalogue::builtin(), conditions);
        if !self.architectures.is_empty() {
            for candidate in &mut found {
                let wanted = |name: &Name| self.architectures.contains(&name.architecture);
                candidate.names.retain(wanted);
            }
            found.retain(|candidate| !candidate.names.is_empty());
        }
        found
    }

    fn given(&self, candidate: &Candidate) -> Given<'_> {
        let arithmetic = &candidate.arithmetic;
        let formats = [arithmetic.a, arithmetic.b, arithmetic.addend()];
        let captured = &self.captured;
        let problem = captured.problem_of(formats, candidate.nearest, arithmetic.scale);
        Given {
            problem: problem.expect("shapes were checked, and fit every format"),
            d: self.captured.d.tensor(candidate.result()),
            values: Values::default(),
        }
    }

    /// Where D has as many bits as the sum, most elements tell two orders of adding up apart; where it
    /// has fewer, those whose sums lie near the middle between two of its numbers.
    fn sample(&self, plain: &[Candidate], budget: &mut Budget, progress: &dyn Progress) -> Sample {
        let limits = self.request.limits;
        let problem = self.problem();
        let random = Sample::of(&problem, limits.sample, limits.seed);
        let rounded: Vec<Candidate> = plain
            .iter()
            .filter(|candidate| candidate.convert_to.is_some())
            .cloned()
            .collect();
        let given = |candidate: &Candidate| self.given(candidate);
        let first = Sample {
            elements: random.elements[..FIRST.min(random.elements.len())].to_vec(),
            ..random.clone()
        };
        let search = Search {
            given: &given,
            sample: &first,
            first: FIRST,
            engine: self.engine,
            progress,
            products: problem.k,
            common: None,
        };
        // Sums of the model that comes nearest.
        let found = search.sampled(rounded, budget);
        let Some(nearest) = found.tested.first() else {
            return random;
        };
        let nearest = &found.candidates[nearest.candidate];
        // A quarter of the work at the most.
        let most = limits.budget / 4 / problem.k as u64;
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(POOL);
        let pool = Sample::of(&problem, most.max(limits.sample), limits.seed);
        if !budget.spend_elements(pool.elements.len(), problem.k, progress) {
            return random;
        }
        let given = self.given(nearest);
        let sums = Replay {
            problem: given.problem,
            arithmetic: &nearest.arithmetic,
            convert_to: None,
            engine: self.engine,
            kernel: None,
        };
        let codes = sums.elements(&pool.elements);
        let formats = [nearest.arithmetic.accumulator, nearest.result()];
        pool.telling(&codes, formats, limits.sample)
    }

    /// Whether no model alone can give D: a kernel is named, or does what is asked of it.
    fn is_of_kernels(&self) -> bool {
        let with_bias = self.captured.bias.is_some();
        self.kernels.is_some() || self.request.scale_result.is_some() || with_bias
    }

    /// Whether A, B and D are FP64: many slices of INT8 may give what exact sums give, so both are tried.
    fn is_fp64(&self) -> bool {
        emulations::may_be(&self.captured, Format::Fp64, Format::Int8)
    }

    fn wants_schedules(&self, found: &Found) -> bool {
        // Of 8 and 16 bits: one model's sums fit where another's with a schedule do.
        let narrow = |candidate: &Candidate| candidate.result().bytes() < 4;
        match self.request.schedules {
            Schedules::Never => false,
            _ if self.is_of_kernels() => true,
            Schedules::Always => true,
            Schedules::Auto => {
                let mut fits = found.fits().peekable();
                fits.peek().is_none()
                    || self.is_fp64()
                    || fits.any(|test| narrow(&found.candidates[test.candidate]))
            }
        }
    }
}
