//! Standard output and standard error.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use anyhow::{Context, Result};

use super::plain::Plain;
use crate::io::{escaped_lines, without_commands};

const ERROR: Style = AnsiColor::Red.on_default().bold();

/// Writes to standard output, with colours where they are wanted. A reader that has gone away
/// (`tcverify archs | head -1`) is no error. Whatever else is in it that a terminal or the log of a CI
/// server would take for a command is written out.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    commands(|out| {
        let mut out = Plain::new(out);
        write(&mut out)?;
        out.finish()
    })
}

/// The same of what is to be read as commands: each of these escapes what it quotes.
pub fn commands(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
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

/// What is wrong with a command line, or the help that it asks for.
pub fn usage(error: &clap::Error) {
    let said = error.render().to_string();
    let shown = plain(&said);
    match error.use_stderr() && shown != said {
        // It quotes the words, which may come from a manifest's names.
        true => drop(write!(anstream::stderr(), "{shown}")),
        false => drop(error.print()),
    }
}

/// Without control characters but those that end lines: some messages are lists.
fn plain(message: &str) -> String {
    without_commands(&escaped_lines(message))
}
