//! Which kernel: a schedule, or what a library says.

use std::path::PathBuf;

use clap::Args;

use crate::check::Fields;
use crate::cli::values::{any_float, schedule_names, word};
use crate::emu::schedule::{OrderChoice, PartialsChoice, ResidueChoice, SplitChoice};
use crate::kernel::{Accumulation, Partition, Scheme};
use crate::num::{F32, Format};

/// Which kernel.
#[derive(Args, Clone)]
#[command(next_help_heading = "Schedule")]
pub struct ScheduleArgs {
    /// How the kernel chains the instruction over K: plain (default), cutlass-sm80, cublas-workspace,
    /// deepgemm-sm90 ...; 'tcverify schedules' describes them
    #[arg(long, value_name = "NAME", value_parser = schedule_names(), hide_possible_values = true)]
    pub(super) schedule: Option<String>,

    /// A schedule of your own, in the schema of the built-in ones
    #[arg(long, value_name = "FILE.json", conflicts_with = "schedule")]
    pub(super) schedule_file: Option<PathBuf>,

    /// k of a tile of the main loop
    #[arg(long, value_name = "K")]
    pub(super) tile_k: Option<usize>,

    /// Which tile is the partial one where K is no multiple of it
    #[arg(long, value_name = "WHERE", value_parser = word::<ResidueChoice>())]
    pub(super) residue: Option<ResidueChoice>,

    /// Slices (or warps) that K is divided into
    #[arg(long, value_name = "N")]
    pub(super) split_k: Option<usize>,

    /// How K is divided and slices come together, where the schedule does not divide it
    #[arg(long, value_name = "HOW", value_parser = word::<SplitChoice>())]
    pub(super) split: Option<SplitChoice>,

    /// What slices are multiples of, where those are not whole tiles
    #[arg(long, value_name = "K")]
    pub(super) grain: Option<usize>,

    /// In which order the sums of slices are added
    #[arg(long, value_name = "ORDER", value_parser = word::<OrderChoice>())]
    pub(super) sum_order: Option<OrderChoice>,

    /// Products of an instruction, where those are fewer than the unit adds in one step
    #[arg(long, value_name = "K")]
    pub(super) instruction_k: Option<usize>,

    /// What a workspace keeps partial sums in: f32, or D's format
    #[arg(long, value_name = "FORMAT", value_parser = word::<PartialsChoice>())]
    pub(super) partials: Option<PartialsChoice>,

    /// Workers (SMs) that share the tiles of a stream-K kernel
    #[arg(long, value_name = "N")]
    pub(super) workers: Option<usize>,

    /// Add the accumulator to one in f32 every K products, or "never"
    #[arg(long, value_name = "K")]
    pub(super) promote: Option<String>,

    /// The sum is multiplied with this in f32; a decimal number, inf, or an f32 code such as 0x3f800000
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    pub(super) alpha: Option<F32>,

    /// C is multiplied with this and added to the finished sum, instead of starting the chain (default
    /// 1 where the schedule has an epilogue)
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    pub(super) beta: Option<F32>,

    /// FP8 results are multiplied with this in f32 before they are rounded, if the schedule's kernel does so
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    pub(super) scale_result: Option<F32>,

    /// One number for every column of D, added in f32 before the result is rounded
    #[arg(long, value_name = "BIAS.npy")]
    pub bias: Option<PathBuf>,

    /// Format of the bias, where its file cannot say it
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = any_float())]
    pub(super) bias_dtype: Option<Format>,

    /// Zero points of A's rows (int8 operands): one int32 for every row of D, multiplied with those of
    /// --azp-adj (vLLM's azp)
    #[arg(long, value_name = "AZP.npy", requires = "azp_adj")]
    pub azp: Option<PathBuf>,

    /// What zero points add to integer sums: one int32 for every column of D, taken off before the scales
    /// (vLLM's azp_adj: B's columns added up, times the zero point where A has one)
    #[arg(long, value_name = "ADJ.npy")]
    pub azp_adj: Option<PathBuf>,
}

/// What a library says of its kernel, in place of a schedule.
#[derive(Args, Clone)]
#[command(next_help_heading = "Kernel, from what the library says")]
pub struct KernelArgs {
    /// A cuBLASLt log line, a configuration (algo=66,stages=35,splitK=3,reduction=2), JSON, or a kernel's
    /// name: it gives model, order of the sums and D's format; --split-k, --tile-k and the options below say
    /// what it leaves open, and 'tcverify kernels explain TEXT' shows how it is read
    #[arg(long, value_name = "TEXT")]
    pub(super) kernel: Option<String>,

    /// A log of cuBLASLt (CUBLASLT_LOG_LEVEL=2 CUBLASLT_LOG_FILE=...): the line about this product
    #[arg(long, value_name = "FILE")]
    pub(super) kernel_log: Option<PathBuf>,

    /// A table recorded on a GPU by scripts/capture/record_kernels.py
    #[arg(long, value_name = "FILE.json")]
    pub(super) kernel_table: Option<PathBuf>,

    /// Bytes of workspace that the library was given, to choose among answers of a table
    #[arg(long, value_name = "BYTES")]
    pub(super) workspace: Option<u64>,

    #[command(flatten)]
    pub(super) open: Unsaid,
}

/// What the text may leave open, beside slices and tiles.
#[derive(Args, Clone)]
pub struct Unsaid {
    /// How slices meet: NONE, INPLACE, COMPUTE_TYPE, OUTPUT_TYPE, or 0, 1, 2, 4
    #[arg(long, value_name = "SCHEME", value_parser = parse_scheme)]
    pub reduction: Option<Scheme>,

    /// How CUTLASS cuts K: universal (cuBLAS too), serial-tiles, parallel-tiles
    #[arg(long, value_name = "HOW", value_parser = parse_partition)]
    pub partition: Option<Partition>,

    /// CUSTOM_OPTION of the configuration
    #[arg(long, value_name = "N")]
    pub custom: Option<u32>,

    /// FP8 accumulation
    #[arg(long, value_name = "HOW", value_parser = word::<Accumulation>())]
    pub accumulation: Option<Accumulation>,

    /// Multiprocessors of the GPU
    #[arg(long, value_name = "N")]
    pub multiprocessors: Option<u32>,

    /// Turns by which a workgroup's loop over K is rotated (AMD, StaggerU)
    #[arg(long, value_name = "TURNS")]
    pub rotation: Option<usize>,

    /// Slices that reach the end of K, as a library without the defect of the lost tail cuts them
    #[arg(long)]
    pub whole_tail: bool,
}

impl Unsaid {
    /// Says it in the fields of a check.
    pub fn fill(&self, fields: &mut Fields) {
        fields.reduction = self.reduction;
        fields.partition = self.partition;
        fields.custom = self.custom;
        fields.accumulation = self.accumulation;
        fields.multiprocessors = self.multiprocessors;
        fields.rotation = self.rotation;
        fields.whole_tail = self.whole_tail.then_some(true);
    }
}

/// Of a reduction scheme's name or number.
fn parse_scheme(text: &str) -> Result<Scheme, String> {
    Scheme::parse(text)
        .ok_or_else(|| "NONE, INPLACE, COMPUTE_TYPE, OUTPUT_TYPE, or 0, 1, 2, 4".into())
}

/// Of a partition's name.
fn parse_partition(text: &str) -> Result<Partition, String> {
    Partition::parse(text).ok_or_else(|| "universal, serial-tiles or parallel-tiles".into())
}
