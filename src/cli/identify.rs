//! `tcverify identify`: which models of the catalogue give this D.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};

use super::args::{OperandArgs, any_format, engine};
use super::progress::Bar;
use super::schedule_search::ScheduleSearch;
use super::{Ending, show};
use crate::check::{Check, Progress as _, Tf32Input, Verb, command_line, shell_line};
use crate::emu::schedule::Values;
use crate::emu::{Catalogue, Problem, Scale, shape_text};
use crate::generate::{PREFIX, Role, Spec};
use crate::identify::{
    Candidate, Conditions, Given, Name, Outcome, Sample, Tested, candidates, search, separate,
};
use crate::io::{Output, Outputs, Source};
use crate::num::Format;
use crate::report::{
    Apart, ApartOperands, Fit, IDENTIFICATION, Identification, Identified, IdentifiedSchedule,
    Named, Other, SampleSize, SchedulesSearched, Tool,
};
use crate::tensor::{Planes, Tensor};

/// Find out which models of the catalogue give a D
///
/// Every architecture, instruction and accumulation whose formats the files allow is tested on a
/// growing sample of D; what gives the whole sample is replayed in full. Models that no element of
/// this D can tell apart are all named, with operands on which they differ. Where no model alone gives D,
/// the kernels' schedules are searched too: partial tiles, splits of K, promotion, permutations, scales.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  tcverify identify a.npy b.npy d.npy
  tcverify identify --dtype e4m3 --c c.npy a.npy b.npy d.npy
  tcverify identify --quick --json - a.npy b.npy d.npy
  tcverify identify --dtype bf16 --schedules always a.npy b.npy d.npy

Without --dtype every format is tried that the codes in the files can be. Exit codes: 0 at least one
model gives D, 1 none does, 2 anything else.")]
pub struct Identify {
    #[command(flatten)]
    operands: OperandArgs,

    /// The captured D: x.npy, x.npz#name or x.safetensors#name
    #[arg(value_name = "D.npy")]
    d: PathBuf,

    /// Format of A and B, if it is known
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = any_format())]
    dtype: Option<Format>,

    /// Format of B, where it differs from A's
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = any_format(), requires = "dtype")]
    dtype_b: Option<Format>,

    /// Format of D, if it is known
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = any_format())]
    d_dtype: Option<Format>,

    /// Search schedules of kernels: if no model alone gives D, in any case, or not at all
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    schedules: Schedules,

    /// Multiply-adds, in millions, that the search of schedules may spend before it stops; full replays
    /// of what fits the sample not counted
    #[arg(long, value_name = "N", default_value_t = 5000)]
    budget: u64,

    /// Stop after the sample: nothing is replayed in full
    #[arg(long)]
    quick: bool,

    /// Elements of the sample
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    sample: u32,

    /// Seed of the sample
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Print nothing; the exit code tells
    #[arg(long, short)]
    quiet: bool,

    /// Write what was found as JSON; "-" is standard output, instead of the text
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Schedules {
    Auto,
    Always,
    Never,
}

/// Elements every candidate is tested on.
const FIRST: usize = 64;

/// Schedules that do not fit and are listed all the same, the nearest.
const DISTANT: usize = 16;

/// Pairs for which operands that separate them are looked for.
const SEPARATED: usize = 12;

/// A file as every format that it can be.
pub(super) struct Readings {
    file: Source,
    pub tensors: BTreeMap<Format, Tensor>,
}

