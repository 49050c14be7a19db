//! Two results of one product.

mod files;
mod runs;
mod stories;

use serde_json::Value;

use crate::support::{Folder, Run};

/// A folder in which these commands were run.
pub fn made(commands: &[&str]) -> Folder {
    let folder = Folder::new();
    for command in commands {
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

/// The text says all of this.
#[track_caller]
pub fn says(run: &Run, all: &[&str]) {
    for words in all {
        assert!(
            run.stdout.contains(words),
            "{words:?} is not in\n{}",
            run.stdout
        );
    }
}
