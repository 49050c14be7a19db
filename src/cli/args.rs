//! Options that several commands share, and the fields of a request that they fill.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;

pub use super::values::{
    accumulator_format, any_float, arch_names, instruction_names, operand_format, result_format,
    scale_format, schedule_names, word,
};
use crate::check::{
    Check, CheckError, EngineChoice, Fields, Operands, Source, Strictness, Tf32Input, option,
};
use crate::emu::schedule::{OrderChoice, PartialsChoice, ResidueChoice, SplitChoice};
use crate::io::{Files, Privacy, escaped_path};
use crate::kernel::{Accumulation, Partition, Scheme};
use crate::memory::Limits;
use crate::num::{F32, Format};

/// What files may take.
#[derive(Args, Clone)]
#[command(next_help_heading = "Memory")]
pub struct MemoryArgs {
    /// What operands may take of memory: bytes, or with K, M, G or T (powers of 1024); by default three
    /// quarters of the machine's
    #[arg(long, value_name = "BYTES", value_parser = size)]
    max_memory: Option<u64>,

    /// Read every file into memory that no other process can change, or refuse it; without, files of more
    /// than 1 GiB are mapped
    #[arg(long)]
    private: bool,
}

impl MemoryArgs {
    /// The files of this run.
    pub fn files(&self) -> Files {
        self.files_within(None)
    }

    /// The same, that may take no more bytes than another limit allows.
    pub fn files_within(&self, most: Option<u64>) -> Files {
        let privacy = match self.private {
            true => Privacy::Private,
            false => Privacy::Auto,
        };
        let own = self.max_memory.unwrap_or(Limits::default().max_bytes);
        let max_bytes = most.map_or(own, |most| most.min(own));
        Files::new(privacy, Limits { max_bytes })
    }
}

/// `8G` as bytes.
pub fn size(text: &str) -> Result<u64, String> {
    const UNITS: [(char, u32); 4] = [('K', 10), ('M', 20), ('G', 30), ('T', 40)];
    let upper = text.trim().to_ascii_uppercase();
    let short = upper.strip_suffix("IB").or(upper.strip_suffix('B'));
    let short = short.unwrap_or(&upper);
    let unit = UNITS.iter().find(|(unit, _)| short.ends_with(*unit));
    let (digits, shift) = unit.map_or((short, 0), |(unit, shift)| {
        (short.trim_end_matches(*unit), *shift)
    });
    let bytes = digits.parse::<u64>().ok();
    let bytes = bytes.and_then(|n| n.checked_mul(1 << shift));
    bytes.ok_or_else(|| "write bytes, such as 8589934592, 512M or 8G".to_owned())
}

/// Which arithmetic.
#[derive(Args, Clone)]
#[command(next_help_heading = "Model")]
pub struct ModelArgs {
    /// Architecture, compute capability or GPU: hopper, sm_90, h100, cdna3, mi300x ...; of 'check' also
    /// "auto": 'identify' finds one that gives D, and the report says so
    #[arg(long, value_name = "NAME", value_parser = arch_names(), hide_possible_values = true)]
    pub arch: Option<String>,

    /// Architecture file, such as 'tcverify infer' writes or you do, in place of the catalogue
    #[arg(long, value_name = "FILE.json", conflicts_with = "arch")]
    pub model: Option<PathBuf>,

