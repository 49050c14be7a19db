//! Tests: which there are, one run of one of them, and which mutants each reaches.

use crate::list::Mutant;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A test, as it ran with no mutant on.
#[derive(Clone, Serialize, Deserialize)]
pub struct Test {
    pub suite: String,
    pub name: String,
    pub passed: bool,
    pub seconds: f64,
    /// Keys of the mutants that it reaches.
    pub reaches: Vec<u64>,
}

/// What came of a test with a mutant on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    Failed,
    Endless,
}

/// Where tests run.
pub struct Place {
    /// The copy of the tree.
    pub copy: PathBuf,
    pub programs: BTreeMap<String, PathBuf>,
    /// A folder for what tests write.
    pub scratch: PathBuf,
    /// The most address space of a process, in KiB.
    pub memory: u64,
    /// The most processor time of a process with no mutant on, in seconds.
    pub longest: u64,
}

impl Place {
    /// Names of all tests that are not ignored.
    pub fn names(&self) -> Result<Vec<(String, String)>> {
        let mut names = Vec::new();
        for (suite, program) in self
            .programs
            .iter()
            .filter(|(suite, _)| *suite != "tcverify")
        {
            let all = |ignored: &[&str]| -> Result<String> {
                let listed = Command::new(program)
                    .args(["--list", "--format", "terse"])
                    .args(ignored)
                    .current_dir(&self.copy)
                    .output()
                    .with_context(|| program.display().to_string())?;
                Ok(String::from_utf8(listed.stdout)?)
            };
            let ignored = all(&["--ignored"])?;
            let ignored: Vec<_> = ignored.lines().collect();
            for line in all(&[])?.lines().filter(|line| !ignored.contains(line)) {
                if let Some(name) = line.strip_suffix(": test") {
                    names.push((suite.clone(), name.to_owned()));
                }
            }
        }
        Ok(names)
    }

    /// Starts one test alone, in a group of processes of its own. After `seconds` of processor time each is ended.
    fn start(
        &self,
        suite: &str,
        name: &str,
        seconds: u64,
        variable: (&str, &str),
        scratch: &Path,
    ) -> Result<Child> {
        let limited = format!(
            "ulimit -v {}; ulimit -t {seconds}; ulimit -c 0; exec \"$@\"",
            self.memory
        );
        let mut command = Command::new("sh");
        command
            .args(["-c", &limited, "sh"])
            .arg(&self.programs[suite]);
        command.args(["--exact", name, "--test-threads=1"]);
        command
            .env("TMPDIR", scratch)
            .env("CARGO_MANIFEST_DIR", &self.copy)
            .env(variable.0, variable.1);
        command.current_dir(&self.copy).process_group(0);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.spawn().context("a test cannot be started")
    }

    /// Runs a test with no mutant on, and notes which it reaches.
    pub fn record(
        &self,
        suite: &str,
        name: &str,
        mutants: &[Mutant],
        worker: usize,
    ) -> Result<Test> {
        let scratch = self.empty(worker)?;
        let reached = self.scratch.join(format!("reached-{worker}"));
        let _ = fs::remove_file(&reached);
        let began = Instant::now();
        let file = reached.to_string_lossy().into_owned();
        let child = self.start(
            suite,
            name,
            self.longest,
            ("TCVERIFY_REACHED", &file),
            &scratch,
        )?;
        let status = wait(child, Duration::from_secs(100 * self.longest))?;
        let seconds = began.elapsed().as_secs_f64();
        let numbers = fs::read_to_string(&reached).unwrap_or_default();
        let mut reaches: Vec<u64> = numbers
            .lines()
            .filter_map(|number| Some(mutants.get(number.parse::<usize>().ok()?)?.key))
            .collect();
        reaches.sort_unstable();
        reaches.dedup();
        let passed = status.is_some_and(|status| status.success());
        Ok(Test {
            suite: suite.to_owned(),
            name: name.to_owned(),
            passed,
            seconds,
            reaches,
        })
    }

    /// Runs a test with a mutant on.
    pub fn attempt(&self, test: &Test, number: u32, worker: usize) -> Result<Outcome> {
        let scratch = self.empty(worker)?;
        // Two processors at a time, three times as long as plain, and some seconds.
        let seconds = (6.0 * test.seconds) as u64 + 5;
        let mutant = number.to_string();
        let child = self.start(
            &test.suite,
            &test.name,
            seconds,
            ("TCVERIFY_MUTANT", &mutant),
            &scratch,
        )?;
        let patience = Duration::from_secs(20 * seconds);
        Ok(match wait(child, patience)? {
            Some(status) if status.success() => Outcome::Passed,
            Some(status)
                if status.signal() == Some(SIGXCPU) || status.signal() == Some(SIGKILL) =>
            {
                Outcome::Endless
            }
            Some(_) => Outcome::Failed,
            None => Outcome::Endless,
        })
    }

    fn empty(&self, worker: usize) -> Result<PathBuf> {
        let scratch = self.scratch.join(format!("tmp-{worker}"));
        let _ = fs::remove_dir_all(&scratch);
        fs::create_dir_all(&scratch)?;
        Ok(scratch)
    }
}

const SIGKILL: i32 = 9;
const SIGXCPU: i32 = 24;

/// Until it ends, or nothing when it does not; what it started is ended with it.
fn wait(mut child: Child, patience: Duration) -> Result<Option<ExitStatus>> {
    let began = Instant::now();
    let mut pause = Duration::from_millis(1);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if began.elapsed() > patience {
            break None;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    };
    if !status.is_some_and(|status| status.success()) {
        // The group of a process that this program started, by its number.
        let group = format!("-{}", child.id());
        let _ = Command::new("kill")
            .args(["-9", "--", &group])
            .stderr(Stdio::null())
            .status();
        child.wait()?;
    }
    Ok(status)
}
