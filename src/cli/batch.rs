//! `tcverify batch`: many checks, one report.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clap::Args;

use super::exports::Summary;
use super::progress::Bar;
use super::{Ending, show};
use crate::batch::{self, Case, State};
use crate::io::{Output, on_disk, same_file};
use crate::report::{Batch, CaseVerdict};

/// Run many checks: a manifest's, or those of a folder of case folders
///
/// A case that cannot be judged stops no other. Every case is what 'check' makes of the same options.
/// docs/batch.md specifies manifests, reports and states.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  Two products of one GPU, cases.json being
    {\"schema\": \"tcverify.manifest/1\",
     \"defaults\": {\"arch\": \"h100\", \"dtype\": \"bf16\", \"transpose_b\": true},
     \"cases\": [{\"name\": \"q\", \"a\": \"x.npy\", \"b\": \"w.safetensors#q\", \"d\": \"q.npy\"},
               {\"name\": \"k\", \"a\": \"x.npy\", \"b\": \"w.safetensors#k\", \"d\": \"k.npy\", \"d_dtype\": \"bf16\"}]}
    tcverify batch cases.json

  Captured cases, a folder with a case.json each, and a report for machines:
    tcverify batch captures/ --json report.json

  A long batch that may be interrupted; the same command goes on where it was:
    tcverify batch cases.json --resume state.json --junit report.xml

Exit codes: 0 all identical; 2 if any case could not be judged, or nothing was; else 1.")]
pub struct BatchArgs {
    /// Manifest (tcverify.manifest/1), or folder whose folders hold a case.json and arrays
    #[arg(value_name = "MANIFEST.json|FOLDER")]
    cases: PathBuf,

    /// Keep what has been judged in this file, and judge only what it does not hold: a case is passed
    /// over if its options, model, schedule and the SHA-256 of all its files are what they were
    #[arg(long, value_name = "STATE.json")]
    resume: Option<PathBuf>,

    /// Print nothing; the exit code tells
    #[arg(long, short, help_heading = "Report")]
    quiet: bool,

    /// Write the report as JSON; "-" is standard output, instead of the text
    #[arg(long, value_name = "PATH", help_heading = "Report")]
    json: Option<PathBuf>,

    /// Write the verdicts as JUnit XML, for CI servers
    #[arg(long, value_name = "PATH", help_heading = "Report")]
    junit: Option<PathBuf>,

    /// Write the verdicts as Markdown
    #[arg(long, value_name = "PATH", help_heading = "Report")]
    markdown: Option<PathBuf>,

    /// Annotate a run of GitHub Actions, as for check
    #[arg(long, help_heading = "Report")]
    github: bool,
}

impl BatchArgs {
    pub fn run(self) -> Result<Ending> {
        let (cases, own) = batch::read(&self.cases)?;
        let outputs = self.outputs(&cases, &own)?;
        let summary = match self.github {
            true => Summary::prepare()?,
            false => None,
        };
        let state = State::open(self.resume.as_deref(), &cases)?;
        let batch = batch::run(&cases, &state, &Bar::new())?;
        let [json, junit, markdown] = outputs;
        let write = |output: Option<Output>, form: Form| match output {
            Some(output) => output.commit(|out| form(&batch, out)),
            None => Ok(()),
        };
        write(junit, Batch::junit)?;
        write(markdown, Batch::markdown)?;
        if let Some(summary) = summary {
            let mut text = Vec::new();
            batch.markdown(&mut text)?;
            summary.append_text(text)?;
        }
        write(json, Batch::json)?;
        if !self.quiet && !self.to_stdout() {
            show::print(|out| batch.text(out))?;
        }
        if self.github {
            show::print(|out| batch.github(out))?;
        }
        match batch.verdict {
            CaseVerdict::Identical => Ok(Ending::Done),
            CaseVerdict::Different => Ok(Ending::Different),
            CaseVerdict::Unjudged => {
                let (n, all) = (batch.totals.unjudged, batch.totals.cases);
                bail!("{n} of {all} cases could not be judged")
            }
        }
    }

    fn destinations(&self) -> [Option<&Path>; 3] {
        [&self.json, &self.junit, &self.markdown].map(Option::as_deref)
    }

    fn to_stdout(&self) -> bool {
        self.destinations().contains(&Some(Path::new("-")))
    }

    /// Opens them before anything is judged.
    fn outputs(&self, cases: &[Case], own: &[PathBuf]) -> Result<[Option<Output>; 3]> {
        ensure!(
            !(self.github && self.to_stdout()),
            "--github prints to standard output, and so would a report to \"-\""
        );
        let written = self.destinations().into_iter().flatten();
        let written: Vec<_> = written.chain(self.resume.as_deref()).collect();
        let inputs = cases.iter().flat_map(|case| {
            let arrays = case.check.sources().filter_map(|(_, source)| source.path());
            arrays.chain(case.check.documents().map(|(_, path)| path.as_path()))
        });
        let inputs = inputs.chain(own.iter().map(PathBuf::as_path));
        let inputs: Vec<_> = inputs.map(on_disk).collect();
        for (i, path) in written.iter().enumerate() {
            let twice = |other: &&&Path| path == *other || same_file(path, other);
            if let Some(other) = written[..i].iter().find(twice) {
                bail!("{}: two outputs cannot go to one place", other.display());
            }
            if inputs.iter().any(|input| same_file(path, input)) {
                bail!(
                    "{}: is an input, which would be overwritten",
                    path.display()
                );
            }
        }
        let [json, junit, markdown] = self.destinations();
        let open = |path: Option<&Path>| path.map(Output::prepare).transpose();
        Ok([open(json)?, open(junit)?, open(markdown)?])
    }
}

type Form = fn(&Batch, &mut dyn std::io::Write) -> std::io::Result<()>;
