//! Forms of the report besides text and JSON.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clap::Args;

use super::check::same_file;
use crate::emu::{Choice, Problem};
use crate::explain::{self, Question, Wish};
use crate::io::Output;
use crate::report::{Exporter, Html, MismatchMap, Outcome, Report};
use crate::tensor::Tensor;

/// Which of them.
#[derive(Args)]
#[command(next_help_heading = "Report")]
pub struct ExportArgs {
    /// Write the report as one page for a browser: a map of the mismatches, their bits, the model and
    /// its sources. It loads nothing
    #[arg(long, value_name = "PATH")]
    pub html: Option<PathBuf>,
}

/// Their destinations, opened before the replay.
pub struct Exports {
    html: Option<Output>,
    to_stdout: bool,
}

/// What the page shows and the report does not hold.
pub struct Extras<'a> {
    pub map: Option<MismatchMap>,
    pub choice: &'a Choice<'a>,
    pub problem: &'a Problem<'a>,
    pub d: Option<&'a Tensor>,
}

impl ExportArgs {
    /// Whether mismatches are to be counted by place.
    pub fn wants_map(&self) -> bool {
        self.html.is_some()
    }

    fn files(&self) -> impl Iterator<Item = &Path> {
        [&self.html].into_iter().flatten().map(PathBuf::as_path)
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

    /// Writes them all.
    ///
    /// # Errors
    /// The first destination that cannot be written.
    pub fn publish(self, report: &Report, extras: Extras) -> Result<()> {
        if let Some(html) = self.html {
            let page = Html {
                trace: trace(report, &extras)?,
                map: extras.map,
            };
            html.commit(|out| page.export(report, out))?;
        }
        Ok(())
    }
}

/// What `tcverify explain` shows of the first mismatch, without colours.
fn trace(report: &Report, extras: &Extras) -> Result<Option<String>> {
    let Outcome::Elements { comparison, .. } = &report.outcome else {
        return Ok(None);
    };
    let (Some(first), Some(d)) = (comparison.first.first(), extras.d) else {
        return Ok(None);
    };
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
    };
    let mut plain = anstream::StripStream::new(Vec::new());
    explain::write(&question.answer(), &mut plain)?;
    plain.flush()?;
    Ok(Some(String::from_utf8(plain.into_inner())?))
}
