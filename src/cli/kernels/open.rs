//! Options that answer what a text leaves open.

use anyhow::{Result, bail};
use clap::Args;

use crate::cli::args::{parse_partition, parse_scheme};
use crate::cli::values::word;
use crate::kernel::{Accumulation, Options, Partition, Scheme};
use crate::num::Format;

/// What a text may leave open.
#[derive(Args, Clone)]
#[command(next_help_heading = "What the text leaves open")]
pub struct OpenArgs {
    /// Architecture, compute capability or GPU
    #[arg(long, value_name = "NAME")]
    arch: Option<String>,

    /// Format of A and B
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    dtype: Option<Format>,

    /// Format of B, where it differs from A's
    #[arg(long, value_name = "FORMAT", requires = "dtype", value_parser = parse_format)]
    dtype_b: Option<Format>,

    /// Format of D
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    d_dtype: Option<Format>,

    /// Slices of K (SPLITK_NUM, numSplitsK)
    #[arg(long, value_name = "N")]
    split_k: Option<usize>,

    /// How slices meet: NONE, INPLACE, COMPUTE_TYPE, OUTPUT_TYPE, or 0, 1, 2, 4
    #[arg(long, value_name = "SCHEME", value_parser = parse_scheme)]
    reduction: Option<Scheme>,

    /// How CUTLASS cuts K: universal (cuBLAS too), serial-tiles, parallel-tiles
    #[arg(long, value_name = "HOW", value_parser = parse_partition)]
    partition: Option<Partition>,

    /// k of a tile
    #[arg(long, value_name = "K")]
    tile_k: Option<usize>,

    /// k of an instruction
    #[arg(long, value_name = "K")]
    instruction_k: Option<usize>,

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

    /// Plan slices that reach K, as a library without the defect of the lost tail would
    #[arg(long)]
    whole_tail: bool,
}

fn parse_format(text: &str) -> Result<Format, String> {
    Format::from_name(text).ok_or_else(|| "no such format; 'tcverify archs' lists them".into())
}

impl OpenArgs {
    /// # Errors
    /// If no GPU is called so.
    pub fn options(&self) -> Result<Options> {
        let mut options = Options {
            operands: self.dtype.map(|a| [a, self.dtype_b.unwrap_or(a)]),
            result: self.d_dtype,
            split_k: self.split_k,
            scheme: self.reduction,
            partition: self.partition,
            tile_k: self.tile_k,
            instruction_k: self.instruction_k,
            custom: self.custom,
            fast_accumulation: self.accumulation.map(|how| how == Accumulation::Fast),
            multiprocessors: self.multiprocessors,
            rotation: self.rotation,
            whole_tail: self.whole_tail,
            ..Options::default()
        };
        let sizes = [
            ("--split-k", self.split_k),
            ("--tile-k", self.tile_k),
            ("--instruction-k", self.instruction_k),
        ];
        if let Some((option, _)) = sizes.iter().find(|(_, size)| *size == Some(0)) {
            bail!("{option} must be at least 1");
        }
        if let Some(name) = &self.arch {
            options.on(name)?;
        }
        Ok(options)
    }
}