    /// Format of A and B; needed where neither their files nor a kernel's text say it
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = operand_format())]
    pub dtype: Option<Format>,

    /// Format of B, where it differs from A's
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = operand_format())]
    pub dtype_b: Option<Format>,

    /// Instruction: mma, wgmma, tcgen05, mfma ...; by default the architecture's own for the operands
    #[arg(long, value_name = "NAME", value_parser = instruction_names(), hide_possible_values = true)]
    pub instruction: Option<String>,

    /// Format the instruction accumulates in and returns: f32 (default), f16, f64 for FP64, s32 for
    /// integers
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = accumulator_format())]
    pub acc: Option<Format>,

    /// Format of C, where it is another than D's (gpgpu-sim; a kernel's epilogue) and the file cannot
    /// say it
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = any_float())]
    pub c_dtype: Option<Format>,

    /// Format of the scales of --scale-a and --scale-b: ue8m0 or ue4m3
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = scale_format())]
    pub scale_dtype: Option<Format>,

    /// How many consecutive k share a scale, where a unit has several: 16 or 32
    #[arg(long, value_name = "K")]
    pub scale_block: Option<usize>,
}

/// Which files.
#[derive(Args, Clone)]
pub struct OperandArgs {
    /// A, MxK (or KxM with --transpose-a): x.npy, x.npz#name or x.safetensors#name; leading axes are
    /// a batch
    #[arg(value_name = "A.npy")]
    pub a: PathBuf,

    /// B, KxN (or NxK with --transpose-b), likewise
    #[arg(value_name = "B.npy")]
    pub b: PathBuf,

    /// C, of D's shape and the accumulator's format (or --c-dtype); without it C is +0
    #[arg(long, value_name = "C.npy", help_heading = "Operands")]
    pub c: Option<PathBuf>,

    /// Scales of A, Mx(K/block): one for every block of k of every row
    #[arg(long, value_name = "SA.npy", help_heading = "Operands")]
    pub scale_a: Option<PathBuf>,

    /// Scales of B, (K/block)xN; stored as B is, so Nx(K/block) with --transpose-b
    #[arg(long, value_name = "SB.npy", help_heading = "Operands")]
    pub scale_b: Option<PathBuf>,

    /// A is stored KxM
    #[arg(long, help_heading = "Operands")]
    pub transpose_a: bool,

    /// B is stored NxK, as weights often are
    #[arg(long, help_heading = "Operands")]
    pub transpose_b: bool,

    /// What to do with FP32 bits that TF32 and XF32 lack
    #[arg(
        long,
        value_name = "HOW",
        help_heading = "Operands",
        default_value = "truncate",
        value_parser = word::<Tf32Input>()
    )]
    pub tf32_input: Tf32Input,

    /// Who computes: "fast" (vector kernels, the exact engine where they do not apply) or "exact".
    /// Both give the same bits
    #[arg(
        long,
        value_name = "WHICH",
        default_value = "fast",
        help_heading = "Operands",
        value_parser = word::<EngineChoice>()
    )]
    pub engine: EngineChoice,
}

impl OperandArgs {
    /// What they name, for commands without a schedule.
    ///
    /// # Errors
    /// If one is not written as it must be.
    pub fn operands(&self) -> Result<Operands, CheckError> {
        let needed = |field, path| Ok(source(field, Some(path))?.expect("it is given"));
        let scale_a = source("scale_a", self.scale_a.as_deref())?;
        let scale_b = source("scale_b", self.scale_b.as_deref())?;
        let scales = match (scale_a, scale_b) {
            (Some(a), Some(b)) => Some([a, b]),
            (None, None) => None,
            _ => {
                let reason = "`scale_a` and `scale_b` belong together";
                return Err(CheckError::request("scale_a", reason));
            }
        };
        Ok(Operands {
            a: needed("a", &self.a)?,
            b: needed("b", &self.b)?,
            c: source("c", self.c.as_deref())?,
            scales,
            bias: None,
            bias_dtype: None,
            transpose_a: self.transpose_a,
            transpose_b: self.transpose_b,
            tf32_input: self.tf32_input,
        })
    }
}

/// Which kernel.
#[derive(Args, Clone)]
#[command(next_help_heading = "Schedule")]
pub struct ScheduleArgs {
    /// How the kernel chains the instruction over K: plain (default), cutlass-sm80, cublas-workspace,
    /// deepgemm-sm90 ...; 'tcverify schedules' describes them
    #[arg(long, value_name = "NAME", value_parser = schedule_names(), hide_possible_values = true)]
    schedule: Option<String>,

