//! `tcverify batch`: many checks, one report.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use super::case_fields::Case;
use super::exports::Summary;
use super::manifest;
use super::progress::Bar;
use super::resume::{self, Read, State};
use super::{Ending, show};
use crate::io::{Output, same_file};
use crate::report::{Batch, BatchCase, CaseVerdict};

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

/// Cases whose files have no more bytes than this in sum run side by side, a thread each: most of
/// their time is spent on files, which a single case cannot share out.
const SMALL: u64 = 1 << 20;

impl BatchArgs {
    pub fn run(self) -> Result<Ending> {
        let (cases, own) = manifest::read(&self.cases)?;
        let outputs = self.outputs(&cases, &own)?;
        let summary = match self.github {
            true => Summary::prepare()?,
            false => None,
        };
        let state = State::open(self.resume.as_deref(), &cases)?;
        let batch = Batch::of(judge_all(&cases, &state)?);
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
        let inputs = cases.iter().flat_map(|case| &case.files).chain(own);
        let inputs: Vec<_> = inputs.map(|path| on_disk(path)).collect();
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

/// The file of `x.npz#name`.
fn on_disk(path: &Path) -> PathBuf {
    let text = path.to_string_lossy();
    match text.rsplit_once('#') {
        Some((file, _)) if !path.exists() => file.into(),
        _ => path.to_owned(),
    }
}

/// Judges all cases, in whatever order, and returns them in theirs.
fn judge_all(cases: &[Case], state: &State) -> Result<Vec<BatchCase>> {
    let bar = Bar::new(cases.len());
    let done: Vec<OnceLock<BatchCase>> = cases.iter().map(|_| OnceLock::new()).collect();
    let trouble = Mutex::new(None);
    let (small, large): (Vec<usize>, Vec<usize>) =
        (0..cases.len()).partition(|&i| bytes(&cases[i]) <= SMALL);
    let one = |i: usize| {
        let found = judged(&cases[i], state, &bar);
        match found {
            Ok(case) => done[i].set(case).is_ok(),
            Err(error) => {
                *trouble.lock().unwrap_or_else(|e| e.into_inner()) = Some(error);
                false
            }
        }
    };
    let next = AtomicUsize::new(0);
    let threads = rayon::current_num_threads().min(small.len());
    // Threads with a pool of one each: a case that waited for its parts would else begin another
    // one meanwhile, and that one the next.
    std::thread::scope(|scope| -> Result<()> {
        for _ in 0..threads {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
            let pool = pool.context("worker threads cannot be started")?;
            let (next, small, one) = (&next, &small, &one);
            scope.spawn(move || {
                pool.install(|| {
                    while let Some(&i) = small.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if !one(i) {
                            break;
                        }
                    }
                });
            });
        }
        Ok(())
    })?;
    for &i in &large {
        if !one(i) {
            break;
        }
    }
    if let Some(error) = trouble.into_inner().unwrap_or_else(|e| e.into_inner()) {
        return Err(error);
    }
    let done = done.into_iter().map(OnceLock::into_inner);
    done.collect::<Option<_>>()
        .context("a case was lost; this is an error of the program")
}

/// Bytes of the files of a case; of one that is generated, no small number.
fn bytes(case: &Case) -> u64 {
    let operands = &case.judge.operands;
    let generated = |path: &Path| {
        let path = path.to_str();
        path.is_some_and(|path| path.starts_with(crate::generate::PREFIX))
    };
    if generated(&operands.a) || generated(&operands.b) {
        return u64::MAX;
    }
    let sizes = case.files.iter().map(|path| {
        let about = std::fs::metadata(on_disk(path));
        about.map_or(0, |about| about.len())
    });
    sizes.fold(0, u64::saturating_add)
}

/// The verdict on a case, or why there is none; an error only if it cannot be kept.
fn judged(case: &Case, state: &State, bar: &Bar) -> Result<BatchCase> {
    if let Some(known) = state.recall(case) {
        drop(bar.meter(1));
        return Ok(known);
    }
    let options = resume::options(case);
    let judged = case.judge.judge(
        false,
        |work| bar.meter(work),
        |_| Ok(()),
        |(), setup, report, _| {
            let k = report.product.k as u64;
            if let Some(said) = case.k {
                ensure!(said == k, "case.json says that k is {said}, but it is {k}");
            }
            let inputs = report.inputs.named();
            let files = setup.files().zip(inputs).filter(|(operand, _)| {
                // What is generated follows from the options.
                !operand.file.file().is_made()
            });
            let files = files.map(|(operand, (_, input))| Read {
                path: operand.file.path().to_owned(),
                sha256: input.file_sha256.clone(),
            });
            Ok(files.collect::<Vec<_>>())
        },
    );
    let found = judged.and_then(|judged| {
        let (report, files) = judged.context("not what was committed")?;
        // A model's or schedule's file that changed meanwhile is noticed by its digest.
        let (before, after) = (options?, resume::options(case)?);
        ensure!(
            before == after,
            "its model or schedule was changed while it was being judged; run again"
        );
        Ok((BatchCase::judged(&case.name, &report)?, files, after))
    });
    match found {
        Ok((found, files, options)) => {
            state.keep(options, files, found.clone())?;
            Ok(found)
        }
        Err(error) => {
            drop(bar.meter(1));
            Ok(BatchCase::unjudged(&case.name, format!("{error:#}")))
        }
    }
}