impl Readings {
    fn of(path: &Path, role: Role, wanted: Option<Format>, tf32: Tf32Input) -> Result<Readings> {
        let generated = path.to_str().is_some_and(|path| path.starts_with(PREFIX));
        let file = match (generated, wanted) {
            // What is generated are numbers of a format, so it has no other.
            (true, None) => bail!(
                "{}: a generated operand has the format that it is made for, which only --dtype can say \
                 (of A and B)",
                path.display()
            ),
            (true, Some(format)) => {
                let text = path.to_str().expect("it has the prefix");
                let spec = Spec::parse(text).expect("it has the prefix");
                let spec = spec.map_err(anyhow::Error::msg)?;
                crate::io::Files::default().generated(path, &spec, format, role)?
            }
            (false, _) => Source::open(path)?,
        };
        let wanted = |format| wanted.is_none_or(|wanted| wanted == format);
        let mut tensors = BTreeMap::new();
        let mut reason = None;
        // A type of its own says what it holds; only wide floats may be narrow numbers widened.
        let own = file.header().descr.own_format();
        let own = own.filter(|own| !matches!(own, Format::Fp32 | Format::Fp64));
        let possible = |&format: &Format| wanted(format) && own.is_none_or(|own| own == format);
        for format in Format::ALL.into_iter().filter(possible) {
            match file.tensor(format) {
                Ok(tensor) if tf32 == Tf32Input::Nearest => {
                    tensors.insert(format, tensor.rounding_tf32());
                }
                Ok(tensor) => {
                    tensors.insert(format, tensor);
                }
                Err(error) => reason = Some(error),
            }
        }
        match reason {
            Some(error) if tensors.is_empty() => Err(error.into()),
            None if tensors.is_empty() => {
                let own = own.map_or(String::new(), |own| format!("; it holds {own}"));
                bail!("{}: has none of the formats asked for{own}", path.display())
            }
            _ => Ok(Readings { file, tensors }),
        }
    }

    pub fn has(&self, format: Format) -> bool {
        self.tensors.contains_key(&format)
    }
}

pub(super) fn planes(readings: &Readings, format: Format, transpose: bool) -> Planes<'_> {
    let planes = readings.tensors[&format].planes();
    if transpose {
        planes.transposed()
    } else {
        planes
    }
}

pub(super) struct Files {
    pub a: Readings,
    pub b: Readings,
    pub c: Option<Readings>,
    pub scales: Option<[Readings; 2]>,
    pub d: Readings,
}

impl Files {
    fn all(&self) -> impl Iterator<Item = &Readings> {
        let scales = self.scales.iter().flatten();
        [&self.a, &self.b, &self.d]
            .into_iter()
            .chain(&self.c)
            .chain(scales)
    }

    /// The problem in a candidate's formats.
    pub fn given(
        &self,
        args: &OperandArgs,
        formats: [Format; 4],
        scale: Option<Scale>,
    ) -> Result<Given<'_>> {
        let [a, b, c, d] = formats;
        let mut problem = Problem::new(
            planes(&self.a, a, args.transpose_a),
            planes(&self.b, b, args.transpose_b),
            self.c.as_ref().map(|readings| planes(readings, c, false)),
        )?;
        if let (Some(scale), Some([of_a, of_b])) = (scale, &self.scales) {
            problem = problem.with_scales(
                planes(of_a, scale.format, args.transpose_a),
                planes(of_b, scale.format, args.transpose_b),
                scale.block,
            )?;
        }
        let d = &self.d.tensors[&d];
        Ok(Given {
            problem,
            d,
            values: Values::default(),
        })
    }
}

