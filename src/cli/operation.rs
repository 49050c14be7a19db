//! `check`, `identify`, `explain`, `replay`, `commit` and `audit` with `--op`: an operation between products in place of a product.
//!
//! An operation takes other arrays and options than a product, so that each of these commands stands twice in the command
//! line: in [`Cli`], and here, chosen by `--op`. What it does is written once, for any [`RequestArgs`](super::args::RequestArgs).

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};

use super::args::{JudgedOperation, WholeOperation};
use super::{Cli, Command, Globals, audit, check, commit, explain, identify, mistakes, replay};

#[derive(Parser)]
#[command(
    name = "tcverify",
    version,
    propagate_version = true,
    max_term_width = super::MAX_WIDTH
)]
struct OperationCli {
    #[command(flatten)]
    globals: Globals,

    #[command(subcommand)]
    verb: Verb,
}

commands! {
    /// A command about an operation.
    pub enum Verb {
        /// Judge an operation between products: a norm, an activation, softmax, attention ...
        ///
        /// tcverify computes the operation as a library's kernels do, by the rules of 'tcverify ops', and compares
        /// every bit with a captured result. docs/layers.md lists which rules are proven on hardware.
        #[command(after_long_help = "\
Examples:
  RMSNorm as vLLM computes it; arrays as 'tcverify ops rms_norm' lists them, the result last:
    tcverify check --op rms_norm --variant vllm --eps 1e-6 --dtype bf16 x.npy weight.npy y.npy

  Arrays by name, and two that are optional:
    tcverify check --op layer_norm --eps 1e-5 x=x.npy weight=w.npy bias=b.npy y=y.npy

  Attention: FlashAttention-2 on an A100, causal, with its mma.sync as the A100's:
    tcverify check --op attention --arch a100 --causal --dtype bf16 q.npy k.npy v.npy o.npy

  FlashAttention-4 on a B200, and the sums that its rows end with:
    tcverify check --op attention --variant flash-attention-4 --arch b200 --dtype bf16 q.npy k.npy v.npy o.npy
    tcverify check ... --output row_sum q.npy k.npy v.npy sums.npy

  A sample, drawn by a commitment and a public value that came after it:
    tcverify commit --op gelu --dtype bf16 x.npy y.npy -o c.json
    tcverify check --op gelu --dtype bf16 x.npy y.npy --sample 10000 --seed-from c.json --beacon 5af1...

  A scale of FP8 quantisation instead of the codes:
    tcverify check --op quantize_fp8 --output scale --dtype bf16 x.npy scales.npy

Exit codes: 0 identical, 1 different, 2 anything else.")]
        Check(Box<check::Check<JudgedOperation>>),

        Identify(Box<identify::Variants>),

        /// Show how one element of an operation's result is computed, step by step
        #[command(long_about = None, after_long_help = "\
Examples:
  tcverify explain --op rms_norm --variant vllm --eps 1e-6 --dtype bf16 x.npy weight.npy y.npy --at 3,17

Exit codes: 0 shown, and the result (if given) has these bits; 1 it has others; 2 anything else.")]
        Explain(Box<explain::Explain<WholeOperation>>),

        /// Compute an operation as a library's kernel would, and write the result
        #[command(after_long_help = "\
Examples:
  tcverify replay --op gelu --dtype bf16 x.npy -o y.npy")]
        Replay(Box<replay::Replay<WholeOperation>>),

        /// Commit to an operation by digests of its rule, arrays and result
        ///
        /// Nothing is computed. Publish the file, or its SHA-256, before anyone can know the beacon's value that
        /// 'check --op --seed-from' draws a sample by, or 'audit challenge' a challenge.
        #[command(after_long_help = "\
Examples:
  tcverify commit --op gelu --dtype bf16 x.npy y.npy -o c.json")]
        Commit(Box<commit::Make<WholeOperation>>),

        /// Audit a committed operation by a few of its rows
        ///
        /// As of a product: a public value draws elements of the committed result, the prover opens the rows that they are
        /// made of, and the auditor computes them again. Of an operation whose rows depend on each other all of its arrays are
        /// opened. 'tcverify audit challenge' is the same for both. docs/audits.md specifies the documents.
        #[command(after_long_help = "\
Examples:
  tcverify audit open --op rms_norm --eps 1e-6 --dtype bf16 x.npy weight.npy y.npy \\
      --commitment c.json --challenge challenge.json --without weight -o opening.bin
  tcverify audit verify --op rms_norm --eps 1e-6 --dtype bf16 --commitment c.json --commitment-sha256 c782eb7e... \\
      --beacon 8430af44... --elements 1000 --own weight=weight.npy opening.bin

Exit codes: open: 0 done, 1 not what was committed, 2 anything else; verify: 0 all opened elements are reproduced, 1 one is
not, or the opening proves nothing, 2 anything else.")]
        #[command(subcommand)]
        Audit(audit::OperationStep),
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

/// A command line, of a product or of an operation.
///
/// # Errors
/// What is wrong with it, or the help that it asks for.
pub fn parsed<W: Clone + Into<OsString>>(words: &[W]) -> Result<Cli, clap::Error> {
    let mut words: Vec<OsString> = words.iter().cloned().map(Into::into).collect();
    let mut parsed = of(&words);
    if let Err(error) = &parsed
        && let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
        && ["-h", "--help"].contains(&word.as_str())
        && let Some(place) = words.iter().position(|word| word == "help")
    {
        // `help check -h` is `check -h`.
        words.remove(place);
        parsed = of(&words);
    }
    parsed.map_err(|error| {
        about_the_other(&error, &words, names_an_operation(&words)).unwrap_or(error)
    })
}

fn of(words: &[OsString]) -> Result<Cli, clap::Error> {
    if names_an_operation(words) {
        let cli = super::parse::<OperationCli>(words, " --op")?;
        return Ok(Cli {
            globals: cli.globals,
            command: Command::Operation(cli.verb),
        });
    }
    super::parse::<Cli>(words, "")
}

/// Whether it is one of these commands, with `--op`.
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

/// The error about a word that many expect, or an option that only the other kind of command has.
fn about_the_other(
    error: &clap::Error,
    words: &[OsString],
    of_operation: bool,
) -> Option<clap::Error> {
    if let Some(sentence) = mistakes::instead(error) {
        return Some(Cli::command().error(error.kind(), sentence));
    }
    let unknown = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(option)) if error.kind() == ErrorKind::UnknownArgument => option,
        _ => return None,
    };
    let (mut own, mut other) = (OperationCli::command(), Cli::command());
    if !of_operation {
        std::mem::swap(&mut own, &mut other);
    }
    let verb = verb(words, &own)?;
    let long = unknown.strip_prefix("--")?;
    let long = long.split('=').next();
    let mut options = other.find_subcommand(verb)?.get_arguments();
    options.find(|option| option.get_long() == long)?;
    let sentence = if of_operation {
        format!("{unknown} is about products, and --op names an operation: leave one of them out")
    } else {
        format!(
            "{unknown} is about operations between products: name one, such as --op rms_norm ('tcverify ops')"
        )
    };
    own.build();
    let own = own.find_subcommand_mut(verb)?;
    Some(own.error(ErrorKind::UnknownArgument, sentence))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_are_sound() {
        OperationCli::command().debug_assert();
        // Each of these commands also exists for products.
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
