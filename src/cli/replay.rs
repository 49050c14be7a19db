//! `tcverify replay`: compute D and keep it.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use sha2::Digest;

use super::args::{MemoryArgs, OperationHint, ProductArgs, RequestArgs, in_options, is_npy};
use super::progress::Bar;
use super::show;
use super::values::result_format;
use crate::check::Check;
use crate::compose::Request;
use crate::io::npy::write_header;
use crate::io::{Outputs, hex};
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
pub struct Replay<A: RequestArgs> {
    /// Where to write the result
    #[arg(long = A::OUTPUT, short = 'o', value_name = "D.npy")]
    file: PathBuf,

    /// Do not print the result's digest
    #[arg(long, short)]
    quiet: bool,

    #[command(flatten)]
    args: A,

    #[command(flatten)]
    memory: MemoryArgs,
}

/// A product whose D is written.
#[derive(Args)]
pub struct ReplayedProduct {
    #[command(flatten)]
    _operation: OperationHint,

    #[command(flatten)]
    product: ProductArgs,

    /// Format of D: the accumulator's (default), or from f32 fp16 or bf16 by one rounding; a schedule's
    /// epilogue also allows fp8
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = result_format(), help_heading = "Comparison")]
    d_dtype: Option<Format>,
}

impl RequestArgs for ReplayedProduct {
    fn request(&self) -> Result<Request> {
        let fields = self.product.naming(None, self.d_dtype);
        in_options(fields.and_then(Check::try_from)).map(Request::from)
    }
}

impl<A: RequestArgs> Replay<A> {
    pub fn run(self) -> Result<()> {
        let path = &self.file;
        is_npy(path)?;
        let request = self.args.request()?;
        let prepared = self.memory.prepare(&request)?;
        let mut outputs = Outputs::new();
        request.protect(&mut outputs);
        let output = outputs.open(request.called(), path)?;
        let mut hash = sha2::Sha256::new();
        output.commit(|out| {
            write_header(prepared.format(), &prepared.shape(), out)?;
            let bar = Bar::new();
            let mut written = Ok(());
            let streamed = prepared.stream(&bar, &mut |band| {
                hash.update(band.payload);
                if written.is_ok() {
                    written = out.write_all(band.payload);
                }
            });
            drop(bar);
            written?;
            // Before the file becomes visible.
            streamed.map_err(std::io::Error::other)
        })?;
        show::written(path, hex(&hash.finalize()), self.quiet)
    }
}
