//! What of a batch has been judged already, and whether that still holds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use super::{BatchError, Case, Work};
use crate::check::{
    CheckError, Model, ModelSource, Prepared, Scheduling, Verb, command_line, model,
};
use crate::commit::Hash;
use crate::envelope;
use crate::io::{Files, Output, escaped_path, printable};
use crate::report::{BatchCase, Model as ReportedModel};

/// Value of the `schema` field.
pub const STATE: &str = "tcverify.batch-state/3";

/// A judged case, and what the verdict was about.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Of the options, the model, the schedule and their files.
    options_sha256: Hash,
    files: Vec<Read>,
    case: BatchCase,
}

/// A file as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Read {
    pub path: PathBuf,
    pub sha256: String,
}

/// What the file holds.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Kept<E> {
    /// The manifest, or the folder, whose cases they are.
    pub of: String,
    pub cases: Vec<E>,
}

/// The state file; without one, nothing is kept.
pub struct State {
    path: Option<PathBuf>,
    of: String,
    entries: Mutex<BTreeMap<String, Entry>>,
}

impl State {
    /// Reads the file if it is there, and makes sure that it can be written.
    ///
    /// # Errors
    /// If it is there and no state of a batch, or of another one.
    pub fn open(path: Option<&Path>, of: &Path, cases: &[Case]) -> Result<State, BatchError> {
        let of = std::fs::canonicalize(of).unwrap_or_else(|_| of.to_owned());
        let of = escaped_path(&of);
        let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
        if let Some(path) = path {
            let fail = BatchError::document(path);
            if std::fs::symlink_metadata(path).is_ok() {
                let (kept, _): (Kept<Entry>, _) =
                    envelope::read(STATE, path).map_err(|reason| {
                        fail(format!(
                            "{reason}; the state cannot be used; remove it to judge every case anew"
                        ))
                    })?;
                if kept.of != of {
                    let other = printable(&kept.of);
                    return Err(fail(format!(
                        "is the state of {other}, not of {of}; name another file, or remove it to judge every \
                         case anew"
                    )));
                }
                let names: std::collections::BTreeSet<_> =
                    cases.iter().map(|case| case.name.as_str()).collect();
                let known = kept.cases.into_iter();
                let known = known.filter(|entry| names.contains(entry.case.name.as_str()));
                entries.extend(known.map(|entry| (entry.case.name.clone(), entry)));
            }
            drop(Output::prepare(path).map_err(|error| BatchError::Other(format!("{error:#}")))?);
        }
        Ok(State {
            path: path.map(Path::to_owned),
            of,
            entries: Mutex::new(entries),
        })
    }

    fn entries(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Entry>> {
        // Whoever panicked with it had changed nothing: changes are single insertions.
        self.entries.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The verdict of before, if options, model, schedule and all files are as they were.
    pub fn recall(&self, case: &Case, files: &Files) -> Option<BatchCase> {
        let entry = self.entries().get(&case.name)?.clone();
        let same = fingerprint(case).is_ok_and(|found| found == entry.options_sha256)
            && entry.files.iter().all(|file| {
                let found = files.file(&file.path);
                found.is_ok_and(|found| {
                    found.sha256() == file.sha256 && found.confirm_unchanged().is_ok()
                })
            });
        same.then_some(entry.case)
    }

    /// Keeps a verdict; the file is written whole before this returns.
    ///
    /// # Errors
    /// If it cannot be.
    pub(super) fn keep(&self, entry: Entry) -> Result<(), BatchError> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        let mut entries = self.entries();
        entries.insert(entry.case.name.clone(), entry);
        let all = Kept {
            of: self.of.clone(),
            cases: entries.values().collect::<Vec<&Entry>>(),
        };
        let fail = BatchError::document(path);
        let text = envelope::seal(STATE, &all).map_err(|error| fail(error.to_string()))?;
        // Under the lock, so that no older state can replace it.
        let written =
            Output::prepare(path).and_then(|output| output.commit(|out| out.write_all(&text)));
        written.map_err(|error| BatchError::Other(format!("{error:#}")))
    }
}

impl Entry {
    pub(super) fn judged(&self) -> &BatchCase {
        &self.case
    }

