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
    /// Of processor time, of all its processes.
    pub seconds: f64,
    /// Keys of the mutants that it reaches.
    pub reaches: Vec<u64>,
}

impl Test {
    /// Suite and name.
    pub fn label(&self) -> String {
        format!("{} {}", self.suite, self.name)
    }
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
    /// The most processor time of a test with no mutant on, in seconds.
    pub longest: u64,
}

impl Place {
    /// Names of all tests, the long ones included.
    pub fn names(&self) -> Result<Vec<(String, String)>> {
        let mut names = Vec::new();
        for (suite, program) in self
            .programs
            .iter()
            .filter(|(suite, _)| *suite != "tcverify")
        {
            let listed = Command::new(program)
                .args(["--list", "--format", "terse"])
                .current_dir(&self.copy)
                .output()
                .with_context(|| program.display().to_string())?;
            for line in String::from_utf8(listed.stdout)?.lines() {
                if let Some(name) = line.strip_suffix(": test") {
                    names.push((suite.clone(), name.to_owned()));
                }
            }
        }
        Ok(names)
    }

    /// Starts one test alone, in a group of processes of its own. After `seconds` of processor time each is ended.
    /// What they took together goes to `times`, if given.
    fn start(
        &self,
        suite: &str,
        name: &str,
        seconds: u64,
        variable: (&str, &str),
        scratch: &Path,
        times: Option<&Path>,
    ) -> Result<Child> {
        let run = match times {
            Some(_) => "\"$@\"; status=$?; times >\"$0\"; exit $status",
            None => "exec \"$@\"",
        };
        let limited = format!(
            "ulimit -v {}; ulimit -t {seconds}; ulimit -c 0; {run}",
            self.memory
        );
        let mut command = Command::new("sh");
        command
            .args(["-c", &limited])
            .arg(times.unwrap_or(Path::new("sh")))
            .arg(&self.programs[suite]);
        command.args(["--exact", name, "--test-threads=1", "--include-ignored"]);
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
        fs::write(&reached, vec![0; mutants.len()])?;
        let times = self.scratch.join(format!("times-{worker}"));
        let _ = fs::remove_file(&times);
        let child = self.start(
            suite,
            name,
            self.longest,
            ("TCVERIFY_REACHED", &reached.to_string_lossy()),
            &scratch,
            Some(&times),
        )?;
        let status = wait(child, Duration::from_secs(10 * self.longest))?;
        let seconds = fs::read_to_string(&times).ok();
        let seconds = seconds.and_then(|times| processor_time(&times));
        let mut reaches: Vec<u64> = fs::read(&reached)?
            .iter()
            .zip(mutants)
            .filter(|(byte, _)| **byte != 0)
            .map(|(_, mutant)| mutant.key)
            .collect();
        reaches.sort_unstable();
        let ended_well = status.is_some_and(|status| status.success());
        Ok(Test {
            suite: suite.to_owned(),
            name: name.to_owned(),
            passed: ended_well && seconds.is_some_and(|seconds| seconds <= self.longest as f64),
            seconds: seconds.unwrap_or_default(),
            reaches,
        })
    }

    /// Runs a test with a mutant on.
    pub fn attempt(&self, test: &Test, number: u32, worker: usize) -> Result<Outcome> {
        let scratch = self.empty(worker)?;
        // Six times as long as plain, and some seconds.
        let seconds = (6.0 * test.seconds) as u64 + 5;
        let mutant = number.to_string();
        let child = self.start(
            &test.suite,
            &test.name,
            seconds,
            ("TCVERIFY_MUTANT", &mutant),
            &scratch,
            None,
        )?;
        // For one that waits for ever, beside whatever else the machine does.
        let patience = Duration::from_secs(6 * seconds + 20);
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

/// Of what a shell's `times` says, in its second line, of processes that ended: "1m2.345s 0m0.123s".
fn processor_time(times: &str) -> Option<f64> {
    let both = times.lines().nth(1)?.split_whitespace().map(|time| {
        let (minutes, seconds) = time.strip_suffix('s')?.split_once('m')?;
        Some(60.0 * minutes.parse::<f64>().ok()? + seconds.parse::<f64>().ok()?)
    });
    both.sum()
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

#[cfg(test)]
mod tests {
    #[test]
    fn times_of_children_are_added() {
        let times = "0m9.00s 0m9.00s\n1m2.25s 0m0.50s\n";
        assert_eq!(super::processor_time(times), Some(62.75));
        assert_eq!(super::processor_time("0m9.00s 0m9.00s\n"), None);
        assert_eq!(super::processor_time("\nnone 0m0.50s\n"), None);
    }
}
