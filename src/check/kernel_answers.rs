//! Answers to what a library's text leaves open of a kernel.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::words::words;

/// Answers to what the text leaves open, beside those of a schedule's own fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelAnswers {
    pub reduction: Option<Scheme>,
    pub partition: Option<Partition>,
    pub custom: Option<u32>,
    pub accumulation: Option<Accumulation>,
    pub multiprocessors: Option<u32>,
    /// Turns by which a workgroup's loop over K is rotated (AMD).
    pub rotation: Option<usize>,
    /// Slices reach the end of K, as a library without the defect of the dropped remainder cuts them.
    pub whole_remainder: bool,
}

/// How the sums of slices meet: `cublasLtReductionScheme_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// With slices, as `Inplace`.
    None = 0,
    /// Through D, in D's format, one slice after the other.
    Inplace = 1,
    /// Through a workspace in f32.
    ComputeType = 2,
    /// Through a workspace in D's format.
    OutputType = 4,
}

impl Scheme {
    pub const ALL: [Scheme; 4] = [
        Scheme::None,
        Scheme::Inplace,
        Scheme::ComputeType,
        Scheme::OutputType,
    ];

    pub fn id(self) -> u32 {
        self as u32
    }

    pub fn name(self) -> &'static str {
        match self {
            Scheme::None => "NONE",
            Scheme::Inplace => "INPLACE",
            Scheme::ComputeType => "COMPUTE_TYPE",
            Scheme::OutputType => "OUTPUT_TYPE",
        }
    }

    /// Of an id, or of a name with or without its prefix.
    pub fn parse(text: &str) -> Option<Scheme> {
        let name = text.to_ascii_uppercase();
        let short = name.strip_prefix("CUBLASLT_").unwrap_or(&name);
        let short = short.strip_prefix("REDUCTION_SCHEME_").unwrap_or(short);
        let mut all = Scheme::ALL.into_iter();
        match text.parse::<u32>() {
            Ok(id) => all.find(|scheme| scheme.id() == id),
            Err(_) => all.find(|scheme| scheme.name() == short),
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

words! {
    /// How FP8 products accumulate on Hopper and Ada.
    pub enum Accumulation {
        /// One chain (torch's use_fast_accum, cublasLt's FAST_ACCUM)
        Fast = "fast",
        /// Sums are added to one in f32 every so many k; the default of cublasLt and torch
        Slow = "slow",
    }
}

/// How K is cut into slices: CUTLASS has three ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Partition {
    /// `GemmUniversal`, and what cuBLAS runs: even slices of whole alignments.
    Universal,
    /// `device::Gemm` with SplitKSerial: even slices of whole tiles.
    SerialTiles,
    /// `device::GemmSplitKParallel`: the whole tiles divided and rounded down, the last slice takes the
    /// rest.
    ParallelTiles,
}

impl Partition {
    pub fn parse(text: &str) -> Option<Partition> {
        let plain: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
        Some(match plain.to_ascii_lowercase().as_str() {
            "universal" | "gemmuniversal" => Partition::Universal,
            "serial" | "serialtiles" | "gemmsplitkserial" | "splitkserial" => {
                Partition::SerialTiles
            }
            "parallel" | "paralleltiles" | "gemmsplitkparallel" | "splitkparallel" => {
                Partition::ParallelTiles
            }
            _ => return None,
        })
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Partition::Universal => "universal",
            Partition::SerialTiles => "serial-tiles",
            Partition::ParallelTiles => "parallel-tiles",
        })
    }
}
