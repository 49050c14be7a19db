//! The request for a product: operands, model, and how D is judged.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::choices::{EngineChoice, Tf32Input};
use super::fields::RequestFields;
use super::fpmr::FpmrRequest;
use super::kernel_answers::KernelAnswers;
use super::source::Source;
use super::span::Span;
use super::ttnn::TtnnRequest;
use super::weights::Weights;
use crate::emu::schedule::Overrides;
use crate::emu::{Arithmetic, SparseLayout};
use crate::io::Outputs;
use crate::num::Format;
use crate::report::Tolerance;
use crate::role::{ByRole, Role};

/// A check as a value. In documents it is one object of flat fields ([`RequestFields`](super::RequestFields)), the same in a
/// manifest's case, a plan and a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(try_from = "RequestFields", into = "RequestFields")]
pub struct Check {
    pub operands: Operands,
    pub model: ModelRequest,
    pub schedule: ScheduleRequest,
    pub expected: Expected,
    /// D's format, where its file does not state it or there is none.
    pub d_dtype: Option<Format>,
    pub tolerance: Tolerance,
    pub selection: Selection,
    pub naming: Naming,
    /// A commitment that operands, model and D must match.
    pub against: Option<PathBuf>,
    pub engine: EngineChoice,
    /// How many mismatches a report lists.
    pub max_mismatches: usize,
    /// Whether a report on a D that differs searches for causes.
    pub causes: bool,
    /// Whether a report on a D that agrees names the other arithmetics that give it.
    pub ambiguity: bool,
}

/// How many mismatches are listed by default.
pub const MAX_MISMATCHES: usize = 10;

/// Arrays of a product, and how they are read.
#[derive(Clone, Debug, PartialEq)]
pub struct Operands {
    /// All but D; A and B are always there.
    pub arrays: ByRole<Source>,
    pub bias_dtype: Option<Format>,
    /// What B's codes stand for, where they are weights of few bits.
    pub weights: Option<Weights>,
    /// A is stored KxM.
    pub transpose_a: bool,
    /// B is stored NxK.
    pub transpose_b: bool,
    pub tf32_input: Tf32Input,
    /// How the metadata of a compressed A lie.
    pub sparse_layout: SparseLayout,
}

impl Operands {
    /// A and B, as they are stored.
    pub fn of(a: Source, b: Source) -> Operands {
        Operands {
            arrays: ByRole::from([(Role::A, a), (Role::B, b)]),
            bias_dtype: None,
            weights: None,
            transpose_a: false,
            transpose_b: false,
            tf32_input: Tf32Input::Truncate,
            sparse_layout: SparseLayout::Words,
        }
    }

    pub fn get(&self, role: Role) -> Option<&Source> {
        self.arrays.get(&role)
    }

    pub fn has(&self, role: Role) -> bool {
        self.arrays.contains_key(&role)
    }

    /// Whether there are scales of A and B.
    pub fn has_scales(&self) -> bool {
        self.has(Role::ScaleA)
    }
}

/// Which rule judges, as far as the request says it.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRequest {
    pub from: ModelSource,
    pub dtype: Format,
    /// B's format, where it is another than A's.
    pub dtype_b: Option<Format>,
    pub instruction: Option<String>,
    pub acc: Option<Format>,
    /// C's format, where it is another than D's.
    pub c_dtype: Option<Format>,
    pub scale_dtype: Option<Format>,
    /// Consecutive k that share a scale.
    pub scale_block: Option<usize>,
    /// ttnn's description of a Tenstorrent kernel.
    pub ttnn: TtnnRequest,
    /// Arm's register FPMR.
    pub fpmr: FpmrRequest,
}

/// Where a model is described.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelSource {
    /// An architecture or a GPU of the catalogue.
    Catalogue(String),
    /// An architecture file.
    File(PathBuf),
}

/// Which schedule, and what changes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScheduleRequest {
    pub from: ScheduleSource,
    pub overrides: Overrides,
}

impl ScheduleRequest {
    /// What a library states of its kernel, if the order comes from there.
    pub fn kernel(&self) -> Option<&KernelRequest> {
        match &self.from {
            ScheduleSource::Kernel(kernel) => Some(kernel),
            _ => None,
        }
    }

