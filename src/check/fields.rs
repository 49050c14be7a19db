//! A check as flat fields: the form that manifests, plans and reports have, and command lines, whose
//! options are called as the fields are.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::error::CheckError;
use super::kernel::{KernelAnswers, KernelRequest, KernelSaid};
use super::request::{
    Check, Claim, Draw, MAX_MISMATCHES, ModelRequest, ModelSource, Naming, Operands,
    ScheduleRequest, ScheduleSource, Scope, Seed,
};
use super::source::Source;
use super::span::Span;
use super::words::{EngineChoice, Strictness, Tf32Input};
use crate::emu::schedule::{
    OrderChoice, Overrides, PartialsChoice, PromoteChoice, ResidueChoice, SplitChoice,
};
use crate::kernel::{Accumulation, Partition, Scheme};
use crate::num::{F32, Format};
use crate::report::Policy;
use crate::words::Word;

/// A field's value as one word of a command line.
pub(super) enum Argument {
    /// An option without a value.
    Flag,
    Value(OsString),
}

/// What a field may hold.
pub(super) trait Field {
    fn argument(&self) -> Option<Argument>;
}

impl Field for bool {
    fn argument(&self) -> Option<Argument> {
        self.then_some(Argument::Flag)
    }
}

impl Field for Source {
    fn argument(&self) -> Option<Argument> {
        Some(Argument::Value(not_an_option(self.text())))
    }
}

impl Field for PathBuf {
    fn argument(&self) -> Option<Argument> {
        Some(Argument::Value(not_an_option(self.clone().into())))
    }
}

/// A path that begins with a dash is no option then; a dash alone is standard input.
fn not_an_option(path: OsString) -> OsString {
    match path.as_encoded_bytes() {
        [b'-', _, ..] => {
            let mut here = OsString::from("./");
            here.push(path);
            here
        }
        _ => path,
    }
}

macro_rules! shown {
    ($($kind:ty),*) => {
        $(impl Field for $kind {
            fn argument(&self) -> Option<Argument> {
                Some(Argument::Value(self.to_string().into()))
            }
        })*
    };
}

shown!(
    String,
    Format,
    usize,
    u32,
    u64,
    F32,
    Span,
    PromoteChoice,
    Scheme,
    Partition
);

macro_rules! worded {
    ($($kind:ty),*) => {
        $(impl Field for $kind {
            fn argument(&self) -> Option<Argument> {
                Some(Argument::Value(self.word().into()))
            }
        })*
    };
}

worded!(
    Strictness,
    Tf32Input,
    EngineChoice,
    ResidueChoice,
    SplitChoice,
    PartialsChoice,
    OrderChoice,
    Accumulation
);

