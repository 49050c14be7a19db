//! Verdicts of a batch that was judged in part, and whether they still hold: a journal with a line for every verdict.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, Read as _, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::{BatchError, Case};
use crate::batch::report::{BatchCase, KeptCase};
use crate::check::{Resources, Verb};
use crate::envelope;
use crate::io::tree::Hash;
use crate::io::{Output, escaped_path, printable};

/// Value of the `schema` field of every line.
pub const STATE: &str = "tcverify.batch-state/1";

/// The content of the first line.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Beginning {
    /// The manifest, or the folder, whose cases they are.
    pub of: String,
}

/// The content of every other one: a judged case, and what the verdict was about.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Of the options, the model, the schedule and their files.
    options_sha256: Hash,
    files: Vec<Read>,
    case: KeptCase,
}

/// A file as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Read {
    pub path: PathBuf,
    pub sha256: String,
}

/// The state file; without one, nothing is kept.
#[derive(Default)]
pub struct State(Option<Mutex<Journal>>);

/// The file, and where in it the last line of each case is: first byte, and bytes.
struct Journal {
    path: PathBuf,
    file: File,
    end: u64,
    lines: BTreeMap<String, (u64, usize)>,
}

impl State {
    /// Reads the file if it is there, and makes sure that it can be written.
    ///
    /// # Errors
    /// If it is there and no state of a batch, of another one, or in use.
    pub fn open(path: Option<&Path>, of: &Path, cases: &[Case]) -> Result<State, BatchError> {
        let Some(path) = path else {
            return Ok(State::default());
        };
        let of = std::fs::canonicalize(of).unwrap_or_else(|_| of.to_owned());
        let of = escaped_path(&of);
        let mut journal = match std::fs::symlink_metadata(path) {
            Ok(_) => Journal::open(path)?,
            Err(_) => Journal::begin(path, &of)?,
        };
        journal.read(&of, cases)?;
        Ok(State(Some(Mutex::new(journal))))
    }

    /// The verdict of before, if options, model, schedule and all files are as they were.
    pub fn recall(
        &self,
        case: &Case,
        resources: &Resources,
    ) -> Result<Option<BatchCase>, BatchError> {
        let Some(journal) = &self.0 else {
            return Ok(None);
        };
        let entry = {
            let mut journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
            journal.entry(&case.name)?
        };
        let same = |entry: &Entry| {
            let basis = case.request.basis(resources);
            basis.is_ok_and(|basis| digest(case, &basis) == entry.options_sha256)
                && entry.files.iter().all(|file| {
                    let found = resources.files.file(&file.path);
                    found.is_ok_and(|found| {
                        found.sha256() == file.sha256 && found.confirm_unchanged().is_ok()
                    })
                })
        };
        let kept = entry.filter(same);
        Ok(kept.and_then(|entry| entry.recalled().ok()))
    }

    /// Keeps a verdict: a line more.
    pub(super) fn keep(&self, entry: &Entry) -> Result<(), BatchError> {
        let Some(journal) = &self.0 else {
            return Ok(());
        };
        let mut journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
        let fail = BatchError::document(&journal.path);
        let line = envelope::seal(STATE, entry).map_err(|error| fail(error.to_string()))?;
        // Written at once: only the last line can be incomplete, and then it has no end.
        let written = journal.file.write_all(&line);
        written.map_err(|error| fail(format!("cannot be written: {error}")))?;
        let at = journal.end;
        journal.end += line.len() as u64;
        let name = entry.case.name.clone();
        journal.lines.insert(name, (at, line.len()));
        Ok(())
    }
}

impl Journal {
    /// A new file with its first line, which appears whole.
    fn begin(path: &Path, of: &str) -> Result<Journal, BatchError> {
        let fail = BatchError::document(path);
        let line = envelope::seal(STATE, &Beginning { of: of.to_owned() });
        let line = line.map_err(|error| fail(error.to_string()))?;
        let output = Output::prepare(path).map_err(BatchError::File)?;
        let written = output.commit(|out| out.write_all(&line));
        written.map_err(BatchError::File)?;
        Journal::open(path)
    }

