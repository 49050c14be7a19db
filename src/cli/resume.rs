//! `batch --resume`: what has been judged already, and whether that still holds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::case_fields::Case;
use super::sealed;
use crate::commit::Hash;
use crate::io::{MappedFile, Output, file_sha256};
use crate::report::{BatchCase, Model};

/// Value of the `schema` field.
const STATE: &str = "tcverify.batch-state/1";

/// A judged case, and what the verdict was about.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Of the options, the model, the schedule and their files.
    options_sha256: Hash,
    files: Vec<Read>,
    case: BatchCase,
}

/// A file as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Read {
    pub path: PathBuf,
    pub sha256: String,
}

/// The state file; without one, nothing is kept.
pub struct State {
    path: Option<PathBuf>,
    entries: Mutex<BTreeMap<String, Entry>>,
}

impl State {
    /// Reads the file if it is there, and makes sure that it can be written.
    ///
    /// # Errors
    /// If it is there and no state of a batch.
    pub fn open(path: Option<&Path>, cases: &[Case]) -> Result<State> {
        let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
        if let Some(path) = path {
            let name = || path.display().to_string();
            if std::fs::symlink_metadata(path).is_ok() {
                let read = || {
                    let file = MappedFile::open(path)?;
                    sealed::unseal(STATE, file.bytes())
                };
                let known: Vec<Entry> = read().with_context(name).context(
                    "--resume: the state cannot be used; remove it to judge every case anew",
                )?;
                let names: std::collections::BTreeSet<_> =
                    cases.iter().map(|case| case.name.as_str()).collect();
                let known = known.into_iter();
                let known = known.filter(|entry| names.contains(entry.case.name.as_str()));
                entries.extend(known.map(|entry| (entry.case.name.clone(), entry)));
            }
            drop(Output::prepare(path)?);
        }
        Ok(State {
            path: path.map(Path::to_owned),
            entries: Mutex::new(entries),
        })
    }

    fn entries(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Entry>> {
        // Whoever panicked with it had changed nothing: changes are single insertions.
        self.entries.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The verdict of before, if options, model, schedule and all files are as they were.
    pub fn recall(&self, case: &Case) -> Option<BatchCase> {
        let entry = self.entries().get(&case.name)?.clone();
        let same = options(case).is_ok_and(|options| options == entry.options_sha256)
            && entry.files.iter().all(|file| {
                let found = MappedFile::open(&file.path);
                found.is_ok_and(|found| {
                    file_sha256(&found) == file.sha256 && found.confirm_unchanged().is_ok()
                })
            });
        same.then_some(entry.case)
    }

    /// Keeps a verdict; the file is written whole before this returns.
    ///
    /// # Errors
    /// If it cannot be.
    pub fn keep(&self, options_sha256: Hash, files: Vec<Read>, case: BatchCase) -> Result<()> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        let entry = Entry {
            options_sha256,
            files,
            case,
        };
        let mut entries = self.entries();
        entries.insert(entry.case.name.clone(), entry);
        let all: Vec<&Entry> = entries.values().collect();
        let text = sealed::seal(STATE, &all)?;
        // Under the lock, so that no older state can replace it.
        Ok(Output::prepare(path)?.commit(|out| out.write_all(&text))?)
    }
}

/// The digest of all that decides a verdict but the operands and D.
///
/// # Errors
/// If there is no such model or schedule.
pub fn options(case: &Case) -> Result<Hash> {
    let judge = &case.judge;
    let schedule = judge.schedule.choose()?;
    let choice = judge.model.choose(judge.operands.scaled(), &schedule)?;
    let mut pieces = vec![env!("CARGO_PKG_VERSION").to_owned()];
    pieces.extend(case.words.iter().cloned());
    pieces.push(format!("{:?}", case.k));
    pieces.push(serde_json::to_string(&Model::of(&choice))?);
    pieces.push(serde_json::to_string(&schedule.schedule)?);
    Ok(Hash::of([serde_json::to_vec(&pieces)?.as_slice()]))
}