    /// A schedule of your own, in the schema of the built-in ones
    #[arg(long, value_name = "FILE.json", conflicts_with = "schedule")]
    schedule_file: Option<PathBuf>,

    /// k of a tile of the main loop
    #[arg(long, value_name = "K")]
    tile_k: Option<usize>,

    /// Which tile is the partial one where K is no multiple of it
    #[arg(long, value_name = "WHERE", value_parser = word::<ResidueChoice>())]
    residue: Option<ResidueChoice>,

    /// Slices (or warps) that K is divided into
    #[arg(long, value_name = "N")]
    split_k: Option<usize>,

    /// How K is divided and slices come together, where the schedule does not divide it
    #[arg(long, value_name = "HOW", value_parser = word::<SplitChoice>())]
    split: Option<SplitChoice>,

    /// What slices are multiples of, where those are not whole tiles
    #[arg(long, value_name = "K")]
    grain: Option<usize>,

    /// In which order the sums of slices are added
    #[arg(long, value_name = "ORDER", value_parser = word::<OrderChoice>())]
    sum_order: Option<OrderChoice>,

    /// Products of an instruction, where those are fewer than the unit adds in one step
    #[arg(long, value_name = "K")]
    instruction_k: Option<usize>,

    /// What a workspace keeps partial sums in: f32, or D's format
    #[arg(long, value_name = "FORMAT", value_parser = word::<PartialsChoice>())]
    partials: Option<PartialsChoice>,

    /// Workers (SMs) that share the tiles of a stream-K kernel
    #[arg(long, value_name = "N")]
    workers: Option<usize>,

    /// Add the accumulator to one in f32 every K products, or "never"
    #[arg(long, value_name = "K")]
    promote: Option<String>,

    /// The sum is multiplied with this in f32; a decimal number, inf, or an f32 code such as 0x3f800000
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    alpha: Option<F32>,

    /// C is multiplied with this and added to the finished sum, instead of starting the chain (default
    /// 1 where the schedule has an epilogue)
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    beta: Option<F32>,

    /// FP8 results are multiplied with this in f32 before they are rounded, if the schedule's kernel does so
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    scale_result: Option<F32>,

    /// One number for every column of D, added in f32 before the result is rounded
    #[arg(long, value_name = "BIAS.npy")]
    pub bias: Option<PathBuf>,

    /// Format of the bias, where its file cannot say it
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = any_float())]
    bias_dtype: Option<Format>,
}

/// What a library says of its kernel, in place of a schedule.
#[derive(Args, Clone)]
#[command(next_help_heading = "Kernel, from what the library says")]
pub struct KernelArgs {
    /// A cuBLASLt log line, a configuration (algo=66,stages=35,splitK=3,reduction=2), JSON, or a kernel's
    /// name: it gives model, order of the sums and D's format; --split-k, --tile-k and the options below say
    /// what it leaves open, and 'tcverify kernels explain TEXT' shows how it is read
    #[arg(long, value_name = "TEXT")]
    kernel: Option<String>,

    /// A log of cuBLASLt (CUBLASLT_LOG_LEVEL=2 CUBLASLT_LOG_FILE=...): the line about this product
    #[arg(long, value_name = "FILE")]
    kernel_log: Option<PathBuf>,

    /// A table recorded on a GPU by scripts/capture/record_kernels.py
    #[arg(long, value_name = "FILE.json")]
    kernel_table: Option<PathBuf>,

    /// Bytes of workspace that the library was given, to choose among answers of a table
    #[arg(long, value_name = "BYTES")]
    workspace: Option<u64>,

    /// How slices meet: NONE, INPLACE, COMPUTE_TYPE, OUTPUT_TYPE, or 0, 1, 2, 4
    #[arg(long, value_name = "SCHEME", value_parser = parse_scheme)]
    reduction: Option<Scheme>,

