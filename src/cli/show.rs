//! Standard output and standard error.

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use anyhow::{Context, Result};
use serde::Serialize;

use super::plain::Plain;
use crate::forms::{Layout, View};
use crate::io::console::Console;
use crate::io::{escaped, escaped_lines, escaped_path, without_commands};
use crate::words::{Word, words};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();

words! {
    /// When colours are used.
    pub enum Colours {
        /// On a terminal, unless NO_COLOR is set
        Auto = "auto",
        /// Always
        Always = "always",
        /// Never
        Never = "never",
    }
}

impl Colours {
    /// Applies the choice from now on.
    pub fn use_them(self) {
        if let Some(console) = Console::current() {
            // No buffer is a terminal.
            return console.set_coloured(matches!(self, Colours::Always));
        }
        let choice = match self {
            Colours::Auto => anstream::ColorChoice::Auto,
            Colours::Always => anstream::ColorChoice::Always,
            Colours::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// Applies a `--color` among arguments that may not be a valid command line.
pub fn colours_of(words: impl Iterator<Item = OsString>) {
    let words: Vec<_> = words.collect();
    let option = |i: usize| match words[i].to_str() {
        Some("--color") => words.get(i + 1)?.to_str(),
        Some(word) => word.strip_prefix("--color="),
        None => None,
    };
    let last = (0..words.len()).rev().find_map(option);
    if let Some(colours) = last.and_then(Colours::of_word) {
        colours.use_them();
    }
}

/// The width of text: COLUMNS, or the terminal's; without either it is unlimited, so that lines of files and pipes
/// stay whole.
pub fn columns() -> usize {
    if Console::current().is_some() {
        return usize::MAX;
    }
    let variable = std::env::var("COLUMNS").ok();
    let variable = variable.and_then(|columns| columns.parse().ok());
    let terminal = || terminal_size::terminal_size_of(io::stdout());
    variable
        .filter(|columns| *columns > 0)
        .or_else(|| terminal().map(|(width, _)| width.0.into()))
        .unwrap_or(usize::MAX)
}

/// Writes to standard output, with colours where they are wanted. A reader that has gone away
/// (`tcverify archs | head -1`) is not an error. Other commands to a terminal or to the log of a CI server are
/// escaped.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    commands(|out| {
        let mut out = Plain::new(out);
        write(&mut out)?;
        out.finish()
    })
}

/// Prints unless a command is to be quiet.
pub fn unless(quiet: bool, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    if quiet { Ok(()) } else { print(write) }
}

/// A document as it is written to files and printed.
pub fn write_pretty(document: &(impl Serialize + ?Sized), out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    writeln!(out)
}

/// Whether an output goes to standard output.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Prints the digest and the name of a file that was written, as sha256sum does.
pub fn written(path: &Path, digest: impl Display, quiet: bool) -> Result<()> {
    unless(quiet || is_stdout(path), |out| {
        writeln!(out, "{digest}  {}", escaped_path(path))
    })
}

/// Prints a document for programs, or the same as text for people.
pub fn either(
    json: bool,
    document: &(impl Serialize + ?Sized),
    text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    print(|out| {
        if json {
            write_pretty(document, out)
        } else {
            text(out)
        }
    })
}

/// Prints a view as text.
pub fn view(view: &View) -> Result<()> {
    let layout = Layout {
        width: columns(),
        ..Layout::default()
    };
    print(|out| view.text(layout, out))
}

/// Prints text that contains commands and escapes what it quotes.
pub fn commands(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut write = Some(write);
    to_stdout(&mut |out| write.take().map_or(Ok(()), |write| write(out)))
}

/// Compiled once, not once per caller.
fn to_stdout(write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let done = match Console::current() {
        Some(console) => {
            let mut out = captured(&console);
            let done = write(&mut out);
            console.write_stdout(&out.into_inner());
            done
        }
        None => {
            let mut out = io::BufWriter::new(anstream::stdout().lock());
            write(&mut out).and_then(|()| out.flush())
        }
    };
    match done {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done.context("standard output cannot be written"),
    }
}

/// Why the result is 'different', on standard error, because standard output may carry a report.
pub fn different(why: &str) {
    let why = plain(why);
    to_stderr(&format!("{ERROR}different:{ERROR:#} {why}\n"));
}

/// A warning on standard error.
pub fn warning(what: &str) {
    to_stderr(&format!("{WARNING}warning:{WARNING:#} {}\n", plain(what)));
}

/// An error on standard error, with its causes after colons.
pub fn error(error: &anyhow::Error) {
    // It may quote files and their names.
    let error = plain(&format!("{error:#}"));
    to_stderr(&format!("{ERROR}error:{ERROR:#} {error}\n"));
}

/// An error of a command line, or the help that it requests. An error quotes arguments, which may be names of files:
/// `again` gives the error for escaped ones.
pub fn usage(
    error: &clap::Error,
    words: &[OsString],
    again: impl FnOnce(Vec<String>) -> Option<clap::Error>,
) {
    let hostile = |word: &OsString| {
        word.to_str()
            .is_none_or(|word| word != without_commands(&escaped(word)))
    };
    if !error.use_stderr() || !words.iter().any(hostile) {
        let text = error.render().ansi().to_string();
        return if error.use_stderr() {
            to_stderr(&text)
        } else {
            drop(commands(|out| out.write_all(text.as_bytes())))
        };
    }
    let words = words
        .iter()
        .map(|word| without_commands(&escaped_path(word.as_ref())));
    let text = match again(words.collect()) {
        Some(error) => error.render().to_string(),
        None => "error: the command line is wrong, and its words cannot be shown\n".to_owned(),
    };
    to_stderr(&plain(&text));
}

fn to_stderr(text: &str) {
    match Console::current() {
        Some(console) => {
            let mut out = captured(&console);
            // A buffer takes everything.
            let _ = out.write_all(text.as_bytes());
            console.write_stderr(&out.into_inner());
        }
        // If even that fails, nothing is left to report it.
        None => drop(anstream::stderr().write_all(text.as_bytes())),
    }
}

/// A buffer that keeps colours if they are wanted.
fn captured(console: &Console) -> AutoStream<Vec<u8>> {
    let choice = if console.coloured() {
        anstream::ColorChoice::Always
    } else {
        anstream::ColorChoice::Never
    };
    AutoStream::new(Vec::new(), choice)
}

/// Escapes control characters except ends of lines, as some messages are lists.
fn plain(message: &str) -> String {
    without_commands(&escaped_lines(message))
}
