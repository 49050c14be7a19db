//! Options for the settings that a kernel text lacks.

use anyhow::{Result, bail};
use clap::Args;

use crate::cli::args::Unsaid;
use crate::cli::values::{arch_names, operand_format, result_format};
use crate::kernel::{Accumulation, Options};
use crate::num::Format;

/// Settings that a kernel text may lack.
#[derive(Args, Clone)]
#[command(next_help_heading = "Settings that the text lacks")]
pub struct OpenArgs {
    /// Architecture, compute capability or GPU
    #[arg(long, value_name = "NAME", value_parser = arch_names(), hide_possible_values = true)]
    arch: Option<String>,

    /// Format of A and B
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = operand_format())]
    dtype: Option<Format>,

    /// Format of B, if it differs from A's
    #[arg(long, value_name = "FORMAT", requires = "dtype", ignore_case = true, value_parser = operand_format())]
    dtype_b: Option<Format>,

    /// Format of D
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = result_format())]
    d_dtype: Option<Format>,

    /// Slices of K (SPLITK_NUM, numSplitsK)
    #[arg(long, value_name = "N")]
    split_k: Option<usize>,

    /// K of a tile
    #[arg(long, value_name = "K")]
    tile_k: Option<usize>,

    /// K of an instruction
    #[arg(long, value_name = "K")]
    instruction_k: Option<usize>,

    #[command(flatten)]
    unsaid: Unsaid,
}

impl OpenArgs {
    /// The requested GPU.
    pub fn gpu(&self) -> Option<&str> {
        self.arch.as_deref()
    }

    /// # Errors
    /// If no GPU is called so.
    pub fn options(&self) -> Result<Options> {
        let unsaid = &self.unsaid;
        let mut options = Options {
            operands: self.dtype.map(|a| [a, self.dtype_b.unwrap_or(a)]),
            result: self.d_dtype,
            split_k: self.split_k,
            scheme: unsaid.reduction,
            partition: unsaid.partition,
            tile_k: self.tile_k,
            instruction_k: self.instruction_k,
            custom: unsaid.custom,
            fast_accumulation: unsaid.accumulation.map(|how| how == Accumulation::Fast),
            multiprocessors: unsaid.multiprocessors,
            rotation: unsaid.rotation,
            whole_tail: unsaid.whole_tail == Some(true),
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
