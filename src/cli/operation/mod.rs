//! `check`, `identify`, `explain`, `replay` and `commit` with `--op`: an operation between products in place of a product.
//!
//! An operation has different arrays and options from a product, so each of these commands has two definitions: one
//! in [`Cli`], and one here, which `--op` selects.

mod args;
mod check;
mod identify;
mod write;

use std::ffi::OsString;

use anyhow::Result;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand};

use super::{Cli, Command, Ending, Globals};
use crate::check::{CheckError, option};
use crate::role::Role;

pub use args::{OperationArgs, RuleArgs};

#[derive(Parser)]
#[command(
    name = "tcverify",
    version,
    propagate_version = true,
    max_term_width = 100
)]
struct OperationCli {
    #[command(flatten)]
    globals: Globals,

    #[command(subcommand)]
    verb: Verb,
}

/// A command about an operation.
#[derive(Subcommand)]
pub enum Verb {
    Check(Box<check::Check>),
    Identify(Box<identify::Identify>),
    Explain(Box<write::Explain>),
    Replay(Box<write::Replay>),
    Commit(Box<write::Commit>),
}

impl Verb {
    pub fn run(self) -> Result<Ending> {
        match self {
            Verb::Check(command) => command.run(),
            Verb::Identify(command) => command.run(),
            Verb::Explain(command) => command.run(),
            Verb::Replay(command) => command.run(),
            Verb::Commit(command) => command.run(),
        }
    }
}

/// The definitions, each called after the command and `op`.
pub fn commands() -> Vec<clap::Command> {
    let mut program = OperationCli::command().disable_help_subcommand(true);
    program.build();
    let named = |command: &clap::Command| {
        let name = format!("tcverify-{}-op", command.get_name());
        command.clone().display_name(name)
    };
    program.get_subcommands().map(named).collect()
}

/// How the commands about products name those about operations.
#[derive(Args)]
pub struct OperationHint {
    /// Work on an operation between products instead: rms_norm, softmax, attention ... ('tcverify ops'). It has its
    /// own arrays and options: --op NAME --help
    #[arg(long = "op", value_name = "NAME", help_heading = "Operation")]
    _op: Option<String>,
}

/// A command line, of a product or of an operation.
///
/// # Errors
/// What is wrong with it, or the help that it asks for.
pub fn parsed<W: Clone + Into<OsString>>(words: &[W]) -> Result<Cli, clap::Error> {
    let plain: Vec<OsString> = words.iter().cloned().map(Into::into).collect();
    let of_operation = names_an_operation(&plain);
    let cli = match of_operation {
        true => super::parse::<OperationCli>(&plain).map(|cli| Cli {
            globals: cli.globals,
            command: Command::Operation(cli.verb),
        }),
        false => super::parse::<Cli>(&plain),
    };
    cli.map_err(|error| about_the_other(&error, &plain, of_operation).unwrap_or(error))
}

/// Whether it is a command of these with `--op`.
fn names_an_operation(words: &[OsString]) -> bool {
    let options = words.iter().skip(1).take_while(|word| *word != "--");
    let mut options = options.filter_map(|word| word.to_str());
    options.any(|word| word == "--op" || word.starts_with("--op="))
        && verb(words, &OperationCli::command()).is_some()
}

/// The command that these words name.
fn verb<'a>(words: &'a [OsString], of: &clap::Command) -> Option<&'a str> {
    let mut words = words.iter().skip(1).map(|word| word.to_str());
    let word = loop {
        match words.next()?? {
            // The value is the next word.
            "--threads" | "--color" => drop(words.next()),
            option if option.starts_with('-') => {}
            word => break word,
        }
    };
    of.find_subcommand(word).map(|_| word)
}

/// The error about an option that only the other kind of command has.
fn about_the_other(
    error: &clap::Error,
    words: &[OsString],
    of_operation: bool,
) -> Option<clap::Error> {
    let unknown = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(option)) if error.kind() == ErrorKind::UnknownArgument => option,
        _ => return None,
    };
    let (mut own, other) = match of_operation {
        true => (OperationCli::command(), Cli::command()),
        false => (Cli::command(), OperationCli::command()),
    };
    let verb = verb(words, &own)?;
    let long = unknown.strip_prefix("--")?;
    let long = long.split('=').next();
    let mut options = other.find_subcommand(verb)?.get_arguments();
    options.find(|option| option.get_long() == long)?;
    let sentence = match of_operation {
        true => format!(
            "{unknown} is about products, and --op names an operation: leave one of them out"
        ),
        false => format!(
            "{unknown} is about operations between products: name one, such as --op rms_norm ('tcverify ops')"
        ),
    };
    own.build();
    let own = own.find_subcommand_mut(verb)?;
    Some(own.error(ErrorKind::UnknownArgument, sentence))
}

/// An error in terms of options and named arrays.
pub fn said<T>(result: Result<T, CheckError>) -> Result<T> {
    let name = |field: &'static str| match field {
        "operation" => "--op".to_owned(),
        array if Role::of_field(array).is_some_and(|role| Role::OPERATION.contains(&role)) => {
            format!("{array}=FILE")
        }
        other => option(other),
    };
    result.map_err(|error| anyhow::Error::msg(error.in_words(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_are_sound() {
        OperationCli::command().debug_assert();
        // Each of these commands is one of products, too.
        let products = Cli::command();
        for verb in OperationCli::command().get_subcommands() {
            assert!(products.find_subcommand(verb.get_name()).is_some());
        }
    }

    #[test]
    fn words_that_name_an_operation() {
        let names = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(Into::into).collect();
            names_an_operation(&words)
        };
        for line in [
            "tcverify check --op rms_norm x.npy",
            "tcverify --threads 2 --color=never check x.npy --op=gelu",
        ] {
            assert!(names(line), "{line}");
        }
        for line in [
            "tcverify check a.npy b.npy d.npy",
            "tcverify batch --op gelu",
            "tcverify --threads check batch --op gelu",
            "tcverify check a.npy -- --op",
            "tcverify --op",
        ] {
            assert!(!names(line), "{line}");
        }
    }
}
