//! `tcverify verify-report`: whether a report says what is so.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use super::args::{MemoryArgs, said};
use super::progress::Bar;
use super::{Ending, auto, show};
use crate::batch::Policy;
use crate::check::{CheckError, verify};
use crate::deadline::{Deadline, interruptible};
use crate::io::{MappedFile, escaped, escaped_path};

/// Confirm a report that somebody hands over: ask again what it asked, and compare the reports field by field
///
/// Nothing in it is believed: its request is prepared anew from the files that it names, the result is computed again,
/// and every field of the report that comes out has to be in the one that was handed over.
///
/// A report is not signed: one that is confirmed may still be about other files than those that you were told of.
/// Compare its digests with ones that you know.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  Where the check ran, or beside the same files:
    tcverify verify-report report.json
    tcverify verify-report report.json --root /data/capture

Exit codes: 0 the whole report is confirmed, 1 something in it is not so, 2 anything else, such as files that cannot be \
read, or a report of another version in which nothing else is wrong.")]
pub struct VerifyReport {
    /// Report, as 'tcverify check --json' and 'tcverify shard merge' write it (tcverify.report/1)
    #[arg(value_name = "REPORT.json")]
    report: PathBuf,

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

    /// What its request may ask for: "strict", or a policy (tcverify.policy/1), as of 'batch'. Without one, only the work
    /// and the time are limited, as "strict" limits them
    #[arg(long, value_name = "strict|FILE.json")]
    policy: Option<PathBuf>,

    #[command(flatten)]
    memory: MemoryArgs,
}

/// Differences that are shown; of the others only how many there are.
const SHOWN: usize = 20;

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
        let report = verify::parse(text).map_err(|reason| anyhow::anyhow!("{name}: {reason}"))?;
        file.confirm_unchanged()?;
        let policy = self.policy.as_deref().map(Policy::read).transpose()?;
        if self.root != Path::new(".") {
            let folder = std::env::set_current_dir(&self.root);
            folder.with_context(|| format!("{}: cannot be entered", escaped_path(&self.root)))?;
        }
        if let Some(policy) = &policy {
            said(policy.admit_report(&report)).with_context(|| name.clone())?;
        }
        let limits = policy.clone().unwrap_or_default();
        let files = self.memory.files_under(policy.as_ref());
        let (most, bar) = (limits.limits.products, Bar::new());
        let verify = || interruptible(|| verify::verify(&report, &files, most, &bar));
        let verified = Deadline::after(limits.time()).within(verify)?;
        let verified = verified.unwrap_or(Err(CheckError::Interrupted));
        if let Err(CheckError::Interrupted) = verified {
            let seconds = limits.limits.seconds.unwrap_or_default();
            bail!("{name}: no verdict: stopped after {seconds} seconds; a --policy can allow more");
        }
        let verified = said(verified).with_context(|| name.clone())?;
        let mut differences = verified.differences;
        if let (true, Some((check, chosen))) = (differences.is_empty(), &verified.chosen) {
            differences = auto::confirm(check, chosen)?;
        }
        let (by, this) = (&report.tool.version, env!("CARGO_PKG_VERSION"));
        let versions = (by != this)
            .then(|| format!("made by tcverify {}, this is tcverify {this}", escaped(by)));
        if !self.quiet && (versions.is_none() || !differences.is_empty()) {
            show::print(|out| {
                write(&differences, versions.as_deref(), out)?;
                if report.merged.is_some() {
                    writeln!(
                        out,
                        "who signed its parts or ran them again is the report's word"
                    )?;
                }
                Ok(())
            })?;
        }
        match (differences.as_slice(), versions) {
            ([], None) => Ok(Ending::Done),
            ([], Some(versions)) => bail!(
                "{name}: {versions}: the rest of the report is confirmed, and the whole only by that version"
            ),
            _ => Ok(Ending::Different),
        }
    }
}

fn write(
    differences: &[String],
    versions: Option<&str>,
    out: &mut dyn std::io::Write,
) -> std::io::Result<()> {
    let fields = match differences {
        [] => {
            return writeln!(
                out,
                "CONFIRMED: the replay gives this report, field by field"
            );
        }
        [_] => "1 field of the report is".to_owned(),
        all => format!("{} fields of the report are", all.len()),
    };
    writeln!(out, "REFUTED: {fields} not what the replay gives")?;
    for difference in differences.iter().take(SHOWN) {
        writeln!(out, "  {}", escaped(difference))?;
    }
    if let Some(more) = differences.len().checked_sub(SHOWN + 1) {
        writeln!(out, "  ... and {} more", more + 1)?;
    }
    match versions {
        Some(versions) => writeln!(out, "{versions}: other versions may report in other words"),
        None => Ok(()),
    }
}
