//! Forms of the report besides text and JSON.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use super::show;
use crate::emu::schedule::Kernel;
use crate::emu::{Choice, Problem};
use crate::explain::{self, Question, Wish};
use crate::io::{Output, same_file};
use crate::report::{
    Exporter, GitHub, Html, Junit, Markdown, MismatchMap, Outcome, Report, Scheduled,
};
use crate::tensor::Tensor;

/// Which of them.
#[derive(Args)]
#[command(next_help_heading = "Report")]
pub struct ExportArgs {
    /// Write the report as one page for a browser: a map of the mismatches, their bits, the model and
    /// its sources. It loads nothing
    #[arg(long, value_name = "PATH")]
    pub html: Option<PathBuf>,

    /// Write the verdict as JUnit XML, for CI servers
    #[arg(long, value_name = "PATH")]
    pub junit: Option<PathBuf>,

    /// Write the report as Markdown
    #[arg(long, value_name = "PATH")]
    pub markdown: Option<PathBuf>,

    /// Annotate a run of GitHub Actions: "::error ..." on standard output, even with --quiet, and
    /// the report as Markdown appended to the file that GITHUB_STEP_SUMMARY names
    #[arg(long)]
    pub github: bool,
}

/// Their destinations, opened before the replay.
pub struct Exports {
    html: Option<Output>,
    page: Html,
    junit: Option<Output>,
    markdown: Option<Output>,
    summary: Option<Summary>,
    to_stdout: bool,
}

/// What a step of GitHub Actions has to say; steps append to it.
pub struct Summary {
    path: PathBuf,
    /// Open already if it was there already.
    file: Option<File>,
}

/// What the page shows and the report does not hold.
pub struct Extras<'a> {
    pub map: Option<MismatchMap>,
    pub choice: &'a Choice<'a>,
    pub problem: &'a Problem<'a>,
    pub kernel: Option<(Kernel<'a>, Scheduled)>,
    pub d: Option<&'a Tensor>,
}

impl ExportArgs {
    /// Whether mismatches are to be counted by place.
    pub fn wants_map(&self) -> bool {
        self.html.is_some()
    }

    fn files(&self) -> impl Iterator<Item = &Path> {
        let files = [&self.html, &self.junit, &self.markdown];
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

    /// Opens the destinations; `json` is one more, `inputs` are files that must not be written.
    ///
    /// # Errors
    /// If one cannot be written, would overwrite an input, or is named twice.
    pub fn prepare<'a>(
        &self,
        json: Option<&Path>,
        inputs: impl Iterator<Item = &'a Path>,
    ) -> Result<Exports> {
        let all: Vec<&Path> = self.files().chain(json).collect();
        for (i, path) in all.iter().enumerate() {
            if let Some(other) = all[..i].iter().find(|other| same_place(path, other)) {
                bail!("{}: two reports cannot go to one place", other.display());
            }
        }
        let instead = all.contains(&Path::new("-"));
        ensure!(
            !(instead && self.github),
            "--github prints to standard output, and so would a report to \"-\""
        );
        for input in inputs {
            if let Some(path) = self.files().find(|path| same_file(path, input)) {
                bail!(
                    "{}: is an input; the report would overwrite it",
                    path.display()
                );
            }
        }
        let open = |path: &Option<PathBuf>| path.as_deref().map(Output::prepare).transpose();
        Ok(Exports {
            html: open(&self.html)?,
            page: Html::default(),
            junit: open(&self.junit)?,
            markdown: open(&self.markdown)?,
            summary: if self.github {
                Summary::prepare()?
            } else {
                None
            },
            to_stdout: self.files().any(|path| path == Path::new("-")),
        })
    }
}

fn same_place(one: &Path, other: &Path) -> bool {
    one == other || same_file(one, other)
}

impl Exports {
    /// Whether one of them takes the place of the text.
    pub fn to_stdout(&self) -> bool {
        self.to_stdout
    }

    /// Computes what the page shows and the report does not hold.
    ///
    /// # Errors
    /// If that cannot be.
    pub fn ready(mut self, report: &Report, extras: Extras) -> Result<Exports> {
        if self.html.is_some() {
            self.page.trace = trace(report, &extras)?;
            self.page.map = extras.map;
        }
        Ok(self)
    }

    /// Writes them all, but for what goes to standard output beside the text.
    ///
    /// # Errors
    /// The first destination that cannot be written.
    pub fn publish(self, report: &Report) -> Result<()> {
        if let Some(html) = self.html {
            html.commit(|out| self.page.export(report, out))?;
        }
        if let Some(junit) = self.junit {
            junit.commit(|out| Junit.export(report, out))?;
        }
        if let Some(markdown) = self.markdown {
            markdown.commit(|out| Markdown.export(report, out))?;
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
const LONGEST: usize = 1 << 20;

/// What `tcverify explain` shows of the first mismatch, without colours.
fn trace(report: &Report, extras: &Extras) -> Result<Option<String>> {
    let Outcome::Elements { comparison, .. } = &report.outcome else {
        return Ok(None);
    };
    let (Some(first), Some(d)) = (comparison.first.first(), extras.d) else {
        return Ok(None);
    };
    if extras.problem.k > LONGEST {
        return Ok(None);
    }
    let given = u64::from_str_radix(&first.given, 16)?;
    ensure!(first.index.len() >= 2, "an index of D");
    let question = Question {
        choice: extras.choice,
        problem: extras.problem,
        product: report.product.clone(),
        index: first.index.clone(),
        format: d.format(),
        given: Some(given),
        wish: Wish::default(),
        kernel: extras.kernel.clone(),
    };
    let mut plain = anstream::StripStream::new(Vec::new());
    explain::write(&question.answer(), &mut plain)?;
    plain.flush()?;
    Ok(Some(String::from_utf8(plain.into_inner())?))
}
