//! `tcverify explain --op`, `replay --op` and `commit --op`: what is shown or written and not judged.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use sha2::Digest;

use super::{OperationArgs, RuleArgs, said};
use crate::check::{PreparedOperation, Progress};
use crate::cli::args::{MemoryArgs, is_npy};
use crate::cli::documents::pretty;
use crate::cli::logged::LoggingArgs;
use crate::cli::progress::Bar;
use crate::cli::{Ending, show};
use crate::commit::Hash;
use crate::io::npy::write_header;
use crate::io::{Outputs, escaped_path, hex};

/// An operation by one rule, all of its result.
#[derive(Args)]
struct WholeArgs {
    #[command(flatten)]
    operation: OperationArgs,

    #[command(flatten)]
    rule: RuleArgs,

    #[command(flatten)]
    memory: MemoryArgs,
}

impl WholeArgs {
    /// What is asked, everything read, and outputs that write over none of it.
    fn prepare(&self) -> Result<(PreparedOperation, Outputs)> {
        let asked = self.operation.asked(&self.rule)?;
        let prepared = said(asked.prepare_in(&self.memory.files()))?;
        let mut outputs = Outputs::new();
        asked.protect(&mut outputs);
        Ok((prepared, outputs))
    }
}

/// Show how one element of an operation's result is computed, step by step
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  tcverify explain --op rms_norm --variant vllm --eps 1e-6 --dtype bf16 x.npy weight.npy y.npy --at 3,17

Exit codes: 0 shown, and the result (if given) has these bits; 1 it has others; 2 anything else.")]
pub struct Explain {
    #[command(flatten)]
    whole: WholeArgs,

    /// The element, as its indices
    #[arg(long, value_name = "I,J", value_delimiter = ',', required = true)]
    at: Vec<usize>,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

impl Explain {
    pub fn run(self) -> Result<Ending> {
        let (prepared, _) = self.whole.prepare()?;
        let explanation = said(prepared.explain(&self.at))?;
        show::print(|out| match self.json {
            true => {
                serde_json::to_writer_pretty(&mut *out, &explanation)?;
                writeln!(out)
            }
            false => explanation.text(out),
        })?;
        Ok(match explanation.same {
            Some(false) => Ending::Different,
            _ => Ending::Done,
        })
    }
}

/// Compute an operation as a library's kernel would, and write the result
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  tcverify replay --op gelu --dtype bf16 x.npy -o y.npy")]
pub struct Replay {
    #[command(flatten)]
    whole: WholeArgs,

    /// Where to write the result
    #[arg(long = "output-file", short = 'o', value_name = "Y.npy")]
    file: PathBuf,

    /// Do not print the result's digest
    #[arg(long, short)]
    quiet: bool,
}

impl Replay {
    pub fn run(self) -> Result<Ending> {
        let path = &self.file;
        is_npy(path)?;
        let (prepared, mut outputs) = self.whole.prepare()?;
        let job = said(prepared.job())?;
        let output = outputs.open("the result", path)?;
        let mut hash = sha2::Sha256::new();
        output.commit(|out| {
            write_header(job.format, &job.shape, out)?;
            let bar = Bar::new();
            bar.begin(job.shape.iter().map(|&n| n as u64).product());
            let mut written = Ok(());
            job.run(&|elements| bar.advance(elements), |band| {
                hash.update(band.payload);
                if written.is_ok() {
                    written = out.write_all(band.payload);
                }
            });
            drop(bar);
            written?;
            // Before the file becomes visible.
            prepared.confirm_unchanged().map_err(std::io::Error::other)
        })?;
        if !self.quiet && path.as_os_str() != "-" {
            let digest = hex(&hash.finalize());
            show::print(|out| writeln!(out, "{digest}  {}", escaped_path(path)))?;
        }
        Ok(Ending::Done)
    }
}

/// Commit to an operation by digests of its rule, arrays and result
///
/// Nothing is computed. Publish the file, or its SHA-256, before anyone can know the beacon's value
/// that 'check --op --seed-from' uses to draw a sample.@ src/cli/batch.rs
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  tcverify commit --op gelu --dtype bf16 x.npy y.npy -o c.json")]
pub struct Commit {
    #[command(flatten)]
    whole: WholeArgs,

    /// Where to write the commitment; "-" is standard output
    #[arg(
        long = "output-file",
        short = 'o',
        value_name = "C.json",
        default_value = "-"
    )]
    file: PathBuf,

    #[command(flatten)]
    logging: LoggingArgs,

    /// Do not print the digest of the commitment
    #[arg(long, short)]
    quiet: bool,
}

impl Commit {
    pub fn run(self) -> Result<Ending> {
        let path = &self.file;
        let (prepared, mut outputs) = self.whole.prepare()?;
        let signer = self.logging.read(&mut outputs)?;
        let output = outputs.open("the commitment", path)?;
        let logging = self.logging.open(&mut outputs, signer)?;
        let text = pretty(&said(prepared.commitment())?)?;
        output.commit(|out| out.write_all(&text))?;
        if !self.quiet && path.as_os_str() != "-" {
            let digest = Hash::of([&text[..]]);
            show::print(|out| writeln!(out, "{digest}  {}", escaped_path(path)))?;
        }
        if let Some(logging) = logging {
            logging.add(&text, self.quiet || path.as_os_str() == "-")?;
        }
        Ok(Ending::Done)
    }
}
