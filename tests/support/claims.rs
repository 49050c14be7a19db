//! Claims as text: what a command answers, a line each, and tables whose rows are lines.
//!
//! A word stands between bars. `\n` in it is a line's end, `\_` a space at its edge.

use super::{Folder, Run};

/// A word of a table as it is meant.
fn word(written: &str) -> String {
    written.trim().replace("\\n", "\n").replace("\\_", " ")
}

/// A table's rows, a line each; a line that begins with a bar goes on with the row before, and `#` begins a remark.
fn lines(table: &str) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for line in table.lines().map(str::trim) {
        match rows.last_mut() {
            _ if line.is_empty() || line.starts_with('#') => {}
            Some(row) if line.starts_with('|') => *row += &format!(" {line}"),
            _ => rows.push(line.to_owned()),
        }
    }
    assert!(!rows.is_empty(), "no rows in {table:?}");
    rows
}

/// Rows of `N` words.
#[track_caller]
pub fn rows<const N: usize>(table: &str) -> Vec<[String; N]> {
    let split = |row: String| {
        let words: Vec<String> = row.split(" | ").map(word).collect();
        words
            .try_into()
            .unwrap_or_else(|_| panic!("{row:?} has not {N} words"))
    };
    lines(table).into_iter().map(split).collect()
}

/// Words between bars.
pub fn words(row: &str) -> Vec<String> {
    row.split(" | ").map(word).collect()
}

impl Folder {
    /// Runs each row's command and fails with the row unless it ends as the row says:
    /// `COMMAND | 0 | WORDS | ...` (words on standard output), `1` likewise, `2` (words on standard error), or
    /// `refused` ([`Run::refuses`]). Words behind `!` must be missing.
    #[track_caller]
    pub fn claims(&self, table: &str) {
        for row in lines(table) {
            let mut words = row.split(" | ");
            let command = words.next().unwrap_or_default();
            let outcome = words.next().map(str::trim);
            let run = self.tcverify(command);
            let said = match outcome {
                Some("0" | "1") => run.stdout.clone(),
                Some("2" | "refused") => run.stderr.clone(),
                _ => panic!("no outcome in {row:?}"),
            };
            let code = outcome.and_then(|code| code.parse().ok()).unwrap_or(2);
            assert_eq!(run.code, Some(code), "{row}\n{run:#?}");
            if outcome == Some("refused") {
                assert!(run.is_refusal(), "{row}\n{run:#?}");
            }
            for written in words.map(str::trim) {
                let (wanted, text) = match written.strip_prefix('!') {
                    Some(text) => (false, word(text)),
                    None => (true, word(written)),
                };
                assert_eq!(
                    said.contains(&text),
                    wanted,
                    "{written:?} of {row}\n{run:#?}"
                );
            }
        }
    }

    /// As [`Folder::tcverify`], which must exit with 0.
    #[track_caller]
    pub fn passes(&self, arguments: &str) -> Run {
        self.tcverify(arguments).expect(0)
    }

    /// As [`Folder::tcverify`], which must exit with 1.
    #[track_caller]
    pub fn differs(&self, arguments: &str) -> Run {
        self.tcverify(arguments).expect(1)
    }

    /// As [`Folder::tcverify`], which must exit with 2.
    #[track_caller]
    pub fn fails(&self, arguments: &str) -> Run {
        self.tcverify(arguments).expect(2)
    }

    /// Standard output of a command that exits with 0.
    #[track_caller]
    pub fn stdout(&self, arguments: &str) -> String {
        self.passes(arguments).stdout
    }

    /// Standard error of a command that exits with 2.
    #[track_caller]
    pub fn stderr(&self, arguments: &str) -> String {
        self.fails(arguments).stderr
    }

    /// The JSON that a command prints, which exits with 0.
    #[track_caller]
    pub fn json(&self, arguments: &str) -> serde_json::Value {
        self.passes(arguments).json()
    }

    /// The JSON that a command prints, which exits with 1.
    #[track_caller]
    pub fn differing(&self, arguments: &str) -> serde_json::Value {
        self.differs(arguments).json()
    }

    /// A file's text.
    #[track_caller]
    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// A file's JSON.
    #[track_caller]
    pub fn document(&self, name: &str) -> serde_json::Value {
        self.typed(name)
    }

    /// A file's JSON as what it stands for.
    #[track_caller]
    pub fn typed<T: serde::de::DeserializeOwned>(&self, name: &str) -> T {
        serde_json::from_slice(&self.read(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }
}

/// What a text has in it.
pub trait Says {
    fn said(&self) -> &str;

    fn whole(&self) -> String {
        self.said().to_owned()
    }

    /// Fails unless the words are in it.
    #[track_caller]
    fn says(&self, words: &str) {
        assert!(
            self.said().contains(words),
            "{words:?} is not in {}",
            self.whole()
        );
    }

    /// Fails unless all of these are in it.
    #[track_caller]
    fn says_all<W: AsRef<str>>(&self, all: impl IntoIterator<Item = W>) {
        for words in all {
            self.says(words.as_ref());
        }
    }

    /// Fails if the words are in it.
    #[track_caller]
    fn lacks(&self, words: &str) {
        assert!(
            !self.said().contains(words),
            "{words:?} is in {}",
            self.whole()
        );
    }

    /// Fails unless it begins with the words.
    #[track_caller]
    fn begins(&self, words: &str) {
        assert!(
            self.said().starts_with(words),
            "{words:?} does not begin {}",
            self.whole()
        );
    }
}

impl Says for str {
    fn said(&self) -> &str {
        self
    }
}

impl Says for String {
    fn said(&self) -> &str {
        self
    }
}

/// Standard output.
impl Says for Run {
    fn said(&self) -> &str {
        &self.stdout
    }

    fn whole(&self) -> String {
        format!("{self:#?}")
    }
}