impl Identify {
    pub fn run(self) -> Result<Ending> {
        let files = self.read()?;
        let first = |readings: &Readings| *readings.tensors.keys().next().expect("one at least");
        let any_c = files.c.as_ref().map_or(Format::Fp32, first);
        let any = [first(&files.a), first(&files.b), any_c, first(&files.d)];
        // Shapes do not depend on formats.
        let problem = files.given(&self.operands, any, None)?.problem;
        let (want, have) = (problem.d_shape(), &files.d.file.header().shape);
        ensure!(
            want == *have,
            "{}: D is {} here, but A*B is {}",
            self.d.display(),
            shape_text(have),
            shape_text(&want)
        );
        let mut outputs = Outputs::new();
        for (role, path) in self.inputs() {
            outputs.protect(role, path);
        }
        let json = self.json.as_deref();
        let output = json
            .map(|path| outputs.open("the JSON report", path))
            .transpose()?;

        let scale = |scale: Option<Scale>| match (&files.scales, scale) {
            (None, None) => true,
            (Some([a, b]), Some(scale)) => {
                let readable = a.has(scale.format) && b.has(scale.format);
                readable && files.given(&self.operands, any, Some(scale)).is_ok()
            }
            _ => false,
        };
        let of = |c: &dyn Fn(Format) -> bool, d: &dyn Fn(Format) -> bool, scale| {
            let conditions = Conditions {
                a: &|format| files.a.has(format),
                b: &|format| files.b.has(format),
                c,
                d,
                scale,
                k: problem.k,
            };
            candidates(Catalogue::builtin(), &conditions)
        };
        let c = |format| files.c.as_ref().is_none_or(|c| c.has(format));
        let mut found = of(&c, &|format| files.d.has(format), &scale);
        let sample = Sample::of(&problem, self.sample as usize, FIRST, self.seed);
        let engine = engine(self.operands.engine)?;
        let meter = Bar::new();
        meter.begin(problem.work());
        let full = (!self.quick).then_some(engine);
        let progress = |work| meter.advance(work);
        let given = |candidate: &Candidate| self.given(&files, candidate);
        let mut tested = search(&found, given, &sample, full, &progress);
        let fits = |tested: &[Tested]| tested.iter().any(|test| test.outcome.fits());
        let wanted = match self.schedules {
            Schedules::Never => false,
            Schedules::Auto => !fits(&tested),
            Schedules::Always => true,
        };
        let mut supposed = None;
        if wanted {
            // Any accumulator whose sums an epilogue turns into this D, and no scales of its own.
            let base = of(&|_| true, &|_| true, &|scale: Option<Scale>| {
                scale.is_none()
            });
            let lists = ScheduleSearch {
                files: &files,
                args: &self.operands,
                problem: &problem,
                sample: &sample,
                budget: self.budget.saturating_mul(1_000_000),
                full,
            };
            let more = lists.run(&base, &found, &tested, &progress);
            let offset = found.len();
            tested.extend(more.tested.into_iter().map(|test| Tested {
                candidate: test.candidate + offset,
                ..test
            }));
            found.extend(more.candidates);
            crate::identify::sort(&mut tested, &sample);
            supposed = Some(more.report);
        }
        ensure!(
            !found.is_empty(),
            "no model of the catalogue has the formats of these files; 'tcverify archs' lists what there is"
        );
        drop(meter);
        for readings in files.all() {
            readings.file.file().confirm_unchanged()?;
        }
        let identification = self.describe(
            &found,
            &tested,
            &sample,
            files.d.tensors[&any[3]].len(),
            supposed,
        );
        self.publish(&identification, output)?;
        Ok(if identification.fits.is_empty() {
            Ending::Different
        } else {
            Ending::Done
        })
    }

    fn inputs(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let args = &self.operands;
        let all = [
            ("A", Some(&args.a)),
            ("B", Some(&args.b)),
            ("C", args.c.as_ref()),
            ("the scales of A", args.scale_a.as_ref()),
            ("the scales of B", args.scale_b.as_ref()),
            ("D", Some(&self.d)),
        ];
        all.into_iter()
            .filter_map(|(role, path)| Some((role, path?.as_path())))
    }

    fn read(&self) -> Result<Files> {
        let args = &self.operands;
        let tf32 = args.tf32_input;
        let readings =
            |path: &Path, role, wanted: Option<Format>| Readings::of(path, role, wanted, tf32);
        let scales = match (&args.scale_a, &args.scale_b) {
            (Some(a), Some(b)) => Some([
                readings(a, Role::ScaleA, None)?,
                readings(b, Role::ScaleB, None)?,
            ]),
            _ => None,
        };
        Ok(Files {
            a: readings(&args.a, Role::A, self.dtype)?,
            b: readings(&args.b, Role::B, self.dtype_b.or(self.dtype))?,
            c: args
                .c
                .as_deref()
                .map(|c| readings(c, Role::C, None))
                .transpose()?,
            scales,
            d: readings(&self.d, Role::C, self.d_dtype)?,
        })
    }