    /// How CUTLASS cuts K: universal (cuBLAS too), serial-tiles, parallel-tiles
    #[arg(long, value_name = "HOW", value_parser = parse_partition)]
    partition: Option<Partition>,

    /// CUSTOM_OPTION of the configuration
    #[arg(long, value_name = "N")]
    custom: Option<u32>,

    /// FP8 accumulation
    #[arg(long, value_name = "HOW", value_parser = word::<Accumulation>())]
    accumulation: Option<Accumulation>,

    /// Multiprocessors of the GPU
    #[arg(long, value_name = "N")]
    multiprocessors: Option<u32>,

    /// Turns by which a workgroup's loop over K is rotated (AMD, StaggerU)
    #[arg(long, value_name = "TURNS")]
    rotation: Option<usize>,

    /// Slices that reach the end of K, as a library without the defect of the lost tail cuts them
    #[arg(long)]
    whole_tail: bool,
}

/// Of a reduction scheme's name or number.
pub fn parse_scheme(text: &str) -> Result<Scheme, String> {
    Scheme::parse(text)
        .ok_or_else(|| "NONE, INPLACE, COMPUTE_TYPE, OUTPUT_TYPE, or 0, 1, 2, 4".into())
}

/// Of a partition's name.
pub fn parse_partition(text: &str) -> Result<Partition, String> {
    Partition::parse(text).ok_or_else(|| "universal, serial-tiles or parallel-tiles".into())
}

/// Which product: what every command that replays is told.
#[derive(Args, Clone)]
pub struct ProductArgs {
    #[command(flatten)]
    pub operands: OperandArgs,

    #[command(flatten)]
    pub model: ModelArgs,

    #[command(flatten)]
    pub schedule: ScheduleArgs,

    #[command(flatten)]
    pub kernel: KernelArgs,
}

impl ProductArgs {
    /// The fields that they fill.
    ///
    /// # Errors
    /// If one is not written as it must be.
    pub fn fields(&self) -> Result<Fields, CheckError> {
        let ProductArgs {
            operands, kernel, ..
        } = self;
        let mut fields = Fields {
            kernel: kernel.kernel.clone(),
            kernel_log: kernel.kernel_log.clone(),
            kernel_table: kernel.kernel_table.clone(),
            workspace: kernel.workspace,
            reduction: kernel.reduction,
            partition: kernel.partition,
            custom: kernel.custom,
            accumulation: kernel.accumulation,
            multiprocessors: kernel.multiprocessors,
            rotation: kernel.rotation,
            whole_tail: Some(kernel.whole_tail),
            a: source("a", Some(&operands.a))?,
            b: source("b", Some(&operands.b))?,
            c: source("c", operands.c.as_deref())?,
            scale_a: source("scale_a", operands.scale_a.as_deref())?,
            scale_b: source("scale_b", operands.scale_b.as_deref())?,
            transpose_a: Some(operands.transpose_a),
            transpose_b: Some(operands.transpose_b),
            tf32_input: Some(operands.tf32_input),
            engine: Some(operands.engine),
            ..arithmetic(&self.model, &self.schedule)?
        };
        fields.formats_of_files(&())?;
        Ok(fields)
    }
}

