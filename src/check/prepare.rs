//! A check with everything read and chosen that it needs.

use std::ops::Range;

use super::arrays::{Arrays, confirm_unpacked, read_d};
use super::choices::EngineChoice;
use super::error::CheckError;
use super::kernel::KernelTexts;
use super::model::Model;
use super::product::{Check, Expected};
use super::reader::{Reader, RowRange, Tensors};
use super::resources::Resources;
use super::schedule::Scheduling;
use crate::emu::engine::OpenedDevice;
use crate::emu::schedule::{BoundSchedule, Values};
use crate::emu::{Choice, Engine, Engines, FastEngine, Problem, Replay};
use crate::io;
use crate::num::Format;
use crate::random::SplitMix64;
use crate::report::{Conversion, Product, Scheduled};
use crate::role::Role;
use crate::tensor::Tensor;
use crate::words::Word as _;

/// A check that owns what it read: arrays, model, schedule.
#[derive(Debug)]
pub struct Prepared {
    /// The request that was prepared.
    pub(super) check: Check,
    pub(super) model: Model,
    pub(super) scheduling: Scheduling,
    /// With the D that was read.
    pub(super) arrays: Arrays,
    values: Values,
    /// Whether there is a kernel around the instruction.
    scheduled: bool,
    /// D's.
    format: Format,
    /// Those that there are, requested or not.
    pub(super) engines: &'static dyn Engines,
    /// Who reads what libraries state.
    texts: &'static dyn KernelTexts,
    engine: Engine<'static>,
    /// In place of the engine, where one was requested.
    pub(super) device: Option<Box<dyn FastEngine>>,
}

impl Check {
    /// The check, computed by no GPU.
    pub fn on_cpu(&self) -> Check {
        let engine = match self.engine {
            EngineChoice::Exact => EngineChoice::Exact,
            _ => EngineChoice::Fast,
        };
        Check {
            engine,
            ..self.clone()
        }
    }

    /// Reads and chooses everything that the check needs; nothing is computed.
    pub fn prepare(&self, resources: &Resources) -> Result<Prepared, CheckError> {
        Prepared::new(self, &None, resources, Tensors::default())
    }

    /// Prepares a part: of A, C and D only some rows are examined, and may be used. They count on from matrix to
    /// matrix.
    pub fn prepare_rows(
        &self,
        rows: Range<usize>,
        resources: &Resources,
    ) -> Result<Prepared, CheckError> {
        Prepared::new(self, &Some(rows), resources, Tensors::default())
    }
}

impl Prepared {
    /// A check of which some arrays, or all, are tensors in memory.
    ///
    /// # Errors
    /// As of [`Check::prepare`]; or a tensor is missing.
    pub fn from_tensors(
        check: &Check,
        resources: &Resources,
        tensors: Tensors,
    ) -> Result<Prepared, CheckError> {
        Prepared::new(check, &None, resources, tensors)
    }

    fn new(
        check: &Check,
        rows: &RowRange,
        resources: &Resources,
        memory: Tensors,
    ) -> Result<Prepared, CheckError> {
        let mut from = Reader::new(&resources.files, memory);
        confirm_unpacked(check, &mut from)?;
        let scheduling = Scheduling::of(check, &mut from, resources.texts)?;
        scheduling.check_added(check.operands.has(Role::Bias), check.operands.has(Role::C))?;
        let mut wanted = check.model.clone();
        if wanted.instruction.is_none() {
            wanted.instruction = scheduling.instruction().map(str::to_owned);
        }
        let mut model = wanted.select(check.operands.has_scales(), &scheduling, resources.texts)?;
        if check.operands.has(Role::SparseA) {
            model = model.of_compressed()?;
        }
        let arithmetic = &model.arithmetic;
        let accumulator = arithmetic.accumulator;
        let sparse = model.sparse();
        let mut arrays = Arrays::read(check, (arithmetic, sparse), &scheduling, rows, &mut from)?;
        let problem = arrays.problem().map_err(|error| arrays.shapes(error))?;
        let values = arrays.values(&scheduling, &problem)?;
        let k = problem.k;
        let d = match &check.expected {
            Expected::Tensor(source) => Some(read_d(
                source,
                check.d_dtype,
                &problem,
                accumulator,
                &scheduling,
                rows,
                &mut from,
            )?),
            _ => None,
        };
        let format = match &d {
            Some(d) => d.tensor.format(),
            None => {
                let stated = check.d_dtype.or(scheduling.wide_result());
                stated.or(scheduling.result()).unwrap_or(accumulator)
            }
        };
        let possible = scheduling.check_conversion(accumulator, format);
        possible.map_err(CheckError::of("d_dtype"))?;
        if format != accumulator && arithmetic.step.rounds_results(format).is_none() {
            let reason =
                format!("it is not known how this unit stores {accumulator} sums as {format}");
            return Err(CheckError::request("d_dtype", reason));
        }
        let scheduled = scheduling.validate(&values, arithmetic, &problem, format)?;
        let engines = resources.engines;
        let engine = match check.engine {
            EngineChoice::Exact => Engine::Exact,
            _ => (engines.fast(Some(arithmetic))).map_err(CheckError::of("engine"))?,
        };
        let number = check.engine.adapter();
        let device = number.map(|number| engines.device(number)).transpose();
        let device = device.map_err(CheckError::of("engine"))?;
        let model = check.model.between_blocks(model, k, resources.texts)?;
        if let Some(d) = d {
            arrays.insert(Role::D, d);
        }
        let prepared = Prepared {
            check: check.clone(),
            values,
            scheduled,
            format,
            engines,
            texts: resources.texts,
            engine,
            device: None,
            model,
            scheduling,
            arrays,
        };
        Ok(match device.or_else(|| prepared.sooner()) {
            Some(device) => prepared.on(device),
            None => prepared,
        })
    }

