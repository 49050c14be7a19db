//! A whole check.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::{ProductArgs, parsed, said, source};
use crate::check::{Check, CheckError, Fields, Strictness};
use crate::cli::values::{result_format, word};
use crate::num::Format;

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
