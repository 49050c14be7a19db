//! Two results of one product.

mod files;
mod runs;
mod stories;

use serde_json::Value;

use crate::support::{Folder, Run, has, holds_all, lines, listed};

/// [`each_compared`] of a table in which `{names}` stand for what they hold.
macro_rules! compared {
    ($folder:expr, $table:literal) => {
        $crate::compare::each_compared(&$folder, &format_args!($table).to_string())
    };
}

/// [`made`] by a table in which `{names}` stand for what they hold.
macro_rules! made_by {
    ($table:literal) => {
        $crate::compare::made(&format_args!($table).to_string())
    };
}

use {compared, made_by};

/// A folder in which these commands were run, a line each.
pub fn made(commands: &str) -> Folder {
    let folder = Folder::new();
    for command in lines(commands) {
        folder.passes(command);
    }
    folder
}

/// A comparison that ends with this code: what it prints, and its document.
pub fn compare(folder: &Folder, words: &str, code: i32) -> (Run, Value) {
    let text = folder.tcverify(&format!("compare {words}")).expect(code);
    let json = folder.tcverify(&format!("compare {words} --json -"));
    (text, json.expect(code).json())
}

/// Rows `WORDS | CODE | ...`: a comparison ends with this code, its text has words in it, and of its document holds
/// what stands behind `:`. Returns the last row's document.
#[track_caller]
pub fn each_compared(folder: &Folder, table: &str) -> Value {
    let mut document = Value::Null;
    for row in lines(table) {
        println!("row: {row}");
        let words = listed(row);
        let code = words[1].parse().expect("a code");
        let (text, found) = compare(folder, words[0], code);
        for word in &words[2..] {
            match word.strip_prefix(':') {
                Some(claim) => holds_all(&found, claim, row),
                None => has(&text.stdout, word, row),
            }
        }
        document = found;
    }
    document
}
