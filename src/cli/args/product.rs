//! Which product: arithmetic, files, kernel.

use std::path::PathBuf;

use clap::Args;

use super::{KernelArgs, ScheduleArgs, parsed, source};
use crate::check::{CheckError, EngineChoice, Fields, Operands, Tf32Input};
use crate::cli::values::{
    accumulator_format, any_float, arch_names, instruction_names, operand_format, scale_format,
    word,
};
use crate::num::Format;
use crate::role::Role;

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

    /// Scales of A, Mx(K/block): one for every block of k of every row; f32 with a schedule that scales, one for every
    /// row, or one for all where the kernel repeats it (vLLM's)
    #[arg(long, value_name = "SA.npy", help_heading = "Operands")]
    pub scale_a: Option<PathBuf>,

    /// Scales of B, (K/block)xN; stored as B is, so Nx(K/block) with --transpose-b; with such a schedule one for every
    /// column, or one for all
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
        if scale_a.is_some() != scale_b.is_some() {
            let reason = "`scale_a` and `scale_b` belong together";
            return Err(CheckError::request("scale_a", reason));
        }
        let mut operands = Operands::of(needed("a", &self.a)?, needed("b", &self.b)?);
        for (role, source) in [
            (Role::C, source("c", self.c.as_deref())?),
            (Role::ScaleA, scale_a),
            (Role::ScaleB, scale_b),
        ] {
            operands.arrays.extend(source.map(|source| (role, source)));
        }
        Ok(Operands {
            transpose_a: self.transpose_a,
            transpose_b: self.transpose_b,
            tf32_input: self.tf32_input,
            ..operands
        })
    }
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
        kernel.open.fill(&mut fields);
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
        azp: source("azp", schedule.azp.as_deref())?,
        azp_adj: source("azp_adj", schedule.azp_adj.as_deref())?,
        ..Fields::default()
    })
}