    fn given<'a>(&self, files: &'a Files, candidate: &Candidate) -> Given<'a> {
        let arithmetic = &candidate.arithmetic;
        let formats = [
            arithmetic.a,
            arithmetic.b,
            arithmetic.addend(),
            candidate.result(),
        ];
        let given = files.given(&self.operands, formats, arithmetic.scale);
        given.expect("shapes were checked, and fit every format")
    }

    fn describe(
        &self,
        found: &[Candidate],
        tested: &[Tested],
        sample: &Sample,
        elements: usize,
        schedules: Option<SchedulesSearched>,
    ) -> Identification {
        let (mut fits, mut others, mut fitting) = (Vec::new(), Vec::new(), Vec::new());
        let mut distant = 0;
        for test in tested {
            let candidate = &found[test.candidate];
            let model = self.model(candidate);
            match test.outcome {
                Outcome::Fits | Outcome::FitsSample => {
                    let in_full = test.outcome == Outcome::Fits || test.tested == elements;
                    fits.push(Fit { model, in_full });
                    fitting.push(candidate);
                }
                Outcome::Differs if candidate.schedule.is_some() && distant >= DISTANT => {}
                Outcome::Differs | Outcome::DiffersInFull { .. } => {
                    distant += usize::from(candidate.schedule.is_some());
                    others.push(Other {
                        model,
                        tested: test.tested,
                        agreed: test.agreed,
                        mismatches: match test.outcome {
                            Outcome::DiffersInFull { mismatches } => Some(mismatches),
                            _ => None,
                        },
                    });
                }
            }
        }
        let hex =
            |format: Format, code: u64| format!("{code:0width$x}", width = 2 * format.bytes());
        let separations = fitting
            .iter()
            .enumerate()
            .skip(1)
            .take(SEPARATED)
            .map(|(i, other)| {
                let comparable = crate::identify::comparable(fitting[0], other);
                let operands = separate(fitting[0], other).map(|dot| {
                    let a = &other.arithmetic;
                    let codes = |format: Format, codes: &[u64]| {
                        codes.iter().map(|&code| hex(format, code)).collect()
                    };
                    ApartOperands {
                        a: codes(a.a, &dot.a),
                        b: codes(a.b, &dot.b),
                        c: hex(a.addend(), dot.c),
                        results: dot.results.map(|code| hex(other.result(), code)),
                    }
                });
                Apart {
                    between: [0, i],
                    comparable,
                    operands,
                }
            });
        Identification {
            schema: IDENTIFICATION,
            tool: Tool::default(),
            elements: elements as u64,
            sample: SampleSize {
                seed: self.seed,
                first: FIRST.min(sample.elements.len()),
                most: sample.elements.len(),
            },
            candidates: found.len(),
            schedules,
            separations: separations.collect(),
            fits,
            others,
        }
    }

    /// The check that a fit is.
    fn check(&self, name: &Name, candidate: &Candidate) -> Check {
        let args = &self.operands;
        let file = |path: &Path| crate::check::Source::parse(path.as_os_str()).expect("was read");
        let sources = [&args.a, &args.b, &self.d].map(|path| file(path));
        let mut check = Check::new(&name.architecture, candidate.arithmetic.a, sources);
        check = check.with_rule(name, &candidate.arithmetic);
        check.d_dtype = candidate.convert_to.or(self.d_dtype);
        let operands = &mut check.operands;
        operands.c = args.c.as_deref().map(file);
        let scales = args.scale_a.as_deref().zip(args.scale_b.as_deref());
        operands.scales = scales.map(|(a, b)| [file(a), file(b)]);
        (operands.transpose_a, operands.transpose_b) = (args.transpose_a, args.transpose_b);
        operands.tf32_input = args.tf32_input;
        if let Some(guess) = &candidate.schedule {
            check.schedule = crate::check::request_of(&guess.options);
        }
        check
    }

    fn model(&self, candidate: &Candidate) -> Identified {
        let arithmetic = candidate.arithmetic.clone();
        let names = candidate.names.iter().map(|name| {
            let check = self.check(name, candidate);
            Named {
                architecture: name.architecture.clone(),
                instruction: name.instruction.clone(),
                evidence: name.evidence,
                command: shell_line(command_line(Verb::Check, &check)),
            }
        });
        Identified {
            names: names.collect(),
            sha256: arithmetic.sha256(),
            rounded_to: candidate.convert_to,
            summary: arithmetic.step.summary(),
            arithmetic,
            schedule: candidate.schedule.as_ref().map(|guess| IdentifiedSchedule {
                name: guess.preset.name.clone(),
                title: guess.preset.title.clone(),
                evidence: guess.preset.evidence,
                options: guess.options.clone(),
                summary: guess.spec.summary(),
                sha256: guess.spec.sha256(),
                spec: guess.spec.clone(),
            }),
        }
    }

    fn publish(&self, identification: &Identification, output: Option<Output>) -> Result<()> {
        let to_stdout = self
            .json
            .as_ref()
            .is_some_and(|path| path.as_os_str() == "-");
        if let Some(output) = output {
            output
                .commit(|out| {
                    serde_json::to_writer_pretty(&mut *out, identification)?;
                    writeln!(out)
                })
                .context("the JSON cannot be written")?;
        }
        if !self.quiet && !to_stdout {
            show::print(|out| identification.text(out))?;
        }
        Ok(())
    }
}
