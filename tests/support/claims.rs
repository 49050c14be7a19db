//! Claims as text: what a command answers, a line each, and tables whose rows are lines.
//!
//! A word stands between bars. `\n` in it is a line's end, `\_` a space at its edge.

use std::ops::Range;

use super::{Folder, Run};

/// A word of a claim as it is meant.
fn meant(written: &str) -> String {
    written.replace("\\n", "\n").replace("\\_", " ")
}

/// A table's rows, a line each; a line that begins with a bar or `=>` goes on with the row before, and `#` begins a
/// remark.
pub fn lines(table: &str) -> Vec<&str> {
    let mut rows: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    for line in table.split_inclusive('\n') {
        let (end, written) = (start + line.len(), line.trim());
        match rows.last_mut() {
            _ if written.is_empty() || written.starts_with('#') => {}
            Some(row) if written.starts_with('|') || written.starts_with("=>") => row.end = end,
            _ => rows.push(start..end),
        }
        start = end;
    }
    assert!(!rows.is_empty(), "no rows in {table:?}");
    rows.into_iter().map(|row| table[row].trim()).collect()
}

/// Where bars stand between words.
fn bars(row: &str) -> impl Iterator<Item = usize> {
    let apart = |c: Option<char>| c.is_none_or(char::is_whitespace);
    let all = row.match_indices('|').map(|(at, _)| at);
    all.filter(move |&at| apart(row[..at].chars().last()) && apart(row[at + 1..].chars().next()))
}

fn split_at(row: &str, bars: impl Iterator<Item = usize>) -> Vec<&str> {
    let (mut words, mut start) = (Vec::new(), 0);
    for bar in bars {
        words.push(row[start..bar].trim());
        start = bar + 1;
    }
    words.push(row[start..].trim());
    words
}

/// Words between bars.
pub fn listed(row: &str) -> Vec<&str> {
    split_at(row, bars(row))
}

/// Commands: each row's first word, with each of its other words in the place of `~`.
pub fn filled(table: &str) -> Vec<String> {
    let of_row = |row| {
        let words = listed(row);
        let rest = if words.len() > 1 { &words[1..] } else { &[""] };
        let all = rest.iter().map(|word| words[0].replace('~', word));
        all.map(|command| command.trim().to_owned())
            .collect::<Vec<_>>()
    };
    lines(table).into_iter().flat_map(of_row).collect()
}