    /// A preset, changed; an unchanged `plain` is the default.
    pub fn preset(name: &str, overrides: &Overrides) -> ScheduleRequest {
        let from = if name == "plain" && overrides.is_empty() {
            ScheduleSource::Plain
        } else {
            ScheduleSource::Preset(name.to_owned())
        };
        let overrides = overrides.clone();
        ScheduleRequest { from, overrides }
    }
}

/// Where a schedule is described.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ScheduleSource {
    /// One chain over K.
    #[default]
    Plain,
    Preset(String),
    /// A schedule file.
    File(PathBuf),
    /// What a library states of its kernel.
    Kernel(Box<KernelRequest>),
}

/// What a library states of its kernel, and answers to what it leaves open.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelRequest {
    pub source: KernelSource,
    pub answers: KernelAnswers,
}

/// Where the text is.
#[derive(Clone, Debug, PartialEq)]
pub enum KernelSource {
    /// A log line, a configuration, a kernel's name ...: what [`KernelTexts`](super::KernelTexts) read.
    Text(String),
    /// A log of cuBLASLt, one of whose lines is about this product.
    Log(PathBuf),
    /// A table recorded on a GPU.
    Table {
        file: PathBuf,
        /// Bytes that the library was allowed.
        workspace: Option<u64>,
    },
}

impl KernelSource {
    /// The field of the request.
    pub fn field(&self) -> &'static str {
        match self {
            KernelSource::Text(_) => "kernel",
            KernelSource::Log(_) => "kernel_log",
            KernelSource::Table { .. } => "kernel_table",
        }
    }

    /// The text itself, if no file holds it.
    pub fn text(&self) -> &str {
        match self {
            KernelSource::Text(text) => text,
            _ => "",
        }
    }

    pub fn path(&self) -> Option<&PathBuf> {
        match self {
            KernelSource::Text(_) => None,
            KernelSource::Log(path) | KernelSource::Table { file: path, .. } => Some(path),
        }
    }
}

/// The result that a request claims.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// None: it is to be computed.
    Nothing,
    Tensor(Source),
    /// The SHA-256 of its canonical payload.
    PayloadSha256(String),
}

/// Which part of D is judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    pub rows: Span,
    pub columns: Span,
    /// Random elements of it instead of all.
    pub sample: Option<Draw>,
}

/// A random draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draw {
    pub elements: u64,
    pub seed: Seed,
}

/// What decides which elements are drawn. There is none by default: everybody would know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seed {
    /// A number of unknown origin.
    Number(u64),
    /// A commitment, which D must be that of, and a public value that came after it
    /// ([`PublicDraw`](crate::sample::PublicDraw)).
    Beacon { commitment: PathBuf, beacon: String },
}

impl Selection {
    pub fn is_all(&self) -> bool {
        *self == Selection::default()
    }
}

/// Which digest names the reproduced D.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// The SHA-256 of its canonical payload.
    #[default]
    Payload,
    /// The root of its Merkle tree, as in a commitment.
    Tree {
        /// Rows of a block; without them, as many as make about a mebibyte.
        block_rows: Option<u64>,
    },
}

impl Check {
    /// A check of a D with defaults for everything else.
    ///
    /// `arch` is an architecture, compute capability or GPU of the catalogue.
    pub fn new(arch: &str, dtype: Format, [a, b, d]: [Source; 3]) -> Check {
        Check {
            operands: Operands::of(a, b),
            model: ModelRequest {
                from: ModelSource::Catalogue(arch.to_owned()),
                dtype,
                dtype_b: None,
                instruction: None,
                acc: None,
                c_dtype: None,
                scale_dtype: None,
                scale_block: None,
                ttnn: TtnnRequest::default(),
                fpmr: FpmrRequest::default(),
            },
            schedule: ScheduleRequest::default(),
            expected: Expected::Tensor(d),
            d_dtype: None,
            tolerance: Tolerance::default(),
            selection: Selection::default(),
            naming: Naming::default(),
            against: None,
            engine: EngineChoice::Fast,
            max_mismatches: MAX_MISMATCHES,
            causes: true,
            ambiguity: true,
        }
    }

