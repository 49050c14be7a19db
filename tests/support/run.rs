//! Running the program the way a person does.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::Npy;

/// A folder of its own for one test; the program runs in it.
pub struct Folder(TempDir);

/// What the program did.
pub struct Run {
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

    /// `tcverify` and these arguments; one string, split at spaces.
    pub fn tcverify(&self, arguments: &str) -> Run {
        self.run(self.command().args(arguments.split_whitespace()))
    }

    /// The program, to be given arguments or an environment.
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
        assert_eq!(run.stdout, "", "{run:#?}");
        assert!(run.stderr.starts_with("error: "), "{run:#?}");
        assert_eq!(run.stderr.matches('\n').count(), 1, "{run:#?}");
        assert!(run.stderr.ends_with('\n'), "{run:#?}");
        run.mentions(words)
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
            code,
            stdout,
            stderr,
            ..
        } = self;
        write!(
            f,
            "exit code {code:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}\n---"
        )
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
