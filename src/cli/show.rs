//! Standard output and standard error.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use anyhow::{Context, Result};

use crate::io::escaped;

const ERROR: Style = AnsiColor::Red.on_default().bold();

/// Writes to standard output, with colours where they are wanted. A reader that has gone away
/// (`tcverify archs | head -1`) is no error.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut out = io::BufWriter::new(anstream::stdout().lock());
    let done = write(&mut out).and_then(|()| out.flush());
    match done {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done.context("standard output cannot be written"),
    }
}

/// Why something is not what it was to be, on standard error: standard output may be a report's.
pub fn different(why: &str) {
    let why = plain(why);
    // As for errors.
    let _ = writeln!(anstream::stderr(), "{ERROR}different:{ERROR:#} {why}");
}

/// One error, its causes after colons, on standard error.
pub fn error(error: &anyhow::Error) {
    // It may quote files, and names of files.
    let error = plain(&format!("{error:#}"));
    // If even that fails there is nowhere left to say so.
    let _ = writeln!(anstream::stderr(), "{ERROR}error:{ERROR:#} {error}");
}

/// Without control characters but those that end lines: some messages are lists.
fn plain(message: &str) -> String {
    let lines: Vec<_> = message.split('\n').map(escaped).collect();
    lines.join("\n")
}
