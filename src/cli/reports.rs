//! Where reports go: the outputs that commands share, opened before the work starts.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::Ending;
use super::args::signer;
use super::show::{self, is_stdout};
use super::values::{time, word};
use crate::attest::{Claims, Envelope, Kind, PAYLOAD_TYPE};
use crate::forms;
use crate::forms::{Layout, View};
use crate::io::tree::Hash;
use crate::io::{Output, Outputs};
use crate::report::{Report, write_json};
use crate::sign::Signer;
use crate::tlog::rfc3339;

/// The environment variable that names the file to which steps of GitHub Actions append.
const SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// The forms of a report, and their outputs.
#[derive(Args)]
#[command(next_help_heading = "Report")]
pub struct FormArgs {
    /// Print nothing; the exit code tells
    #[arg(long, short)]
    pub quiet: bool,

    /// Print one line: the verdict and its model; for a batch one line per case
    #[arg(long, conflicts_with = "quiet")]
    pub brief: bool,

    /// Print all: each refuted hypothesis; for a batch every case, with the full report of each that is not identical
    #[arg(long, short, conflicts_with_all = ["quiet", "brief"])]
    verbose: bool,

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
}

/// The forms of a verdict, which may be signed.
#[derive(Args)]
pub struct ReportArgs {
    #[command(flatten)]
    pub forms: FormArgs,

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

/// Destinations that were opened before the work began.
#[derive(Default)]
pub struct Destinations {
    pub json: Option<Output>,
    pub junit: Option<Output>,
    pub markdown: Option<Output>,
    /// What a step of GitHub Actions has to say; steps append to it.
    pub summary: Option<Output>,
    pub html: Option<Output>,
    pub attest: Option<Attesting>,
    /// Whether one of them takes the place of the text.
    pub to_stdout: bool,
}

impl ReportArgs {
    /// The arguments with another place for the JSON report.
    #[must_use]
    pub fn with_json(self, path: Option<PathBuf>) -> ReportArgs {
        let json = path.or(self.forms.json);
        ReportArgs {
            forms: FormArgs { json, ..self.forms },
            ..self
        }
    }

    /// Whether nothing but the exit code tells what was found, a page left aside.
    pub fn is_unread(&self) -> bool {
        let forms = &self.forms;
        let documents = [
            &forms.json,
            &forms.junit,
            &forms.markdown,
            &self.attest.attest,
        ];
        forms.quiet && !forms.github && documents.iter().all(|path| path.is_none())
    }

    /// Opens them, as [`FormArgs::open`] does, and the attestation's.
    pub fn open(&self, outputs: &mut Outputs, page: Option<&Path>) -> Result<Destinations> {
        let signer = self.attest.read(outputs)?;
        let forms = self.forms.open(outputs, page)?;
        Ok(Destinations {
            attest: self.attest.open(outputs, signer)?,
            ..forms
        })
    }
}

impl FormArgs {
    /// Opens them before the work: an unwritable place must not cost a replay.
    ///
    /// # Errors
    /// If one cannot be written, would overwrite what is read, or is named twice.
    pub fn open(&self, outputs: &mut Outputs, page: Option<&Path>) -> Result<Destinations> {
        let [json, junit, markdown] =
            [&self.json, &self.junit, &self.markdown].map(Option::as_deref);
        let paths = [json, junit, markdown, page];
        let to_stdout = paths.into_iter().flatten().any(is_stdout);
        ensure!(
            !(to_stdout && self.github),
            "--github and a report to \"-\" cannot both use standard output"
        );
        Ok(Destinations {
            json: outputs.open_if("the JSON report", json)?,
            junit: outputs.open_if("the JUnit report", junit)?,
            markdown: outputs.open_if("the Markdown report", markdown)?,
            html: outputs.open_if("the page", page)?,
            summary: match self.summary() {
                Some(path) => Some(outputs.append("the summary", &path).context(SUMMARY)?),
                None => None,
            },
            attest: None,
            to_stdout,
        })
    }

    fn summary(&self) -> Option<PathBuf> {
        let path = std::env::var_os(SUMMARY).filter(|path| !path.is_empty());
        path.filter(|_| self.github).map(PathBuf::from)
    }
}

impl Destinations {
    /// Writes every form of a view; `json` writes the document, and `claims` are what is signed.
    pub fn publish(
        self,
        view: &View,
        json: impl Fn(&mut dyn Write) -> io::Result<()>,
        claims: impl FnOnce() -> io::Result<Option<Claims>>,
    ) -> Result<()> {
        if let Some(output) = self.html {
            output.commit(|out| forms::html(view, out))?;
        }
        if let Some(output) = self.junit {
            output.commit(|out| forms::junit(view, out))?;
        }
        if let Some(output) = self.markdown {
            output.commit(|out| forms::markdown(view, out))?;
        }
        if let Some(output) = self.json {
            output.commit(&json)?;
        }
        if let Some(summary) = self.summary {
            summary.commit(|out| {
                forms::markdown(view, out)?;
                writeln!(out)
            })?;
        }
        match self.attest {
            Some(attest) => attest.publish(claims()?, json),
            None => Ok(()),
        }
    }
}

impl FormArgs {
    /// Writes and prints every form of a document and its view.
    pub fn tell(
        &self,
        to: Destinations,
        view: &View,
        document: &impl Serialize,
        claims: impl FnOnce() -> io::Result<Option<Claims>>,
    ) -> Result<()> {
        let to_stdout = to.to_stdout;
        to.publish(view, |out| write_json(document, out), claims)?;
        self.print(view, to_stdout)
    }