/// A cell of a table that is JSON.
#[track_caller]
pub fn json_of(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// Puts JSON into a document, where `path.to.member` says; `-` takes the member away.
#[track_caller]
pub fn set(document: &mut serde_json::Value, at: &str, json: &str) {
    let (whole, last) = at.rsplit_once('.').unwrap_or(("", at));
    let steps = whole.split('.').filter(|step| !step.is_empty());
    let place = steps.fold(document, |value, step| match value {
        serde_json::Value::Array(all) => &mut all[step.parse::<usize>().expect("an index")],
        _ => &mut value[step],
    });
    match place {
        serde_json::Value::Object(all) if json == "-" => {
            assert!(all.remove(last).is_some(), "no {at} to take away");
        }
        serde_json::Value::Array(all) => {
            all[last.parse::<usize>().expect("an index")] = json_of(json)
        }
        _ => place[last] = json_of(json),
    }
}

/// Rows of `N` words; the last one may have bars of its own.
#[track_caller]
pub fn read_rows<const N: usize>(table: &str) -> Vec<[&str; N]> {
    lines(table).into_iter().map(parted).collect()
}

#[track_caller]
fn parted<const N: usize>(row: &str) -> [&str; N] {
    let words = split_at(row, bars(row).take(N - 1));
    let words: Result<_, _> = words.try_into();
    words.unwrap_or_else(|_| panic!("{row:?} has not {N} words"))
}

/// [`Folder::claims`] of a table in which `{names}` stand for what they hold.
macro_rules! claims {
    ($folder:expr, $table:literal) => {
        $folder.claims(&format_args!($table).to_string())
    };
}

/// What a command does, in which `{names}` stand for what they hold.
macro_rules! ran {
    ($folder:expr, $($command:tt)+) => {
        $folder.tcverify(&format!($($command)+))
    };
}

/// [`read_rows`] of a table in which `{names}` stand for what they hold. The last row that is printed is the one that
/// failed.
macro_rules! rows {
    ($table:literal) => {
        $crate::support::read_rows(&format_args!($table).to_string())
            .into_iter()
            .inspect(|row| println!("row: {}", row.join(" | ")))
    };
}

/// Fails unless each word of the table, `path.to.member = JSON`, holds of the value; what is no JSON is a string.
macro_rules! holds {
    ($value:expr, $table:literal) => {
        $crate::support::holds_all(&$value, &format_args!($table).to_string(), "")
    };
    ($value:expr, $table:literal, $of:literal) => {
        let of = format_args!($of).to_string();
        $crate::support::holds_all(&$value, &format_args!($table).to_string(), &of)
    };
}

/// The words of a text between bars.
macro_rules! words {
    ($text:literal) => {
        $crate::support::listed($text)
    };
}

/// An array, a row each line.
macro_rules! table {
    ($($row:expr),* $(,)?) => {
        [$($row),*]
    };
}

pub(crate) use {claims, holds, ran, rows, table, words};

/// What [`holds!`] means.
#[track_caller]
pub fn holds_all(value: &impl serde::Serialize, table: &str, of: &str) {
    let whole = serde_json::to_value(value).expect("JSON");
    for claim in listed(table).into_iter().filter(|claim| !claim.is_empty()) {
        let (path, said) = claim.split_once(" = ").expect("PATH = JSON");
        let found = path.split('.').fold(&whole, |value, step| match value {
            serde_json::Value::Array(_) => &value[step.parse::<usize>().expect("an index")],
            _ => &value[step],
        });
        let said: serde_json::Value = serde_json::from_str(said).unwrap_or_else(|_| said.into());
        assert_eq!(*found, said, "{of} {path} of {whole:#}");
    }
}

/// Fails unless a text has words in it as they are written: `!` before those that must be missing, `^` before those
/// that begin it.
#[track_caller]
pub fn has(text: &str, written: &str, of: &str) {
    assert!(!written.is_empty(), "an empty word in {of}");
    let holds = match written.split_at_checked(1) {
        Some(("!", missing)) => !text.contains(&meant(missing)),
        Some(("^", first)) => text.starts_with(&meant(first)),
        _ => text.contains(&meant(written)),
    };
    assert!(holds, "{written:?} of {of}\n{text}");
}

impl Folder {
    /// Runs each row's command and fails with the row unless it ends as the row says:
    /// `COMMAND | 0 | WORDS | ...` (words on standard output), `1` likewise, `2` (words on standard error),
    /// `usage` (the same, and nothing on standard output), `refused` ([`Run::refuses`]), or `different`: one line that
    /// begins with that word. Words behind `!` must be missing, those behind `^` begin it, those behind `&` are
    /// on standard error whatever the outcome, and behind `:` stands `path.to.member = JSON` of the output.
    ///
    /// `each COMMAND ~ | 0 | WORDS` is no command: rows below stand at its `~`, and say what else holds.
    #[track_caller]
    pub fn claims(&self, table: &str) {
        let mut each = vec!["~"];
        for row in lines(table) {
            match row.strip_prefix("each ") {
                Some(form) => each = listed(form),
                None => self.claim(&each, row),
            }
        }
    }

    /// Runs one row of [`Folder::claims`], a form's `~` filled by its first word.
    #[track_caller]
    fn claim(&self, each: &[&str], row: &str) {
        let words = listed(row);
        let command = each[0].replace('~', words[0]);
        let mut words = each[1..].iter().chain(&words[1..]);
        let outcome = words.next();
        let run = self.tcverify(&command);
        let said = match outcome {
            Some(&("0" | "1")) => &run.stdout,
            Some(&("2" | "usage" | "refused" | "different")) => &run.stderr,
            _ => panic!("no outcome in {row:?}"),
        };
        let (code, alone) = match outcome {
            Some(&"refused") => (2, Some("error: ")),
            Some(&"different") => (1, Some("different: ")),
            Some(&"usage") => (2, None),
            code => (code.map_or(2, |code| code.parse().expect("a code")), None),
        };
        assert_eq!(run.code, Some(code), "{row}\n{run:#?}");
        assert!(
            outcome != Some(&"usage") || run.stdout.is_empty(),
            "{row}\n{run:#?}"
        );
        if let Some(begin) = alone {
            assert!(run.is_one_line(begin), "{row}\n{run:#?}");
        }
        for written in words {
            let of = format!("{row}\n{run:#?}");
            match written.split_at_checked(1) {
                Some((":", claim)) => holds_all(&run.json(), claim, row),
                Some(("&", error)) => has(&run.stderr, error, &of),
                _ => has(said, written, &of),
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

    /// Copies a file.
    #[track_caller]
    pub fn copy(&self, from: &str, to: &str) {
        std::fs::copy(self.path(from), self.path(to)).unwrap_or_else(|e| panic!("{from}: {e}"));
    }

    /// Gives a file another name.
    #[track_caller]
    pub fn rename(&self, from: &str, to: &str) {
        std::fs::rename(self.path(from), self.path(to)).unwrap_or_else(|e| panic!("{from}: {e}"));
    }

    /// Removes a file.
    #[track_caller]
    pub fn remove(&self, name: &str) {
        std::fs::remove_file(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    }

    /// Makes a folder.
    #[track_caller]
    pub fn create(&self, name: &str) {
        std::fs::create_dir(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    }

    /// Copies a file with these bits changed of the byte this far before its end.
    #[track_caller]
    pub fn flip(&self, from: &str, to: &str, back: usize, bits: u8) {
        let mut bytes = self.read(from);
        let at = bytes.len() - back;
        bytes[at] ^= bits;
        self.write(to, bytes);
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

/// Members of a JSON object that must be of this kind.
pub trait Members {
    #[track_caller]
    fn list(&self, name: &str) -> &Vec<serde_json::Value>;
    #[track_caller]
    fn string(&self, name: &str) -> &str;
    #[track_caller]
    fn number(&self, name: &str) -> u64;
    #[track_caller]
    fn object(&self, name: &str) -> &serde_json::Map<String, serde_json::Value>;
}

impl Members for serde_json::Value {
    fn list(&self, name: &str) -> &Vec<serde_json::Value> {
        self[name]
            .as_array()
            .unwrap_or_else(|| panic!("no list {name} in {self:#}"))
    }

    fn string(&self, name: &str) -> &str {
        self[name]
            .as_str()
            .unwrap_or_else(|| panic!("no string {name} in {self:#}"))
    }

    fn number(&self, name: &str) -> u64 {
        self[name]
            .as_u64()
            .unwrap_or_else(|| panic!("no number {name} in {self:#}"))
    }

    fn object(&self, name: &str) -> &serde_json::Map<String, serde_json::Value> {
        self[name]
            .as_object()
            .unwrap_or_else(|| panic!("no object {name} in {self:#}"))
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