    /// The device that `auto` takes: for a whole product alone.
    fn sooner(&self) -> Option<OpenedDevice> {
        let Check {
            engine, selection, ..
        } = &self.check;
        let whole = *engine == EngineChoice::Auto && selection.is_all();
        let (arithmetic, problem) = (&self.model.arithmetic, self.problem());
        let chains = || {
            let span = arithmetic.step.span();
            let traversal = |kernel: BoundSchedule| kernel.traversal(problem.k, span, 0, 0);
            let root = self.kernel().map(|kernel| traversal(kernel).root);
            root.map_or(1, |root| root.chains().len())
        };
        let sooner = || self.engines.sooner(arithmetic, &problem, chains());
        whole.then(sooner)?
    }

    /// The check, computed by this device.
    #[must_use]
    pub fn on(self, device: OpenedDevice) -> Prepared {
        Prepared {
            device: Some(device(self.engine, self.seed())),
            ..self
        }
    }

    /// A seed that nobody knew when D was made: from its digest, or from the operands' where D is not here.
    fn seed(&self) -> u64 {
        let digest = match (&self.check.expected, self.d()) {
            (Expected::PayloadSha256(expected), _) => expected.clone(),
            (_, Some(d)) => io::payload_sha256(d),
            (_, None) => [Role::A, Role::B]
                .iter()
                .filter_map(|&role| self.arrays.get(role))
                .map(|array| io::payload_sha256(&array.tensor))
                .collect(),
        };
        let words = digest.as_bytes().chunks(8).map(|chunk| {
            let fold = |word: u64, byte: &u8| word << 8 | u64::from(*byte);
            chunk.iter().fold(0, fold)
        });
        words.fold(0, |seed, word| SplitMix64(seed ^ word).word())
    }

    /// Who reads what libraries state.
    pub fn texts(&self) -> &'static dyn KernelTexts {
        self.texts
    }

    /// The request.
    pub fn request(&self) -> &Check {
        &self.check
    }

    /// The request, with the layout of operands that a kernel text states.
    pub fn spelled_out(&self) -> Check {
        let mut check = self.check.clone();
        let [transpose_a, transpose_b] = self.arrays.transpose();
        check.operands.transpose_a = transpose_a;
        check.operands.transpose_b = transpose_b;
        check
    }

    /// The engines that were handed over.
    pub fn engines(&self) -> &'static dyn Engines {
        self.engines
    }

    /// The rule that judges.
    pub fn choice(&self) -> Choice<'_> {
        self.model.choice()
    }

    /// The architecture's rule and its arithmetic.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The schedule of the kernel, of one chain over K too.
    pub fn scheduling(&self) -> &Scheduling {
        &self.scheduling
    }

    /// The matrices that are multiplied.
    pub fn problem(&self) -> Problem<'_> {
        let problem = self.arrays.problem();
        problem.expect("shapes were checked when it was prepared")
    }

    /// What stands between the instruction and D.
    pub fn kernel(&self) -> Option<BoundSchedule<'_>> {
        let kernel = || BoundSchedule::new(self.scheduling.spec(), &self.values, &self.problem());
        self.scheduled.then(kernel)
    }

    /// The product as it is to be computed.
    pub fn replay(&self) -> Replay<'_> {
        let accumulator = self.model.arithmetic.accumulator;
        Replay {
            problem: self.problem(),
            arithmetic: &self.model.arithmetic,
            convert_to: (self.format != accumulator).then_some(self.format),
            engine: self.device.as_deref().map_or(self.engine, Engine::With),
            kernel: self.kernel(),
        }
    }

    /// The captured D, unless a digest stands in for it.
    pub fn d(&self) -> Option<&Tensor> {
        self.arrays.get(Role::D).map(|d| &d.tensor)
    }

    /// All arrays, D last.
    pub fn arrays(&self) -> &Arrays {
        &self.arrays
    }

    pub fn product(&self) -> Product {
        let problem = self.problem();
        let [transpose_a, transpose_b] = self.arrays.transpose();
        Product {
            batch: problem.a.batch_shape().to_vec(),
            m: problem.m,
            n: problem.n,
            k: problem.k,
            transpose_a,
            transpose_b,
            sparse: self.model.sparse(),
            weights: (self.check.operands.weights).map(|weights| weights.word().to_owned()),
        }
    }

    /// The schedule as a report has it; none for one chain over K.
    pub fn scheduled(&self) -> Option<Scheduled> {
        let Scheduling {
            schedule, given, ..
        } = &self.scheduling;
        let kernel = self.kernel()?;
        let span = self.model.arithmetic.step.span();
        let omitted = kernel.omitted(self.problem().k, span);
        let scheduled = Scheduled::of(schedule, given, &self.values).omitting(omitted);
        let scheduled = scheduled.from_file(self.scheduling.file.as_ref());
        Some(scheduled.with_kernel(self.scheduling.kernel_description()))
    }

    /// How the finished product is rounded to D's format, if it is.
    pub fn conversion(&self) -> Option<Conversion> {
        let from = self.model.arithmetic.accumulator;
        let rounding = self.model.arithmetic.rounding_to(self.format);
        // Sums of slices are FP64 by the schedule: nothing is rounded to it.
        let is_rounded = self.format != from && self.scheduling.wide_result().is_none();
        is_rounded.then_some(Conversion {
            from,
            to: self.format,
            rounding,
        })
    }
}