/// The fields of a model and a schedule, without operands.
///
/// # Errors
/// If one is not written as it must be.
pub fn arithmetic(model: &ModelArgs, schedule: &ScheduleArgs) -> Result<Fields, CheckError> {
    let promote = schedule.promote.as_deref();
    Ok(Fields {
        arch: model.arch.clone(),
        model: model.model.clone(),
        dtype: model.dtype,
        dtype_b: model.dtype_b,
        instruction: model.instruction.clone(),
        acc: model.acc,
        c_dtype: model.c_dtype,
        scale_dtype: model.scale_dtype,
        scale_block: model.scale_block,
        schedule: schedule.schedule.clone(),
        schedule_file: schedule.schedule_file.clone(),
        tile_k: schedule.tile_k,
        residue: schedule.residue,
        instruction_k: schedule.instruction_k,
        split_k: schedule.split_k,
        split: schedule.split,
        grain: schedule.grain,
        partials: schedule.partials,
        sum_order: schedule.sum_order,
        workers: schedule.workers,
        promote: parsed("promote", promote)?,
        alpha: schedule.alpha,
        beta: schedule.beta,
        scale_result: schedule.scale_result,
        bias: source("bias", schedule.bias.as_deref())?,
        bias_dtype: schedule.bias_dtype,
        ..Fields::default()
    })
}

/// What a verdict depends on beside the product.
#[derive(Args, Clone)]
pub struct JudgeArgs {
    /// The captured D: x.npy, x.npz#name or x.safetensors#name
    #[arg(value_name = "D.npy", help_heading = None::<&str>)]
    d: Option<PathBuf>,

    /// Format of D: the accumulator's, or (from f32) fp16 or bf16 by one rounding to nearest even; a
    /// schedule's epilogue also has fp8. Needed only where the file cannot say it
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = result_format(), help_heading = "Comparison")]
    d_dtype: Option<Format>,

    /// Judge by the SHA-256 of D's canonical payload instead of a file
    #[arg(long, value_name = "SHA256", value_parser = crate::io::parse_sha256, help_heading = "Comparison")]
    d_digest: Option<String>,

    /// NaN bits must agree exactly, or any NaN will do for a NaN
    #[arg(
        long,
        value_name = "HOW",
        default_value = "exact",
        help_heading = "Comparison",
        value_parser = word::<Strictness>()
    )]
    nan: Strictness,

    /// Signs of zeros must agree exactly, or either zero will do
    #[arg(
        long,
        value_name = "HOW",
        default_value = "exact",
        help_heading = "Comparison",
        value_parser = word::<Strictness>()
    )]
    zero: Strictness,

    /// Make sure first that operands, model and D are those of a commitment ('tcverify commit'); if one
    /// is not, the exit code is 1 and there is no report
    #[arg(long, value_name = "C.json", help_heading = "Comparison")]
    against: Option<PathBuf>,

    /// Compare N random elements instead of all; the report says what that proves. Needs --seed-from and
    /// --beacon, or --seed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Part of D")]
    sample: Option<u64>,

    /// Seed of the draw. Choose it after D has been handed over: who knows it before can spare the
    /// sample
    #[arg(long, value_name = "S", help_heading = "Part of D")]
    seed: Option<u64>,

    /// Draw by this commitment ('tcverify commit') and --beacon: the seed is of the SHA-256 of both, so that
    /// nobody could choose it. Operands, model and D must be those of the commitment, as with --against
    #[arg(long, value_name = "C.json", help_heading = "Part of D")]
    seed_from: Option<PathBuf>,

    /// A public value that nobody could know when the commitment was published, such as the next round of
    /// drand or a pulse of the NIST beacon
    #[arg(
        long,
        value_name = "VALUE",
        allow_hyphen_values = true,
        help_heading = "Part of D"
    )]
    beacon: Option<String>,

    /// Only these rows of D, counted from 0, the end excluded: 128..256, 128.. or 7
    #[arg(long, value_name = "ROWS", help_heading = "Part of D")]
    rows: Option<String>,

    /// Only these columns of D
    #[arg(long, value_name = "COLUMNS", help_heading = "Part of D")]
    cols: Option<String>,

    /// Only this rectangle of D: ROWS,COLUMNS, such as 0..128,64..
    #[arg(long, value_name = "ROWS,COLUMNS", help_heading = "Part of D")]
    region: Option<String>,

    /// How many mismatches to list
    #[arg(long, value_name = "N", default_value_t = crate::check::MAX_MISMATCHES, help_heading = "Report")]
    max_mismatches: usize,

    /// Name the reproduced D by the root of its Merkle tree, as a commitment does, instead of the
    /// SHA-256 of its payload: what 'tcverify shard merge' reports, too
    #[arg(long, help_heading = "Report")]
    tree: bool,

    /// Rows of D in a block of the tree; by default as many as make about a mebibyte
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Report")]
    block_rows: Option<u64>,

    /// Do not look for what would give a D that differs
    #[arg(long, help_heading = "Report")]
    no_causes: bool,

    /// Do not look for other arithmetics of the catalogue that give a D that does not differ
    #[arg(long, help_heading = "Report")]
    no_discrimination: bool,
}