macro_rules! fields {
    ($($(#[doc = $doc:literal])+ $name:ident: $kind:ty,)*) => {
        /// Everything that a check may say. A field that is absent is as it is by default.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields, default)]
        pub struct Fields {
            $(
                $(#[doc = $doc])+
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $name: Option<$kind>,
            )*
        }

        impl Fields {
            /// The names of all fields.
            pub const NAMES: &[&str] = &[$(stringify!($name)),*];

            /// Those that say something, as words of a command line.
            pub(super) fn arguments(&self) -> Vec<(&'static str, Argument)> {
                let mut all = Vec::new();
                $(
                    let argument = self.$name.as_ref().and_then(Field::argument);
                    all.extend(argument.map(|argument| (stringify!($name), argument)));
                )*
                all
            }
        }
    };
}

fields! {
    /// Architecture, compute capability or GPU of the catalogue.
    arch: String,
    /// An architecture file in place of the catalogue.
    model: PathBuf,
    /// Instruction; by default the architecture's own for the operands.
    instruction: String,
    /// Format of A and B.
    dtype: Format,
    /// Format of B, where it differs from A's.
    dtype_b: Format,
    /// Format that the instruction accumulates in and returns.
    acc: Format,
    /// Format of C, where it is another than D's.
    c_dtype: Format,
    /// Format of the scales of A and B.
    scale_dtype: Format,
    /// Consecutive k that share a scale.
    scale_block: usize,
    /// How the kernel chains the instruction over K: a preset.
    schedule: String,
    /// A schedule file.
    schedule_file: PathBuf,
    /// What a library says of its kernel: a log line, a configuration, a name.
    kernel: String,
    /// A cuBLASLt log, one of whose lines is about this product.
    kernel_log: PathBuf,
    /// A kernel table that was recorded on a GPU.
    kernel_table: PathBuf,
    /// Bytes of workspace that the library was given, to choose among answers of a kernel table.
    workspace: u64,
    /// How slices of the kernel meet, where its words leave that open.
    reduction: Scheme,
    /// How CUTLASS cuts K, where the words leave that open.
    partition: Partition,
    /// CUSTOM_OPTION of the kernel's configuration, where the words leave that open.
    custom: u32,
    /// FP8 accumulation, where the kernel's words leave that open.
    accumulation: Accumulation,
    /// Multiprocessors of the GPU, where the kernel's words leave that open.
    multiprocessors: u32,
    /// Turns by which a workgroup's loop over K is rotated (AMD).
    rotation: usize,
    /// Slices reach the end of K: a library without the defect of the lost tail.
    whole_tail: bool,
    /// k of a tile of the main loop.
    tile_k: usize,
    /// Which tile is the partial one.
    residue: ResidueChoice,
    /// Products of an instruction, where those are fewer than the unit adds in one step.
    instruction_k: usize,
    /// How slices come together, where the schedule has none.
    split: SplitChoice,
    /// Slices that K is divided into.
    split_k: usize,
    /// What slices are multiples of, where those are not whole tiles.
    grain: usize,
    /// What a workspace keeps partial sums in.
    partials: PartialsChoice,
    /// In which order partial sums are added.
    sum_order: OrderChoice,
    /// Workers that share the tiles of a stream-K kernel.
    workers: usize,
    /// k between two promotions to an accumulator in f32, or "never".
    promote: PromoteChoice,
    /// The sum is multiplied with this in f32.
    alpha: F32,
    /// C is multiplied with this and added to the finished sum.
    beta: F32,
    /// FP8 results are multiplied with this in f32 before they are rounded.
    scale_result: F32,
    /// One number for every column of D.
    bias: Source,
    /// Format of the bias, where its file cannot say it.
    bias_dtype: Format,
    /// Format of D, where its file cannot say it.
    d_dtype: Format,
    /// SHA-256 of D's canonical payload, instead of D.
    d_digest: String,
    /// Whether NaN bits must agree.
    nan: Strictness,
    /// Whether signs of zeros must agree.
    zero: Strictness,
    /// A commitment that operands, model and D must be those of.
    against: PathBuf,
    /// So many random elements instead of all.
    sample: u64,
    /// Seed of the draw; whoever knew it when D was made could spare the sample.
    seed: u64,
    /// A commitment, which operands, model and D must be those of: it and the beacon make the seed.
    seed_from: PathBuf,
    /// A public value that nobody could know when the commitment was published.
    beacon: String,
    /// Only these rows of D.
    rows: Span,
    /// Only these columns of D.
    cols: Span,
    /// Only this rectangle: ROWS,COLUMNS.
    region: String,
    /// How many mismatches to list.
    max_mismatches: usize,
    /// Name the reproduced D by the root of its Merkle tree.
    tree: bool,
    /// Rows of D in a block of the tree.
    block_rows: u64,
    /// Do not look for what would give a D that differs.
    no_causes: bool,
    /// Do not look for other arithmetics that give a D that does not differ.
    no_discrimination: bool,
    /// Who computes.
    engine: EngineChoice,
    /// C.
    c: Source,
    /// Scales of A.
    scale_a: Source,
    /// Scales of B.
    scale_b: Source,
    /// A is stored KxM.
    transpose_a: bool,
    /// B is stored NxK.
    transpose_b: bool,
    /// What to do with FP32 bits that TF32 and XF32 lack.
    tf32_input: Tf32Input,
    /// A.
    a: Source,
    /// B.
    b: Source,
    /// The captured D.
    d: Source,
}

impl Fields {
    /// Paths that are not absolute start in this folder.
    pub fn in_folder(&mut self, folder: &std::path::Path) {
        let sources = [
            &mut self.a,
            &mut self.b,
            &mut self.c,
            &mut self.scale_a,
            &mut self.scale_b,
            &mut self.bias,
            &mut self.d,
        ];
        for source in sources.into_iter().flatten() {
            source.in_folder(folder);
        }
        let paths = [
            &mut self.model,
            &mut self.schedule_file,
            &mut self.kernel_log,
            &mut self.kernel_table,
            &mut self.against,
            &mut self.seed_from,
        ];
        for path in paths.into_iter().flatten() {
            *path = folder.join(&*path);
        }
    }

    /// Refuses two fields that exclude each other.
    fn one_of(&self, pairs: &[[(&'static str, bool); 2]]) -> Result<(), CheckError> {
        for [(one, given), (other, too)] in pairs {
            if *given && *too {
                return Err(CheckError::request(
                    other,
                    format!("`{one}` and `{other}` exclude each other; say one of them"),
                ));
            }
        }
        Ok(())
    }

    /// Refuses a field that says something of another one that is not there.
    fn needs(&self, pairs: &[[(&'static str, bool); 2]]) -> Result<(), CheckError> {
        for [(one, given), (other, there)] in pairs {
            if *given && !there {
                return Err(CheckError::request(
                    one,
                    format!("`{one}` needs `{other}`, which is not given"),
                ));
            }
        }
        Ok(())
    }

    fn validate(&self) -> Result<(), CheckError> {
        let digest = ("d_digest", self.d_digest.is_some());
        let tree = ("tree", self.tree == Some(true));
        let sample = ("sample", self.sample.is_some());
        let region = ("region", self.region.is_some());
        let rows = ("rows", self.rows.is_some());
        let cols = ("cols", self.cols.is_some());
        let nan = ("nan", self.nan == Some(Strictness::Any));
        let zero = ("zero", self.zero == Some(Strictness::Any));
        let against = ("against", self.against.is_some());
        let seed_from = ("seed_from", self.seed_from.is_some());
        let beacon = ("beacon", self.beacon.is_some());
        self.one_of(&[
            [
                ("arch", self.arch.is_some()),
                ("model", self.model.is_some()),
            ],
            [("d", self.d.is_some()), digest],
            [digest, nan],
            [digest, zero],
            [digest, against],
            [digest, tree],
            [digest, sample],
            [digest, rows],
            [digest, cols],
            [digest, region],
            [tree, sample],
            [tree, rows],
            [tree, cols],
            [tree, region],
            [region, rows],
            [region, cols],
            [("seed", self.seed.is_some()), seed_from],
            // Which makes sure of the same.
            [against, seed_from],
        ])?;
        self.validate_kernel()?;
        let [scale_a, scale_b] = [
            ("scale_a", self.scale_a.is_some()),
            ("scale_b", self.scale_b.is_some()),
        ];
        self.needs(&[
            [scale_a, scale_b],
            [scale_b, scale_a],
            [
                ("split", self.split.is_some()),
                ("split_k", self.split_k.is_some()),
            ],
            [("beta", self.beta.is_some()), ("c", self.c.is_some())],
            [
                ("bias_dtype", self.bias_dtype.is_some()),
                ("bias", self.bias.is_some()),
            ],
            [("seed", self.seed.is_some()), sample],
            [seed_from, sample],
            [seed_from, beacon],
            [beacon, seed_from],
            [("block_rows", self.block_rows.is_some()), tree],
        ])
    }

    /// The order comes from one place, and what completes a kernel's words needs some.
    fn validate_kernel(&self) -> Result<(), CheckError> {
        let orders = [
            ("schedule", self.schedule.is_some()),
            ("schedule_file", self.schedule_file.is_some()),
            ("kernel", self.kernel.is_some()),
            ("kernel_log", self.kernel_log.is_some()),
            ("kernel_table", self.kernel_table.is_some()),
        ];
        for (i, one) in orders.iter().enumerate() {
            for other in &orders[i + 1..] {
                self.one_of(&[[*one, *other]])?;
            }
        }
        let words = orders[2..].iter().find(|(_, given)| *given).copied();
        if let Some(words) = words {
            // The words say these, or leave them open: a change would be another kernel.
            self.one_of(&[
                [words, ("residue", self.residue.is_some())],
                [words, ("split", self.split.is_some())],
                [words, ("grain", self.grain.is_some())],
                [words, ("partials", self.partials.is_some())],
                [words, ("sum_order", self.sum_order.is_some())],
                [words, ("workers", self.workers.is_some())],
                [words, ("promote", self.promote.is_some())],
            ])?;
        }
        let there = ("kernel", words.is_some());
        let table = ("kernel_table", self.kernel_table.is_some());
        self.needs(&[
            [("reduction", self.reduction.is_some()), there],
            [("partition", self.partition.is_some()), there],
            [("custom", self.custom.is_some()), there],
            [("accumulation", self.accumulation.is_some()), there],
            [("multiprocessors", self.multiprocessors.is_some()), there],
            [("rotation", self.rotation.is_some()), there],
            [("whole_tail", self.whole_tail == Some(true)), there],
            [("workspace", self.workspace.is_some()), table],
        ])
    }

    /// What a library says of the kernel, if that is where the order comes from.
    fn kernel_said(&self) -> Option<KernelSaid> {
        if let Some(text) = &self.kernel {
            return Some(KernelSaid::Text(text.clone()));
        }
        if let Some(path) = &self.kernel_log {
            return Some(KernelSaid::Log(path.clone()));
        }
        self.kernel_table.as_ref().map(|file| KernelSaid::Table {
            file: file.clone(),
            workspace: self.workspace,
        })
    }

    /// What the fields of a schedule say.
    pub(super) fn schedule_request(&self) -> ScheduleRequest {
        let kernel = self.kernel_said().map(|said| {
            Box::new(KernelRequest {
                said,
                answers: KernelAnswers {
                    reduction: self.reduction,
                    partition: self.partition,
                    custom: self.custom,
                    accumulation: self.accumulation,
                    multiprocessors: self.multiprocessors,
                    rotation: self.rotation,
                    whole_tail: self.whole_tail == Some(true),
                },
            })
        });
        let from = match (&self.schedule, &self.schedule_file, kernel) {
            (_, _, Some(kernel)) => ScheduleSource::Kernel(kernel),
            (Some(name), _, _) => ScheduleSource::Preset(name.clone()),
            (None, Some(path), _) => ScheduleSource::File(path.clone()),
            (None, None, _) => ScheduleSource::Plain,
        };
        ScheduleRequest {
            from,
            overrides: Overrides {
                tile_k: self.tile_k,
                residue: self.residue,
                instruction_k: self.instruction_k,
                split_k: self.split_k,
                split: self.split,
                grain: self.grain,
                partials: self.partials,
                sum_order: self.sum_order,
                workers: self.workers,
                promote: self.promote,
                alpha: self.alpha,
                beta: self.beta,
                scale_result: self.scale_result,
            },
        }
    }

    /// What a kernel's words say of GPU and formats, where nobody else does.
    fn complete(&mut self) -> Result<(), CheckError> {
        let open = self.dtype.is_none() || self.arch.is_none() && self.model.is_none();
        let Some(text) = self.kernel.as_ref().filter(|_| open) else {
            return Ok(());
        };
        let reading = crate::kernel::read(text);
        let reading =
            reading.map_err(|error| CheckError::request("kernel", format!("`kernel`: {error}")))?;
        let settings = &reading.settings;
        if let (None, Some(said)) = (self.dtype, &settings.operands) {
            let [a, b] = said.value;
            self.dtype = Some(a);
            self.dtype_b = self.dtype_b.or((a != b).then_some(b));
        }
        if let (None, None, Some(said)) = (&self.arch, &self.model, &settings.capability) {
            self.arch = Some(said.value.to_string());
        }
        Ok(())
    }

    fn draw(&self) -> Result<Seed, CheckError> {
        match (self.seed, &self.seed_from, &self.beacon) {
            (Some(seed), ..) => Ok(Seed::Number(seed)),
            (None, Some(commitment), Some(beacon)) => {
                // Whatever the commitment is: the value must be one.
                let valid = crate::sample::PublicDraw::new("", beacon);
                valid.map_err(|reason| {
                    CheckError::request("beacon", format!("`beacon`: {reason}"))
                })?;
                Ok(Seed::Beacon {
                    commitment: commitment.clone(),
                    beacon: beacon.clone(),
                })
            }
            _ => Err(CheckError::request(
                "sample",
                "`sample` needs `seed_from` and `beacon`, which nobody can know when D is made, or a `seed` that you \
                 chose after D was handed over; there is none by default, because everybody would know it",
            )),
        }
    }

    fn scope(&self) -> Result<Scope, CheckError> {
        let (rows, columns) = match &self.region {
            None => (self.rows.unwrap_or_default(), self.cols.unwrap_or_default()),
            Some(text) => {
                let fail = |reason: &str| {
                    let reason = format!("`region` {text:?}: {reason}");
                    CheckError::request("region", reason)
                };
                let (rows, columns) = text
                    .split_once(',')
                    .ok_or_else(|| fail("expected ROWS,COLUMNS, such as 0..128,64.."))?;
                let span = |text: &str| text.parse().map_err(|reason: String| fail(&reason));
                (span(rows)?, span(columns)?)
            }
        };
        let sample = match self.sample {
            Some(0) => {
                return Err(CheckError::request(
                    "sample",
                    "`sample` is 0; it must be at least 1",
                ));
            }
            Some(elements) => Some(Draw {
                elements,
                seed: self.draw()?,
            }),
            None => None,
        };
        Ok(Scope {
            rows,
            columns,
            sample,
        })
    }
}

impl TryFrom<Fields> for Check {
    type Error = CheckError;

    fn try_from(mut fields: Fields) -> Result<Check, CheckError> {
        fields.validate()?;
        fields.complete()?;
        let scope = fields.scope()?;
        let schedule = fields.schedule_request();
        let missing = |field: &'static str| {
            move || CheckError::request(field, format!("`{field}` is missing"))
        };
        let from = match (fields.model, fields.arch) {
            (Some(path), _) => ModelSource::File(path),
            (None, Some(name)) => ModelSource::Catalogue(name),
            (None, None) => {
                return Err(CheckError::request(
                    "arch",
                    "`arch` (or `model`) is missing",
                ));
            }
        };
        let claim = match (fields.d, fields.d_digest) {
            (Some(d), _) => Claim::Tensor(d),
            (None, Some(digest)) => {
                let digest = crate::io::parse_sha256(&digest).map_err(|reason| {
                    CheckError::request("d_digest", format!("`d_digest`: {reason}"))
                })?;
                Claim::PayloadSha256(digest)
            }
            (None, None) => Claim::Nothing,
        };
        if fields.block_rows == Some(0) {
            return Err(CheckError::request(
                "block_rows",
                "`block_rows` is 0; it must be at least 1",
            ));
        }
        Ok(Check {
            operands: Operands {
                a: fields.a.ok_or_else(missing("a"))?,
                b: fields.b.ok_or_else(missing("b"))?,
                c: fields.c,
                scales: fields.scale_a.zip(fields.scale_b).map(|(a, b)| [a, b]),
                bias: fields.bias,
                bias_dtype: fields.bias_dtype,
                transpose_a: fields.transpose_a.unwrap_or(false),
                transpose_b: fields.transpose_b.unwrap_or(false),
                tf32_input: fields.tf32_input.unwrap_or(Tf32Input::Truncate),
            },
            model: ModelRequest {
                from,
                dtype: fields.dtype.ok_or_else(missing("dtype"))?,
                dtype_b: fields.dtype_b,
                instruction: fields.instruction,
                acc: fields.acc,
                c_dtype: fields.c_dtype,
                scale_dtype: fields.scale_dtype,
                scale_block: fields.scale_block,
            },
            schedule,
            claim,
            d_dtype: fields.d_dtype,
            policy: Policy {
                any_nan: fields.nan == Some(Strictness::Any),
                any_zero: fields.zero == Some(Strictness::Any),
            },
            scope,
            naming: match fields.tree {
                Some(true) => Naming::Tree {
                    block_rows: fields.block_rows,
                },
                _ => Naming::Payload,
            },
            against: fields.against,
            engine: fields.engine.unwrap_or(EngineChoice::Fast),
            max_mismatches: fields.max_mismatches.unwrap_or(MAX_MISMATCHES),
            causes: fields.no_causes != Some(true),
            discrimination: fields.no_discrimination != Some(true),
        })
    }
}

impl From<Check> for Fields {
    fn from(check: Check) -> Fields {
        let Check {
            operands,
            model,
            schedule,
            claim,
            ..
        } = check;
        let (arch, model_file) = match model.from {
            ModelSource::Catalogue(name) => (Some(name), None),
            ModelSource::File(path) => (None, Some(path)),
        };
        let (preset, schedule_file, kernel) = match schedule.from {
            ScheduleSource::Plain => (None, None, None),
            ScheduleSource::Preset(name) => (Some(name), None, None),
            ScheduleSource::File(path) => (None, Some(path), None),
            ScheduleSource::Kernel(kernel) => (None, None, Some(*kernel)),
        };
        let (said, answers) = match kernel {
            Some(kernel) => (Some(kernel.said), kernel.answers),
            None => (None, KernelAnswers::default()),
        };
        let (mut kernel, mut kernel_log) = (None, None);
        let (mut kernel_table, mut table_workspace) = (None, None);
        match said {
            None => {}
            Some(KernelSaid::Text(text)) => kernel = Some(text),
            Some(KernelSaid::Log(path)) => kernel_log = Some(path),
            Some(KernelSaid::Table { file, workspace }) => {
                (kernel_table, table_workspace) = (Some(file), workspace);
            }
        }
        let (d, d_digest) = match claim {
            Claim::Nothing => (None, None),
            Claim::Tensor(d) => (Some(d), None),
            Claim::PayloadSha256(digest) => (None, Some(digest)),
        };
        let (tree, block_rows) = match check.naming {
            Naming::Payload => (None, None),
            Naming::Tree { block_rows } => (Some(true), block_rows),
        };
        let [scale_a, scale_b] = match operands.scales {
            Some([a, b]) => [Some(a), Some(b)],
            None => [None, None],
        };
        let some = |given: bool| given.then_some(true);
        let any = |given: bool| given.then_some(Strictness::Any);
        let part = |span: Span| (span != Span::ALL).then_some(span);
        let draw = check.scope.sample;
        let elements = draw.as_ref().map(|draw| draw.elements);
        let (seed, seed_from, beacon) = match draw.map(|draw| draw.seed) {
            None => (None, None, None),
            Some(Seed::Number(seed)) => (Some(seed), None, None),
            Some(Seed::Beacon { commitment, beacon }) => (None, Some(commitment), Some(beacon)),
        };
        let overrides = schedule.overrides;
        Fields {
            arch,
            model: model_file,
            dtype: Some(model.dtype),
            dtype_b: model.dtype_b,
            acc: model.acc,
            c_dtype: model.c_dtype,
            scale_dtype: model.scale_dtype,
            instruction: model.instruction,
            scale_block: model.scale_block,
            schedule: preset,
            schedule_file,
            kernel,
            kernel_log,
            kernel_table,
            workspace: table_workspace,
            reduction: answers.reduction,
            partition: answers.partition,
            custom: answers.custom,
            accumulation: answers.accumulation,
            multiprocessors: answers.multiprocessors,
            rotation: answers.rotation,
            whole_tail: some(answers.whole_tail),
            tile_k: overrides.tile_k,
            residue: overrides.residue,
            instruction_k: overrides.instruction_k,
            split: overrides.split,
            split_k: overrides.split_k,
            grain: overrides.grain,
            partials: overrides.partials,
            sum_order: overrides.sum_order,
            workers: overrides.workers,
            promote: overrides.promote,
            alpha: overrides.alpha,
            beta: overrides.beta,
            scale_result: overrides.scale_result,
            bias: operands.bias,
            bias_dtype: operands.bias_dtype,
            d_dtype: check.d_dtype,
            d_digest,
            nan: any(check.policy.any_nan),
            zero: any(check.policy.any_zero),
            against: check.against,
            sample: elements,
            seed,
            seed_from,
            beacon,
            rows: part(check.scope.rows),
            cols: part(check.scope.columns),
            region: None,
            max_mismatches: (check.max_mismatches != MAX_MISMATCHES)
                .then_some(check.max_mismatches),
            tree,
            block_rows,
            no_causes: some(!check.causes),
            no_discrimination: some(!check.discrimination),
            engine: (check.engine != EngineChoice::Fast).then_some(check.engine),
            c: operands.c,
            scale_a,
            scale_b,
            transpose_a: some(operands.transpose_a),
            transpose_b: some(operands.transpose_b),
            tf32_input: (operands.tf32_input != Tf32Input::Truncate).then_some(operands.tf32_input),
            a: Some(operands.a),
            b: Some(operands.b),
            d,
        }
    }
}