    /// A verdict, and what it was about.
    pub(super) fn of(
        case: &Case,
        prepared: &Prepared,
        files: Vec<Read>,
        judged: BatchCase,
    ) -> Entry {
        Entry {
            options_sha256: of_read(case, prepared),
            files,
            case: judged,
        }
    }

    /// The same of an operation between products; `basis` is all that decides it but its arrays.
    pub(super) fn of_operation(
        case: &Case,
        basis: &str,
        files: Vec<Read>,
        judged: BatchCase,
    ) -> Entry {
        Entry {
            options_sha256: digest_of_operation(case, basis),
            files,
            case: judged,
        }
    }
}

/// The digest of all that decides a verdict but the operands and D.
///
/// # Errors
/// If there is no such model or schedule.
fn fingerprint(case: &Case) -> Result<Hash, CheckError> {
    let check = match &case.work {
        Work::Product(check) => check,
        Work::Operation(asked) => return Ok(digest_of_operation(case, &asked.basis()?)),
    };
    // What a kernel's words make of a product is known when its operands are.
    if let Some(kernel) = check.schedule.kernel() {
        let file = match &check.model.from {
            ModelSource::File(path) => {
                let read = model::read(path);
                Some(
                    read.map_err(|error| CheckError::File {
                        field: "model",
                        error,
                    })?
                    .1,
                )
            }
            ModelSource::Catalogue(_) => None,
        };
        return Ok(digest(case, &file, &kernel.said.sha256()?));
    }
    let scheduling = check.schedule.resolve()?;
    let scaled = check.operands.scales.is_some();
    let model = check.model.select(scaled, &scheduling)?;
    Ok(of_preset(case, &model, &scheduling))
}

/// The same of a case whose files have been read.
fn of_read(case: &Case, prepared: &Prepared) -> Hash {
    let (model, scheduling) = (prepared.model(), prepared.scheduling());
    match scheduling.said_sha256() {
        Some(said) => digest(case, &model.file().map(|(_, sha256)| sha256), &said),
        None => of_preset(case, model, scheduling),
    }
}

fn of_preset(case: &Case, model: &Model, scheduling: &Scheduling) -> Hash {
    let model = ReportedModel::of(&model.choice(), model.file());
    digest(case, &model, &scheduling.schedule)
}

fn digest(case: &Case, model: &impl Serialize, schedule: &impl Serialize) -> Hash {
    let words = words_of(case);
    let words = words.iter().map(|word| word.as_encoded_bytes().to_vec());
    let text = |json: serde_json::Result<String>| json.expect("plain data").into_bytes();
    let mut pieces = vec![env!("CARGO_PKG_VERSION").into()];
    pieces.extend(words);
    pieces.push(format!("{:?}", case.k).into_bytes());
    // A verdict under another policy, or under none, is none under this one.
    pieces.push(format!("{:?}", case.policy).into_bytes());
    pieces.push(text(serde_json::to_string(model)));
    pieces.push(text(serde_json::to_string(schedule)));
    Hash::of([text(serde_json::to_string(&pieces)).as_slice()])
}

/// The words that ask for a case.
fn words_of(case: &Case) -> Vec<std::ffi::OsString> {
    match &case.work {
        Work::Product(check) => command_line(Verb::Check, check),
        Work::Operation(asked) => asked.command_line(),
    }
}

fn digest_of_operation(case: &Case, basis: &str) -> Hash {
    let words = words_of(case);
    let words = words.iter().map(|word| word.as_encoded_bytes().to_vec());
    let mut pieces: Vec<Vec<u8>> = vec![env!("CARGO_PKG_VERSION").into(), basis.into()];
    pieces.extend(words);
    let text = serde_json::to_string(&pieces).expect("plain data");
    Hash::of([text.as_bytes()])
}