    /// A check of tensors that the caller holds, for [`Prepared::from_tensors`](super::Prepared::from_tensors).
    pub fn in_memory(arch: &str, dtype: Format) -> Check {
        Check::new(
            arch,
            dtype,
            [Source::Memory, Source::Memory, Source::Memory],
        )
    }

    /// Every array that it names, D last.
    pub fn sources(&self) -> impl Iterator<Item = (Role, &Source)> {
        let d = match &self.expected {
            Expected::Tensor(d) => Some((Role::D, d)),
            _ => None,
        };
        let operands = self.operands.arrays.iter();
        operands.map(|(role, source)| (*role, source)).chain(d)
    }

    /// Whether a program holds one of the arrays, which no command line can name.
    pub fn is_in_memory(&self) -> bool {
        self.sources().any(|(_, source)| *source == Source::Memory)
    }

    /// The commitment that its draw begins with.
    pub fn seed_from(&self) -> Option<&PathBuf> {
        match &self.selection.sample.as_ref()?.seed {
            Seed::Beacon { commitment, .. } => Some(commitment),
            Seed::Number(_) => None,
        }
    }

    /// The commitment that everything must match, and the field that names it.
    pub fn committed(&self) -> Option<(&'static str, &Path)> {
        let against = self.against.as_deref().map(|path| ("against", path));
        let seed_from = || Some(("seed_from", self.seed_from()?.as_path()));
        against.or_else(seed_from)
    }

    /// Everything that it reads is written over by no output.
    pub fn protect(&self, outputs: &mut Outputs) {
        let sources = self.sources();
        let sources = sources.map(|(role, source)| (role, source.clone()));
        let named = |(field, path): (&'static str, &PathBuf)| (field, path.clone());
        protect(
            &sources.collect(),
            self.documents().map(named).collect(),
            outputs,
        );
    }

    /// The check for operands in other formats.
    #[must_use]
    pub fn with_formats(mut self, [a, b]: [Format; 2]) -> Check {
        self.model.dtype = a;
        self.model.dtype_b = (a != b).then_some(b);
        self
    }

    /// The check by a rule of the catalogue: one of this architecture's instructions.
    #[must_use]
    pub fn with_rule(mut self, [architecture, instruction]: [&str; 2], rule: &Arithmetic) -> Check {
        self = self.with_formats([rule.a, rule.b]);
        let model = &mut self.model;
        model.from = ModelSource::Catalogue(architecture.to_owned());
        model.instruction = Some(instruction.to_owned());
        model.acc = Some(rule.accumulator);
        model.c_dtype = rule.addend;
        model.scale_dtype = rule.scale.map(|scale| scale.format);
        model.scale_block = rule.scale.map(|scale| scale.block);
        model.ttnn = TtnnRequest::of(rule);
        model.fpmr = FpmrRequest::of(rule);
        self
    }

    /// The files that describe model and schedule, and the commitment.
    pub fn documents(&self) -> impl Iterator<Item = (&'static str, &PathBuf)> {
        let model = match &self.model.from {
            ModelSource::File(path) => Some(path),
            ModelSource::Catalogue(_) => None,
        };
        let (field, schedule) = match &self.schedule.from {
            ScheduleSource::File(path) => ("schedule_file", Some(path)),
            ScheduleSource::Kernel(kernel) => (kernel.source.field(), kernel.source.path()),
            _ => ("schedule_file", None),
        };
        let all = [
            ("model", model),
            (field, schedule),
            ("against", self.against.as_ref()),
            ("seed_from", self.seed_from()),
        ];
        all.into_iter()
            .filter_map(|(field, path)| Some((field, path?)))
    }
}

/// Nothing of what a request names is written over by an output: its arrays, and the files of its fields.
pub fn protect(
    sources: &ByRole<Source>,
    documents: Vec<(&'static str, PathBuf)>,
    outputs: &mut Outputs,
) {
    for (role, source) in sources {
        if let Some(path) = source.path() {
            outputs.protect(role.called(), path);
        }
    }
    for (field, path) in documents {
        let role = match field {
            "model" => "the model",
            "variant_file" => "the variant",
            "against" | "seed_from" => "the commitment",
            "kernel_log" => "the log of kernels",
            "kernel_table" => "the table of kernels",
            _ => "the schedule",
        };
        outputs.protect(role, &path);
    }
}
