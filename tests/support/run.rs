//! Running the program the way a person does: mostly in the process of the tests, where the system can give one
//! thread a working directory of its own.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::Npy;

/// A folder of its own for one test; the program runs in it.
pub struct Folder(TempDir);

/// What the program did.
pub struct Run {
    /// What was asked, for whoever reads a failure.
    pub command: String,
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// Standard output as it is, for `-o -`.
    pub raw: Vec<u8>,
}

impl Folder {
    pub fn new() -> Folder {
        Folder(TempDir::new().expect("a temporary folder"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Adds an array.
    pub fn save(&self, name: &str, array: &Npy) -> PathBuf {
        self.write(name, array.bytes())
    }

    /// Adds any file.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).expect("a test file");
        path
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Names of all files, hidden ones too, in order.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).expect("a folder");
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            let name = entry.expect("an entry").file_name();
            name.to_string_lossy().into_owned()
        };
        let mut names: Vec<_> = entries.map(name).collect();
        names.sort();
        names
    }

    /// `tcverify` and these arguments; one string, split at spaces that are not between backticks.
    pub fn tcverify(&self, arguments: &str) -> Run {
        let parts = arguments.split('`').enumerate();
        self.words(parts.flat_map(|(i, part)| match i % 2 {
            0 => part.split_whitespace().collect(),
            _ => vec![part],
        }))
    }

    /// `tcverify` and these words. In this process: what concerns streams, variables of the environment, limits or
    /// signals is for a [`Folder::child`] or a [`Folder::command`].
    pub fn words<W: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = W>) -> Run {
        let mut command = self.command();
        command.args(words);
        inside::run(&command).unwrap_or_else(|| self.run(&mut command))
    }

    /// As [`Folder::tcverify`], in a process of its own.
    pub fn child(&self, arguments: &str) -> Run {
        self.run(self.command().args(arguments.split_whitespace()))
    }

    /// The program as a process of its own, to be given arguments, streams or an environment.
    pub fn command(&self) -> Command {
        self.shell(env!("CARGO_BIN_EXE_tcverify"))
    }

    /// The program started by a shell after `preparation`, say a limit.
    pub fn limited(&self, preparation: &str, arguments: &str) -> Run {
        let script = format!("{preparation}; exec \"$0\" \"$@\"");
        let mut shell = self.shell("sh");
        shell
            .args(["-c", &script, env!("CARGO_BIN_EXE_tcverify")])
            .args(arguments.split_whitespace());
        self.run(&mut shell)
    }

    pub fn run(&self, command: &mut Command) -> Run {
        let Output {
            status,
            stdout,
            stderr,
        } = command.output().expect("the program starts");
        Run {
            command: asked(command),
            code: status.code(),
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
            raw: stdout,
        }
    }

    /// Any program, started here.
    pub fn shell(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.0.path());
        // Whoever runs the tests may have wishes about colours.
        for name in [
            "NO_COLOR",
            "CLICOLOR",
            "CLICOLOR_FORCE",
            "FORCE_COLOR",
            "COLUMNS",
        ] {
            command.env_remove(name);
        }
        command
    }
}

impl Run {
    /// Fails unless the exit code is this one.
    #[track_caller]
    pub fn expect(self, code: i32) -> Run {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// The JSON on standard output.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self:#?}"))
    }

    /// Fails unless the program refused with one line that has all of these words in it, and did
    /// nothing else.
    #[track_caller]
    pub fn refuses(self, words: &[&str]) -> Run {
        let run = self.expect(2);
        assert!(run.is_refusal(), "{run:#?}");
        run.mentions(words)
    }

    /// Whether it wrote one line, an error, and nothing else.
    pub fn is_refusal(&self) -> bool {
        self.is_one_line("error: ")
    }

    /// Whether it wrote one line that begins so to standard error, and nothing else.
    pub fn is_one_line(&self, begin: &str) -> bool {
        let line = self.stderr.strip_suffix('\n');
        self.stdout.is_empty()
            && line.is_some_and(|line| line.starts_with(begin) && !line.contains('\n'))
    }

    /// Fails unless standard error has all of these words in it.
    #[track_caller]
    pub fn mentions(self, words: &[&str]) -> Run {
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is not in {self:#?}");
        }
        self
    }
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Run {
            command,
            code,
            stdout,
            stderr,
            ..
        } = self;
        write!(
            f,
            "{command}\nexit code {code:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}\n---"
        )
    }
}

/// A command's words.
fn asked(command: &Command) -> String {
    let words = command.get_args().map(|word| word.to_string_lossy());
    words.collect::<Vec<_>>().join(" ")
}

/// Commands in this process.
#[cfg(target_os = "linux")]
mod inside {
    use std::process::Command;

    use nix::sched::{CloneFlags, unshare};
    use tcverify::cli::run_captured;

    /// As much as a process has for its main thread.
    const STACK: usize = 8 << 20;

    use super::Run;

    /// None where a thread cannot have a working directory of its own, as in some containers, or where nothing shall
    /// run in this process.
    pub fn run(command: &Command) -> Option<Run> {
        if std::env::var_os("TCVERIFY_TEST_PROCESSES").is_some_and(|v| v == "1") {
            return None;
        }
        let folder = command.get_current_dir().expect("a folder");
        let mut words = vec!["tcverify".into()];
        words.extend(command.get_args().map(ToOwned::to_owned));
        let inside = || {
            // Threads that this one starts share its directory, others do not.
            unshare(CloneFlags::CLONE_FS).ok()?;
            std::env::set_current_dir(folder).expect("a folder to work in");
            Some(run_captured(&words, Vec::new()))
        };
        let done = std::thread::scope(|scope| {
            let builder = std::thread::Builder::new().stack_size(STACK);
            let thread = builder.spawn_scoped(scope, inside);
            thread.expect("a thread").join().expect("no panic")
        })?;
        Some(Run {
            command: super::asked(command),
            code: Some(done.exit_code.into()),
            stdout: String::from_utf8_lossy(&done.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&done.stderr).into_owned(),
            raw: done.stdout,
        })
    }
}

#[cfg(not(target_os = "linux"))]
mod inside {
    /// A working directory is a process's.
    pub fn run(_: &std::process::Command) -> Option<super::Run> {
        None
    }
}

/// A directory of captured or worked examples.
pub fn fixture(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    root.join("tests/fixtures/papers").join(name)
}

/// The digest of some bytes in lower-case hexadecimal, computed here.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
