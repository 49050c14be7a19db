//! Turns the words of a command line into a request, and its result into outputs and an exit code; one file per
//! command. Exit codes 0, 1 and 2 are decided here alone. It computes nothing.

/// An enumeration of commands, which runs the one that was chosen.
macro_rules! commands {
    ($(#[$about:meta])* $visible:vis enum $name:ident {
        $($(#[$help:meta])* $command:ident($arguments:ty),)*
    }) => {
        #[derive(clap::Subcommand)]
        $(#[$about])*
        $visible enum $name {
            $($(#[$help])* $command($arguments),)*
        }

        impl $name {
            pub fn run(self) -> anyhow::Result<$crate::cli::Ending> {
                match self {
                    $($name::$command(command) => command.run().map($crate::cli::Ending::from),)*
                }
            }
        }
    };
}

mod archs;
mod args;
mod attest;
mod audit;
mod auto;
mod batch;
mod bench;
mod check;
mod chooser;
mod commit;
mod compare;
mod completions;
mod digest;
mod engines;
mod explain;
mod features;
mod generate;
mod groups;
mod identify;
mod infer;
mod inspect;
mod kernels;
mod log;
mod man;
#[doc(hidden)] // for benches/
pub mod measured;
mod mistakes;
mod operation;
mod ops;
mod plain;
mod probe;
mod progress;
mod replay;
mod reports;
#[cfg(test)]
mod round_trip;
mod schedules;
mod screen;
mod screen_challenge;
mod screen_record;
mod shard;
mod short;
mod show;
mod sweep;
mod values;
mod verify_report;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, CommandFactory, FromArgMatches, Parser};

use crate::io::console::Console;
use crate::report::Verdict;

/// Greatest width of help, in columns.
const MAX_WIDTH: usize = 100;

/// Did this GPU really compute this matrix product?
///
/// tcverify replays D = A*B + C through a bit-exact model of a tensor core and compares every bit
/// with a captured D.
#[derive(Parser)]
#[command(
    name = "tcverify",
    version,
    propagate_version = true,
    max_term_width = MAX_WIDTH,
    help_template = groups::help_template()
)]
#[command(after_help = "\
Exit codes: 0 identical (or done), 1 different, 2 anything else.
'tcverify COMMAND -h' explains a command on one screen, --help tells all.
'tcverify archs' lists the modelled GPUs.")]
struct Cli {
    #[command(flatten)]
    globals: Globals,

    #[command(subcommand)]
    command: Command,
}

/// Options of every command.
#[derive(Args)]
struct Globals {
    /// Worker threads; 0 means one per core
    #[arg(
        long,
        global = true,
        default_value_t = 0,
        value_name = "N",
        hide_default_value = true,
        hide_short_help = true,
        help_heading = "Global options",
        value_parser = clap::value_parser!(u16).range(..=1024)
    )]
    threads: u16,

    /// When to use colours; auto: on a terminal, unless NO_COLOR is set
    #[arg(
        long,
        global = true,
        default_value = "auto",
        value_name = "WHEN",
        hide_default_value = true,
        hide_short_help = true,
        help_heading = "Global options",
        value_parser = values::word::<show::Colours>()
    )]
    color: show::Colours,
}

commands! {
    enum Command {
        Check(Box<check::Check<check::JudgedProduct>>),
        Batch(batch::BatchArgs),
        #[command(subcommand)]
        Shard(shard::Shard),
        #[command(subcommand)]
        Screen(screen::Screen),
        Identify(identify::Identify),
        Compare(Box<compare::Compare>),
        VerifyReport(verify_report::VerifyReport),
        Explain(Box<explain::Explain<explain::ShownProduct>>),
        Replay(Box<replay::Replay<replay::ReplayedProduct>>),
        Generate(generate::Generate),
        Digest(digest::Digest),
        Inspect(inspect::Inspect),
        Commit(commit::Commit),
        #[command(subcommand)]
        Audit(audit::Audit),
        #[command(subcommand)]
        Attest(attest::Attest),
        #[command(subcommand)]
        Log(log::Log),
        Archs(archs::Archs),
        Schedules(schedules::Schedules),
        #[command(subcommand)]
        Kernels(kernels::Kernels),
        Ops(ops::Ops),
        Sweep(sweep::Sweep),
        /// One of these commands with --op.
        #[command(skip)]
        Operation(operation::Verb),
        Engines(engines::Engines),
        Bench(bench::Bench),
        Probe(probe::Probe),
        Infer(infer::Infer),
        Features(features::Features),
        Completions(completions::Completions),
        Man(man::ManPages),
    }
}

