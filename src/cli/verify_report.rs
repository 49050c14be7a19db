//! `tcverify verify-report`: whether a report says what is so.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;

use super::args::{MemoryArgs, said};
use super::progress::Bar;
use super::{Ending, show};
use crate::check::verify::{self, Verified};
use crate::io::{MappedFile, escaped, escaped_path};

/// Confirm a report that somebody hands over: every digest, every figure, and with --replay the result
///
/// Nothing in it is believed: its request is prepared anew from the files that it names. Model, schedule,
/// shapes, formats and all digests have to be those of the report, and its figures have to agree with each other,
/// with D and with the verdict. That D is what the model computes only --replay can say.
///
/// A report is not signed: one that agrees may still be about other files than those that you were told of. Compare
/// its digests with ones that you know.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  Where the check ran, or beside the same files:
    tcverify verify-report report.json
    tcverify verify-report report.json --root /data/capture

  All of it, the product replayed:
    tcverify verify-report report.json --replay

scripts/verify_report.py does the same without the replay, and shares no code with this program.

Exit codes: 0 all agrees, 1 something does not, 2 the report or a file cannot be read.")]
pub struct VerifyReport {
    /// Report (tcverify.report/1), as 'tcverify check --json' and 'tcverify shard merge' write it, or on an operation
    /// (tcverify.operation-report/1, 'tcverify op --json')
    #[arg(value_name = "REPORT.json")]
    report: PathBuf,

    /// Replay the product or the operation, and compare everything with what comes out
    #[arg(long)]
    replay: bool,

    /// The folder that paths of the report start in
    #[arg(
        long,
        value_name = "DIR",
        default_value = ".",
        hide_default_value = true
    )]
    root: PathBuf,

    /// Print nothing; the exit code tells
    #[arg(long, short)]
    quiet: bool,

    #[command(flatten)]
    memory: MemoryArgs,
}

impl VerifyReport {
    pub fn run(self) -> Result<Ending> {
        /// Larger than any report: lists are as long as they were asked to be.
        const MAX_BYTES: u64 = 1 << 30;
        let file = MappedFile::open(&self.report).map_err(|fault| fault.of(&self.report))?;
        let name = escaped_path(&self.report);
        ensure!(
            file.bytes().len() as u64 <= MAX_BYTES,
            "{name}: is larger than a report can be"
        );
        let text = std::str::from_utf8(file.bytes()).ok();
        let text = text.with_context(|| format!("{name}: is no UTF-8, so no report"))?;
        let report = verify::read(text).map_err(|reason| anyhow::anyhow!("{name}: {reason}"))?;
        file.confirm_unchanged()?;
        if self.root != Path::new(".") {
            let folder = std::env::set_current_dir(&self.root);
            folder.with_context(|| format!("{}: cannot be entered", escaped_path(&self.root)))?;
        }
        let verified = report.verify(self.replay, &self.memory.files(), &Bar::new());
        let verified = said(verified).with_context(|| name.clone())?;
        if !self.quiet {
            show::print(|out| write(&verified, &report.tool().version, out))?;
        }
        Ok(match verified.agrees() {
            true => Ending::Done,
            false => Ending::Different,
        })
    }
}

fn write(verified: &Verified, by: &str, out: &mut dyn std::io::Write) -> std::io::Result<()> {
    for finding in &verified.findings {
        match finding.wrong.as_slice() {
            [] => writeln!(out, "ok   {}", finding.what)?,
            wrong => {
                writeln!(out, "BAD  {}", finding.what)?;
                for sentence in wrong {
                    writeln!(out, "     {}", escaped(sentence))?;
                }
            }
        }
    }
    if by != env!("CARGO_PKG_VERSION") {
        writeln!(
            out,
            "it was written by tcverify {}, this is {}",
            escaped(by),
            env!("CARGO_PKG_VERSION")
        )?;
    }
    if verified.agrees() && verified.chosen {
        writeln!(
            out,
            "the model was chosen to fit D; which others fit is the report's word: 'tcverify identify' tells"
        )?;
    }
    match (verified.agrees(), verified.replayed) {
        (false, _) => writeln!(out, "the report does not say what is so"),
        (true, true) => writeln!(out, "all agrees, and the replay gives this report"),
        (true, false) => writeln!(
            out,
            "all agrees; that D is what the model computes is the report's word: --replay confirms it"
        ),
    }
}
