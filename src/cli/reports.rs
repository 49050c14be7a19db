//! Where reports go: the outputs that commands share, opened before the work starts.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;

use super::attested::{AttestArgs, Attesting};
use super::show;
use crate::attest::Claims;
use crate::io::{Output, Outputs};
use crate::report::{Layout, View};

/// The environment variable that names the file to which steps of GitHub Actions append.
const SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// The forms of a report, and their outputs.
#[derive(Args)]
#[command(next_help_heading = "Report")]
pub struct ReportArgs {
    /// Print nothing; the exit code tells
    #[arg(long, short)]
    pub quiet: bool,

    /// Print one line: the verdict and its model; for a batch one line per case
    #[arg(long, conflicts_with = "quiet")]
    pub brief: bool,

    /// Also print the SHA-256 of everything the verdict rests on; documents and pages always have them
    #[arg(long)]
    pub digests: bool,

    /// Write the report as JSON; "-" is standard output, instead of the text
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,

    /// Write the verdict as JUnit XML, for CI servers
    #[arg(long, value_name = "PATH")]
    junit: Option<PathBuf>,

    /// Write the report as Markdown
    #[arg(long, value_name = "PATH")]
    markdown: Option<PathBuf>,

    /// Annotate a run of GitHub Actions: "::error ..." on standard output, even with --quiet, and
    /// the report as Markdown appended to the file named by GITHUB_STEP_SUMMARY
    #[arg(long)]
    pub github: bool,

    #[command(flatten)]
    attest: AttestArgs,
}

/// The page of a single check.
#[derive(Args)]
#[command(next_help_heading = "Report")]
pub struct PageArgs {
    /// Write the report as one page for a browser: a map of the mismatches, their bits, the model and
    /// its sources. It loads nothing from elsewhere
    #[arg(long, value_name = "PATH")]
    pub html: Option<PathBuf>,
}

/// The destinations, opened.
pub struct Destinations {
    pub json: Option<Output>,
    pub junit: Option<Output>,
    pub markdown: Option<Output>,
    /// What a step of GitHub Actions has to say; steps append to it.
    pub summary: Option<Output>,
    pub html: Option<Output>,
    attest: Option<Attesting>,
    /// Whether one of them takes the place of the text.
    pub to_stdout: bool,
}

impl ReportArgs {
    /// The same with another name for the JSON report's place.
    #[must_use]
    pub fn with_json(self, path: Option<PathBuf>) -> ReportArgs {
        ReportArgs {
            json: path.or(self.json),
            ..self
        }
    }

    /// Opens them, so that an unwritable place does not cost a replay.
    ///
    /// # Errors
    /// If one cannot be written, would overwrite what is read, or is named twice.
    pub fn open(&self, outputs: &mut Outputs, page: Option<&Path>) -> Result<Destinations> {
        let paths = [&self.json, &self.junit, &self.markdown].map(Option::as_deref);
        let to_stdout = paths.contains(&Some(Path::new("-"))) || page == Some(Path::new("-"));
        ensure!(
            !(to_stdout && self.github),
            "--github and a report to \"-\" cannot both use standard output"
        );
        let [json, junit, markdown] = paths;
        let signer = self.attest.read(outputs)?;
        let mut open =
            |role: &str, path: Option<&Path>| path.map(|path| outputs.open(role, path)).transpose();
        Ok(Destinations {
            json: open("the JSON report", json)?,
            junit: open("the JUnit report", junit)?,
            markdown: open("the Markdown report", markdown)?,
            html: open("the page", page)?,
            summary: match self.summary() {
                Some(path) => Some(outputs.append("the summary", &path).context(SUMMARY)?),
                None => None,
            },
            attest: self.attest.open(outputs, signer)?,
            to_stdout,
        })
    }

    fn summary(&self) -> Option<PathBuf> {
        let path = std::env::var_os(SUMMARY).filter(|path| !path.is_empty());
        path.filter(|_| self.github).map(PathBuf::from)
    }
}

impl Destinations {
    /// Writes every form of a view; `json` writes the document, `claims` says what of it is signed.
    ///
    /// # Errors
    /// The first destination that cannot be written.
    pub fn publish(
        self,
        view: &View,
        json: impl Fn(&mut dyn Write) -> io::Result<()>,
        claims: impl FnOnce() -> io::Result<Option<Claims>>,
    ) -> Result<()> {
        if let Some(output) = self.html {
            output.commit(|out| view.html(out))?;
        }
        if let Some(output) = self.junit {
            output.commit(|out| view.junit(out))?;
        }
        if let Some(output) = self.markdown {
            output.commit(|out| view.markdown(out))?;
        }
        if let Some(output) = self.json {
            output.commit(&json)?;
        }
        if let Some(summary) = self.summary {
            summary.commit(|out| {
                view.markdown(out)?;
                writeln!(out)
            })?;
        }
        match self.attest {
            Some(attest) => attest.publish(claims()?, json),
            None => Ok(()),
        }
    }
}

impl ReportArgs {
    /// Prints the requested form: text, or one line, unless a document takes its place; annotations after it, so that it
    /// stays in one piece.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub fn print(&self, view: &View, verbose: bool, to_stdout: bool) -> Result<()> {
        let layout = Layout {
            width: show::columns(),
            digests: self.digests,
            verbose,
        };
        if self.brief && !to_stdout {
            show::print(|out| view.brief(out))?;
        } else if !self.quiet && !to_stdout {
            show::print(|out| view.text(layout, out))?;
        }
        match self.github {
            true => show::commands(|out| view.github(out)),
            false => Ok(()),
        }
    }
}
