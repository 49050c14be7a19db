//! `tcverify verify-report`: whether a report is true.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use super::args::{MemoryArgs, in_options};
use super::progress::Bar;
use super::{CHOOSERS, Ending, show};
use crate::check::CheckError;
use crate::compose::verify;
use crate::compose::verify::Unconfirmed;
use crate::deadline::{Deadline, interruptible};
use crate::engines::resources_of;
use crate::io::{MappedFile, escaped, escaped_path};
use crate::policy::AdmissionPolicy;

/// Confirm another person's report by repeating its check
///
/// Nothing in the report is trusted: tcverify repeats its request on the files that it names, and compares the two
/// reports field by field. No replay shows which GPU computed ('engine'), nor who signed parts ('merged'): such fields
/// are named as not confirmed.
///
/// A report is not signed: a confirmed report may still be about files other than those you expect. Compare its
/// digests with digests that you know.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  Where the check ran, or next to the same files:
    tcverify verify-report report.json
    tcverify verify-report report.json --root /data/capture

Exit codes: 0 all that a replay can reproduce is confirmed, 1 something in the report is wrong, 2
anything else, such as unreadable files, or a report of another version that is otherwise confirmed.")]
pub struct VerifyReport {
    /// Report, as 'tcverify check --json' and 'tcverify shard merge' write it (tcverify.report/1)
    #[arg(value_name = "REPORT.json")]
    report: PathBuf,

    /// Folder in which the report's paths start
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

    /// Rules for its request: "strict", or a policy (tcverify.policy/1), as for 'batch'. By default only work and
    /// time are limited, as "strict" limits them
    #[arg(long, value_name = "strict|FILE.json")]
    policy: Option<PathBuf>,

    #[command(flatten)]
    memory: MemoryArgs,
}

/// Number of differences that are shown; the rest are only counted.
const SHOWN: usize = 20;

impl VerifyReport {
    pub fn run(self) -> Result<Ending> {
        /// Larger than any report, whose lists are as long as requested.
        const MAX_BYTES: u64 = 1 << 30;
        let file = MappedFile::open(&self.report).map_err(|fault| fault.of(&self.report))?;
        let name = escaped_path(&self.report);
        ensure!(
            file.bytes().len() as u64 <= MAX_BYTES,
            "{name}: is too large for a report"
        );
        let text = std::str::from_utf8(file.bytes()).ok();
        let text = text.with_context(|| format!("{name}: is not UTF-8, so it is not a report"))?;
        let report = verify::parse(text).map_err(|reason| anyhow::anyhow!("{name}: {reason}"))?;
        file.confirm_unchanged()?;
        let policy = self
            .policy
            .as_deref()
            .map(AdmissionPolicy::read)
            .transpose()?;
        if self.root != Path::new(".") {
            let folder = std::env::set_current_dir(&self.root);
            folder.with_context(|| {
                format!("{}: cannot change to this folder", escaped_path(&self.root))
            })?;
        }
        if let Some(policy) = &policy {
            in_options(policy.admit_report(&report)).with_context(|| name.clone())?;
        }
        let limits = policy.clone().unwrap_or_default();
        let resources = resources_of(self.memory.files_under(policy.as_ref()));
        let (most, bar) = (limits.limits.products, Bar::new());
        let verify = || interruptible(|| verify::verify(&report, &resources, most, &bar));
        let deadline = Deadline::after(limits.time());
        let verified = deadline.within(verify)?;
        let verified = verified.unwrap_or_else(|ended| Err(CheckError::ended(ended)));
        let seconds = limits.limits.seconds.unwrap_or_default();
        let stopped = || {
            format!(
                "{name}: no verdict: stopped after {seconds} seconds; a --policy can allow more"
            )
        };
        if let Err(CheckError::Interrupted) = verified {
            bail!(stopped());
        }
        let verified = in_options(verified).with_context(|| name.clone())?;
        let mut differences = verified.differences;
        if let (true, Some((check, chosen))) = (differences.is_empty(), &verified.chosen) {
            let chooser = CHOOSERS.first();
            let chooser =
                chooser.context("`rule.chosen`: this program has no search for models")?;
            let confirmed = deadline.within(|| chooser.confirm(check, chosen))?;
            ensure!(confirmed.is_ok() || !deadline.is_over(), stopped());
            differences = confirmed?;
        }
        let (by, this) = (&report.tool.version, env!("CARGO_PKG_VERSION"));
        let versions = (by != this).then(|| {
            format!(
                "made by tcverify {}, but this is tcverify {this}",
                escaped(by)
            )
        });
        // For such a report the error below says it.
        let unconfirmed = versions.is_some() && differences.is_empty();
        show::unless(self.quiet || unconfirmed, |out| {
            write(
                &differences,
                &verified.unconfirmed,
                versions.as_deref(),
                out,
            )
        })?;
        match (differences.as_slice(), versions) {
            ([], None) => Ok(Ending::Done),
            ([], Some(versions)) => bail!(
                "{name}: {versions}: everything else that a replay reproduces is confirmed; only that version can \
                confirm the whole"
            ),
            _ => Ok(Ending::Different),
        }
    }
}

fn write(
    differences: &[String],
    unconfirmed: &[Unconfirmed],
    versions: Option<&str>,
    out: &mut dyn std::io::Write,
) -> std::io::Result<()> {
    let fields = match differences {
        [] if unconfirmed.is_empty() => {
            return writeln!(
                out,
                "CONFIRMED: the replay gives this report, field by field"
            );
        }
        [] => {
            let fields: Vec<_> = unconfirmed.iter().map(|one| one.field).collect();
            writeln!(
                out,
                "CONFIRMED except {}: the replay gives every other field of this report",
                fields.join(" and ")
            )?;
            for Unconfirmed { field, about } in unconfirmed {
                writeln!(
                    out,
                    "  `{field}` is the word of whoever made the report: {about}"
                )?;
            }
            return Ok(());
        }
        [_] => "1 check of the report".to_owned(),
        all => format!("{} checks of the report", all.len()),
    };
    writeln!(out, "REFUTED: {fields} failed")?;
    for difference in differences.iter().take(SHOWN) {
        writeln!(out, "  {}", escaped(difference))?;
    }
    if let Some(more) = differences.len().checked_sub(SHOWN + 1) {
        writeln!(out, "  ... and {} more", more + 1)?;
    }
    match versions {
        Some(versions) => writeln!(
            out,
            "{versions}: other versions may word reports differently"
        ),
        None => Ok(()),
    }
}