/// A whole check.
#[derive(Args, Clone)]
pub struct CheckArgs {
    #[command(flatten)]
    product: ProductArgs,

    #[command(flatten)]
    judge: JudgeArgs,
}

impl CheckArgs {
    /// The fields that they fill.
    ///
    /// # Errors
    /// If one is not written as it must be.
    pub fn fields(&self) -> Result<Fields, CheckError> {
        let JudgeArgs {
            d,
            d_dtype,
            d_digest,
            nan,
            zero,
            against,
            sample,
            seed,
            seed_from,
            beacon,
            rows,
            cols,
            region,
            max_mismatches,
            tree,
            block_rows,
            no_causes,
            no_discrimination,
        } = &self.judge;
        if d.is_none() && d_digest.is_none() {
            let reason = "D.npy is missing: name the captured D after A and B, or give the SHA-256 of its payload with \
                          `d_digest`";
            return Err(CheckError::request("d", reason));
        }
        Ok(Fields {
            d: source("d", d.as_deref())?,
            d_dtype: *d_dtype,
            d_digest: d_digest.clone(),
            nan: Some(*nan),
            zero: Some(*zero),
            against: against.clone(),
            sample: *sample,
            seed: *seed,
            seed_from: seed_from.clone(),
            beacon: beacon.clone(),
            rows: parsed("rows", rows.as_deref())?,
            cols: parsed("cols", cols.as_deref())?,
            region: region.clone(),
            max_mismatches: Some(*max_mismatches),
            tree: Some(*tree),
            block_rows: *block_rows,
            no_causes: Some(*no_causes),
            no_discrimination: Some(*no_discrimination),
            ..self.product.fields()?
        })
    }

    /// The check that they ask for.
    ///
    /// # Errors
    /// What contradicts itself, in terms of options.
    pub fn check(&self) -> Result<Check> {
        said(self.fields().and_then(Check::try_from))
    }
}

/// An array that a command line names.
pub fn source(field: &'static str, path: Option<&Path>) -> Result<Option<Source>, CheckError> {
    let parsed = path.map(|path| Source::parse(path.as_os_str()));
    parsed
        .transpose()
        .map_err(|reason| CheckError::request(field, reason))
}

/// A value whose text is wrong in one sentence, not in a page of usage.
fn parsed<T: std::str::FromStr<Err = String>>(
    field: &'static str,
    text: Option<&str>,
) -> Result<Option<T>, CheckError> {
    let fail = |reason| CheckError::request(field, format!("`{field}` {reason}"));
    text.map(str::parse).transpose().map_err(fail)
}

/// Refuses a name for one array that says that it is something else than `.npy`.
pub fn is_npy(path: &Path) -> Result<()> {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    let extension = extension.to_ascii_lowercase();
    anyhow::ensure!(
        !["npz", "safetensors"].contains(&extension.as_str()),
        "{}: what is written is a .npy file, and would be called a .{extension}; name it .npy",
        escaped_path(path)
    );
    Ok(())
}

/// An error in terms of options.
pub fn said<T>(result: Result<T, CheckError>) -> Result<T> {
    result.map_err(|error| anyhow::Error::msg(error.in_words(option)))
}