    /// Writes and prints every form of a report.
    pub fn tell_report(&self, to: Destinations, view: &View, report: &Report) -> Result<Ending> {
        self.tell(to, view, report, || Claims::of_report(report).map(Some))?;
        Ok(report.verdict.into())
    }

    /// Prints the requested form: text, or one line, unless a document takes its place; annotations after it, so that it
    /// stays in one piece.
    pub fn print(&self, view: &View, to_stdout: bool) -> Result<()> {
        let layout = Layout {
            width: show::columns(),
            digests: self.digests,
            verbose: self.verbose,
        };
        if self.brief && !to_stdout {
            show::print(|out| view.brief(out))?;
        } else if !self.quiet && !to_stdout {
            show::print(|out| view.text(layout, out))?;
        }
        if self.github {
            show::commands(|out| forms::github(view, out))
        } else {
            Ok(())
        }
    }
}

/// What to sign, and with which key.
#[derive(Args)]
#[command(next_help_heading = "Attestation")]
pub struct AttestArgs {
    /// Sign the verdict: an in-toto statement about the judged files in a DSSE envelope, for cosign and similar tools
    /// (docs/attestations.md)
    #[arg(long, value_name = "PATH", requires = "attest_key")]
    attest: Option<PathBuf>,

    /// Private Ed25519 key that signs it, as 'openssl genpkey -algorithm ed25519' writes it
    #[arg(long, value_name = "PRIVATE.pem", requires = "attest")]
    attest_key: Option<PathBuf>,

    /// Kind of statement: test-result states whether it passed; svr lists what was verified, with a
    /// time
    #[arg(long, value_name = "KIND", requires = "attest", value_parser = word::<Kind>())]
    attest_as: Option<Kind>,

    /// Time that an svr must state, such as 2026-11-23T08:00:00Z; tcverify reads no clock
    #[arg(long, value_name = "TIME", requires = "attest", value_parser = time)]
    attest_time: Option<u64>,
}

/// Where an attestation goes, and who signs it.
pub struct Attesting {
    output: Output,
    signer: Signer,
    kind: Kind,
    time: Option<String>,
}

impl AttestArgs {
    /// Reads the key before outputs are opened.
    pub fn read(&self, outputs: &mut Outputs) -> Result<Option<Signer>> {
        let kind = self.attest_as.unwrap_or(Kind::TestResult);
        match (kind, self.attest_time) {
            (Kind::Svr, None) if self.attest.is_some() => {
                bail!("--attest-as svr needs a time: --attest-time");
            }
            (Kind::TestResult, Some(_)) => {
                bail!("--attest-time applies only to --attest-as svr: a test-result has no time");
            }
            _ => {}
        }
        let key = self.attest_key.as_deref();
        key.map(|path| signer(path, outputs)).transpose()
    }

    /// Opens the output.
    pub fn open(&self, outputs: &mut Outputs, signer: Option<Signer>) -> Result<Option<Attesting>> {
        let Some((path, signer)) = self.attest.as_deref().zip(signer) else {
            return Ok(None);
        };
        ensure!(
            !is_stdout(path),
            "--attest needs a file: standard output carries the report"
        );
        Ok(Some(Attesting {
            output: outputs.open("the attestation", path)?,
            signer,
            kind: self.attest_as.unwrap_or(Kind::TestResult),
            time: self.attest_time.map(rfc3339),
        }))
    }
}

impl Attesting {
    /// Writes it; `json` writes the report, which it names by its SHA-256. Without claims there is no verdict, and
    /// nothing is signed.
    fn publish(
        self,
        claims: Option<Claims>,
        json: impl Fn(&mut dyn Write) -> io::Result<()>,
    ) -> Result<()> {
        let Some(claims) = claims else {
            return Ok(());
        };
        let mut hash = Hashing(Sha256::new());
        json(&mut hash)?;
        let report = Hash(hash.0.finalize().into());
        let Some(statement) = claims.statement(self.kind, report, self.time.as_deref()) else {
            show::different(
                "no attestation was written: an svr lists what was verified, and nothing was verified",
            );
            return Ok(());
        };
        let text = statement.text();
        let envelope = Envelope::sign(PAYLOAD_TYPE, text.as_bytes(), &self.signer);
        let text = envelope.text();
        Ok(self.output.commit(|out| out.write_all(text.as_bytes()))?)
    }
}

/// The digest of what is written.
struct Hashing(Sha256);

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