/// Who chooses the model of a check that leaves it to D.
const CHOOSERS: &[&dyn chooser::Chooser] = &[&auto::Search];

/// How a command that did its work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Done,
    Different,
}

impl Ending {
    /// How a comparison ends.
    fn of(same: bool) -> Ending {
        if same {
            Ending::Done
        } else {
            Ending::Different
        }
    }
}

impl From<()> for Ending {
    fn from((): ()) -> Ending {
        Ending::Done
    }
}

impl From<Verdict> for Ending {
    fn from(verdict: Verdict) -> Ending {
        Ending::of(verdict != Verdict::Different)
    }
}

/// Why the answer is no. It ends a command as an error does, but with exit code 1.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Refuted(String);

fn refuted<T>(why: impl Into<String>) -> Result<T> {
    Err(Refuted(why.into()).into())
}

/// Runs the command line of this process.
///
/// Exit codes: 0 identical or done, 1 different, 2 anything else.
pub fn main() -> ExitCode {
    main_of(std::env::args_os().collect()).into()
}

/// Runs a command line, the program's name first, and returns its exit code. For a process that does nothing
/// else: it sets signal handlers and starts the worker threads.
pub fn main_of(words: Vec<OsString>) -> u8 {
    crate::io::guard_process();
    exit_code(&words)
}

/// The outcome of a command that ran inside another program.
#[doc(hidden)]
pub struct Captured {
    pub exit_code: u8,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// Runs a command line, the program's name first, inside another program, for tests. It has its own worker threads,
/// no signal handlers, and buffers instead of the standard streams. A panic is reported on standard error and gives
/// 101, as in a process.
///
/// Paths start at the calling thread's working directory; environment variables are those of the process.
#[doc(hidden)]
pub fn run_captured(words: &[OsString], stdin: Vec<u8>) -> Captured {
    let console = Console::with_stdin(stdin);
    let entered = console.enter();
    let done = std::panic::catch_unwind(|| exit_code(words));
    drop(entered);
    let (stdout, mut stderr) = console.take_written();
    let exit_code = done.unwrap_or_else(|panic| {
        let why = panic.downcast::<String>().map(|why| *why);
        let why = why.or_else(|panic| panic.downcast::<&str>().map(|why| why.to_string()));
        let why = why.unwrap_or_default();
        stderr.extend_from_slice(format!("the command panicked: {why}\n").as_bytes());
        101
    });
    Captured {
        exit_code,
        stdout,
        stderr,
    }
}

fn exit_code(words: &[OsString]) -> u8 {
    // An error of the command line has colours, too, and comes before its options are known.
    show::colours_of(words.iter().skip(1).cloned());
    let cli = match operation::parsed(words) {
        Ok(cli) => cli,
        Err(error) => {
            show::usage(&error, words, |words| operation::parsed(&words).err());
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    match cli.run() {
        Ok(Ending::Done) => 0,
        Ok(Ending::Different) => 1,
        Err(error) => match error.downcast_ref::<Refuted>() {
            Some(why) => {
                show::different(&why.to_string());
                1
            }
            None => {
                show::error(&error);
                2
            }
        },
    }
}

/// Parses a command line; the suffix tells commands that stand twice apart. Inside another program, help has the width
/// it has without a terminal.
fn parse<P: CommandFactory + FromArgMatches>(
    words: &[OsString],
    suffix: &str,
) -> Result<P, clap::Error> {
    let mut command = short::tailored(P::command(), words, suffix);
    if Console::current().is_some() {
        command = command.term_width(MAX_WIDTH);
    }
    let matches = command.try_get_matches_from_mut(words)?;
    P::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

impl Cli {
    fn run(self) -> Result<Ending> {
        self.globals.color.use_them();
        let threads = self.globals.threads.into();
        let pool = || crate::deadline::worker_pool().num_threads(threads);
        let own = match Console::current() {
            // The pool of the process may be there already, in a program that has called the library.
            None if pool().build_global().is_ok() => return self.command.run(),
            None => pool(),
            Some(console) => pool().start_handler(move |_| std::mem::forget(console.enter())),
        };
        let own = own.build().context("cannot start worker threads")?;
        own.install(|| self.command.run())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_are_sound() {
        Cli::command().debug_assert();
    }
}
