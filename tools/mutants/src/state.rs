//! What is known so far, in files of the work folder, so that a run that was ended goes on.

use crate::suite::Test;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// A test failed.
    Caught,
    /// A test did not end.
    Timeout,
    /// All tests that reach it passed.
    Missed,
    /// The tests that ran passed, and the time for one mutant was over.
    Undecided,
    /// No test reaches it.
    Unreached,
    /// Computed as the crate is built: not switched.
    Constant,
    /// Does not compile where it can be switched.
    Unviable,
}

#[derive(Clone, Serialize, Deserialize)]
pub struct Decided {
    pub key: u64,
    pub name: String,
    pub outcome: Outcome,
    /// The test that caught it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// How many tests ran, of how many that reach it.
    pub ran: usize,
    pub reach: usize,
}

const FILES: [&str; 3] = ["tests.jsonl", "decided.jsonl", "unviable.jsonl"];

pub struct State {
    folder: PathBuf,
    pub tests: Vec<Test>,
    pub decided: HashMap<u64, Decided>,
    pub unviable: HashSet<u64>,
    writing: Mutex<()>,
}

impl State {
    /// Of this source; with `keep` of an older one: what was caught and what tests reached. With `fresh` of none.
    pub fn open(folder: &Path, hash: u64, keep: bool, fresh: bool) -> Result<State> {
        fs::create_dir_all(folder)?;
        let source = folder.join("source");
        let same = fs::read_to_string(&source).is_ok_and(|old| old == hash.to_string());
        let mut state = State {
            folder: folder.to_owned(),
            tests: Vec::new(),
            decided: HashMap::new(),
            unviable: HashSet::new(),
            writing: Mutex::new(()),
        };
        if fresh {
            for file in FILES {
                let _ = fs::remove_file(folder.join(file));
            }
        } else if source.exists() && !same && !keep {
            bail!(
                "the source changed since {} was written: --keep goes on with it, --fresh begins anew",
                folder.display()
            );
        }
        state.tests = state.latest()?;
        let decided: Vec<Decided> = state.lines("decided.jsonl")?;
        state.decided = decided
            .into_iter()
            .map(|decided| (decided.key, decided))
            .collect();
        state.unviable = state.lines("unviable.jsonl")?.into_iter().collect();
        fs::write(source, hash.to_string())?;
        Ok(state)
    }

    /// Of a test that was recorded again, the last.
    pub fn latest(&self) -> Result<Vec<Test>> {
        let mut latest: HashMap<(String, String), Test> = HashMap::new();
        for test in self.lines::<Test>("tests.jsonl")? {
            latest.insert((test.suite.clone(), test.name.clone()), test);
        }
        Ok(latest.into_values().collect())
    }

    fn lines<T: for<'a> Deserialize<'a>>(&self, file: &str) -> Result<Vec<T>> {
        let text = fs::read_to_string(self.folder.join(file)).unwrap_or_default();
        let lines = text
            .lines()
            .map(|line| serde_json::from_str(line).context(file.to_owned()));
        lines.collect()
    }

    /// Adds a line to a file of the state.
    pub fn note<T: Serialize>(&self, file: &str, value: &T) -> Result<()> {
        let _one = self.writing.lock().expect("no writer panics");
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.join(file))?;
        file.write_all((serde_json::to_string(value)? + "\n").as_bytes())?;
        Ok(())
    }
}
