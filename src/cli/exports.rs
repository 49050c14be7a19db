//! Forms of the report besides text, and where they go.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use super::args::said;
use super::show;
use crate::check::{Judged, Prepared};
use crate::explain::{self, Wish};
use crate::io::{Output, same_file};
use crate::report::{Exporter, GitHub, Html, Json, Junit, Markdown, Outcome, Report};

/// Which of them.
#[derive(Args)]
#[command(next_help_heading = "Report")]
pub struct ReportArgs {
    /// Print nothing; the exit code tells
    #[arg(long, short)]
    pub quiet: bool,

    /// Write the report as JSON; "-" is standard output, instead of the text
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,

    /// Write the report as one page for a browser: a map of the mismatches, their bits, the model and
    /// its sources. It loads nothing
    #[arg(long, value_name = "PATH")]
    html: Option<PathBuf>,

    /// Write the verdict as JUnit XML, for CI servers
    #[arg(long, value_name = "PATH")]
    junit: Option<PathBuf>,

    /// Write the report as Markdown
    #[arg(long, value_name = "PATH")]
    markdown: Option<PathBuf>,

    /// Annotate a run of GitHub Actions: "::error ..." on standard output, even with --quiet, and
    /// the report as Markdown appended to the file that GITHUB_STEP_SUMMARY names
    #[arg(long)]
    github: bool,
}

/// Their destinations, opened before the replay.
pub struct Reports {
    html: Option<Output>,
    /// What needs nothing but the report.
    plain: Vec<(Output, &'static dyn Exporter)>,
    summary: Option<Summary>,
    to_stdout: bool,
}

/// What a step of GitHub Actions has to say; steps append to it.
pub struct Summary {
    path: PathBuf,
    /// Open already if it was there already.
    file: Option<File>,
}

impl ReportArgs {
    fn files(&self) -> impl Iterator<Item = &Path> {
        let files = [&self.html, &self.junit, &self.markdown, &self.json];
        files.into_iter().flatten().map(PathBuf::as_path)
    }

    /// Prints annotations, if they are wanted: after the text, so that it stays in one piece.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub fn annotate(&self, report: &Report) -> Result<()> {
        match self.github {
            true => show::print(|out| GitHub.export(report, out)),
            false => Ok(()),
        }
    }

    /// Opens the destinations before the replay, so that an unwritable place does not cost one.
    ///
    /// # Errors
    /// If one cannot be written, would overwrite an input, or is named twice.
    pub fn prepare(&self, prepared: &Prepared) -> Result<Reports> {
        let all: Vec<&Path> = self.files().collect();
        for (i, path) in all.iter().enumerate() {
            if let Some(other) = all[..i].iter().find(|other| same_place(path, other)) {
                bail!("{}: two reports cannot go to one place", other.display());
            }
        }
        let to_stdout = all.contains(&Path::new("-"));
        ensure!(
            !(to_stdout && self.github),
            "--github prints to standard output, and so would a report to \"-\""
        );
        let documents = prepared.check().documents();
        let inputs = documents.map(|(_, path)| path.as_path());
        for input in inputs.chain(prepared.arrays().map(|array| array.source.path())) {
            if let Some(path) = self.files().find(|path| same_file(path, input)) {
                bail!(
                    "{}: is an input; the report would overwrite it",
                    path.display()
                );
            }
        }
        let plain: [(_, &'static dyn Exporter); 3] = [
            (&self.junit, &Junit),
            (&self.markdown, &Markdown),
            (&self.json, &Json),
        ];
        let plain = plain.into_iter().filter_map(|(path, form)| {
            let output = Output::prepare(path.as_deref()?);
            Some(output.map(|output| (output, form)))
        });
        Ok(Reports {
            html: self.html.as_deref().map(Output::prepare).transpose()?,
            plain: plain.collect::<Result<_>>()?,
            summary: if self.github {
                Summary::prepare()?
            } else {
                None
            },
            to_stdout,
        })
    }
}

fn same_place(one: &Path, other: &Path) -> bool {
    one == other || same_file(one, other)
}

impl Reports {
    /// Whether mismatches are to be counted by place.
    pub fn want_map(&self) -> bool {
        self.html.is_some()
    }

    /// Whether one of them takes the place of the text.
    pub fn to_stdout(&self) -> bool {
        self.to_stdout
    }

    /// Writes them all.
    ///
    /// # Errors
    /// The first destination that cannot be written.
    pub fn publish(self, prepared: &Prepared, judged: &Judged) -> Result<()> {
        let report = &judged.report;
        if let Some(html) = self.html {
            let page = Html {
                trace: trace(prepared, report)?,
                map: judged.map.clone(),
            };
            html.commit(|out| page.export(report, out))?;
        }
        for (output, form) in self.plain {
            output.commit(|out| form.export(report, out))?;
        }
        self.summary
            .map_or(Ok(()), |summary| summary.append(report))
    }
}

impl Summary {
    /// # Errors
    /// If nothing can be appended to it.
    pub fn prepare() -> Result<Option<Summary>> {
        let path = std::env::var_os(SUMMARY).filter(|path| !path.is_empty());
        let Some(path) = path.map(PathBuf::from) else {
            return Ok(None);
        };
        let fail = || format!("{SUMMARY}: {}: cannot be written", path.display());
        let file = match OpenOptions::new().append(true).open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            file => Some(file.with_context(fail)?),
        };
        Ok(Some(Summary { path, file }))
    }

    fn append(self, report: &Report) -> Result<()> {
        let mut text = Vec::new();
        Markdown.export(report, &mut text)?;
        self.append_text(text)
    }

    /// # Errors
    /// If it cannot be written.
    pub fn append_text(self, mut text: Vec<u8>) -> Result<()> {
        let fail = || format!("{SUMMARY}: {}: cannot be written", self.path.display());
        text.push(b'\n');
        let mut file = match self.file {
            Some(file) => file,
            None => {
                let options = OpenOptions::new()
                    .append(true)
                    .create(true)
                    .open(&self.path);
                options.with_context(fail)?
            }
        };
        file.write_all(&text).with_context(fail)
    }
}

/// The environment variable that names the file.
const SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// The longest K that a page explains: more takes long, and memory.
const MAX_EXPLAINED_K: usize = 1 << 20;

/// What `tcverify explain` shows of the first mismatch, without colours.
fn trace(prepared: &Prepared, report: &Report) -> Result<Option<String>> {
    let Outcome::Elements { comparison, .. } = &report.outcome else {
        return Ok(None);
    };
    let first = comparison.first.first();
    let Some(first) = first.filter(|_| report.product.k <= MAX_EXPLAINED_K) else {
        return Ok(None);
    };
    let explanation = said(prepared.explain(&first.index, Wish::default()))?;
    said(prepared.confirm_unchanged())?;
    let mut plain = anstream::StripStream::new(Vec::new());
    explain::write(&explanation, &mut plain)?;
    plain.flush()?;
    Ok(Some(String::from_utf8(plain.into_inner())?))
}