    /// A file that is there, for nobody else meanwhile.
    fn open(path: &Path) -> Result<Journal, BatchError> {
        let fail = BatchError::document(path);
        let about = std::fs::metadata(path);
        if !about.is_ok_and(|about| about.is_file()) {
            return Err(fail(
                "is not a regular file, so it cannot be a state file".into(),
            ));
        }
        let file = OpenOptions::new().read(true).append(true).open(path);
        let file = file.map_err(|error| fail(format!("cannot be opened: {error}")))?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Err(fail(
                "is in use: another batch is writing its verdicts there".into(),
            ));
        }
        Ok(Journal {
            path: path.to_owned(),
            file,
            end: 0,
            lines: BTreeMap::new(),
        })
    }

    /// Finds the lines of some cases, and ends with the last whole one.
    fn read(&mut self, of: &str, cases: &[Case]) -> Result<(), BatchError> {
        let unusable = BatchError::document(&self.path);
        let fail = |reason: &str| {
            unusable(format!(
                "{reason}; the state cannot be used; remove it to judge every case again"
            ))
        };
        let names: std::collections::HashSet<_> =
            cases.iter().map(|case| case.name.as_str()).collect();
        let mut file = BufReader::new(&self.file);
        /// Larger than any report.
        const MAX_LINE: u64 = 1 << 28;
        let mut line = Vec::new();
        let mut number = 0;
        loop {
            line.clear();
            let read = file.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
            read.map_err(|error| fail(&format!("cannot be read: {error}")))?;
            if line.len() as u64 == MAX_LINE {
                return Err(fail("is damaged: one of its lines is incomplete"));
            }
            if line.last() != Some(&b'\n') {
                break;
            }
            number += 1;
            let damaged = |reason: String| fail(&format!("line {number} {reason}"));
            if number == 1 {
                let beginning: Beginning = envelope::open(STATE, &line).map_err(damaged)?;
                if beginning.of != of {
                    let other = printable(&beginning.of);
                    return Err(unusable(format!(
                        "is the state of {other}, not of {of}; name another file, or remove it to judge every case \
                        again"
                    )));
                }
            } else {
                let entry: Entry = envelope::open(STATE, &line).map_err(damaged)?;
                if names.contains(entry.case.name.as_str()) {
                    self.lines.insert(entry.case.name, (self.end, line.len()));
                }
            }
            self.end += line.len() as u64;
        }
        match number {
            0 if line.is_empty() => Err(fail("is empty")),
            0 => Err(fail("is damaged: its first line is incomplete")),
            // The program that wrote the last line was ended before the line was complete.
            _ => {
                let cut = self.file.set_len(self.end);
                cut.map_err(|error| fail(&format!("cannot be written: {error}")))
            }
        }
    }

    fn entry(&mut self, name: &str) -> Result<Option<Entry>, BatchError> {
        let Some(&(at, bytes)) = self.lines.get(name) else {
            return Ok(None);
        };
        let fail = BatchError::document(&self.path);
        let mut line = vec![0; bytes];
        let found = self.file.seek(SeekFrom::Start(at));
        let found = found.and_then(|_| self.file.read_exact(&mut line));
        found.map_err(|error| fail(format!("cannot be read: {error}")))?;
        envelope::open(STATE, &line).map(Some).map_err(fail)
    }
}

impl Entry {
    /// The case that it is about.
    pub fn recalled(self) -> std::io::Result<BatchCase> {
        BatchCase::of_kept(self.case)
    }

    /// A verdict, and what it was about; `None` of a case without a verdict. `basis` is all that decides it but the command
    /// line and the arrays.
    pub(super) fn of(
        case: &Case,
        basis: &str,
        files: Vec<Read>,
        judged: &BatchCase,
    ) -> Option<Entry> {
        Some(Entry {
            options_sha256: digest(case, basis),
            files,
            case: judged.kept()?,
        })
    }
}

/// The digest of all that decides the verdict on a case but the arrays. `basis` is that of its request.
fn digest(case: &Case, basis: &str) -> Hash {
    let words = case.request.command_line(Verb::Check);
    let words = words.iter().map(|word| word.as_encoded_bytes().to_vec());
    let mut pieces: Vec<Vec<u8>> = vec![env!("CARGO_PKG_VERSION").into(), basis.into()];
    pieces.extend(words);
    pieces.push(format!("{:?}", case.k).into_bytes());
    // A verdict under another policy, or under none, does not hold under this one.
    pieces.push(format!("{:?}", case.policy).into_bytes());
    let text = serde_json::to_string(&pieces).expect("plain data");
    Hash::of([text.as_bytes()])
}
