//! `tcverify replay`: compute D and keep it.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use sha2::Digest;

use super::args::{MemoryArgs, ProductArgs, is_npy, said};
use super::operation::OperationHint;
use super::progress::Bar;
use super::values::result_format;
use super::{Ending, show};
use crate::check::{Check, Fields, Progress};
use crate::io::npy::write_header;
use crate::io::{Outputs, escaped_path, hex};
use crate::num::Format;

/// Compute D as the chosen tensor core would, and write it
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  tcverify replay --arch h100 --dtype bf16 a.npy b.npy -o d.npy
  tcverify replay --arch rtx4090 --dtype e4m3 --d-dtype bf16 a.npy b.npy -o d.npy
  tcverify replay --arch a100 --dtype bf16 --schedule cublas-splitk-serial --split-k 4 --d-dtype bf16 a.npy b.npy -o d.npy

The file appears whole or not at all. BF16 is written as '<V2', which ml_dtypes reads as bfloat16;
'-o -' writes to standard output.")]
pub struct Replay {
    #[command(flatten)]
    _operation: OperationHint,

    #[command(flatten)]
    product: ProductArgs,

    #[command(flatten)]
    memory: MemoryArgs,

    /// Format of D: the accumulator's (default), or from f32 fp16 or bf16 by one rounding; a schedule's
    /// epilogue also allows fp8
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = result_format())]
    d_dtype: Option<Format>,

    /// Where to write D
    #[arg(long, short, value_name = "D.npy")]
    output: PathBuf,

    /// Do not print D's digest
    #[arg(long, short)]
    quiet: bool,
}

impl Replay {
    pub fn run(self) -> Result<Ending> {
        is_npy(&self.output)?;
        let fields = said(self.product.fields())?;
        let check = said(Check::try_from(Fields {
            d_dtype: self.d_dtype,
            ..fields
        }))?;
        let prepared = said(check.prepare_in(&self.memory.files()))?;
        let mut outputs = Outputs::new();
        check.protect(&mut outputs);
        let output = outputs.open("D", &self.output)?;
        let replay = prepared.replay();
        let mut hash = sha2::Sha256::new();
        output.commit(|out| {
            write_header(replay.format(), &replay.shape(), out)?;
            let bar = Bar::new();
            bar.begin(replay.work());
            replay.run(&|work| bar.advance(work), |band| {
                hash.update(band.payload);
                out.write_all(band.payload)
            })?;
            drop(bar);
            // Before the file becomes visible.
            let unchanged = prepared.confirm_unchanged();
            unchanged.map_err(std::io::Error::other)
        })?;
        let to_stdout = self.output.as_os_str() == "-";
        if !self.quiet && !to_stdout {
            let digest = hex(&hash.finalize());
            show::print(|out| writeln!(out, "{digest}  {}", escaped_path(&self.output)))?;
        }
        Ok(Ending::Done)
    }
}
